"""AUTO CDC ... SCD TYPE 2 into PostgreSQL: the table has a row for each change, whatever the order of arrival."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import pytest

from tests.conftest import Sql
from tests.support.servers.postgres import Postgres

pytestmark = pytest.mark.spark

QUICK = "OPTIONS ('snapshotIntervalMillis' = '100')"
CDC = (
    "AUTO CDC INTO people FROM STREAM changes KEYS (id) APPLY AS DELETE WHEN op = 'D' SEQUENCE BY n"
    " COLUMNS * EXCEPT (op, n) STORED AS SCD TYPE 2"
)
Change = tuple[int, str | None, str, int]  # id, name, op, n
Row = tuple[Any, ...]
_schemas = itertools.count(1)


class History:
    """A table with the history of a stream of changes."""

    def __init__(self, server: Postgres, sql: Sql) -> None:
        self.server, self.sql = server, sql
        self.schema = f"history_{next(_schemas)}"
        server(f"CREATE SCHEMA {self.schema}")
        self.create("people", "id int, name text, __start_at bigint, __end_at bigint, PRIMARY KEY (id, __start_at)")
        sql("CREATE TABLE changes (id INT, name STRING, op STRING, n BIGINT) USING json")

    def create(self, table: str, columns: str, keys: str = "id, __start_at") -> None:
        self.server(f"CREATE TABLE {self.schema}.{table} ({columns})")
        self.sql(f"CREATE TABLE {table} {self.server.options(f'{self.schema}.{table}', key_columns=keys)}")

    def change(self, changes: Iterable[Change]) -> None:
        """Add changes as one file."""
        values = (f"({id_}, {'NULL' if name is None else repr(name)}, '{op}', {n})" for id_, name, op, n in changes)
        self.sql(f"INSERT INTO changes SELECT /*+ COALESCE(1) */ * FROM VALUES {', '.join(values)}")

    def rows(self) -> list[Row]:
        return self.server(f"SELECT * FROM {self.schema}.people ORDER BY id, __start_at")

    def rows_after(self, *changes: Change) -> list[Row]:
        """Return the rows after the job `j` has applied changes."""
        self.change(changes)
        self.sql("WAIT FOR JOB j UNTIL IDLE")
        return self.rows()


@pytest.fixture
def history(postgres: Postgres, sql: Sql) -> Iterator[History]:
    history = History(postgres, sql)
    history.change([(1, "Ann", "I", 10), (2, "Bob", "I", 10)])
    yield history
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")
    postgres(f"DROP SCHEMA {history.schema} CASCADE")


def sorted_history(changes: Iterable[Change]) -> list[Row]:
    """Return the history of changes by one sort of all of them. A deletion wins over an update of its sequence."""
    newest: dict[tuple[int, int], Change] = {}
    for change in sorted(set(changes), key=lambda change: change[2] == "D"):
        newest[change[0], change[3]] = change
    ordered = [newest[key] for key in sorted(newest)]
    ends = [after[3] if after[0] == change[0] else None for change, after in itertools.pairwise(ordered)]
    pairs = zip(ordered, [*ends, None], strict=True)
    return [(id_, name, n, end) for (id_, name, op, n), end in pairs if op != "D"]


def test_each_change_begins_a_row_and_ends_the_one_before(history: History) -> None:
    history.sql(f"CREATE JOB j {QUICK} AS {CDC}")
    assert history.rows() == [(1, "Ann", 10, None), (2, "Bob", 10, None)]
    # In one batch: out of order, a deletion, and a key that returns after its deletion.
    assert history.rows_after(
        (1, "Anna", "U", 30), (1, "Anne", "U", 20), (2, None, "D", 20), (2, "Bobby", "I", 40)
    ) == [
        (1, "Ann", 10, 20),
        (1, "Anne", 20, 30),
        (1, "Anna", 30, None),
        (2, "Bob", 10, 20),
        (2, "Bobby", 40, None),
    ]
    # Late changes: an update and a deletion between two rows, one before all rows, and a repeated change.
    late = ((1, "Anka", "U", 25), (1, None, "D", 35), (2, "B.", "I", 5), (2, "Bobby", "I", 40))
    expected = [
        (1, "Ann", 10, 20),
        (1, "Anne", 20, 25),
        (1, "Anka", 25, 30),
        (1, "Anna", 30, 35),
        (2, "B.", 5, 10),
        (2, "Bob", 10, 20),
        (2, "Bobby", 40, None),
    ]
    assert history.rows_after(*late) == expected
    # A deletion with the sequence of an update wins, in whatever order they arrive.
    history.sql("SUSPEND JOB j")
    history.sql("RESUME JOB j")
    expected[-1:] = []
    assert history.rows_after((2, None, "D", 40), (1, "again", "U", 35)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_history_is_that_of_all_changes_in_order(history: History, seed: int) -> None:
    """Deliver changes shuffled, some of them twice, in several batches."""
    random = Random(seed)
    numbers = random.sample(range(11, 1000), 200)
    changes: list[Change] = []
    for n in numbers:
        deletes = random.random() < 0.3
        changes.append((random.randrange(1, 15), None if deletes else f"name {n % 5}", "D" if deletes else "U", n))
    changes += [(id_, None, "D", n) for id_, _, _, n in random.sample(changes, 10)]
    delivered = random.sample([*changes, *random.sample(changes, 50)], 260)
    history.sql(f"CREATE JOB j {QUICK} AS {CDC}")
    for part in range(0, 260, 65):
        rows = history.rows_after(*delivered[part : part + 65])
    assert rows == sorted_history([(1, "Ann", "I", 10), (2, "Bob", "I", 10), *changes])


def test_explain_names_the_growing_table(history: History) -> None:
    lines = "\n".join(str(row[0]) for row in history.sql(f"EXPLAIN CREATE JOB j AS {CDC}"))
    assert "each change is a row, by id, __start_at" in lines
    assert "the state keeps all changes" in lines
    assert "exactly once" in lines
    assert "State that nothing removes: each group by id." in lines


@pytest.mark.slow
def test_a_table_that_cannot_keep_a_history_is_refused(history: History) -> None:
    sql, columns = history.sql, "id int, name text, __start_at bigint"
    history.create("endless", f"{columns}, PRIMARY KEY (id, __start_at)")
    history.create("newest", f"{columns}, __end_at bigint, PRIMARY KEY (id)", keys="id")
    history.create("unindexed", f"{columns}, __end_at bigint")
    sql("CREATE TABLE files (id INT, name STRING, __start_at BIGINT, __end_at BIGINT) USING parquet")
    for table, message, hint in (
        ("endless", "the table does not have __END_AT", "__END_AT of the type of SEQUENCE BY"),
        ("newest", "has one row for each id", "'key.columns' = 'id, __START_AT'"),
        ("unindexed", "has no primary key", "CREATE UNIQUE INDEX"),
        ("files", "is a file table", "USING delta, iceberg, jdbc or kafka"),
    ):
        error = sql.error(f"CREATE JOB j {QUICK} AS {CDC.replace('people', table)}")
        assert message in error.message, table
        assert hint in f"{error.message} {error.hint}", table
    error = sql.error(f"CREATE JOB j AS {CDC.replace('(id)', '(name)')}")
    assert (
        "KEYS must be the 'key.columns' of" in error.message and "Write KEYS (id)." in f"{error.message} {error.hint}"
    )
    assert sql("SHOW JOBS") == []
