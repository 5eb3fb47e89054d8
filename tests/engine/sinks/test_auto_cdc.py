"""AUTO CDC into PostgreSQL: after each batch, the table is what the changes make of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tests.conftest import Sql
from tests.support.servers.postgres import Postgres

pytestmark = pytest.mark.spark

QUICK = "OPTIONS ('snapshotIntervalMillis' = '100')"
CDC = (
    "AUTO CDC INTO people FROM STREAM changes KEYS (id) APPLY AS DELETE WHEN op = 'D' SEQUENCE BY n"
    " COLUMNS * EXCEPT (op, n) STORED AS SCD TYPE 1"
)
_schemas = itertools.count(1)


class People:
    """A table in the database, and the stream of its changes."""

    def __init__(self, server: Postgres, sql: Sql) -> None:
        self.server, self.sql = server, sql
        self.schema = f"people_{next(_schemas)}"
        server(f"CREATE SCHEMA {self.schema}")
        server(f"CREATE TABLE {self.schema}.people (id int PRIMARY KEY, name text, town text)")
        sql(f"CREATE TABLE people {server.options(f'{self.schema}.people', key_columns='id')}")
        sql("CREATE TABLE changes (id INT, name STRING, town STRING, op STRING, n BIGINT) USING json")

    def change(self, *changes: str) -> None:
        """Add changes as one file: (id, name, town, op, n)."""
        self.sql(f"INSERT INTO changes SELECT /*+ COALESCE(1) */ * FROM VALUES {', '.join(changes)}")

    def rows(self) -> list[tuple[Any, ...]]:
        return self.server(f"SELECT * FROM {self.schema}.people ORDER BY 1")

    def rows_after(self, *changes: str) -> list[tuple[Any, ...]]:
        """Return the rows after the job `j` has applied changes."""
        self.change(*changes)
        self.sql("WAIT FOR JOB j UNTIL IDLE")
        return self.rows()


@pytest.fixture
def people(postgres: Postgres, sql: Sql) -> Iterator[People]:
    people = People(postgres, sql)
    people.change("(1, 'Ann', 'Rome', 'I', 1)", "(2, 'Bob', 'Bonn', 'I', 2)", "(3, 'Eve', NULL, 'I', 3)")
    yield people
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")
    postgres(f"DROP SCHEMA {people.schema} CASCADE")


def test_the_newest_change_of_each_key_wins(people: People) -> None:
    people.server(f"INSERT INTO {people.schema}.people VALUES (9, 'not ours', NULL)")
    people.sql(f"CREATE JOB j {QUICK} AS {CDC}")
    ann, bob, eve, other = (1, "Ann", "Rome"), (2, "Bob", "Bonn"), (3, "Eve", None), (9, "not ours", None)
    assert people.rows() == [ann, bob, eve, other]
    # In one batch: out of order, an insert that is deleted again, and a row without any value but its key.
    bobby = (2, "Bobby", None)
    assert people.rows_after(
        "(2, 'Bobby', NULL, 'U', 12)",
        "(2, 'B.', 'Bern', 'U', 11)",
        "(4, 'Joe', NULL, 'I', 10)",
        "(4, NULL, NULL, 'D', 13)",
        "(5, NULL, NULL, 'I', 14)",
        "(3, NULL, NULL, 'D', 15)",
    ) == [ann, bobby, (5, None, None), other]
    # Across batches: changes that are late, one of them for a deleted key, and all of the first ones again.
    late = ("(2, 'late', NULL, 'U', 5)", "(3, 'late', NULL, 'U', 14)", "(2, NULL, NULL, 'D', 6)")
    assert people.rows_after(*late) == [ann, bobby, (5, None, None), other]
    people.sql("SUSPEND JOB j")
    people.change("(1, 'Ann', 'Rome', 'I', 1)", "(2, 'Bob', 'Bonn', 'I', 2)", "(3, 'Eve', NULL, 'I', 3)")
    people.sql("RESUME JOB j")
    # A deleted key returns. Of two changes with the same sequence, the deletion wins.
    again = people.rows_after("(3, 'Eve', 'Oslo', 'I', 20)", "(1, NULL, NULL, 'D', 21)", "(1, 'x', NULL, 'U', 21)")
    assert again == [bobby, (3, "Eve", "Oslo"), (5, None, None), other]


@pytest.mark.slow
def test_table_is_independent_of_the_order_of_changes(people: People) -> None:
    """Deliver changes shuffled, some of them twice, in several batches: the table is that of all of them in order."""
    random = Random(7)
    people.sql(f"CREATE JOB j {QUICK} AS {CDC}")
    changes = [(random.randrange(1, 30), n, random.random() < 0.3) for n in range(10, 400)]
    expected: dict[int, tuple[Any, ...]] = {row[0]: row for row in people.rows()}
    for id_, n, deletes in changes:
        expected.pop(id_, None)
        if not deletes:
            expected[id_] = (id_, f"name {n}", None)
    delivered = random.sample([*changes, *random.sample(changes, 100)], 490)
    for part in range(0, 490, 70):
        values = (
            f"({id_}, NULL, NULL, 'D', {n})" if deletes else f"({id_}, 'name {n}', NULL, 'U', {n})"
            for id_, n, deletes in delivered[part : part + 70]
        )
        rows = people.rows_after(*values)
    assert rows == sorted(expected.values())


@pytest.mark.slow
def test_columns_are_matched_by_name_and_the_others_are_null(people: People) -> None:
    source = "(SELECT town, id AS Id, n FROM STREAM changes WHERE id <> 2)"
    people.sql(
        f"CREATE JOB j {QUICK} AS AUTO CDC INTO people FROM {source} KEYS (ID) SEQUENCE BY (n, id) COLUMNS (town, id)"
    )
    assert people.rows() == [(1, None, "Rome"), (3, None, None)]


def test_explain_names_the_stored_state(people: People) -> None:
    lines = "\n".join(str(row[0]) for row in people.sql(f"EXPLAIN CREATE JOB j AS {CDC}"))
    assert "the newest change of each key updates or deletes its row, by id" in lines
    assert "exactly once" in lines
    assert "State that nothing removes: each group by id." in lines


@pytest.mark.slow
def test_a_change_without_order_or_key_ends_the_job(people: People) -> None:
    people.sql(f"CREATE JOB j {QUICK} AS {CDC}")
    people.change("(1, 'Ann', NULL, 'U', NULL)")
    error = people.sql.error("WAIT FOR JOB j UNTIL IDLE")
    assert (
        people.sql.value("SELECT last_error_condition FROM jetsql.jobs WHERE end_time IS NULL")
        == "JETSQL.SINK_REFUSED_ROWS"
    )
    assert "FROM (SELECT * FROM STREAM source WHERE ... IS NOT NULL)" in f"{error.message} {error.hint}"
    assert "NULL in SEQUENCE BY" in error.message
    assert people.rows() == [(1, "Ann", "Rome"), (2, "Bob", "Bonn"), (3, "Eve", None)]


@pytest.mark.slow
def test_the_hint_names_the_right_that_is_missing(people: People) -> None:
    table = f"{people.schema}.people"
    people.server(f"""
        CREATE ROLE cleo LOGIN PASSWORD 'pw-of-cleo';
        GRANT USAGE, CREATE ON SCHEMA {people.schema} TO cleo;
        GRANT SELECT, INSERT, UPDATE ON {table} TO cleo
    """)
    options = people.server.options(table, user="cleo", password="pw-of-cleo", key_columns="id")
    people.sql("DROP TABLE people")
    people.sql(f"CREATE TABLE people {options}")
    error = people.sql.error(f"CREATE JOB j {QUICK} AS {CDC}")
    assert error.condition == "JETSQL.SINK_NOT_READY"
    assert f"Run GRANT SELECT, DELETE ON {table} TO cleo there." in f"{error.message} {error.hint}"
    people.server(f"GRANT SELECT, DELETE ON {table} TO cleo")
    people.sql(f"CREATE JOB j {QUICK} AS {CDC}")
    assert len(people.rows()) == 3
    people.sql("DROP JOB j")
    people.server("DROP OWNED BY cleo; DROP ROLE cleo")


CHANGES = "FROM STREAM changes KEYS (id)"
REFUSED = {
    "file table": (f"INTO files {CHANGES} SEQUENCE BY n COLUMNS (id, name)", "files", "is a file table"),
    "no key": (f"INTO keyless {CHANGES} SEQUENCE BY n COLUMNS (id, name)", "keyless", "has no key"),
    "other keys": ("INTO people FROM STREAM changes KEYS (town) SEQUENCE BY n COLUMNS (id)", "town", "KEYS must be"),
    "more keys": ("INTO people FROM STREAM changes KEYS (id, town) SEQUENCE BY n COLUMNS (id)", "town", "KEYS must be"),
    "no stream": ("INTO people FROM changes KEYS (id) SEQUENCE BY n COLUMNS (id)", "people", "reads none"),
    "key left out": (f"INTO people {CHANGES} SEQUENCE BY n COLUMNS (name)", "COLUMNS", "leaves out id"),
    "more columns": (f"INTO people {CHANGES} SEQUENCE BY n", "people", "does not have: op, n."),
    "another column": (f"INTO people {CHANGES} SEQUENCE BY n COLUMNS (id, op)", "COLUMNS", "does not have: op."),
    "no column": (f"INTO people {CHANGES} SEQUENCE BY nn", "nn", "`nn` cannot be resolved"),
    "no condition": (f"INTO people {CHANGES} APPLY AS DELETE WHEN n + 1 SEQUENCE BY n", "n + 1", '"BOOLEAN" type'),
    "no key column": ("INTO people FROM STREAM changes KEYS (idd) SEQUENCE BY n", "idd", "`idd` cannot be resolved"),
    "no order": (f"INTO people {CHANGES} SEQUENCE BY map(n, n)", "map(n, n)", "does not support ordering"),
    "no expression": (f"INTO people {CHANGES} SEQUENCE BY n +", "", "Syntax error"),
    "another mode": (f"INTO people {CHANGES} SEQUENCE BY n COLUMNS (id)", "", "cannot write in output mode 'append'"),
}


def test_impossible_changes_are_refused_at_their_place(people: People) -> None:
    people.sql("CREATE TABLE files (id INT, name STRING) USING parquet")
    people.sql(f"CREATE TABLE keyless {people.server.options(f'{people.schema}.people')}")
    for case, (body, word, message) in REFUSED.items():
        options = "OPTIONS ('outputMode' = 'append') " if case == "another mode" else ""
        text = f"CREATE JOB j {options}AS AUTO CDC {body}"
        error = people.sql.error(text)
        assert message in error.message, case
        assert not word or error.column == text.rindex(word) + 1, case
    assert people.sql("SHOW JOBS") == []
