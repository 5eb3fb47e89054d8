"""Errors of Kafka's brokers and clients in words: what is the matter, and what to do about it. One table of them.

The same error is met when a topic is asked for (CREATE JOB, a job that hears nothing), when a part of a batch is
written in a transaction, and within a run of Spark's connector, which knows neither broker nor topic. It is told by its
class, by Spark's condition where the connector has given it one, and by words only where Kafka's client has nothing
else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from jetsql.errors import SQLSTATES, RetryableError, StatementError
from jetsql.jobs.lifecycle.step_context import sentence
from jetsql.jobs.model.job import Cause
from jetsql.jobs.model.redaction import hide

PREFIX: Final = "jetsql-"
"""How the names of transactional ids and consumer groups begin that jobs have at a broker."""


class KafkaOperation(Enum):
    """What a client was about. RUN: some work of Spark's connector, which doesn't say what."""

    READ = "read"
    WRITE = "write"
    RUN = "use"


@dataclass(frozen=True)
class KafkaFailure:
    """What a broker or its client said. kind: the error's class, short for Kafka's own. step: of the conversation.
    part, seconds: which part of a batch it was, and for how long it had been written; empty and 0 outside one."""

    kind: str
    message: str
    step: str = ""
    seconds: float = 0.0
    part: str = ""

    @classmethod
    def of(cls, told: Mapping[str, str]) -> KafkaFailure:
        """Of what our Java answers."""
        kind, seconds = short_kind(told["class"]), float(told.get("seconds", 0.0))
        return cls(kind, str(told["message"]), told["step"], seconds, told.get("part", ""))


@dataclass(frozen=True)
class At:
    """Where it happened, as far as that is known. server, topic: in words. conf: the client's settings."""

    doing: KafkaOperation
    server: str = "Kafka"
    topic: str = "of the job"
    conf: Mapping[str, str] | None = None

    @property
    def user(self) -> str:
        """As whom the client logs in."""
        found = re.search(r"username\s*=\s*[\"']?([^\"';\s]+)", (self.conf or {}).get("sasl.jaas.config", ""))
        return found[1] if found else "the user"

    @property
    def limit(self) -> float:
        """Seconds that a transaction may take."""
        return int((self.conf or {}).get("transaction.timeout.ms", "60000")) / 1000


@dataclass(frozen=True)
class _Words:
    """condition: of `errors.SQLSTATES`, or `_NOT_READY`. heals: whether it may by itself. Placeholders of the texts:
    server, topic, user, verb, rights, limit (of a transaction), said, part, seconds, kind.
    """

    condition: str
    message: str
    hint: str = ""
    heals: bool = True


_PACKAGES: Final = (
    "org.apache.kafka.common.errors.",
    "org.apache.kafka.common.config.",
    "org.apache.kafka.common.",
    "org.apache.kafka.clients.consumer.",
)
_NOT_READY: Final = ""  # whose turn it is to be made ready depends on what was done
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

