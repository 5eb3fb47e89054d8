"""Compare the rows of a table with those that a test expects: what is missing, extra and changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

Row = tuple[str | None, ...]


@dataclass(frozen=True)
class RowDifference:
    """The difference between the rows of a table and the expected ones."""

    columns: tuple[str, ...]
    missing: tuple[Row, ...]
    extra: tuple[Row, ...]
    changed: tuple[tuple[Row, Row], ...]
    """Pairs of an expected row and the row in its place."""

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.changed)

    @property
    def summary(self) -> str:
        """Return the numbers of rows, as a phrase."""
        counts = (("missing", self.missing), ("extra", self.extra), ("changed", self.changed))
        return ", ".join(f"{len(rows)} {kind}" for kind, rows in counts if rows)

    def cells(self) -> list[Row]:
        """Return the rows of a table that shows the difference: its kind, and the values."""
        shown: list[Row] = [("missing", *row) for row in self.missing]
        shown += [("extra", *row) for row in self.extra]
        shown += [("changed", *map(_change, *pair)) for pair in self.changed]
        return shown


def _change(expected: str | None, actual: str | None) -> str | None:
    if expected == actual:
        return actual
    return f"{_text(expected)} -> {_text(actual)}"


def _text(value: str | None) -> str:
    return "NULL" if value is None else value


def compare_rows(
    columns: Sequence[str], actual: Sequence[Sequence[str | None]], expected: Sequence[Sequence[str | None]]
) -> RowDifference:
    """Return the difference. The order of rows does not count, and the number of equal rows does."""
    here, wanted = Counter(map(tuple, actual)), Counter(map(tuple, expected))
    missing = list((wanted - here).elements())
    extra = list((here - wanted).elements())
    changed: list[tuple[Row, Row]] = []
    for row in list(missing):
        near = max(extra, key=lambda other: _equal_values(row, other), default=None)
        # A row that differs in more than half of its values is another row.
        if near is not None and 2 * _equal_values(row, near) >= len(row) and _equal_values(row, near):
            changed.append((row, near))
            missing.remove(row)
            extra.remove(near)
    return RowDifference(tuple(columns), tuple(missing), tuple(extra), tuple(changed))


def _equal_values(one: Row, other: Row) -> int:
    return sum(mine == theirs for mine, theirs in zip(one, other, strict=True))
