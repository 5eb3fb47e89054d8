"""Explain errors of Kafka's brokers and clients: one table of their messages and hints.

The same error occurs when JetSQL looks up a topic (CREATE JOB, a stalled job), when it writes a part of a batch in a
transaction, and within a run of Spark's connector, whose errors name neither broker nor topic. An error is identified
by its class, by Spark's condition where the connector sets one, and by its message only as a last resort.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

from jetsql.errors import SQLSTATES, RetryableError, StatementError
from jetsql.jobs.lifecycle.step_context import as_sentence
from jetsql.jobs.model.job import Cause
from jetsql.jobs.model.job_options import OWN_GROUPS
from jetsql.jobs.model.redaction import redact


class KafkaOperation(Enum):
    """The operation of a client on a topic."""

    READ = "read"
    WRITE = "write"
    COMMIT = "commit offsets of"
    """Setting the offsets of a consumer group."""
    RUN = "use"
    """Reading or writing by Spark's connector, whose errors do not say which of the two."""


@dataclass(frozen=True)
class KafkaFailure:
    """An error of a broker or its client."""

    error_class: str
    """The class of the error, without its package for Kafka's own."""
    message: str
    step: str = ""
    """The step of the client that failed, such as `connect` or `commit`."""
    seconds: float = 0.0
    """The time that writing the part of a batch took; 0 when no part was written."""
    paused: float = 0.0
    """The part of `seconds` in which the process did not run."""
    part: str = ""
    """The name of the part of a batch that was written; empty when no part was written."""

    @classmethod
    def from_java(cls, report: Mapping[str, Any]) -> KafkaFailure:
        """Return the failure that JetSQL's Java code reports as JSON."""
        error_class, step, part = short_class_name(report["class"]), report["step"], report.get("part", "")
        seconds, paused = (float(report.get(name, 0.0)) for name in ("seconds", "paused"))
        return cls(error_class, str(report["message"]), step, seconds, paused, part)


@dataclass(frozen=True)
class KafkaRequest:
    """The known properties of a failed request."""

    operation: KafkaOperation
    """The client's operation on the topic."""
    server: str = "Kafka"
    """The cluster, as messages name it."""
    topic: str = "of the job"
    """The topic, as messages name it."""
    conf: Mapping[str, str] | None = None
    """The client's settings."""
    group: str = ""
    """The consumer group whose offsets are set; empty for other requests."""

    @property
    def user(self) -> str:
        """Return the user that the client logs in as, or `the user` when the settings name none."""
        match = re.search(r"username\s*=\s*[\"']?([^\"';\s]+)", (self.conf or {}).get("sasl.jaas.config", ""))
        return match[1] if match else "the user"

    @property
    def transaction_seconds(self) -> float:
        """Return the seconds that a transaction may take."""
        return int((self.conf or {}).get("transaction.timeout.ms", "60000")) / 1000


@dataclass(frozen=True)
class _Explanation:
    """The condition, message and hint for one kind of error.

    Placeholders in the message: server, topic, group, user, verb, limit (of a transaction), said, part, seconds,
    paused, kind.
    Placeholder in the hint: rights.
    """

    condition: str
    """A key of `errors.SQLSTATES`, or `_NOT_READY`."""
    message: str
    """The text with placeholders."""
    hint: str = ""
    """The text with placeholders; empty for none."""
    retryable: bool = True
    """True if a retry can succeed without the user."""
    is_pause: bool = False
    """True if the process did not run for a while."""

    @property
    def is_outage(self) -> bool:
        """Return whether the error ends without the user and without a change of the job."""
        return self.is_pause or self.condition == "EXTERNAL_SYSTEM_UNAVAILABLE"


