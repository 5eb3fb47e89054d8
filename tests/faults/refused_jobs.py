"""Jobs of the crash matrix whose sink refuses rows: each one is in its table once, and each other row in the sink."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tests.faults.jobs import SOURCE, Facts, Kind, Row, exactly

_REFUSED: Final = -1


def _job(name: str, insert: str) -> str:
    options = f"'snapshotIntervalMillis' = '100', 'sink.on.error' = 'table:refused_{name}'"
    return f"CREATE JOB IF NOT EXISTS {name} OPTIONS ({options}) AS {insert}"


def _read(name: str, *tables: str) -> str:
    """Return the rows of the tables with their number, and the refused ones."""
    written = " UNION ALL ".join(f"SELECT {n} AS n, id FROM {table}" for n, table in enumerate(tables))
    kept = f"SELECT {_REFUSED}, CAST(get_json_object(row, '$.id') AS BIGINT) FROM refused_{name}"
    return f"({written} UNION ALL {kept})"


def _checked(facts: Facts) -> Iterable[Row]:
    """Return the ids that the constraint of `crash.checked` permits, and the others."""
    return ((0 if i % 7 else _REFUSED, i) for i in facts.source.ids())


def _halves(facts: Facts) -> Iterable[Row]:
    """Return the ids of two tables, of which `crash.halves` refuses some."""
    for i in facts.source.ids():
        yield 0, i
        yield (1 if i % 5 else _REFUSED), i


def _fitted(facts: Facts) -> Iterable[Row]:
    """Return the ids of rows that fit their table, and the others."""
    return ((0 if i % 6 else _REFUSED, i) for i in facts.source.ids())


REFUSED_KINDS: Final = (
    Kind(
        "fitted",
        "files whose types refuse rows",
        _read("fitted", "fitted"),
        "n, id",
        _job("fitted", f"INSERT INTO fitted SELECT id, if(id % 6 = 0, 300, 1) FROM {SOURCE}"),
        exactly(_fitted),
    ),
    Kind(
        "j_checked",
        "JDBC that refuses rows",
        _read("j_checked", "j_checked"),
        "n, id",
        _job("j_checked", f"INSERT INTO j_checked SELECT id FROM {SOURCE}"),
        exactly(_checked),
    ),
    Kind(
        "halved",
        "two tables: files, JDBC that refuses rows",
        _read("halved", "halved", "j_halves"),
        "n, id",
        _job("halved", f"FROM {SOURCE} INSERT INTO halved SELECT id INSERT INTO j_halves SELECT id"),
        exactly(_halves),
    ),
)
