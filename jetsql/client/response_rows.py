"""The lines of an answer of the HTTP door, see `jetsql.server.wire`, as rows of Python values."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

from jetsql.client.decoding import decoder, read_line
from jetsql.client.http_client import error_of
from jetsql.errors import EngineError
from jetsql.live_rows import Live, LiveBatch, LiveMode
from jetsql.resultset import Column

Lines = Generator[bytes, None, None]
Decode = Callable[[bytes], Iterator[tuple[Any, ...]]]


@dataclass(frozen=True)
class RemoteRows:
    """What a statement returned. rows: come as they are read; reading on after another statement raises.

    live: of a SELECT over a stream, when it was asked for; its batches and `rows` are two ways to read the same.
    """

    columns: tuple[Column, ...]
    rows: Iterator[tuple[Any, ...]]
    live: Live | None = None

    @property
    def records(self) -> Iterator[dict[str, Any]]:
        """The rows by the names of their columns."""
        names = [column.name for column in self.columns]
        return (dict(zip(names, row, strict=True)) for row in self.rows)

    @property
    def batches(self) -> Iterator[LiveBatch]:
        """Of a live answer, until it ends or `RemoteEngine.leave` ends it."""
        assert self.live is not None, "only a live answer has batches"
        return self.live.batches


def answer(lines: Lines) -> RemoteRows:
    """Raises ReportedError, EngineError; also while the rows are read."""
    first = next(lines, b"")
    if not first:
        raise EngineError("CONNECTION_LOST", "The engine ended before it answered.")
    told = json.loads(first)
    columns = tuple(Column(each["name"], each["type"], structure=each.get("structure")) for each in told["columns"])
    if "live" not in told:
        return RemoteRows(columns, _rows(lines, _decode(columns)))
    batches = _batches(lines, _decode(columns))
    rows = chain.from_iterable(batch.rows for batch in batches)
    return RemoteRows(columns, rows, Live(LiveMode(told["live"]), batches))


def _decode(columns: tuple[Column, ...]) -> Decode:
    decoders = [decoder(column.type, column.structure) for column in columns]

    def decode(line: bytes) -> Iterator[tuple[Any, ...]]:
        [(_, rows)] = read_line(line)
        return (tuple(of(value) for of, value in zip(decoders, row, strict=True)) for row in rows)

    return decode


def _rows(lines: Lines, decode: Decode) -> Iterator[tuple[Any, ...]]:
    with closing(lines):
        yield from _up_to_end(lines, decode)


def _batches(lines: Lines, decode: Decode) -> Generator[LiveBatch, None, None]:
    """A batch is one when its first line has come. What nobody reads of it is passed over."""
    with closing(lines):
        for number in count():
            first = next(lines, b"")
            if not _has_rows(first) and not _ends_batch(first):
                return _check(first)
            rows = _up_to_end(chain((first,), lines), decode)
            yield LiveBatch(number, rows)
            for _ in rows:
                pass


def _up_to_end(lines: Iterable[bytes], decode: Decode) -> Iterator[tuple[Any, ...]]:
    """The rows before a line that ends them."""
    for line in lines:
        if not _has_rows(line):
            return _check(line)
        yield from decode(line)
    raise _broken()


def _has_rows(line: bytes) -> bool:
    return line.startswith(b'{"rows"')


def _ends_batch(line: bytes) -> bool:
    return line.startswith(b'{"batch"')


def _check(line: bytes) -> None:
    """A line that ends rows. Raises the error that it tells."""
    if not line:
        raise _broken()
    told: Mapping[str, Any] = json.loads(line)
    if "error" in told:
        raise error_of(told["error"])


def _broken() -> EngineError:
    return EngineError("CONNECTION_LOST", "The engine ended in the middle of the rows.")