_PACKAGES: Final = (
    "org.apache.kafka.common.errors.",
    "org.apache.kafka.common.config.",
    "org.apache.kafka.common.",
    "org.apache.kafka.clients.consumer.",
)
_NOT_READY: Final = ""  # replaced by the operation's condition in _CONDITIONS
_CONDITIONS: Final = {
    KafkaOperation.READ: "SOURCE_NOT_READY",
    KafkaOperation.WRITE: "SINK_NOT_READY",
    KafkaOperation.COMMIT: "EXTERNAL_SYSTEM_ERROR",
    KafkaOperation.RUN: "EXTERNAL_SYSTEM_ERROR",
}
_RIGHTS: Final = {
    KafkaOperation.READ: "READ and DESCRIBE on the topic",
    KafkaOperation.WRITE: "WRITE and DESCRIBE on the topic",
    KafkaOperation.COMMIT: "READ and DESCRIBE on the topic",
    KafkaOperation.RUN: "READ and DESCRIBE on each topic that is read, WRITE and DESCRIBE on each that is written",
}
_AT_LEAST: Final = "OPTIONS ('processingGuarantee' = 'atLeastOnce') needs no transactions."
_UNKNOWN: Final = "UnknownTopicOrPartitionException"

# Kafka's retriable errors of brokers that are away, start, have no leader, or cannot write to their disks.
_AWAY: Final = (
    "TimeoutException",
    "DisconnectException",
    "NetworkException",
    "BrokerNotAvailableException",
    "BrokerIdNotRegisteredException",
    "ConcurrentTransactionsException",
    "CoordinatorLoadInProgressException",
    "CoordinatorNotAvailableException",
    "EligibleLeadersNotAvailableException",
    "FencedLeaderEpochException",
    "KafkaStorageException",
    "LeaderNotAvailableException",
    "ListenerNotFoundException",
    "NotControllerException",
    "NotCoordinatorException",
    "NotEnoughReplicasAfterAppendException",
    "NotEnoughReplicasException",
    "NotLeaderOrFollowerException",
    "OffsetNotAvailableException",
    "PreferredLeaderNotAvailableException",
    "ReplicaNotAvailableException",
    "RetriableCommitFailedException",
    "ThrottlingQuotaExceededException",
    "UnknownLeaderEpochException",
    "UnstableOffsetCommitException",
)

