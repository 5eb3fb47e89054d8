"""Errors of Kafka's clients in words: what is the matter with the broker, the topic or the rights, and what to do.

They are told by their classes, by Spark's conditions where the connector has given them one, and by nothing that a
release of Kafka may word otherwise. What comes and goes (a broker that is restarted) heals; rights and sizes don't.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from jetsql.errors import SQLSTATES
from jetsql.jobs.model import Cause


@dataclass(frozen=True)
class _Words:
    """condition: of JetSQL's. message: what stands before the client's own words. heals: whether it may by itself."""

    condition: str
    message: str
    hint: str
    heals: bool = True


_KAFKA: Final = "org.apache.kafka.common."
_DATA_LOSS: Final = "KAFKA_DATA_LOSS"
_LOST: Final = _Words(
    "SOURCE_CHANGED",
    "Messages that are the next to be read are not in Kafka any more",
    "They were deleted before the job came to them: by the topic's retention, or the topic was deleted and made anew."
    " CREATE OR REPLACE JOB with FROM STREAM ... WITH ('failOnDataLoss' = 'false') goes on without them, with the"
    " oldest that are there.",
    heals=False,
)
_AWAY: Final = _Words(
    "EXTERNAL_SYSTEM_UNAVAILABLE",
    "Kafka does not answer",
    "Nothing is lost: the job goes on where it was when the broker is back. See that it runs and can be reached.",
)
_NO_TOPIC: Final = _Words(
    "EXTERNAL_SYSTEM_ERROR",
    "Kafka has no such topic, or not all of its partitions",
    "If it was deleted, make it again; a job that reads it begins there with failOnDataLoss set to false.",
)
_NOT_ALLOWED: Final = _Words(
    "EXTERNAL_SYSTEM_ERROR",
    "Kafka does not let the user of the table do that",
    "Allow READ and DESCRIBE on a topic that is read, WRITE and DESCRIBE on one that is written, and READ on groups"
    " with the prefix 'spark-kafka-source-'; then RESUME JOB.",
    heals=False,
)
_NOT_ACCEPTED: Final = _Words(
    "EXTERNAL_SYSTEM_ERROR",
    "Kafka does not accept the credentials of the table",
    "See to 'kafka.sasl.jaas.config', 'kafka.sasl.mechanism' and 'kafka.security.protocol' in its OPTIONS.",
    heals=False,
)
_TOO_LARGE: Final = _Words(
    "SINK_REFUSED_ROWS",
    "A message is too large for its topic",
    "Raise 'kafka.max.request.size' in the table's OPTIONS and max.message.bytes of the topic, or leave such rows out"
    " with WHERE.",
    heals=False,
)
_BY_CLASS: Final = {
    "TimeoutException": _AWAY,
    "DisconnectException": _AWAY,
    "NetworkException": _AWAY,
    "BrokerNotAvailableException": _AWAY,
    "CoordinatorNotAvailableException": _AWAY,
    "UnknownTopicOrPartitionException": _NO_TOPIC,
    "UnknownTopicIdException": _NO_TOPIC,
    "TopicAuthorizationException": _NOT_ALLOWED,
    "GroupAuthorizationException": _NOT_ALLOWED,
    "ClusterAuthorizationException": _NOT_ALLOWED,
    "TransactionalIdAuthorizationException": _NOT_ALLOWED,
    "SaslAuthenticationException": _NOT_ACCEPTED,
    "SslAuthenticationException": _NOT_ACCEPTED,
    "RecordTooLargeException": _TOO_LARGE,
    "OffsetOutOfRangeException": _LOST,
}


def of_broker(cause: Cause, innermost: str) -> Cause | None:
    """The cause in our words; None when it is of something else. innermost: the class of the innermost error."""
    words = _LOST if cause.condition.startswith(_DATA_LOSS) else _of_class(innermost)
    if words is None:
        return None
    return replace(
        cause,
        condition=f"JETSQL.{words.condition}",
        sqlstate=SQLSTATES[words.condition],
        heals=words.heals,
        message=f"{words.message}: {_said(cause.message)}",
        hint=words.hint,
    )


def _of_class(name: str) -> _Words | None:
    if not name.startswith(_KAFKA):
        return None
    if name == f"{_KAFKA}config.ConfigException":
        return None  # it names the option at fault itself
    return _BY_CLASS.get(name.rpartition(".")[2])


def _said(message: str) -> str:
    """Without Spark's general words about lost data, which the hint has in ours."""
    return message.partition("Reason:")[2].strip() or message
