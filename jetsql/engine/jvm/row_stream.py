"""Rows of a DataFrame as Spark hands them to Python: piece by piece, from where `RowStream.java` keeps them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from typing import Any, Final

import pyspark.serializers
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.util import _create_local_socket

from jetsql import cancellation
from jetsql.engine.jvm.java_classes import java
from jetsql.resultset import Column

_serializers: Any = pyspark.serializers
_END: Final = b"\xff\xff\xff\xff\x00\x00\x00\x00"


def stream_rows(frame: DataFrame) -> Iterator[Any]:
    """Return the rows as PySpark's. Memory holds one batch of them. Raises Spark's errors."""
    pickled = _serializers.BatchedSerializer(_serializers.CPickleSerializer())
    return _read(java(frame.sparkSession).rows.RowStream.pickled(frame._jdf), pickled)


def _arrow_batches(frame: DataFrame) -> Iterator[bytes]:
    """Return the rows as messages of an Arrow stream. Raises Spark's errors."""
    return _read(java(frame.sparkSession).rows.RowStream.arrowBatches(frame._jdf), _serializers.NoOpSerializer())


def stream_arrow(frame: DataFrame, columns: tuple[Column, ...]) -> Iterator[bytes]:
    """Return the rows as an Arrow stream, in pieces of at least one batch. Memory holds one batch.

    The schema comes with the first rows, so that most errors come before any output. Its metadata has the columns with
    Spark's types, under `jetsql.columns`. Raises Spark's errors.
    """
    return stream_arrow_parts(frame, [frame] if columns else (), columns)


def stream_arrow_parts(shape: DataFrame, parts: Iterable[DataFrame], columns: tuple[Column, ...]) -> Iterator[bytes]:
    """Return the rows of several DataFrames as one Arrow stream. shape: a DataFrame with their schema."""
    schema = json.dumps([asdict(column) for column in columns])
    waiting = bytes(java(shape.sparkSession).rows.ArrowSchemas.message(shape._jdf, schema))
    for part in parts:
        for batch in _arrow_batches(part):
            yield waiting + batch
            waiting = b""
    yield waiting + _END


class _Pipe:
    """The connection on which a thread of Spark's sends the rows; opened immediately, because it waits for that."""

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
    with cancellation.current().on_cancel(java_rows.cancel), _leaving(java_rows):
        with closing(pipe):
            yield from serializer.load_stream(pipe.file)
        server.getResult()  # raises what ended the rows early


@contextmanager
def _leaving(java_rows: Any) -> Iterator[None]:
    """Stop Spark from producing rows when the reader fails or stops early."""
    try:
        yield
    except BaseException:
        with suppress(Py4JError):  # Spark has ended, and the rows with it
            java_rows.cancel()
        raise