_UNREACHABLE: Final = _Explanation(
    "EXTERNAL_SYSTEM_UNAVAILABLE",
    "{server} cannot be reached: {said}",
    "Check that it runs and that the engine can reach it. Running jobs wait for it and lose nothing.",
)
_NO_TOPIC: Final = _Explanation(_NOT_READY, "{server} has no topic {topic}.", "Create the topic first.")
_TOPIC_GONE: Final = _Explanation(
    _NOT_READY,
    "{server} has no such topic, or the topic lacks partitions: {said}",
    "If the topic was deleted and created again, run DROP JOB and CREATE JOB for each job that reads it.",
)
_NOT_ALLOWED: Final = _Explanation(
    _NOT_READY, "{server} does not allow {user} to {verb} the topic {topic}.", "Allow {rights}."
)
_NOT_ALLOWED_IN_RUN: Final = replace(_NOT_ALLOWED, message="{server} denies {user} access: {said}")
_NO_GROUP: Final = _Explanation(
    _NOT_READY,
    "{server} does not allow {user} to read with Spark's consumer groups: {said}",
    "Allow READ on groups with the prefix 'spark-kafka-source-'.",
)
_NO_COMMITTED_BATCHES: Final = _Explanation(
    _NOT_READY,
    "{server} does not allow {user} to store the committed batches in a consumer group.",
    f"Allow READ (and DELETE, to clean up) on groups with the prefix '{OWN_GROUPS}'. Alternatively, {_AT_LEAST}",
)
_NOT_FETCHED: Final = re.compile(r"Cannot fetch record for offset \d+ in \d+ milliseconds")
_NO_TLS: Final = replace(
    _UNREACHABLE,
    hint="Check the certificates of the brokers and of the client, and that they have not expired."
    " Running jobs wait and lose nothing.",
)
_NOT_ACCEPTED: Final = _Explanation(
    _NOT_READY,
    "{server} does not accept the credentials of {user}: {said}",
    "Check 'kafka.sasl.jaas.config', 'kafka.sasl.mechanism' and 'kafka.security.protocol' in the table's OPTIONS.",
)
_TOO_LARGE: Final = _Explanation(
    "SINK_REFUSED_ROWS",
    "A message is too large for the topic {topic} of {server}: {said}",
    "Raise 'kafka.max.request.size' in the table's OPTIONS and max.message.bytes of the topic, or exclude these rows"
    " with WHERE.",
    retryable=False,
)
_LOST: Final = _Explanation(
    "SOURCE_CHANGED",
    "Kafka no longer has the next messages of the job: {said}",
    "They were deleted before the job read them, for example by the topic's retention. ALTER JOB ... OPTIONS"
    " ('spark.jetsql.kafka.failOnDataLoss' = 'false') RESUME continues without them. If the topic was deleted and"
    " created again, run DROP JOB and CREATE JOB to read the new topic.",
    retryable=False,
)
_BY_KIND: Final = {
    **dict.fromkeys(_AWAY, _UNREACHABLE),
    "SslAuthenticationException": _NO_TLS,
    _UNKNOWN: _NO_TOPIC,
    "UnknownTopicIdException": _NO_TOPIC,
    "InvalidTopicException": replace(_NO_TOPIC, message="{server} has no topic {topic}: {said}"),
    "TopicAuthorizationException": _NOT_ALLOWED,
    "ClusterAuthorizationException": _NOT_ALLOWED,
    "GroupAuthorizationException": _NO_GROUP,
    "TransactionalIdAuthorizationException": _Explanation(
        _NOT_READY,
        "{server} does not allow {user} to write in transactions.",
        f"Allow WRITE and DESCRIBE on transactional ids with the prefix '{OWN_GROUPS}'. Alternatively, {_AT_LEAST}",
    ),
    "UnsupportedVersionException": _Explanation(
        _NOT_READY, "{server} has no transactions, so jobs cannot write to it exactly once: {said}", _AT_LEAST
    ),
    "RecordTooLargeException": _TOO_LARGE,
    "RecordBatchTooLargeException": _TOO_LARGE,
    "InvalidRecordException": _Explanation(
        "SINK_REFUSED_ROWS",
        "The topic {topic} of {server} rejects a row of the batch: {said}",
        "Give each row a key if the topic is compacted.",
    ),
    "OffsetOutOfRangeException": _LOST,
}
# In errors of Spark's connector, these classes have other meanings and messages.
_IN_RUNS: Final = {
    _UNKNOWN: _TOPIC_GONE,
    "UnknownTopicIdException": _TOPIC_GONE,
    "TopicAuthorizationException": _NOT_ALLOWED_IN_RUN,
    "ClusterAuthorizationException": _NOT_ALLOWED_IN_RUN,
    "RecordTooLargeException": replace(_TOO_LARGE, message="A message is too large for its topic: {said}"),
}
_IN_PARTS: Final = {
    "GroupAuthorizationException": _NO_COMMITTED_BATCHES,
    "RecordTooLargeException": replace(
        _TOO_LARGE, message=f"{_TOO_LARGE.message} Nothing of its part of the batch was written."
    ),
}
_HAS_MEMBERS: Final = _Explanation(
    _NOT_READY,
    "The consumer group {group} of {server} has members, whose offsets are those of the group.",
    "Stop these consumers, or give the job a group of its own.",
)
_IN_GROUPS: Final = {
    "GroupAuthorizationException": _Explanation(
        _NOT_READY,
        "{server} does not allow {user} to commit offsets of the consumer group {group}.",
        "Allow READ on the group.",
    ),
    **dict.fromkeys(
        ("UnknownMemberIdException", "StaleMemberEpochException", "IllegalGenerationException"), _HAS_MEMBERS
    ),
}
# Kafka's client distinguishes these errors only by their message.
_BY_MESSAGE: Final = {
    "TxnOffsetCommitResponse: Topic authorization failed": _Explanation(
        _NOT_READY,
        "{server} does not allow {user} to store the committed batches of the topic {topic}.",
        f"Allow READ on the topic, which Kafka requires for this. Alternatively, {_AT_LEAST}",
    ),
    "since batch creation": _Explanation(
        "EXTERNAL_SYSTEM_UNAVAILABLE",
        "{server} did not accept messages in time: {said}",
        "Check that it runs and that the engine can reach it; jobs wait for it and lose nothing. If it runs, the topic"
        " may accept only smaller batches: set 'kafka.batch.size' in the table's OPTIONS to its max.message.bytes.",
    ),
    "transaction timeout is larger": _Explanation(
        _NOT_READY,
        "{server} does not allow transactions of {limit}, the value of 'kafka.transaction.timeout.ms'.",
        "Lower the value in the table's OPTIONS, or raise transaction.max.timeout.ms of the brokers.",
    ),
}
# `TransactionalPartWriter.java` raises these with the class IllegalStateException.
_PART_WRITER_ERRORS: Final = {
    "newest: ": _Explanation(
        "SINK_CHANGED",
        "The topic {topic} of {server} already has later batches of this job ({said}), so the job's checkpoint is an"
        " older copy. Nothing of the part {part} was written.",
        "Restore the newest checkpoint, or run DROP JOB and CREATE JOB.",
    ),
    "no topic": _Explanation(
        "SINK_REFUSED_ROWS",
        "A row of the batch has no topic, and the table has no option 'topic'. Nothing of its part of the batch was"
        " written.",
        "Give each row a topic, or set the table's option 'topic'.",
    ),
    "no key": _Explanation(
        "SINK_REFUSED_ROWS",
        "A row of the batch has no key, so it cannot update a row in the topic {topic} of {server}. Nothing of its part"
        " of the batch was written.",
        "Exclude rows without a key with WHERE, or give them a key with coalesce.",
    ),
}
_FENCED: Final = ("ProducerFencedException", "InvalidProducerEpochException", "InvalidPidMappingException")
_TOO_LONG: Final = _Explanation(
    "EXTERNAL_SYSTEM_ERROR",
    "Writing a part of the batch ({part}) took {seconds:.0f} s. {server} aborts transactions that are open for longer"
    " than {limit}, so nothing of this part was written.",
    "Make batches smaller ('maxOffsetsPerTrigger' of the source), or raise 'kafka.transaction.timeout.ms' in the"
    " table's OPTIONS (the brokers allow up to transaction.max.timeout.ms, 15 minutes by default).",
)
_PAUSED: Final = _Explanation(
    "DELIVERY_INTERRUPTED",
    "The engine or an executor was paused for {paused:.0f} s while it wrote a part of the batch ({part}). {server}"
    " aborts transactions that are open for longer than {limit}, so nothing of this part was written.",
    "JetSQL retries the batch.",
    is_pause=True,
)
_SUPERSEDED: Final = _Explanation(
    "DELIVERY_INTERRUPTED",
    "A part of the batch ({part}) was not written, because another attempt by another task or run of the job replaced"
    " this one.",
    "JetSQL retries the batch.",
)
_TRANSACTION_STEPS: Final = ("transaction", "mark", "open")
_NO_TRANSACTION: Final = _Explanation(
    "EXTERNAL_SYSTEM_UNAVAILABLE",
    "{server} cannot begin a transaction: {said}",
    "Check that it runs. If the cluster has fewer than 3 brokers, Kafka's default replication factor, set"
    " transaction.state.log.replication.factor and transaction.state.log.min.isr to the number of brokers.",
)
_INVALID_OPTION: Final = _Explanation(
    _NOT_READY,
    "{server} cannot be reached with the table's OPTIONS: {said}",
    "In OPTIONS, names of Kafka's settings begin with 'kafka.'.",
)
_INVALID_VALUE: Final = _Explanation(
    "INVALID_OPTION_VALUE",
    "Kafka's client rejects the OPTIONS of a table: {said}",
    "Change the value with DROP TABLE and CREATE TABLE. In OPTIONS, the name begins with 'kafka.'.",
    retryable=False,
)
_OTHER: Final = _Explanation("EXTERNAL_SYSTEM_ERROR", "{server} reports an error: {kind}: {said}")


