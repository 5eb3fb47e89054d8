"""The comparison of tables with their expected contents.

Both are facts: keys, each with its numbers. They are the same if every key has the same numbers in both; otherwise the
keys that differ are reported.
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
    """The result of a comparison."""

    name: str
    source_rows: int  # keys in the source
    table_rows: int  # keys in the table
    differences: tuple[str, ...]  # a line for each key that differs


def verdict(name: str, expected: Facts, rows: Iterable[tuple[object, ...]]) -> Verdict:
    """Compare the rows of a table with the expected facts. rows: the columns of the key, then its numbers."""
    actual = facts(rows, len(next(iter(expected), ())))
    return Verdict(name, len(expected), len(actual), tuple(differences(expected, actual)))


def report(verdicts: Sequence[Verdict]) -> int:
    """Show the verdicts and some of the differences. Return the exit code: 1 if a table differs, otherwise 0."""
    show(COLUMNS, [(v.name, v.source_rows, v.table_rows, "differs" if v.differences else "same") for v in verdicts])
    for wrong in (v for v in verdicts if v.differences):
        say(f"\n{wrong.name}: {len(wrong.differences):,} keys differ, for example:")
        for line in wrong.differences[:SHOWN_DIFFERENCES]:
            say(f"  {line}")
    return 1 if any(v.differences for v in verdicts) else 0


def show(columns: tuple[Column, ...], rows: Iterable[tuple[Value, ...]]) -> None:
    """Show rows as a table."""
    say()
    for line in render_lines(Rows(columns, iter(rows)), Format.TABLE):
        say(f"  {line}")


def facts(rows: Iterable[tuple[object, ...]], key_columns: int) -> Facts:
    """Return the rows of a query as facts. A repeated key gets the sum of its numbers, so an extra row is detected."""
    result: dict[Key, tuple[int, ...]] = {}
    for row in rows:
        key, values = row[:key_columns], numbers(row[key_columns:])
        before = result.get(key, (0,) * len(values))
        result[key] = tuple(map(sum, zip(before, values, strict=True)))
    return result


def differences(expected: Facts, actual: Facts) -> list[str]:
    """Return a line for each key whose numbers differ."""
    keys = sorted(expected.keys() | actual.keys(), key=str)
    return [
        f"{_join(key)}: {_join(actual.get(key))} in the table, {_join(expected.get(key))} in the source"
        for key in keys
        if expected.get(key) != actual.get(key)
    ]


def numbers(row: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the values of a row as integers."""
    return tuple(int(value) for value in row)


def _join(values: tuple[object, ...] | None) -> str:
    return "nothing" if values is None else ", ".join(str(value) for value in values)
