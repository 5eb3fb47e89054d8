"""Errors of a Kafka broker about transactions, in words: what the job needs there, and how to give it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from jetsql.errors import StatementError
from jetsql.jobs.secrets import hide

PREFIX: Final = "jetsql-"

_ERRORS: Final = "org.apache.kafka.common.errors."
_IN_A_TASK: Final = "JetSQL Kafka part: "  # by `PartWriter.java`, before a JSON object
_FENCED: Final = ("ProducerFencedException", "InvalidProducerEpochException", "InvalidPidMappingException")
_BEGINNING: Final = ("transaction", "mark", "open")
_AT_LEAST: Final = "OPTIONS ('processingGuarantee' = 'atLeastOnce') needs no transactions."


@dataclass(frozen=True)
class KafkaFailure:
    """What a broker or its client said. kind: the error's class, short for Kafka's own. step: of the conversation.
    seconds: since the part was begun, 0 outside one."""

    kind: str
    message: str
    step: str
    seconds: float = 0.0
    part: str = ""

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> KafkaFailure:
        kind = str(told["class"]).removeprefix(_ERRORS)
        return cls(kind, str(told["message"]), told["step"], told.get("seconds", 0.0), told.get("part", ""))


@dataclass(frozen=True)
class _Words:
    """Placeholders: server, topic, user, limit (of a transaction), said, part, seconds."""

    condition: str
    message: str
    hint: str = ""


_NOT_ALLOWED: Final = _Words(
    "SINK_NOT_READY", "{server} doesn't let {user} write the topic {topic}.", "Allow WRITE and DESCRIBE on it there."
)
_NO_TOPIC: Final = _Words("SINK_NOT_READY", "{server} has no topic {topic}: {said}", "Create it there first.")
_TOO_LARGE: Final = _Words(
    "SINK_REFUSED_ROWS",
    "A message is too large for the topic {topic} of {server}: {said} Nothing of its part of the batch was written.",
    "Raise 'kafka.max.request.size' in the table's OPTIONS and max.message.bytes of the topic, or leave such rows out"
    " with WHERE.",
)
_UNREACHABLE: Final = _Words("EXTERNAL_SYSTEM_UNAVAILABLE", "{server} can't be reached: {said}")
_BY_KIND: Final = {
    "TransactionalIdAuthorizationException": _Words(
        "SINK_NOT_READY",
        "{server} doesn't let {user} write in transactions.",
        f"Allow WRITE and DESCRIBE on transactional ids with the prefix '{PREFIX}' there. Or: {_AT_LEAST}",
    ),
    "GroupAuthorizationException": _Words(
        "SINK_NOT_READY",
        "{server} doesn't let {user} note in a consumer group which batches are in.",
        f"Allow READ (and DELETE, to clean up) on groups with the prefix '{PREFIX}' there. Or: {_AT_LEAST}",
    ),
    "TopicAuthorizationException": _NOT_ALLOWED,
    "ClusterAuthorizationException": _NOT_ALLOWED,
    "UnknownTopicOrPartitionException": _NO_TOPIC,
    "InvalidTopicException": _NO_TOPIC,
    "UnsupportedVersionException": _Words(
        "SINK_NOT_READY", "{server} has no transactions, so nothing can be written exactly once: {said}", _AT_LEAST
    ),
    "RecordTooLargeException": _TOO_LARGE,
    "RecordBatchTooLargeException": _TOO_LARGE,
    "InvalidRecordException": _Words(
        "SINK_REFUSED_ROWS",
        "The topic {topic} of {server} does not take a row of the batch: {said}",
        "A topic that is compacted takes no rows without a key.",
    ),
    "TimeoutException": _UNREACHABLE,
    "DisconnectException": _UNREACHABLE,
    "BrokerNotAvailableException": _UNREACHABLE,
}
# Kafka's client tells these by words alone.
_BY_MESSAGE: Final = {
    "TxnOffsetCommitResponse: Topic authorization failed": _Words(
        "SINK_NOT_READY",
        "{server} doesn't let {user} note which batches are in the topic {topic}.",
        f"Allow READ on it there, which that takes. Or: {_AT_LEAST}",
    ),
    "transaction timeout is larger": _Words(
        "SINK_NOT_READY",
        "{server} allows no transaction as long as {limit}, which 'kafka.transaction.timeout.ms' asks for.",
        "Set it lower in the table's OPTIONS, or raise transaction.max.timeout.ms of the brokers.",
    ),
}
_NO_TRANSACTION: Final = _Words(
    "EXTERNAL_SYSTEM_UNAVAILABLE",
    "{server} begins no transaction: {said}",
    "With fewer brokers than the 3 copies that Kafka keeps by default, set transaction.state.log.replication.factor and"
    " transaction.state.log.min.isr of the brokers to their number.",
)
_NOT_ACCEPTED: Final = _Words("SINK_NOT_READY", "{server} does not accept the credentials of {user}: {said}")
_WRONG_OPTION: Final = _Words(
    "SINK_NOT_READY",
    "{server} can't be reached with the table's OPTIONS: {said}",
    "There, such names begin with 'kafka.'.",
)
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
_OLDER: Final = _Words(
    "SINK_CHANGED",
    "The topic {topic} of {server} has later batches of this job already ({said}), so the job's checkpoint is an older"
    " copy. Nothing of the part {part} was written.",
    "Bring back the newest checkpoint, or drop the job and create it again.",
)
_NAMELESS: Final = _Words(
    "SINK_REFUSED_ROWS",
    "A row of the batch names no topic, and the table has none. Nothing of its part of the batch was written.",
    "Give each row a topic, or the table the option 'topic'.",
)
_KEYLESS: Final = _Words(
    "SINK_REFUSED_ROWS",
    "A row of the batch has no key, so there is nothing to update it by in the topic {topic} of {server}. Nothing of"
    " its part of the batch was written.",
    "Leave such rows out with WHERE, or give them a value with coalesce.",
)
_OURS: Final = {"newest: ": _OLDER, "no topic": _NAMELESS, "no key": _KEYLESS}
_OTHER: Final = _Words("EXTERNAL_SYSTEM_ERROR", "{server} reports an error: {kind}: {said}")


def failure_in(error: BaseException) -> KafkaFailure | None:
    """What went wrong with Kafka while a part was written; None when the error is of something else."""
    each: Any = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    for message in _messages(each):
        _, found, text = message.partition(_IN_A_TASK)
        if found:
            told, _ = json.JSONDecoder().raw_decode(text)
            return KafkaFailure.of(told)
    return None


def _messages(throwable: Any) -> Iterator[str]:
    while throwable is not None:
        yield str(throwable.getMessage())
        throwable = throwable.getCause()


def refusal(failure: KafkaFailure, server: str, topic: str, conf: Mapping[str, str]) -> StatementError:
    """The error for people. conf: the producer's settings, whose secrets no message shows."""
    limit = int(conf.get("transaction.timeout.ms", "60000")) / 1000
    words = _words(failure, limit)
    message = words.message.format(
        server=server,
        topic=topic,
        user=user_of(conf),
        limit=f"{limit:g} s",
        said=_sentence(failure.message),
        part=failure.part,
        seconds=failure.seconds,
        kind=failure.kind.rpartition(".")[2],
    )
    return StatementError(words.condition, hide(message, dict(conf)), hint=words.hint, where=f"{server}, topic {topic}")


def _words(failure: KafkaFailure, limit: float) -> _Words:
    kind = failure.kind
    told = {**_BY_MESSAGE, **_OURS} if kind == "java.lang.IllegalStateException" else _BY_MESSAGE
    said = next((words for text, words in told.items() if text in failure.message), None)
    if said is not None:
        return said
    if kind in _FENCED:
        return _TOO_LONG if failure.seconds >= limit else _TAKEN_OVER
    if kind == "TimeoutException" and failure.step in _BEGINNING:
        return _NO_TRANSACTION
    if kind.endswith("ConfigException") and "bootstrap" not in failure.message:
        return _WRONG_OPTION
    if "Authentication" in kind:
        return _NOT_ACCEPTED
    return _BY_KIND.get(kind) or (_UNREACHABLE if failure.step == "connect" else _OTHER)


def user_of(conf: Mapping[str, str]) -> str:
    """As whom a client logs in. conf: its settings."""
    found = re.search(r"username\s*=\s*[\"']?([^\"';\s]+)", conf.get("sasl.jaas.config", ""))
    return found[1] if found else "the user"


def _sentence(message: str) -> str:
    text = "no answer" if message == "null" else " ".join(message.split())
    return text if text.endswith((".", "!", "?")) or not text else f"{text}."