def explain_failure(failure: KafkaFailure, request: KafkaRequest) -> StatementError:
    """Return the error to raise for a failure. Its message has no secret of the client's settings."""
    explanation = _find_explanation(failure, request) or (_UNREACHABLE if failure.step == "connect" else _OTHER)
    message, where = _fill(explanation.message, failure, request), f"{request.server}, topic {request.topic}"
    kind = RetryableError if explanation.is_outage else StatementError
    return kind(_condition(explanation, request), message, hint=_hint(explanation, request), where=where)


def explain_run_failure(cause: Cause, classes: Sequence[str], messages: Sequence[str]) -> Cause | None:
    """Return the cause of a failed run with a message about Kafka, or None when the error is not from Kafka.

    classes: the classes of all errors in the chain, the outermost first.
    messages: the complete messages of all errors in the chain.
    """
    request, reason = KafkaRequest(KafkaOperation.RUN), _reason(cause.message, messages)
    # The innermost error may be one of Java, such as that of an expired certificate.
    kafka = [short for name in reversed(classes) if (short := short_class_name(name)) != name]
    failure = KafkaFailure(kafka[0] if kafka else "", reason)
    if cause.condition.startswith("KAFKA_DATA_LOSS"):
        explanation: _Explanation | None = _LOST
    elif _NOT_FETCHED.search(reason):  # with a class of Java
        explanation = _UNREACHABLE
    else:
        explanation = next(
            filter(None, (_find_explanation(replace(failure, error_class=each), request) for each in kafka)), None
        )
    if explanation is None:
        return None
    condition = _condition(explanation, request)
    return replace(
        cause,
        condition=f"JETSQL.{condition}",
        sqlstate=SQLSTATES[condition],
        retryable=explanation.retryable,
        external_outage=explanation.is_outage,
        message=_fill(explanation.message, failure, request),
        hint=_hint(explanation, request),
    )


