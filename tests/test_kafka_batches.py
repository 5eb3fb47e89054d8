"""How large batches of messages may be, by what their topic takes: without a broker."""

from __future__ import annotations

from jetsql.engine.sinks.messages import within


def test_batches_are_no_larger_than_their_topic_takes() -> None:
    assert within({"kafka.batch.size": "262144"}, 1_000_000) == {"kafka.batch.size": "262144"}
    assert within({"kafka.batch.size": "262144", "topic": "t"}, 1000) == {"kafka.batch.size": "1000", "topic": "t"}
    assert within({"topic": "t"}, 20_000) == {"topic": "t"}
    assert within({"topic": "t"}, 16_000) == {"topic": "t", "kafka.batch.size": "16000"}
