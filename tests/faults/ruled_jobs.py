"""Jobs of the crash matrix with rules: five kinds of wrong rows, each in its table once, and counted once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tests.faults.jobs import SOURCE, Facts, Kind, Row, exactly

_COUNT: Final = -1_000_000  # minus the number of the rule, before the count of its violations
_RULES: Final = (("id % 7 <> 0", "INTO TABLE wrong_{0}"), ("id % 11 <> 1", "INTO TABLE wrong_{0}"))
_MORE: Final = (("id % 13 <> 2", "INTO TABLE odd_{0}"), ("id % 5 <> 3", "DROP ROW"), ("id % 3 <> 0", ""))


def _clause(number: int, condition: str, action: str, job: str) -> str:
    text = f"CONSTRAINT r{number} EXPECT ({condition})"
    return f"{text} ON VIOLATION {action.format(job)}" if action else text


def _job(name: str, insert: str) -> str:
    rules = ", ".join(_clause(number, *rule, name) for number, rule in enumerate((*_RULES, *_MORE)))
    return f"CREATE JOB IF NOT EXISTS {name} ({rules}) OPTIONS ('snapshotIntervalMillis' = '100') AS {insert}"


def _read(name: str, *tables: str) -> str:
    """Return the rows of the tables with their number, those of the tables of rules, and the counts."""
    written = " UNION ALL ".join(f"SELECT {n} AS n, id FROM {table}" for n, table in enumerate(tables))
    wrong = " UNION ALL ".join(
        f"SELECT {n}, CAST(get_json_object(row, '$.id') AS BIGINT) FROM {table}_{name}"
        for n, table in ((-1, "wrong"), (-2, "odd"))
    )
    counts = f"SELECT {_COUNT} - CAST(substr(rule, 2) AS INT), violations FROM jetsql.expectations WHERE job = '{name}'"
    return f"({written} UNION ALL {wrong} UNION ALL {counts})"


def _violated(i: int) -> list[bool]:
    return [i % 7 == 0, i % 11 == 1, i % 13 == 2, i % 5 == 3, i % 3 == 0]


def _expected(tables: int, ids: Iterable[int]) -> Iterable[Row]:
    counts = [0] * 5
    for i in ids:
        violated = _violated(i)
        for number, is_violated in enumerate(violated):
            counts[number] += is_violated
        if not any(violated[:4]):
            yield from ((table, i) for table in range(tables))
        if violated[0] or violated[1]:
            yield -1, i
        if violated[2]:
            yield -2, i
    yield from ((_COUNT - number, count) for number, count in enumerate(counts))


def _one_table(facts: Facts) -> Iterable[Row]:
    return _expected(1, facts.source.ids())


def _two_tables(facts: Facts) -> Iterable[Row]:
    return _expected(2, facts.source.ids())


RULED_KINDS: Final = (
    Kind(
        "ruled",
        "rules beside file table",
        _read("ruled", "ruled"),
        "n, id",
        _job("ruled", f"INSERT INTO ruled SELECT id FROM {SOURCE}"),
        exactly(_one_table),
    ),
    Kind(
        "r_split",
        "rules of several tables",
        _read("r_split", "r_left", "r_right"),
        "n, id",
        _job("r_split", f"FROM {SOURCE} INSERT INTO r_left SELECT id INSERT INTO r_right SELECT id"),
        exactly(_two_tables),
    ),
)
