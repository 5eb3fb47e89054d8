"""Are the tables right? What they must hold, compared with what they hold.

Each fact is a table of its own: a key, and the numbers that belong to it. Two tables are the same when every key has
the same numbers in both, so a difference can be told by the keys that differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from examples.story import say
from jetsql.output.render import Format, render_lines
from jetsql.resultset import Column, Value
from jetsql.server.statement_result import StatementResult as Rows

SHOWN_DIFFERENCES = 5
COLUMNS = (Column("table"), Column("in_the_source", "bigint"), Column("in_the_table", "bigint"), Column("verdict"))

Key = tuple[object, ...]
Facts = Mapping[Key, tuple[int, ...]]


@dataclass(frozen=True)
class Verdict:
    """source_rows, table_rows: how many keys there are. differences: one line for each that differs."""

    name: str
    source_rows: int
    table_rows: int
    differences: tuple[str, ...]


def verdict(name: str, expected: Facts, rows: Iterable[tuple[object, ...]]) -> Verdict:
    """rows: of the table, the key's columns first, then its numbers."""
    found = facts(rows, len(next(iter(expected), ())))
    return Verdict(name, len(expected), len(found), tuple(differences(expected, found)))


def report(verdicts: Sequence[Verdict]) -> int:
    """Show them, and some of what differs. Returns 1 when something does, else 0."""
    show(COLUMNS, [(v.name, v.source_rows, v.table_rows, "differs" if v.differences else "same") for v in verdicts])
    for wrong in (v for v in verdicts if v.differences):
        say(f"\n{wrong.name}: {len(wrong.differences)} of them differ, for example:")
        for line in wrong.differences[:SHOWN_DIFFERENCES]:
            say(f"  {line}")
    return 1 if any(v.differences for v in verdicts) else 0


def show(columns: tuple[Column, ...], rows: Iterable[tuple[Value, ...]]) -> None:
    say()
    for line in render_lines(Rows(columns, iter(rows)), Format.TABLE):
        say(f"  {line}")


def facts(rows: Iterable[tuple[object, ...]], key_columns: int) -> Facts:
    """The rows of a query. A key that comes twice has the sum of both, so that a row too many shows."""
    found: dict[Key, tuple[int, ...]] = {}
    for row in rows:
        key, values = row[:key_columns], numbers(row[key_columns:])
        before = found.get(key, (0,) * len(values))
        found[key] = tuple(map(sum, zip(before, values, strict=True)))
    return found


def differences(expected: Facts, found: Facts) -> list[str]:
    """One line for each key whose numbers differ."""
    keys = sorted(expected.keys() | found.keys(), key=str)
    return [
        f"{_words(key)}: {_words(found.get(key))} in the table, {_words(expected.get(key))} in the source"
        for key in keys
        if expected.get(key) != found.get(key)
    ]


def numbers(row: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(int(value) for value in row)


def _words(values: tuple[object, ...] | None) -> str:
    return "nothing" if values is None else ", ".join(str(value) for value in values)
