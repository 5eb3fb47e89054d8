"""Explain errors of Kafka's brokers and clients: one table of their messages and hints.

The same error occurs when JetSQL looks up a topic (CREATE JOB, a stalled job), when it writes a part of a batch in a
transaction, and within a run of Spark's connector, which knows neither broker nor topic. An error is identified by its
class, by Spark's condition where the connector has one, and by its message only where Kafka's client has nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from jetsql.errors import SQLSTATES, RetryableError, StatementError
from jetsql.jobs.lifecycle.step_context import as_sentence
from jetsql.jobs.model.job import Cause
from jetsql.jobs.model.redaction import redact

PREFIX: Final = "jetsql-"
"""The prefix of the transactional ids and consumer groups that jobs have at a broker."""


class KafkaOperation(Enum):
    """What a client does with a topic."""

    READ = "read"
    WRITE = "write"
    RUN = "use"
    """Reading or writing by Spark's connector, which does not report which of both."""


@dataclass(frozen=True)
class KafkaFailure:
    """An error of a broker or its client."""

    error_class: str
    """The class of the error, without its package for Kafka's own."""
    message: str
    step: str = ""
    """The step of the client that failed, such as `connect` or `commit`."""
    seconds: float = 0.0
    """How long a part of a batch had been written; 0 outside one."""
    part: str = ""
    """The name of the part of a batch that was written; empty outside one."""

    @classmethod
    def from_java(cls, report: Mapping[str, str]) -> KafkaFailure:
        """Return the failure that JetSQL's Java reports as JSON."""
        error_class, seconds = short_class_name(report["class"]), float(report.get("seconds", 0.0))
        return cls(error_class, str(report["message"]), report["step"], seconds, report.get("part", ""))


@dataclass(frozen=True)
class KafkaRequest:
    """The request that failed, as far as it is known."""

    operation: KafkaOperation
    server: str = "Kafka"
    """The cluster, as messages name it."""
    topic: str = "of the job"
    """The topic, as messages name it."""
    conf: Mapping[str, str] | None = None
    """The client's settings."""

    @property
    def user(self) -> str:
        """The user that the client logs in as."""
        found = re.search(r"username\s*=\s*[\"']?([^\"';\s]+)", (self.conf or {}).get("sasl.jaas.config", ""))
        return found[1] if found else "the user"

    @property
    def transaction_seconds(self) -> float:
        """The seconds that a transaction may take."""
        return int((self.conf or {}).get("transaction.timeout.ms", "60000")) / 1000


@dataclass(frozen=True)
class _Explanation:
    """The condition, message and hint for one kind of error.

    Placeholders in the texts: server, topic, user, verb, rights, limit (of a transaction), said, part, seconds, kind.
    """

    condition: str
    """One of `errors.SQLSTATES`, or `_NOT_READY`."""
    message: str
    hint: str = ""
    retryable: bool = True


_PACKAGES: Final = (
    "org.apache.kafka.common.errors.",
    "org.apache.kafka.common.config.",
    "org.apache.kafka.common.",
    "org.apache.kafka.clients.consumer.",
)
_NOT_READY: Final = ""  # stands for the condition in _CONDITIONS of the operation
_CONDITIONS: Final = {
    KafkaOperation.READ: "SOURCE_NOT_READY",
    KafkaOperation.WRITE: "SINK_NOT_READY",
    KafkaOperation.RUN: "EXTERNAL_SYSTEM_ERROR",
}
_RIGHTS: Final = {
    KafkaOperation.READ: "READ and DESCRIBE on it",
    KafkaOperation.WRITE: "WRITE and DESCRIBE on it",
    KafkaOperation.RUN: "READ and DESCRIBE on a topic that is read, WRITE and DESCRIBE on one that is written",
}
_AT_LEAST: Final = "OPTIONS ('processingGuarantee' = 'atLeastOnce') needs no transactions."
_UNKNOWN: Final = "UnknownTopicOrPartitionException"

