"""Read the rows of a DataFrame in parts, from the socket on which `RowStream.java` sends them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from typing import Any, Final

import pyspark.serializers
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.util import local_connect_and_auth

from jetsql import request
from jetsql.engine.jvm.java_classes import java
from jetsql.resultset import Column

_serializers: Any = pyspark.serializers
_END: Final = b"\xff\xff\xff\xff\x00\x00\x00\x00"


def stream_rows(frame: DataFrame) -> Iterator[Any]:
    """Yield the rows as PySpark rows, with one batch in memory at a time. Raises Spark's errors."""
    pickled = _serializers.BatchedSerializer(_serializers.CPickleSerializer())
    return _read(java(frame.sparkSession).rows.RowStream.pickled, frame, pickled)


def _arrow_batches(frame: DataFrame) -> Iterator[bytes]:
    """Yield the rows as messages of an Arrow stream. Raises Spark's errors."""
    return _read(java(frame.sparkSession).rows.RowStream.arrowBatches, frame, _serializers.NoOpSerializer())


def stream_arrow(frame: DataFrame, columns: tuple[Column, ...]) -> Iterator[bytes]:
    """Yield the rows as an Arrow stream, in parts of at least one batch, with one batch in memory at a time.

    The schema comes with the first rows, so that most errors are raised before any output. Its metadata has the columns
    with Spark's types under the key `jetsql.columns`. Raises Spark's errors.
    """
    return stream_arrow_parts(frame, [frame] if columns else (), columns)


def stream_arrow_parts(shape: DataFrame, parts: Iterable[DataFrame], columns: tuple[Column, ...]) -> Iterator[bytes]:
    """Yield the rows of several DataFrames as one Arrow stream. shape: a DataFrame with their schema."""
    schema = json.dumps([asdict(column) for column in columns])
    unsent = bytes(java(shape.sparkSession).rows.ArrowSchemas.message(shape._jdf, schema))
    for part in parts:
        for batch in _arrow_batches(part):
            yield unsent + batch
            unsent = b""
    yield unsent + _END


def _read(serve: Callable[[Any], Any], frame: DataFrame, serializer: Any) -> Iterator[Any]:
    """Yield what a method of `RowStream` sends. Spark begins with the first read, so that unread rows cost nothing."""
    port, secret, server, java_rows = serve(frame._jdf)
    file, connection = local_connect_and_auth(port, secret)  # always, because a thread of Spark waits for it
    connection.settimeout(None)  # the first row may take any time
    with _cancel_on_error(java_rows), closing(connection), closing(file):
        with request.current().cancellation.on_cancel(java_rows.cancel):
            yield from serializer.load_stream(file)
        server.getResult()  # raises the error that ended the rows early


@contextmanager
def _cancel_on_error(java_rows: Any) -> Iterator[None]:
    """Stop Spark from producing rows when the reader fails or stops early."""
    try:
        yield
    except BaseException:
        with suppress(Py4JError):  # Spark may have ended
            java_rows.cancel()
        raise
