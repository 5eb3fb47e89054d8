"""Many rows in few statements: each INSERT of Spark's is a job with files of its own, however few rows it has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from jetsql.client.parameter_encoding import kind_of

_VALUES_MOST: Final = 10_000
"""Values of one statement: as many literals as Spark takes about a second to read."""

_INSERT: Final = re.compile(
    r"(\s*INSERT\s+INTO\s[^?:'\"]*?\bVALUES\s*)\(\s*((?:\?|:\w+)(?:\s*,\s*(?:\?|:\w+))*)\s*\)\s*;?\s*", re.IGNORECASE
)


def statements(text: str, rows: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Statements with their parameters that do what `text` does with each of the rows, one after the other."""
    found = _INSERT.fullmatch(text)
    if found is None or len(rows) < 2:
        yield from ((text, row) for row in rows)
        return
    markers = re.findall(r"\?|:\w+", found[2])
    flat = [_in_order(row, markers) for row in rows]
    if any(row is None for row in flat):
        yield from ((text, row) for row in rows)  # one of them is wrong: Spark says how
        return
    yield from _together(found[1], [row for row in flat if row is not None], len(markers))


def _in_order(row: Any, markers: list[str]) -> list[Any] | None:
    """A row's values as the markers want them; None when they don't fit."""
    if isinstance(row, Mapping):
        names = [marker[1:] for marker in markers]
        return [row[name] for name in names] if all(name in row for name in names) else None
    fits = isinstance(row, list) and len(row) == len(markers) and set(markers) == {"?"}
    return row if fits else None


def _together(head: str, rows: list[list[Any]], width: int) -> Iterator[tuple[str, list[Any]]]:
    most = max(_VALUES_MOST // width, 1)
    group = f"({', '.join('?' * width)})"
    for _, alike in groupby(rows, _kinds):
        run = list(alike)
        for start in range(0, len(run), most):
            part = run[start : start + most]
            yield f"{head}{', '.join([group] * len(part))}", [value for row in part for value in row]


def _kinds(row: list[Any]) -> list[str]:
    """One above the other, values have to be of one kind: Spark would make texts of numbers and texts."""
    return [kind_of(value) for value in row]