_AWAY: Final = _Explanation(
    "EXTERNAL_SYSTEM_UNAVAILABLE",
    "{server} can't be reached: {said}",
    "See that it runs and can be reached from here. Running jobs wait for it and lose nothing.",
)
_NO_TOPIC: Final = _Explanation(_NOT_READY, "{server} has no topic {topic}.", "Create it there first.")
_TOPIC_GONE: Final = _Explanation(
    _NOT_READY,
    "{server} has no such topic, or not all of its partitions: {said}",
    "If it was deleted and made anew, a job that reads it begins there after DROP JOB and CREATE JOB.",
)
_NOT_ALLOWED: Final = _Explanation(
    _NOT_READY, "{server} doesn't let {user} {verb} the topic {topic}.", "Allow {rights} there."
)
_NOT_ALLOWED_IN_RUN: Final = replace(_NOT_ALLOWED, message="{server} doesn't let {user} do that: {said}")
_NO_GROUP: Final = _Explanation(
    _NOT_READY,
    "{server} doesn't let {user} read as one of the consumer groups of Spark: {said}",
    "Allow READ on groups with the prefix 'spark-kafka-source-' there.",
)
_NO_NOTES: Final = _Explanation(
    _NOT_READY,
    "{server} doesn't let {user} note in a consumer group which batches are in.",
    f"Allow READ (and DELETE, to clean up) on groups with the prefix '{PREFIX}' there. Or: {_AT_LEAST}",
)
_NOT_ACCEPTED: Final = _Explanation(
    _NOT_READY,
    "{server} does not accept the credentials of {user}: {said}",
    "See to 'kafka.sasl.jaas.config', 'kafka.sasl.mechanism' and 'kafka.security.protocol' in the table's OPTIONS.",
)
_TOO_LARGE: Final = _Explanation(
    "SINK_REFUSED_ROWS",
    "A message is too large for the topic {topic} of {server}: {said}",
    "Raise 'kafka.max.request.size' in the table's OPTIONS and max.message.bytes of the topic, or leave such rows out"
    " with WHERE.",
    retryable=False,
)
_LOST: Final = _Explanation(
    "SOURCE_CHANGED",
    "Messages that are the next to be read are not in Kafka any more: {said}",
    "They were deleted before the job came to them, by the topic's retention for example. ALTER JOB ... OPTIONS"
    " ('spark.jetsql.kafka.failOnDataLoss' = 'false') RESUME goes on without them. If the topic was deleted and made"
    " anew, DROP JOB and CREATE JOB begin with the new one.",
    retryable=False,
)
_BY_KIND: Final = {
    "TimeoutException": _AWAY,
    "DisconnectException": _AWAY,
    "NetworkException": _AWAY,
    "BrokerNotAvailableException": _AWAY,
    "CoordinatorNotAvailableException": _AWAY,
    "CoordinatorLoadInProgressException": _AWAY,
    _UNKNOWN: _NO_TOPIC,
    "UnknownTopicIdException": _NO_TOPIC,
    "InvalidTopicException": replace(_NO_TOPIC, message="{server} has no topic {topic}: {said}"),
    "TopicAuthorizationException": _NOT_ALLOWED,
    "ClusterAuthorizationException": _NOT_ALLOWED,
    "GroupAuthorizationException": _NO_GROUP,
    "TransactionalIdAuthorizationException": _Explanation(
        _NOT_READY,
        "{server} doesn't let {user} write in transactions.",
        f"Allow WRITE and DESCRIBE on transactional ids with the prefix '{PREFIX}' there. Or: {_AT_LEAST}",
    ),
    "UnsupportedVersionException": _Explanation(
        _NOT_READY, "{server} has no transactions, so nothing can be written exactly once: {said}", _AT_LEAST
    ),
    "RecordTooLargeException": _TOO_LARGE,
    "RecordBatchTooLargeException": _TOO_LARGE,
    "InvalidRecordException": _Explanation(
        "SINK_REFUSED_ROWS",
        "The topic {topic} of {server} does not take a row of the batch: {said}",
        "A topic that is compacted takes no rows without a key.",
    ),
    "OffsetOutOfRangeException": _LOST,
}
# Other meanings and messages of the same classes in errors of Spark's connector.
_IN_RUNS: Final = {
    _UNKNOWN: _TOPIC_GONE,
    "UnknownTopicIdException": _TOPIC_GONE,
    "TopicAuthorizationException": _NOT_ALLOWED_IN_RUN,
    "ClusterAuthorizationException": _NOT_ALLOWED_IN_RUN,
    "RecordTooLargeException": replace(_TOO_LARGE, message="A message is too large for its topic: {said}"),
}
_IN_PARTS: Final = {
    "GroupAuthorizationException": _NO_NOTES,
    "RecordTooLargeException": replace(
        _TOO_LARGE, message=f"{_TOO_LARGE.message} Nothing of its part of the batch was written."
    ),
}
# Kafka's client identifies these by their message only.
_BY_MESSAGE: Final = {
    "TxnOffsetCommitResponse: Topic authorization failed": _Explanation(
        _NOT_READY,
        "{server} doesn't let {user} note which batches are in the topic {topic}.",
        f"Allow READ on it there, which that takes. Or: {_AT_LEAST}",
    ),
    "since batch creation": _Explanation(
        "EXTERNAL_SYSTEM_UNAVAILABLE",
        "{server} did not take messages in time: {said}",
        "See that it runs and can be reached from here; jobs wait for it and lose nothing. If it runs, its topic may"
        " take smaller batches only: set 'kafka.batch.size' in the table's OPTIONS to its max.message.bytes.",
    ),
    "transaction timeout is larger": _Explanation(
        _NOT_READY,
        "{server} allows no transaction as long as {limit}, which 'kafka.transaction.timeout.ms' asks for.",
        "Set it lower in the table's OPTIONS, or raise transaction.max.timeout.ms of the brokers.",
    ),
}
# And these our own `TransactionalPartWriter.java`.
_OURS: Final = {
    "newest: ": _Explanation(
        "SINK_CHANGED",
        "The topic {topic} of {server} has later batches of this job already ({said}), so the job's checkpoint is an"
        " older copy. Nothing of the part {part} was written.",
        "Bring back the newest checkpoint, or drop the job and create it again.",
    ),
    "no topic": _Explanation(
        "SINK_REFUSED_ROWS",
        "A row of the batch names no topic, and the table has none. Nothing of its part of the batch was written.",
        "Give each row a topic, or the table the option 'topic'.",
    ),
    "no key": _Explanation(
        "SINK_REFUSED_ROWS",
        "A row of the batch has no key, so there is nothing to update it by in the topic {topic} of {server}. Nothing"
        " of its part of the batch was written.",
        "Leave such rows out with WHERE, or give them a value with coalesce.",
    ),
}
_FENCED: Final = ("ProducerFencedException", "InvalidProducerEpochException", "InvalidPidMappingException")
_TOO_LONG: Final = _Explanation(
    "EXTERNAL_SYSTEM_ERROR",
    "Writing a part of the batch ({part}) took {seconds:.0f} s. {server} undoes transactions that are open for longer"
    " than {limit}, so nothing of this part is in.",
    "Make batches smaller ('maxOffsetsPerTrigger' of the source), or raise 'kafka.transaction.timeout.ms' in the"
    " table's OPTIONS (the brokers allow up to transaction.max.timeout.ms, 15 minutes by default).",
)
_TAKEN_OVER: Final = _Explanation(
    "DELIVERY_INTERRUPTED",
    "A part of the batch ({part}) was not written: another attempt at it, by another task or run of the job, took its"
    " place.",
    "It is tried again.",
)
_BEGINNING: Final = ("transaction", "mark", "open")
_NO_TRANSACTION: Final = _Explanation(
    "EXTERNAL_SYSTEM_UNAVAILABLE",
    "{server} begins no transaction: {said}",
    "See that it runs. With fewer brokers than the 3 copies that Kafka keeps by default, set"
    " transaction.state.log.replication.factor and transaction.state.log.min.isr of the brokers to their number.",
)
_WRONG_OPTION: Final = _Explanation(
    _NOT_READY, "{server} can't be reached with the table's OPTIONS: {said}", "There, such names begin with 'kafka.'."
)
_NO_SUCH_VALUE: Final = _Explanation(
    "INVALID_OPTION_VALUE",
    "Kafka's client does not take the OPTIONS of a table: {said}",
    "There, this name begins with 'kafka.'. DROP TABLE and CREATE TABLE give it another value.",
    retryable=False,
)
_OTHER: Final = _Explanation("EXTERNAL_SYSTEM_ERROR", "{server} reports an error: {kind}: {said}")