_AWAY: Final = _Words(
    "EXTERNAL_SYSTEM_UNAVAILABLE",
    "{server} can't be reached: {said}",
    "See that it runs and can be reached from here. Running jobs wait for it and lose nothing.",
)
_NO_TOPIC: Final = _Words(_NOT_READY, "{server} has no topic {topic}.", "Create it there first.")
_TOPIC_GONE: Final = _Words(
    _NOT_READY,
    "{server} has no such topic, or not all of its partitions: {said}",
    "If it was deleted and made anew, a job that reads it begins there after DROP JOB and CREATE JOB.",
)
_NOT_ALLOWED: Final = _Words(
    _NOT_READY, "{server} doesn't let {user} {verb} the topic {topic}.", "Allow {rights} there."
)
_NOT_ALLOWED_IN_RUN: Final = replace(_NOT_ALLOWED, message="{server} doesn't let {user} do that: {said}")
_NO_GROUP: Final = _Words(
    _NOT_READY,
    "{server} doesn't let {user} read as one of the consumer groups of Spark: {said}",
    "Allow READ on groups with the prefix 'spark-kafka-source-' there.",
)
_NO_NOTES: Final = _Words(
    _NOT_READY,
    "{server} doesn't let {user} note in a consumer group which batches are in.",
    f"Allow READ (and DELETE, to clean up) on groups with the prefix '{PREFIX}' there. Or: {_AT_LEAST}",
)
_NOT_ACCEPTED: Final = _Words(
    _NOT_READY,
    "{server} does not accept the credentials of {user}: {said}",
    "See to 'kafka.sasl.jaas.config', 'kafka.sasl.mechanism' and 'kafka.security.protocol' in the table's OPTIONS.",
)
_TOO_LARGE: Final = _Words(
    "SINK_REFUSED_ROWS",
    "A message is too large for the topic {topic} of {server}: {said}",
    "Raise 'kafka.max.request.size' in the table's OPTIONS and max.message.bytes of the topic, or leave such rows out"
    " with WHERE.",
    heals=False,
)
_LOST: Final = _Words(
    "SOURCE_CHANGED",
    "Messages that are the next to be read are not in Kafka any more: {said}",
    "They were deleted before the job came to them, by the topic's retention for example. ALTER JOB ... OPTIONS"
    " ('spark.jetsql.kafka.failOnDataLoss' = 'false') RESUME goes on without them. If the topic was deleted and made"
    " anew, DROP JOB and CREATE JOB begin with the new one.",
    heals=False,
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
    "TransactionalIdAuthorizationException": _Words(
        _NOT_READY,
        "{server} doesn't let {user} write in transactions.",
        f"Allow WRITE and DESCRIBE on transactional ids with the prefix '{PREFIX}' there. Or: {_AT_LEAST}",
    ),
    "UnsupportedVersionException": _Words(
        _NOT_READY, "{server} has no transactions, so nothing can be written exactly once: {said}", _AT_LEAST
    ),
    "RecordTooLargeException": _TOO_LARGE,
    "RecordBatchTooLargeException": _TOO_LARGE,
    "InvalidRecordException": _Words(
        "SINK_REFUSED_ROWS",
        "The topic {topic} of {server} does not take a row of the batch: {said}",
        "A topic that is compacted takes no rows without a key.",
    ),
    "OffsetOutOfRangeException": _LOST,
}
# What else the same classes mean, or can be said of them, where only Spark's connector has met them.
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
# Kafka's client tells these by words alone.
_BY_MESSAGE: Final = {
    "TxnOffsetCommitResponse: Topic authorization failed": _Words(
        _NOT_READY,
        "{server} doesn't let {user} note which batches are in the topic {topic}.",
        f"Allow READ on it there, which that takes. Or: {_AT_LEAST}",
    ),
    "since batch creation": _Words(
        "EXTERNAL_SYSTEM_UNAVAILABLE",
        "{server} did not take messages in time: {said}",
        "See that it runs and can be reached from here; jobs wait for it and lose nothing. If it runs, its topic may"
        " take smaller batches only: set 'kafka.batch.size' in the table's OPTIONS to its max.message.bytes.",
    ),
    "transaction timeout is larger": _Words(
        _NOT_READY,
        "{server} allows no transaction as long as {limit}, which 'kafka.transaction.timeout.ms' asks for.",
        "Set it lower in the table's OPTIONS, or raise transaction.max.timeout.ms of the brokers.",
    ),
}
# And these our own `TransactionalPartWriter.java`.
_OURS: Final = {
    "newest: ": _Words(
        "SINK_CHANGED",
        "The topic {topic} of {server} has later batches of this job already ({said}), so the job's checkpoint is an"
        " older copy. Nothing of the part {part} was written.",
        "Bring back the newest checkpoint, or drop the job and create it again.",
    ),
    "no topic": _Words(
        "SINK_REFUSED_ROWS",
        "A row of the batch names no topic, and the table has none. Nothing of its part of the batch was written.",
        "Give each row a topic, or the table the option 'topic'.",
    ),
    "no key": _Words(
        "SINK_REFUSED_ROWS",
        "A row of the batch has no key, so there is nothing to update it by in the topic {topic} of {server}. Nothing"
        " of its part of the batch was written.",
        "Leave such rows out with WHERE, or give them a value with coalesce.",
    ),
}
_FENCED: Final = ("ProducerFencedException", "InvalidProducerEpochException", "InvalidPidMappingException")
_TOO_LONG: Final = _Words(
    "EXTERNAL_SYSTEM_ERROR",
    "Writing a part of the batch ({part}) took {seconds:.0f} s. {server} undoes transactions that are open for longer"
    " than {limit}, so nothing of this part is in.",
    "Make batches smaller ('maxOffsetsPerTrigger' of the source), or raise 'kafka.transaction.timeout.ms' in the"
    " table's OPTIONS (the brokers allow up to transaction.max.timeout.ms, 15 minutes by default).",
)
_TAKEN_OVER: Final = _Words(
    "DELIVERY_INTERRUPTED",
    "A part of the batch ({part}) was not written: another attempt at it, by another task or run of the job, took its"
    " place.",
    "It is tried again.",
)
_BEGINNING: Final = ("transaction", "mark", "open")
_NO_TRANSACTION: Final = _Words(
    "EXTERNAL_SYSTEM_UNAVAILABLE",
    "{server} begins no transaction: {said}",
    "See that it runs. With fewer brokers than the 3 copies that Kafka keeps by default, set"
    " transaction.state.log.replication.factor and transaction.state.log.min.isr of the brokers to their number.",
)
_WRONG_OPTION: Final = _Words(
    _NOT_READY, "{server} can't be reached with the table's OPTIONS: {said}", "There, such names begin with 'kafka.'."
)
_NO_SUCH_VALUE: Final = _Words(
    "INVALID_OPTION_VALUE",
    "Kafka's client does not take the OPTIONS of a table: {said}",
    "There, this name begins with 'kafka.'. DROP TABLE and CREATE TABLE give it another value.",
    heals=False,
)
_OTHER: Final = _Words("EXTERNAL_SYSTEM_ERROR", "{server} reports an error: {kind}: {said}")


