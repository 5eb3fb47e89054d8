"""The messages that a topic refuses: those that are too large, and those without a key or a topic.

A part of a batch is committed when another part fails, so these messages are found before the first one is written. The
sizes are those that Kafka's producer and the broker compute for a message that is alone in its batch
(`DefaultRecordBatch.estimateBatchSizeUpperBound` and `DefaultRecord.sizeInBytes` of Kafka's clients).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as sf

_REQUEST_BYTES: Final = 1_048_576  # the default of max.request.size
_BUFFER_BYTES: Final = 33_554_432  # the default of buffer.memory
_BATCH_OVERHEAD: Final = 61
_RECORD_OVERHEAD: Final = 21  # at most: attributes, length, and the differences of timestamp and offset
_FIXED_FIELDS: Final = 3  # of a first record: attributes, and differences of 0
_VARINTS: Final = ((64, 1), (8192, 2), (1_048_576, 3), (134_217_728, 4))
_TOO_LARGE: Final = "54000"  # the SQLSTATE program_limit_exceeded
_NO_VALUE: Final = "23502"  # that of NULL in a column that must have a value


@dataclass(frozen=True)
class MessageLimits:
    """The limits of a producer and a topic."""

    conf: Mapping[str, str]
    """The settings of the producer."""
    topic_bytes: int | None
    """max.message.bytes of the topic; None if it is not known."""

    @property
    def producer_bytes(self) -> tuple[str, int]:
        """Return the setting that limits a message, with its value."""
        limits = {"max.request.size": _REQUEST_BYTES, "buffer.memory": _BUFFER_BYTES}
        values = {name: int(self.conf.get(name, default)) for name, default in limits.items()}
        name = min(values, key=lambda each: values[each])
        return name, values[name]

    @property
    def checked_topic_bytes(self) -> int | None:
        """Return the limit of the topic, which a message that is compressed can exceed."""
        return self.topic_bytes if self.conf.get("compression.type", "none") == "none" else None


def refusal_of_message(limits: MessageLimits, keyed: bool, named_topic: bool, added: Mapping[str, str]) -> Column:
    """Return the expression of a refusal, a struct of `sqlstate` and `message`; NULL for a message that can be written.

    keyed: messages must have keys. named_topic: the table has a topic. added: the headers that each message gets.
    """
    fields = _fields_size(added)
    name, producer_bytes = limits.producer_bytes
    estimated = fields + _BATCH_OVERHEAD + _RECORD_OVERHEAD
    size = fields + _FIXED_FIELDS + _varint_size(fields + _FIXED_FIELDS) + _BATCH_OVERHEAD
    result = sf.when(estimated > producer_bytes, _too_large(estimated, f"'kafka.{name}' is {producer_bytes}"))
    if limits.checked_topic_bytes is not None:
        limit = limits.checked_topic_bytes
        result = result.when(size > limit, _too_large(size, f"max.message.bytes of the topic is {limit}"))
    if keyed:
        result = result.when(sf.col("key").isNull(), _refusal(_NO_VALUE, sf.lit("The row has no key.")))
    if not named_topic:
        result = result.when(sf.col("topic").isNull(), _refusal(_NO_VALUE, sf.lit("The row has no topic.")))
    return result


def _too_large(size: Column, limit: str) -> Column:
    return _refusal(_TOO_LARGE, sf.concat(sf.lit("The message has "), size, sf.lit(f" bytes, and {limit}.")))


def _refusal(sqlstate: str, message: Column) -> Column:
    return sf.struct(sf.lit(sqlstate).alias("sqlstate"), message.cast("string").alias("message"))


def _fields_size(added: Mapping[str, str]) -> Column:
    """Return the size of the key, the value and the headers of a message."""
    headers = sf.coalesce(sf.col("headers"), sf.array().cast("array<struct<key: string, value: binary>>"))
    own = sf.aggregate(headers, sf.lit(0), lambda size, each: size + _field_size(each.key) + _field_size(each.value))
    more = sum(_known_size(len(name.encode())) + _known_size(len(text.encode())) for name, text in added.items())
    count = sf.size(headers) + len(added)
    return _field_size(sf.col("key")) + _field_size(sf.col("value")) + _varint_size(count) + own + more


def _field_size(value: Column) -> Column:
    length = sf.octet_length(value)
    return sf.when(value.isNull(), 1).otherwise(length + _varint_size(length))


def _varint_size(value: Column) -> Column:
    """Return the bytes of a number that is not negative, in Kafka's variable length."""
    (limit, size), *more = _VARINTS
    result = sf.when(value < limit, size)
    for limit, size in more:
        result = result.when(value < limit, size)
    return result.otherwise(len(_VARINTS) + 1)


def _known_size(length: int) -> int:
    return length + next((size for limit, size in _VARINTS if length < limit), len(_VARINTS) + 1)
