"""What a task that wrote a part of a batch for Kafka has told of its failure, found in what Spark makes of that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from jetsql.engine.errors.kafka_errors import KafkaFailure

_IN_A_TASK: Final = "JetSQL Kafka part: "  # by `TransactionalPartWriter.java`, before a JSON object


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
