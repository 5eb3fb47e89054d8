"""Read the Arrow stream of a statement, and the error that may end it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from http.client import HTTPException, HTTPResponse
from typing import Any

import pyarrow

from jetsql.client.http_client import to_exception
from jetsql.errors import EngineError
from jetsql.resultset import Column


class ArrowRows:
    """The rows of an Arrow stream, which can be read once; `columns` have Spark's types.

    Raises the errors of `EngineClient.run`, also while rows are read.
    """

    def __init__(self, response: HTTPResponse) -> None:
        self._source = _ResponseFile(response)
        self._stream = self._read(lambda: pyarrow.ipc.open_stream(self._source))
        described = json.loads(self._stream.schema.metadata[b"jetsql.columns"])
        self.columns = tuple(Column(each["name"], each["type"], each["structure"]) for each in described)

    def reader(self, translate_errors: Callable[[], AbstractContextManager[None]]) -> Any:
        """Return a `pyarrow.RecordBatchReader`. translate_errors: returns the context in which batches are read."""
        schema = self._stream.schema.remove_metadata()
        return pyarrow.RecordBatchReader.from_batches(schema, self._batches(schema, translate_errors))

    def _batches(self, schema: Any, translate_errors: Callable[[], AbstractContextManager[None]]) -> Iterator[Any]:
        with translate_errors():
            while (batch := self._read(self._next)) is not None:
                yield pyarrow.RecordBatch.from_arrays(batch.columns, schema=schema)

    def _next(self) -> Any:
        try:
            return self._stream.read_next_batch()
        except StopIteration:
            # pyarrow takes the end of the response for the end of the stream, even without its end marker.
            if not self._source.has_ended:
                raise EOFError("the stream has no end") from None
            return None

    def _read(self, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except (pyarrow.ArrowException, OSError, EOFError, HTTPException) as error:
            raise self._source.reported_error() or _connection_lost(error) from error


class _ResponseFile(io.RawIOBase):
    """The response as a file for pyarrow. It keeps the last chunk, which is an error if it is no Arrow message."""

    def __init__(self, response: HTTPResponse) -> None:
        self._response = response
        self._last = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        self._last = self._response.read(size if size >= 0 else None)
        return self._last

    @property
    def has_ended(self) -> bool:
        """Return whether the length 0 of the end marker was read last, and not the end of the response."""
        return self._last == bytes(4)

    def reported_error(self) -> Exception | None:
        """Return the error that ends the stream, or None."""
        if not self._last.startswith(b'{"error"'):
            return None
        return to_exception(json.loads(self._last)["error"])


def _connection_lost(error: Exception) -> EngineError:
    return EngineError("CONNECTION_LOST", f"The connection to the engine was lost while rows were read: {error}.")
