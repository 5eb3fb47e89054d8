"""The mapping of errors of Kafka's brokers and clients to messages and retries, without a broker."""

from __future__ import annotations

import pytest

from jetsql.engine.errors.kafka_errors import KafkaFailure, KafkaOperation, KafkaRequest, explain_failure
from jetsql.engine.errors.remedies import Trace, explain_cause
from jetsql.engine.errors.run_failures import cause_of, is_retryable
from jetsql.errors import StatementError
from jetsql.jobs.model.job import Cause

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="s3cr3t";'
CONF = {"transaction.timeout.ms": "300000", "sasl.jaas.config": JAAS}
KAFKA = "org.apache.kafka.common.errors."


# --- in a transaction, or when a topic is asked for ------------------------------------------------------------------


def error_report(
    kind: str,
    message: str = "No.",
    step: str = "commit",
    seconds: float = 1.0,
    operation: KafkaOperation = KafkaOperation.WRITE,
    paused: float = 0.0,
) -> StatementError:
    answer: dict[str, object] = {"class": kind, "message": message, "step": step, "part": "k0-orders-3"}
    answer |= {"seconds": seconds, "paused": paused}
    return explain_failure(KafkaFailure.from_java(answer), KafkaRequest(operation, "Kafka b:9092", "sums", CONF))


@pytest.mark.parametrize(
    ("kind", "message", "step", "condition", "words"),
    [
        ("TransactionalIdAuthorizationException", "No.", "transaction", "SINK_NOT_READY", "on transactional ids"),
        ("GroupAuthorizationException", "No.", "mark", "SINK_NOT_READY", "does not allow ann to store"),
        ("TopicAuthorizationException", "No.", "write", "SINK_NOT_READY", "does not allow ann to write the topic sums"),
        ("UnknownTopicOrPartitionException", "No.", "topic", "SINK_NOT_READY", "has no topic sums"),
        ("UnsupportedVersionException", "No.", "transaction", "SINK_NOT_READY", "has no transactions"),
        ("SaslAuthenticationException", "No.", "connect", "SINK_NOT_READY", "credentials of ann"),
        ("TimeoutException", "null", "connect", "EXTERNAL_SYSTEM_UNAVAILABLE", "cannot be reached: no answer."),
        ("TimeoutException", "No.", "transaction", "EXTERNAL_SYSTEM_UNAVAILABLE", "transaction.state.log.replication"),
        ("RecordTooLargeException", "No.", "begun", "SINK_REFUSED_ROWS", "max.request.size"),
        ("ProducerFencedException", "No.", "marked", "DELIVERY_INTERRUPTED", "another attempt"),
        ("NotCoordinatorException", "No.", "marked", "EXTERNAL_SYSTEM_UNAVAILABLE", "cannot be reached"),
    ],
)
def test_errors_name_missing_rights_and_topics(kind: str, message: str, step: str, condition: str, words: str) -> None:
    error = error_report(f"{KAFKA}{kind}", message, step)
    assert error.condition == f"JETSQL.{condition}"
    assert words in error.explanation


def test_expired_transaction_is_reported_with_hints() -> None:
    error = error_report(f"{KAFKA}InvalidProducerEpochException", seconds=301.2)
    assert "k0-orders-3) took 301 s" in error.message and "longer than 300 s" in error.message
    assert "maxOffsetsPerTrigger" in error.hint and "kafka.transaction.timeout.ms" in error.hint


def test_a_pause_of_the_process_is_an_outage() -> None:
    kind = f"{KAFKA}InvalidProducerEpochException"
    error = error_report(kind, seconds=320.0, paused=280.0)
    assert error.condition == "JETSQL.DELIVERY_INTERRUPTED" and "was paused for 280 s" in error.message
    cause = cause_of(error)
    assert cause.external_outage and cause.retryable
    assert "took 640 s" in error_report(kind, seconds=640.0, paused=280.0).message


def test_a_row_without_a_key_for_a_compacted_topic() -> None:
    error = error_report(
        "org.apache.kafka.common.InvalidRecordException", "Compacted topic cannot accept message", "sent"
    )
    assert error.condition == "JETSQL.SINK_REFUSED_ROWS" and "compacted" in error.hint
    cause = run_told("Compacted topic cannot accept message", "org.apache.kafka.common.InvalidRecordException")
    assert cause.condition == "JETSQL.SINK_REFUSED_ROWS"


def test_invalid_option_of_the_kafka_client() -> None:
    message = "Invalid value nope for configuration isolation.level"
    cause = run_told(message, "org.apache.kafka.common.config.ConfigException")
    assert cause.condition == "JETSQL.INVALID_OPTION_VALUE" and message in cause.message and not cause.retryable


def test_kafka_errors_recognized_by_their_message() -> None:
    kafka = "org.apache.kafka.common.KafkaException"
    allowed = error_report(kafka, "Unexpected error in TxnOffsetCommitResponse: Topic authorization failed.", "mark")
    assert "Allow READ on the topic" in allowed.hint
    long = error_report(
        kafka, "The transaction timeout is larger than the maximum value allowed by the broker", "transaction"
    )
    assert "does not allow transactions of 300 s" in long.message


