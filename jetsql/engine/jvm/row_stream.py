"""Rows of a DataFrame as Spark hands them to Python: piece by piece, from where `RowStream.java` keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pyspark.serializers
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.util import _create_local_socket

from jetsql import cancellation
from jetsql.engine.jvm.java_classes import java

_serializers: Any = pyspark.serializers


def rows(frame: DataFrame) -> Iterator[Any]:
    """The rows as PySpark's; memory holds one batch of them. Raises Spark's errors."""
    pickled = _serializers.BatchedSerializer(_serializers.CPickleSerializer())
    return _read(java(frame.sparkSession).rows.RowStream.pickled(frame._jdf), pickled)


def arrow_batches(frame: DataFrame) -> Iterator[bytes]:
    """The rows as messages of an Arrow stream. Raises Spark's errors."""
    return _read(java(frame.sparkSession).rows.RowStream.arrowBatches(frame._jdf), _serializers.NoOpSerializer())


class _Pipe:
    """What Spark's thread writes the rows into. It is opened at once: that thread waits for it, for good."""

    def __init__(self, port: int, secret: str) -> None:
        self.file: Any = None
        self._socket: Any = None
        self.file, self._socket = _create_local_socket((port, secret))

    def close(self) -> None:
        for each in (self.file, self._socket):
            if each is not None:
                each.close()

    def __del__(self) -> None:
        self.close()  # rows that nobody began to read


def _read(served: Any, serializer: Any) -> Iterator[Any]:
    port, secret, server, java_rows = served
    return _pieces(_Pipe(port, secret), serializer, server, java_rows)


def _pieces(pipe: _Pipe, serializer: Any, server: Any, java_rows: Any) -> Iterator[Any]:
    with cancellation.current().waking(java_rows.cancel), _leaving(java_rows):
        with closing(pipe):
            yield from serializer.load_stream(pipe.file)
        server.getResult()  # raises what ended the rows early


@contextmanager
def _leaving(java_rows: Any) -> Iterator[None]:
    """Whoever stops in the middle wants no more rows to be made."""
    try:
        yield
    except BaseException:
        with suppress(Py4JError):  # Spark has ended, and the rows with it
            java_rows.cancel()
        raise
