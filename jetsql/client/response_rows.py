"""Parse the response lines of the HTTP endpoint into rows of Python values; see `jetsql.server.wire`."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

from jetsql.client.decoding import create_decoder, parse_line
from jetsql.client.http_client import to_exception
from jetsql.errors import EngineError
from jetsql.live_rows import Live, LiveBatch, LiveMode
from jetsql.resultset import Column

ResponseLines = Generator[bytes, None, None]
LineDecoder = Callable[[bytes], Iterator[tuple[Any, ...]]]


@dataclass(frozen=True)
class RemoteRows:
    """The result of a statement. Its rows are transferred while they are read, before the next statement is run."""

    columns: tuple[Column, ...]
    rows: Iterator[tuple[Any, ...]]  # raises if it is read after the next statement
    live: Live | None = None  # the batches of a SELECT over a stream, if requested; read them or `rows`

    @property
    def records(self) -> Iterator[dict[str, Any]]:
        """Return the rows as dictionaries by column name."""
        names = [column.name for column in self.columns]
        return (dict(zip(names, row, strict=True)) for row in self.rows)

    @property
    def batches(self) -> Iterator[LiveBatch]:
        """Return the batches of a live result, up to its end or until `EngineClient.abandon_response` is called."""
        assert self.live is not None, "only a live result has batches"
        return self.live.batches


def read_response(lines: ResponseLines) -> RemoteRows:
    """Read the first line of a response and return its rows.

    Raises ReportedError, EngineError, also while the rows are read.
    """
    first = next(lines, b"")
    if not first:
        raise EngineError("CONNECTION_LOST", "The connection to the engine was lost before it answered.")
    header = json.loads(first)
    columns = tuple(Column(each["name"], each["type"], structure=each.get("structure")) for each in header["columns"])
    if "live" not in header:
        return RemoteRows(columns, _rows(lines, _line_decoder(columns)))
    batches = _batches(lines, _line_decoder(columns))
    rows = chain.from_iterable(batch.rows for batch in batches)
    return RemoteRows(columns, rows, Live(LiveMode(header["live"]), batches))


def _line_decoder(columns: tuple[Column, ...]) -> LineDecoder:
    decoders = [create_decoder(column.type, column.structure) for column in columns]

    def decode(line: bytes) -> Iterator[tuple[Any, ...]]:
        [(_, rows)] = parse_line(line)
        return (tuple(decode_value(value) for decode_value, value in zip(decoders, row, strict=True)) for row in rows)

    return decode


def _rows(lines: ResponseLines, decode: LineDecoder) -> Iterator[tuple[Any, ...]]:
    with closing(lines):
        yield from _rows_until_end(lines, decode)


def _batches(lines: ResponseLines, decode: LineDecoder) -> Generator[LiveBatch, None, None]:
    """Yield each batch when its first line has arrived. Rows that the caller does not read are skipped."""
    with closing(lines):
        for number in count():
            first = next(lines, b"")
            if not _has_rows(first) and not _ends_batch(first):
                _end_of_rows(first)
                return
            rows = _rows_until_end(chain((first,), lines), decode)
            yield LiveBatch(number, rows)
            for _ in rows:
                pass


def _rows_until_end(lines: Iterable[bytes], decode: LineDecoder) -> Iterator[tuple[Any, ...]]:
    """Yield the rows before the line that ends them. Raises EngineError if they are fewer or more than it says."""
    read = 0
    for line in lines:
        if not _has_rows(line):
            return _check_count(_end_of_rows(line), read)
        for row in decode(line):
            read += 1
            yield row
    raise _connection_lost()


def _has_rows(line: bytes) -> bool:
    return line.startswith(b'{"rows"')


def _ends_batch(line: bytes) -> bool:
    return line.startswith(b'{"batch"')


def _end_of_rows(line: bytes) -> Mapping[str, Any]:
    """Return the content of the line after the rows. Raises the error in it."""
    if not line:
        raise _connection_lost()
    payload: Mapping[str, Any] = json.loads(line)
    if "error" in payload:
        raise to_exception(payload["error"])
    return payload


def _check_count(payload: Mapping[str, Any], read: int) -> None:
    """Compare the number of rows that were read with the number in the line after them."""
    sent = (payload.get("batch") or payload["end"])["rows"]
    if sent != read:
        message = f"The engine sent {sent} rows, and {read} of them arrived."
        raise EngineError("CONNECTION_LOST", message, hint="Run the statement again if it has changed nothing.")


def _connection_lost() -> EngineError:
    return EngineError("CONNECTION_LOST", "The connection to the engine was lost while rows were read.")
