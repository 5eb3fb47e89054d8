"""Combine rows into few INSERT statements: each INSERT is a Spark job with files of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from jetsql.client.parameter_encoding import type_family

_MAX_VALUES: Final = 10_000
"""Values of one statement: as many literals as Spark parses in about a second."""

_INSERT: Final = re.compile(
    r"(\s*INSERT\s+INTO\s[^?:'\"]*?\bVALUES\s*)\(\s*((?:\?|:\w+)(?:\s*,\s*(?:\?|:\w+))*)\s*\)\s*;?\s*", re.IGNORECASE
)


def batch_statements(text: str, rows: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yield statements with parameters that together do what `text` does with each row."""
    insert = _INSERT.fullmatch(text)
    if insert is None or len(rows) < 2:
        yield from ((text, row) for row in rows)
        return
    markers = re.findall(r"\?|:\w+", insert[2])
    flat = [_positional(row, markers) for row in rows]
    if any(row is None for row in flat):
        yield from ((text, row) for row in rows)  # one of them is wrong: Spark says how
        return
    yield from _combine(insert[1], [row for row in flat if row is not None], len(markers))


def _positional(row: Any, markers: list[str]) -> list[Any] | None:
    """Return a row's values in the order of the markers, or None if they do not fit."""
    if isinstance(row, Mapping):
        names = [marker[1:] for marker in markers]
        return [row[name] for name in names] if all(name in row for name in names) else None
    fits = isinstance(row, list) and len(row) == len(markers) and set(markers) == {"?"}
    return row if fits else None


def _combine(head: str, rows: list[list[Any]], width: int) -> Iterator[tuple[str, list[Any]]]:
    max_rows = max(_MAX_VALUES // width, 1)
    group = f"({', '.join('?' * width)})"
    for _, same_types in groupby(rows, _type_families):
        run = list(same_types)
        for start in range(0, len(run), max_rows):
            part = run[start : start + max_rows]
            yield f"{head}{', '.join([group] * len(part))}", [value for row in part for value in row]


def _type_families(row: list[Any]) -> list[str]:
    """Return the types of a row. Rows of one VALUES need the same: Spark turns numbers and texts into texts."""
    return [type_family(value) for value in row]