def explain_failure(failure: KafkaFailure, request: KafkaRequest) -> StatementError:
    """Return the error to raise for a failure, without any secret of the client's settings."""
    explanation = _find_explanation(failure, request) or (_AWAY if failure.step == "connect" else _OTHER)
    message, where = _fill(explanation.message, failure, request), f"{request.server}, topic {request.topic}"
    kind = RetryableError if explanation.condition == _AWAY.condition else StatementError
    return kind(_condition(explanation, request), message, hint=_hint(explanation, request), where=where)


def explain_run_failure(cause: Cause, innermost: str, messages: Sequence[str]) -> Cause | None:
    """Return the cause with a message about Kafka, or None when Kafka is not the reason.

    innermost: the class of the innermost error. messages: the whole messages of all errors in the chain.
    """
    request = KafkaRequest(KafkaOperation.RUN)
    failure = KafkaFailure(short_class_name(innermost), _reason(cause.message, messages))
    lost = cause.condition.startswith("KAFKA_DATA_LOSS")
    explanation = _LOST if lost else _find_explanation(failure, request) if innermost != failure.error_class else None
    if explanation is None:
        return None
    condition = _condition(explanation, request)
    return replace(
        cause,
        condition=f"JETSQL.{condition}",
        sqlstate=SQLSTATES[condition],
        retryable=explanation.retryable,
        external_outage=explanation.condition == _AWAY.condition,
        message=_fill(explanation.message, failure, request),
        hint=_hint(explanation, request),
    )


