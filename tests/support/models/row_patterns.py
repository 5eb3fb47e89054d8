"""A slow and simple MATCH_RECOGNIZE, with which the results of JetSQL are compared: all ways to match, in their order.

It shares nothing with the operator: patterns are trees that a generator walks, and conditions are functions in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

Row = dict[str, Any]
Labels = tuple[str, ...]


class Undecided(Exception):
    """The result depends on rows that have not arrived."""


@dataclass(frozen=True)
class View:
    """The rows of a key that a condition or measure sees, and the variables of the rows from `start` on."""

    rows: Sequence[Row]
    start: int
    labels: Labels
    number: int  # of the match
    is_complete: bool  # whether no rows follow

    def value(self, column: str, variable: str = "", offset: int = 0, *, first: bool = False, distance: int = 0) -> Any:
        """Return a column in the row of a variable, '' for any, that FIRST or LAST names; None if there is none."""
        at = self.indexes(variable)
        if not first:
            at.reverse()
        return self._at(at[offset] + distance, column) if offset < len(at) else None

    def _at(self, index: int, column: str) -> Any:
        if index >= len(self.rows) and not self.is_complete:
            raise Undecided
        return self.rows[index][column] if 0 <= index < len(self.rows) else None

    def values(self, column: str, variable: str = "") -> list[Any]:
        """Return the values of a column without None, as aggregates read them."""
        found = [self.rows[index][column] for index in self.indexes(variable)]
        return [value for value in found if value is not None]

    def indexes(self, variable: str = "") -> list[int]:
        return [self.start + n for n, label in enumerate(self.labels) if variable in ("", label)]


def compare(left: Any, operator: Callable[[Any, Any], bool], right: Any) -> bool:
    """Return the result of a comparison of SQL as a condition: unknown is false."""
    return left is not None and right is not None and operator(left, right)


@dataclass(frozen=True)
class Variable:
    name: str

    def text(self) -> str:
        return self.name

    def ways(self, labels: Labels, fits: Callable[[Labels], bool]) -> Iterator[Labels]:
        longer = (*labels, self.name)
        if fits(longer):
            yield longer


@dataclass(frozen=True)
class Chain:
    parts: tuple[Any, ...]

    def text(self) -> str:
        return " ".join(part.text() for part in self.parts)

    def ways(self, labels: Labels, fits: Callable[[Labels], bool]) -> Iterator[Labels]:
        if not self.parts:
            yield labels
            return
        for begun in self.parts[0].ways(labels, fits):
            yield from Chain(self.parts[1:]).ways(begun, fits)


@dataclass(frozen=True)
class Either:
    options: tuple[Any, ...]

    def text(self) -> str:
        return f"({' | '.join(option.text() for option in self.options)})"

    def ways(self, labels: Labels, fits: Callable[[Labels], bool]) -> Iterator[Labels]:
        for option in self.options:
            yield from option.ways(labels, fits)


@dataclass(frozen=True)
class Times:
    part: Any
    least: int
    most: int
    is_reluctant: bool

    def text(self) -> str:
        most = "" if self.most == UNBOUNDED else str(self.most)
        short = {"0,": "*", "1,": "+", "0,1": "?"}.get(f"{self.least},{most}", f"{{{self.least},{most}}}")
        return f"({self.part.text()}){short}{'?' if self.is_reluctant else ''}"

    def ways(self, labels: Labels, fits: Callable[[Labels], bool], count: int = 0) -> Iterator[Labels]:
        if self.is_reluctant and count >= self.least:
            yield labels
        if count < self.most:
            for longer in self.part.ways(labels, fits):
                if count < self.least or len(longer) > len(labels):
                    yield from self.ways(longer, fits, count + 1)
        if not self.is_reluctant and count >= self.least:
            yield labels


UNBOUNDED: Final = 1_000_000


@dataclass(frozen=True)
class Match:
    """A MATCH_RECOGNIZE: rows have the columns `k`, by which they are partitioned, and `t`, a number of seconds."""

    pattern: Any
    conditions: dict[str, Callable[[View], bool]]
    measures: Sequence[Callable[[View], Any]]
    all_rows: bool = False
    to_next_row: bool = False
    within: int | None = None  # seconds

    def results(self, rows: Sequence[Row], order: Callable[[Row], Any], *, is_stream: bool = False) -> list[Any]:
        """Return the rows of the result. is_stream: whether later rows of each key may arrive"""
        keys = sorted({row["k"] for row in rows})
        found: list[Any] = []
        for key in keys:
            found += self._of_key(sorted((row for row in rows if row["k"] == key), key=order), is_stream)
        return found

    def _of_key(self, rows: Sequence[Row], is_stream: bool) -> list[Any]:
        found: list[Any] = []
        start = number = 0
        while start < len(rows):
            try:
                labels = self._find(rows, start, number + 1, is_stream)
                results = [] if labels is None else self._result(rows, start, labels, number + 1, is_stream)
            except Undecided:
                break
            found += results
            number += labels is not None
            start += 1 if labels is None or self.to_next_row else len(labels)
        return found

    def _find(self, rows: Sequence[Row], start: int, number: int, is_stream: bool) -> Labels | None:
        def fits(labels: Labels) -> bool:
            at = start + len(labels) - 1
            if at >= len(rows):
                if is_stream and self.within is None:
                    raise Undecided
                return False
            if self.within is not None and rows[at]["t"] > rows[start]["t"] + self.within:
                return False
            condition = self.conditions.get(labels[-1])
            return condition is None or condition(View(rows, start, labels, number, not is_stream))

        return next(self.pattern.ways((), fits), None)

    def _result(self, rows: Sequence[Row], start: int, labels: Labels, number: int, is_stream: bool) -> list[Any]:
        ends = range(1, len(labels) + 1) if self.all_rows else [len(labels)]
        found = []
        for end in ends:
            view = View(rows, start, labels[:end], number, not is_stream)
            row = rows[start + end - 1]
            values = tuple(measure(view) for measure in self.measures)
            found.append((row["k"], row["t"], *values, row["id"], row["v"]) if self.all_rows else (row["k"], *values))
        return found
