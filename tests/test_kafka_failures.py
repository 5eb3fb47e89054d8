"""What errors of Kafka's clients mean for a job: as the connector gives them, without a broker."""

from __future__ import annotations

import pytest

from jetsql.engine.failures import heals
from jetsql.engine.remedies import Trace, explained
from jetsql.jobs.model import Cause

ERRORS = "org.apache.kafka.common.errors."


def told(message: str, innermost: str, condition: str = "") -> Cause:
    cause = Cause(message, condition, "", 3, heals(condition), innermost)
    return explained(cause, Trace((f"Job aborted: {message}", message), "", innermost), None)


@pytest.mark.parametrize(
    ("kind", "says", "condition", "heals_itself", "hint"),
    [
        ("TimeoutException", "does not answer", "EXTERNAL_SYSTEM_UNAVAILABLE", True, "Nothing is lost"),
        ("UnknownTopicOrPartitionException", "no such topic", "EXTERNAL_SYSTEM_ERROR", True, "make it again"),
        ("TopicAuthorizationException", "does not let", "EXTERNAL_SYSTEM_ERROR", False, "Allow READ"),
        ("SaslAuthenticationException", "credentials", "EXTERNAL_SYSTEM_ERROR", False, "kafka.sasl.jaas.config"),
        ("RecordTooLargeException", "too large", "SINK_REFUSED_ROWS", False, "max.message.bytes"),
        ("OffsetOutOfRangeException", "not in Kafka any more", "SOURCE_CHANGED", False, "'failOnDataLoss' = 'false'"),
    ],
)
def test_errors_are_told_by_their_classes(
    kind: str, says: str, condition: str, heals_itself: bool, hint: str
) -> None:
    cause = told("what the client says", f"{ERRORS}{kind}")
    assert says in cause.message and cause.message.endswith(": what the client says")
    assert (cause.condition, cause.heals, cause.batch) == (f"JETSQL.{condition}", heals_itself, 3)
    assert hint in cause.hint


def test_lost_messages_are_explained_without_the_connectors_advice() -> None:
    said = "Some data may have been lost because they are not available. Reason: Partitions t-0 have been deleted."
    kind = "org.apache.spark.sql.kafka010.KafkaIllegalStateException"
    cause = told(said, kind, "KAFKA_DATA_LOSS.PARTITIONS_DELETED")
    assert cause.message == (
        "Messages that are the next to be read are not in Kafka any more: Partitions t-0 have been deleted."
    )
    assert (cause.condition, cause.heals) == ("JETSQL.SOURCE_CHANGED", False)


@pytest.mark.parametrize("kind", ["java.util.concurrent.TimeoutException", f"{ERRORS}UnheardOfException"])
def test_other_errors_stay_what_they_are(kind: str) -> None:
    assert told("slow", kind).message == "slow"