def short_class_name(name: str) -> str:
    """Return the name of a Kafka class without its package. Names of other classes are unchanged."""
    return next((name.removeprefix(package) for package in _PACKAGES if name.startswith(package)), name)


def _find_explanation(failure: KafkaFailure, request: KafkaRequest) -> _Explanation | None:
    """Return the explanation of a failure, or None for an unknown error."""
    kind = failure.error_class
    by_message = {**_BY_MESSAGE, **_PART_WRITER_ERRORS} if kind == "java.lang.IllegalStateException" else _BY_MESSAGE
    for text, explanation in by_message.items():
        if text in failure.message:
            return explanation
    if kind in _FENCED and request.operation is KafkaOperation.WRITE:
        if failure.seconds < request.transaction_seconds:
            return _SUPERSEDED
        return _TOO_LONG if failure.seconds - failure.paused >= request.transaction_seconds else _PAUSED
    if kind == "TimeoutException" and failure.step in _TRANSACTION_STEPS:
        return _NO_TRANSACTION
    if kind == "ConfigException" and "bootstrap" not in failure.message:
        return _INVALID_VALUE if request.operation is KafkaOperation.RUN else _INVALID_OPTION
    if kind == "ConfigException" and "No resolvable bootstrap" in failure.message:
        return _UNREACHABLE
    if "Authentication" in kind and kind not in _BY_KIND:
        return _NOT_ACCEPTED
    tables = {KafkaOperation.RUN: _IN_RUNS, KafkaOperation.WRITE: _IN_PARTS, KafkaOperation.COMMIT: _IN_GROUPS}
    special = tables.get(request.operation, {})
    return special.get(kind) or _BY_KIND.get(kind)


def _condition(explanation: _Explanation, request: KafkaRequest) -> str:
    return explanation.condition or _CONDITIONS[request.operation]


def _hint(explanation: _Explanation, request: KafkaRequest) -> str:
    return explanation.hint.replace("{rights}", _RIGHTS[request.operation])


def _fill(message: str, failure: KafkaFailure, request: KafkaRequest) -> str:
    text = message.format(
        server=request.server,
        topic=request.topic,
        group=request.group,
        user=request.user,
        verb=request.operation.value,
        limit=f"{request.transaction_seconds:g} s",
        said=_detail(failure.message),
        part=failure.part,
        seconds=failure.seconds,
        paused=failure.paused,
        kind=failure.error_class.rpartition(".")[2],
    )
    return redact(text, request.conf or {})


def _detail(message: str) -> str:
    return "no answer." if message in ("null", "") else as_sentence(" ".join(message.split()))


def _reason(message: str, messages: Sequence[str]) -> str:
    """Return the reason in the messages, without Spark's general advice on lost data, which the hint replaces."""
    reasons = (text.partition("Reason:")[2].partition("SQLSTATE")[0].strip() for text in (message, *messages))
    return next(filter(None, reasons), message).partition(" This could be either 1)")[0]