def test_expired_messages_may_exceed_the_limits_of_their_topic() -> None:
    message = "Expiring 2 record(s) for sums-0:120001 ms has passed since batch creation"
    assert "'kafka.batch.size'" in error_report(f"{KAFKA}TimeoutException", message, "sent").hint
    cause = run_told(message, f"{KAFKA}TimeoutException")
    assert cause.external_outage and "did not accept messages in time" in cause.message


def test_checkpoint_older_than_topic_is_refused() -> None:
    error = error_report("java.lang.IllegalStateException", "newest: 7", "opened")
    assert error.condition == "JETSQL.SINK_CHANGED"


def test_errors_contain_no_secret() -> None:
    assert "s3cr3t" not in str(error_report(f"{KAFKA}UnknownServerException", f"bad config {JAAS}"))


def test_missing_read_permission_names_the_source() -> None:
    error = error_report(f"{KAFKA}TopicAuthorizationException", step="connect", operation=KafkaOperation.READ)
    assert error.message == "Kafka b:9092 does not allow ann to read the topic sums."
    assert (error.condition, error.hint) == ("JETSQL.SOURCE_NOT_READY", "Allow READ and DESCRIBE on the topic.")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("GroupAuthorizationException", "allow ann to commit offsets of the consumer group shown. Allow READ on the g"),
        ("TopicAuthorizationException", "not allow ann to commit offsets of the topic sums. Allow READ and DESCRIBE"),
        ("UnknownMemberIdException", "The consumer group shown of Kafka b:9092 has members"),
        ("TimeoutException", "cannot be reached"),
        ("InvalidGroupIdException", "reports an error: InvalidGroupIdException: No."),
    ],
)
def test_errors_of_a_consumer_group(kind: str, words: str) -> None:
    request = KafkaRequest(KafkaOperation.COMMIT, "Kafka b:9092", "sums", CONF, "shown")
    step = "connect" if kind == "TimeoutException" else "set"
    error = explain_failure(KafkaFailure(kind, "No.", step), request)
    assert words in f"{error.message} {error.hint}"


# --- in a run of Spark's connector -----------------------------------------------------------------------------------


def run_told(message: str, innermost: str, condition: str = "") -> Cause:
    cause = Cause(message, condition, "", 3, is_retryable(condition), innermost)
    return explain_cause(cause, Trace((f"Job aborted: {message}", message), "", (innermost,)), None)


@pytest.mark.parametrize(
    ("kind", "says", "condition", "heals_itself", "hint"),
    [
        ("TimeoutException", "cannot be reached", "EXTERNAL_SYSTEM_UNAVAILABLE", True, "lose nothing"),
        ("UnknownTopicOrPartitionException", "no such topic", "EXTERNAL_SYSTEM_ERROR", True, "DROP JOB and CREATE JOB"),
        ("TopicAuthorizationException", "denies the user access", "EXTERNAL_SYSTEM_ERROR", True, "Allow READ"),
        ("SaslAuthenticationException", "credentials", "EXTERNAL_SYSTEM_ERROR", True, "kafka.sasl.jaas.config"),
        ("RecordTooLargeException", "too large", "SINK_REFUSED_ROWS", False, "max.message.bytes"),
        (
            "OffsetOutOfRangeException",
            "no longer has the next messages",
            "SOURCE_CHANGED",
            False,
            "failOnDataLoss' = 'false'",
        ),
        (
            "org.apache.kafka.clients.consumer.OffsetOutOfRangeException",
            *("no longer has the next messages", "SOURCE_CHANGED", False, "DROP JOB and CREATE JOB"),
        ),
    ],
)
def test_run_errors_are_recognized_by_their_class(
    kind: str, says: str, condition: str, heals_itself: bool, hint: str
) -> None:
    cause = run_told("what the client says", kind if "." in kind else f"{KAFKA}{kind}")
    assert says in cause.message and cause.message.endswith(": what the client says.")
    assert (cause.condition, cause.retryable, cause.batch) == (f"JETSQL.{condition}", heals_itself, 3)
    assert hint in cause.hint and cause.external_outage is (condition == "EXTERNAL_SYSTEM_UNAVAILABLE")


def test_lost_messages_are_explained_without_the_connectors_advice() -> None:
    message = (
        "Some data may have been lost because they are not available. Reason: Partitions t-0 have been deleted."
        " This could be either 1) a user error or 2) something else."
    )
    kind = "org.apache.spark.sql.kafka010.KafkaIllegalStateException"
    cause = run_told(message, kind, "KAFKA_DATA_LOSS.PARTITIONS_DELETED")
    assert cause.message == ("Kafka no longer has the next messages of the job: Partitions t-0 have been deleted.")
    assert (cause.condition, cause.retryable) == ("JETSQL.SOURCE_CHANGED", False)


@pytest.mark.parametrize("kind", ["java.util.concurrent.TimeoutException", f"{KAFKA}UnheardOfException"])
def test_other_errors_are_unchanged(kind: str) -> None:
    assert run_told("slow", kind).message == "slow"
