"""What Kafka's brokers say about transactions, as people are told it: no broker is needed for that."""

from __future__ import annotations

import pytest

from jetsql.engine.sinks.kafka_refusals import KafkaFailure, refusal
from jetsql.errors import StatementError

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="s3cr3t";'
CONF = {"transaction.timeout.ms": "300000", "sasl.jaas.config": JAAS}
KAFKA = "org.apache.kafka.common.errors."


def told(kind: str, message: str = "No.", step: str = "commit", seconds: float = 1.0) -> StatementError:
    answer = {"class": kind, "message": message, "step": step, "seconds": seconds, "part": "k0-orders-3"}
    return refusal(KafkaFailure.of(answer), "Kafka b:9092", "sums", CONF)


@pytest.mark.parametrize(
    ("kind", "message", "step", "condition", "words"),
    [
        ("TransactionalIdAuthorizationException", "No.", "transaction", "SINK_NOT_READY", "on transactional ids"),
        ("GroupAuthorizationException", "No.", "mark", "SINK_NOT_READY", "doesn't let ann note"),
        ("TopicAuthorizationException", "No.", "write", "SINK_NOT_READY", "doesn't let ann write the topic sums"),
        ("UnknownTopicOrPartitionException", "No.", "topic", "SINK_NOT_READY", "has no topic sums"),
        ("UnsupportedVersionException", "No.", "transaction", "SINK_NOT_READY", "has no transactions"),
        ("SaslAuthenticationException", "No.", "connect", "SINK_NOT_READY", "credentials of ann"),
        ("TimeoutException", "null", "connect", "EXTERNAL_SYSTEM_UNAVAILABLE", "can't be reached: no answer."),
        ("TimeoutException", "No.", "transaction", "EXTERNAL_SYSTEM_UNAVAILABLE", "transaction.state.log.replication"),
        ("RecordTooLargeException", "No.", "begun", "SINK_REFUSED_ROWS", "max.request.size"),
        ("InvalidRecordException", "No.", "sent", "SINK_REFUSED_ROWS", "compacted"),
        ("ProducerFencedException", "No.", "marked", "DELIVERY_INTERRUPTED", "another attempt"),
        ("NotCoordinatorException", "No.", "marked", "EXTERNAL_SYSTEM_ERROR", "NotCoordinatorException"),
    ],
)
def test_errors_say_what_is_missing(kind: str, message: str, step: str, condition: str, words: str) -> None:
    error = told(f"{KAFKA}{kind}", message, step)
    assert error.condition == f"JETSQL.{condition}"
    assert words in error.explanation


def test_a_transaction_that_was_open_for_too_long_is_told_with_the_ways_out() -> None:
    error = told(f"{KAFKA}InvalidProducerEpochException", seconds=301.2)
    assert "k0-orders-3) took 301 s" in error.message and "longer than 300 s" in error.message
    assert "maxOffsetsPerTrigger" in error.hint and "kafka.transaction.timeout.ms" in error.hint


def test_what_kafkas_client_tells_by_words_alone() -> None:
    kafka = "org.apache.kafka.common.KafkaException"
    allowed = told(kafka, "Unexpected error in TxnOffsetCommitResponse: Topic authorization failed.", "mark")
    assert "Allow READ on it there" in allowed.hint
    long = told(kafka, "The transaction timeout is larger than the maximum value allowed by the broker", "transaction")
    assert "no transaction as long as 300 s" in long.message


def test_a_checkpoint_that_is_older_than_the_topic_is_never_gone_on_with() -> None:
    error = told("java.lang.IllegalStateException", "newest: 7", "opened")
    assert error.condition == "JETSQL.SINK_CHANGED"


def test_no_secret_is_told() -> None:
    assert "s3cr3t" not in str(told(f"{KAFKA}UnknownServerException", f"bad config {JAAS}"))