def short_class_name(name: str) -> str:
    """Return the name of a class of Kafka's without its package, and other names unchanged."""
    return next((name.removeprefix(package) for package in _PACKAGES if name.startswith(package)), name)


def _find_explanation(failure: KafkaFailure, request: KafkaRequest) -> _Explanation | None:
    """Return the explanation of a failure, or None for an unknown error."""
    kind = failure.error_class
    by_message = {**_BY_MESSAGE, **_OURS} if kind == "java.lang.IllegalStateException" else _BY_MESSAGE
    for text, explanation in by_message.items():
        if text in failure.message:
            return explanation
    if kind in _FENCED and request.operation is KafkaOperation.WRITE:
        return _TOO_LONG if failure.seconds >= request.transaction_seconds else _TAKEN_OVER
    if kind == "TimeoutException" and failure.step in _BEGINNING:
        return _NO_TRANSACTION
    if kind == "ConfigException" and "bootstrap" not in failure.message:
        return _NO_SUCH_VALUE if request.operation is KafkaOperation.RUN else _WRONG_OPTION
    if "Authentication" in kind:
        return _NOT_ACCEPTED
    special = {KafkaOperation.RUN: _IN_RUNS, KafkaOperation.WRITE: _IN_PARTS}.get(request.operation, {})
    return special.get(kind) or _BY_KIND.get(kind)


def _condition(explanation: _Explanation, request: KafkaRequest) -> str:
    return explanation.condition or _CONDITIONS[request.operation]


def _hint(explanation: _Explanation, request: KafkaRequest) -> str:
    return explanation.hint.replace("{rights}", _RIGHTS[request.operation])


def _fill(message: str, failure: KafkaFailure, request: KafkaRequest) -> str:
    text = message.format(
        server=request.server,
        topic=request.topic,
        user=request.user,
        verb=request.operation.value,
        limit=f"{request.transaction_seconds:g} s",
        said=_detail(failure.message),
        part=failure.part,
        seconds=failure.seconds,
        kind=failure.error_class.rpartition(".")[2],
    )
    return redact(text, request.conf or {})


def _detail(message: str) -> str:
    return "no answer." if message in ("null", "") else as_sentence(" ".join(message.split()))


def _reason(message: str, messages: Sequence[str]) -> str:
    """Return the reason without Spark's general advice on lost data, unless there is nothing else: the hint has it."""
    found = (text.partition("Reason:")[2].partition("SQLSTATE")[0].strip() for text in (message, *messages))
    return next(filter(None, found), message).partition(" This could be either 1)")[0]
