"""The Arrow stream of a statement, as pyarrow reads it, and the error that may stand in it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from http.client import HTTPException, HTTPResponse
from typing import Any

import pyarrow

from jetsql.client.http_client import error_of
from jetsql.errors import EngineError
from jetsql.resultset import Column


class ArrowRows:
    """Rows that can be read once. columns: with Spark's types. Raises as `RemoteEngine.run`, also when it is read."""

    def __init__(self, response: HTTPResponse) -> None:
        self._source = _Source(response)
        self._stream = self._read(lambda: pyarrow.ipc.open_stream(self._source))
        told = json.loads(self._stream.schema.metadata[b"jetsql.columns"])
        self.columns = tuple(Column(each["name"], each["type"], each["structure"]) for each in told)

    def reader(self, telling: Callable[[], AbstractContextManager[None]]) -> Any:
        """A `pyarrow.RecordBatchReader`. telling: what becomes of errors."""
        schema = self._stream.schema.remove_metadata()
        return pyarrow.RecordBatchReader.from_batches(schema, self._batches(schema, telling))

    def _batches(self, schema: Any, telling: Callable[[], AbstractContextManager[None]]) -> Iterator[Any]:
        with telling():
            while (batch := self._read(self._next)) is not None:
                yield pyarrow.RecordBatch.from_arrays(batch.columns, schema=schema)

    def _next(self) -> Any:
        try:
            return self._stream.read_next_batch()
        except StopIteration:
            return None

    def _read(self, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except (pyarrow.ArrowException, OSError, HTTPException) as error:
            raise self._source.error() or _broken(error) from error


class _Source(io.RawIOBase):
    """What pyarrow reads from. The last piece that it read is kept: where it is no message, it is an error."""

    def __init__(self, response: HTTPResponse) -> None:
        self._response = response
        self._last = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        self._last = self._response.read(size if size >= 0 else None)
        return self._last

    def error(self) -> Exception | None:
        if not self._last.startswith(b'{"error"'):
            return None
        return error_of(json.loads(self._last)["error"])


def _broken(error: Exception) -> EngineError:
    return EngineError("CONNECTION_LOST", f"The engine ended in the middle of the rows: {error}.")