def refusal(failure: KafkaFailure, at: At) -> StatementError:
    """The error for people, without any secret of the client's."""
    words = _words(failure, at) or (_AWAY if failure.step == "connect" else _OTHER)
    message, where = _filled(words.message, failure, at), f"{at.server}, topic {at.topic}"
    kind = RetryableError if words.condition == _AWAY.condition else StatementError
    return kind(_condition(words, at), message, hint=_hint(words, at), where=where)


def of_run(cause: Cause, innermost: str, messages: Sequence[str]) -> Cause | None:
    """The cause of a run's end in our words; None when it is of something else. innermost: the class of the innermost
    error. messages: of all errors that it came through, whole."""
    at = At(KafkaOperation.RUN)
    failure = KafkaFailure(short_kind(innermost), _reason(cause.message, messages))
    lost = cause.condition.startswith("KAFKA_DATA_LOSS")
    words = _LOST if lost else _words(failure, at) if innermost != failure.kind else None
    if words is None:
        return None
    condition = _condition(words, at)
    return replace(
        cause,
        condition=f"JETSQL.{condition}",
        sqlstate=SQLSTATES[condition],
        heals=words.heals,
        away=words.condition == _AWAY.condition,
        message=_filled(words.message, failure, at),
        hint=_hint(words, at),
    )


def short_kind(name: str) -> str:
    """The class of one of Kafka's own errors without its package; others whole."""
    return next((name.removeprefix(package) for package in _PACKAGES if name.startswith(package)), name)


def _words(failure: KafkaFailure, at: At) -> _Words | None:
    """None for errors that nothing is known of."""
    kind = failure.kind
    told = {**_BY_MESSAGE, **_OURS} if kind == "java.lang.IllegalStateException" else _BY_MESSAGE
    said = next((words for text, words in told.items() if text in failure.message), None)
    if said is not None:
        return said
    if kind in _FENCED and at.doing is KafkaOperation.WRITE:
        return _TOO_LONG if failure.seconds >= at.limit else _TAKEN_OVER
    if kind == "TimeoutException" and failure.step in _BEGINNING:
        return _NO_TRANSACTION
    if kind == "ConfigException" and "bootstrap" not in failure.message:
        return _NO_SUCH_VALUE if at.doing is KafkaOperation.RUN else _WRONG_OPTION
    if "Authentication" in kind:
        return _NOT_ACCEPTED
    special = {KafkaOperation.RUN: _IN_RUNS, KafkaOperation.WRITE: _IN_PARTS}.get(at.doing, {})
    return special.get(kind) or _BY_KIND.get(kind)


def _condition(words: _Words, at: At) -> str:
    return words.condition or _CONDITIONS[at.doing]


def _hint(words: _Words, at: At) -> str:
    return words.hint.replace("{rights}", _RIGHTS[at.doing])


def _filled(message: str, failure: KafkaFailure, at: At) -> str:
    text = message.format(
        server=at.server,
        topic=at.topic,
        user=at.user,
        verb=at.doing.value,
        limit=f"{at.limit:g} s",
        said=_said(failure.message),
        part=failure.part,
        seconds=failure.seconds,
        kind=failure.kind.rpartition(".")[2],
    )
    return hide(text, at.conf or {})


def _said(message: str) -> str:
    return "no answer." if message in ("null", "") else sentence(" ".join(message.split()))


def _reason(message: str, messages: Sequence[str]) -> str:
    """Without Spark's general words about lost data and its guesses, which the hint has in ours; they may be all that
    is left."""
    found = (text.partition("Reason:")[2].partition("SQLSTATE")[0].strip() for text in (message, *messages))
    return next(filter(None, found), message).partition(" This could be either 1)")[0]
