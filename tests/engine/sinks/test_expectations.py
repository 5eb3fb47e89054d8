"""CONSTRAINT ... EXPECT: rows that violate a rule are counted, dropped, written to a table, or fail the job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Sql
from tests.support.tables.json_files import write_json_files

pytestmark = pytest.mark.spark

ROWS = [{"id": 1, "age": 40}, {"id": 2, "age": -1}, {"id": 3}, {"id": 4, "age": 200}]


@pytest.fixture
def people(sql: Sql, tmp_path: Path) -> Path:
    """Return the folder of the stream `people`, with a file of four rows, of which the age of three is wrong."""
    folder = tmp_path / "people"
    folder.mkdir()
    options = "'maxFilesPerTrigger' = '1'"
    sql(f"CREATE TABLE people (id INT, age INT) USING json LOCATION '{folder}' OPTIONS ({options})")
    sql("CREATE TABLE adults (id INT, age INT) USING parquet")
    write_json_files(folder, [ROWS], 0)
    return folder


def ids(sql: Sql, table: str = "adults") -> list[int]:
    return [row[0] for row in sql(f"SELECT id FROM {table} ORDER BY id")]


def counts(sql: Sql) -> list[tuple[Any, ...]]:
    return sorted(
        sql(
            "SELECT rule, action, rows, violations, batch, batch_violations FROM jetsql.expectations"
            " WHERE job_id = (SELECT max(id) FROM jetsql.jobs WHERE name = 'j')"
        )
    )


def test_rules_that_warn_and_drop_count_their_rows(sql: Sql, people: Path) -> None:
    sql(
        "CREATE JOB j (CONSTRAINT known EXPECT (age IS NOT NULL),"
        " CONSTRAINT valid EXPECT (age BETWEEN 0 AND 120) ON VIOLATION DROP ROW)"
        " AS INSERT INTO adults SELECT * FROM STREAM people"
    )
    sql("WAIT FOR JOB j UNTIL IDLE")
    assert ids(sql) == [1]
    assert counts(sql) == [("known", "WARN", 4, 1, 0, 1), ("valid", "DROP ROW", 4, 3, 0, 3)]
    write_json_files(people, [[{"id": 5, "age": 5}, {"id": 6, "age": 500}]], 1)
    sql("WAIT FOR JOB j UNTIL IDLE")
    assert ids(sql) == [1, 5]
    assert counts(sql) == [("known", "WARN", 6, 1, 1, 0), ("valid", "DROP ROW", 6, 4, 1, 1)]
    sql("DROP JOB j")


def test_rows_go_to_the_table_of_the_rule(sql: Sql, people: Path) -> None:
    sql(
        "CREATE JOB j (CONSTRAINT known EXPECT (age IS NOT NULL) ON VIOLATION INTO TABLE wrong,"
        " CONSTRAINT valid EXPECT (age BETWEEN 0 AND 120) ON VIOLATION INTO TABLE wrong,"
        " CONSTRAINT odd EXPECT (id % 2 = 1))"
        " AS INSERT INTO adults SELECT * FROM STREAM people"
    )
    sql("WAIT FOR JOB j UNTIL IDLE")
    assert ids(sql) == [1]
    assert sorted(sql("SELECT job, batch, rules, row FROM wrong"), key=str) == [
        ("j", 0, ["known", "valid"], '{"id":3,"age":null}'),
        ("j", 0, ["valid", "odd"], '{"id":2,"age":-1}'),
        ("j", 0, ["valid", "odd"], '{"id":4,"age":200}'),
    ]
    sql("DROP JOB j")


def test_a_row_that_fails_the_job_is_named(sql: Sql, people: Path) -> None:
    error = sql.error(
        "CREATE JOB j (CONSTRAINT valid EXPECT (age BETWEEN 0 AND 120) ON VIOLATION FAIL UPDATE)"
        " AS INSERT INTO adults SELECT * FROM STREAM people"
    )
    assert "valid" in error.message
    assert '{"id":2,"age":-1}' in error.message
    assert ids(sql) == []


def test_rules_change_without_losing_the_state(sql: Sql, people: Path) -> None:
    sql("CREATE TABLE totals (odd INT, people BIGINT, oldest INT) USING parquet")
    rules = "CONSTRAINT old EXPECT (oldest > 100), CONSTRAINT {} EXPECT (people < {}) ON VIOLATION DROP ROW"
    body = "INSERT OVERWRITE totals SELECT id % 2, count(*), max(age) FROM STREAM people GROUP BY id % 2"
    sql(f"CREATE JOB j ({rules.format('few', 9)}) AS {body}")
    sql("WAIT FOR JOB j UNTIL IDLE")
    assert sorted(sql("SELECT * FROM totals")) == [(0, 2, 200), (1, 2, 40)]
    assert [row[:4] for row in counts(sql)] == [("few", "DROP ROW", 2, 0), ("old", "WARN", 2, 1)]
    message = sql(f"CREATE OR REPLACE JOB j ({rules.format('fewer', 3)}) AS {body}")[0][-1]
    assert "The state is kept." in message
    assert "The rule fewer is added. The rule few is removed." in message
    write_json_files(people, [[{"id": 5, "age": 50}]], 1)
    sql("WAIT FOR JOB j UNTIL IDLE")
    assert sorted(sql("SELECT * FROM totals")) == [(0, 2, 200)]
    assert [row[:4] for row in counts(sql)] == [("fewer", "DROP ROW", 2, 1), ("old", "WARN", 4, 2)]
    created = sql.value("SHOW CREATE JOB j")
    assert "CONSTRAINT fewer EXPECT (people < 3) ON VIOLATION DROP ROW" in created
    sql("DROP JOB j")


def test_rules_of_several_tables_check_the_rows_of_their_source(sql: Sql, people: Path) -> None:
    sql("CREATE TABLE minors (id INT) USING parquet")
    sql(
        "CREATE JOB j (CONSTRAINT valid EXPECT (age BETWEEN 0 AND 120) ON VIOLATION INTO TABLE wrong,"
        " CONSTRAINT known EXPECT (age IS NOT NULL) ON VIOLATION DROP ROW)"
        " AS FROM STREAM people INSERT INTO adults SELECT id, age WHERE age >= 18 INSERT INTO minors SELECT id"
    )
    sql("WAIT FOR JOB j UNTIL IDLE")
    assert (ids(sql), ids(sql, "minors")) == ([1], [1])
    assert sorted(sql("SELECT rules, row FROM wrong"), key=str) == [
        (["valid", "known"], '{"id":3,"age":null}'),
        (["valid"], '{"id":2,"age":-1}'),
        (["valid"], '{"id":4,"age":200}'),
    ]
    assert [(row[0], *row[2:4]) for row in counts(sql)] == [("known", 4, 1), ("valid", 4, 3)]
    sql("DROP JOB j")


def test_statements_of_databricks_run_as_they_are(sql: Sql, people: Path) -> None:
    sql(
        "CREATE OR REFRESH STREAMING TABLE customers(\n"
        "  CONSTRAINT valid_customer_age EXPECT (age BETWEEN 0 AND 120) ON VIOLATION DROP ROW\n"
        ") AS SELECT * FROM STREAM(people)"
    )
    sql("REFRESH STREAMING TABLE customers")
    assert ids(sql, "customers") == [1]
    sql(
        "CREATE OR REFRESH MATERIALIZED VIEW ages (CONSTRAINT known EXPECT (age IS NOT NULL),"
        " CONSTRAINT valid EXPECT (age < 120) ON VIOLATION DROP ROW) AS SELECT id, age FROM people"
    )
    sql("REFRESH MATERIALIZED VIEW ages")
    assert ids(sql, "ages") == [1, 2]
    views = "SELECT rule, rows, violations FROM jetsql.expectations WHERE job LIKE '%.ages' AND rows > 0"
    assert sorted(set(sql(views))) == [("known", 4, 1), ("valid", 4, 2)]
    created = sql.value("SHOW CREATE MATERIALIZED VIEW ages")
    assert "CONSTRAINT valid EXPECT (age < 120) ON VIOLATION DROP ROW" in created
    sql("DROP STREAMING TABLE customers")
    sql("DROP MATERIALIZED VIEW ages")


@pytest.mark.parametrize(
    ("condition", "condition_of_error", "part"),
    [
        ("age + 1", "JETSQL.INVALID_EXPECTATION", "its condition is of the type INT"),
        ("count(*) > 1", "JETSQL.INVALID_EXPECTATION", "an aggregate needs more than one row"),
        ("row_number() OVER (ORDER BY id) = 1", "JETSQL.INVALID_EXPECTATION", "a window function"),
        ("id IN (SELECT 1)", "JETSQL.INVALID_EXPECTATION", "it has a subquery"),
        ("rand() > 0.5", "JETSQL.INVALID_EXPECTATION", "rand()"),
        ("explode(array(true))", "JETSQL.INVALID_EXPECTATION", "a generator"),
        ("age > 0 AND", "JETSQL.INVALID_EXPECTATION", "the name AND comes after its condition"),
        ("now() > DATE'2026-01-01'", "JETSQL.INVALID_EXPECTATION", "now() returns another value"),
        ("current_date() > DATE'2026-01-01'", "JETSQL.INVALID_EXPECTATION", "current_date() returns another value"),
        ("agee > 1", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "agee"),
    ],
)
def test_conditions_that_cannot_check_a_row_are_refused(
    sql: Sql, people: Path, condition: str, condition_of_error: str, part: str
) -> None:
    before = "CREATE JOB j (CONSTRAINT valid EXPECT ("
    error = sql.error(f"{before}{condition})) AS INSERT INTO adults SELECT * FROM STREAM people")
    assert error.condition == condition_of_error
    assert part in error.message
    assert (error.line, error.column) == (1, len(before) + 1)


@pytest.mark.parametrize(
    ("table", "part"),
    [
        ("`größe`", "cannot have this name"),
        ("`a.b`", "cannot have this name"),
        ("a.b.c", "more than two parts"),
        ("Copies", "is the table that the job writes"),
        ("wrong", "is a source of the job"),
        ("typed", "its columns or its format do not fit"),
        ("nowhere.wrong", "its schema does not exist"),
    ],
)
def test_tables_that_cannot_have_the_rows_are_refused(sql: Sql, table: str, part: str) -> None:
    columns = "job STRING, batch BIGINT, rules ARRAY<STRING>, row STRING"
    for name in ("wrong", "copies"):
        sql(f"CREATE TABLE {name} ({columns}) USING parquet")
    sql("CREATE TABLE typed (job STRING, batch BIGINT, rules STRING, row STRING) USING parquet")
    before = "CREATE JOB j (CONSTRAINT first EXPECT (batch = 0) ON VIOLATION INTO TABLE "
    error = sql.error(f"{before}{table}) AS INSERT INTO copies SELECT * FROM STREAM wrong")
    assert part in error.message
    assert (error.line, error.column) == (1, len(before) + 1)


def test_a_table_of_two_spellings_has_each_row_once(sql: Sql, people: Path) -> None:
    sql(
        "CREATE JOB j (CONSTRAINT known EXPECT (age IS NOT NULL) ON VIOLATION INTO TABLE Wrong,"
        " CONSTRAINT valid EXPECT (age < 120) ON VIOLATION INTO TABLE `wrong`)"
        " AS INSERT INTO adults SELECT * FROM STREAM people"
    )
    sql("WAIT FOR JOB j UNTIL IDLE")
    assert sorted(sql("SELECT rules, row FROM wrong")) == [
        (["known", "valid"], '{"id":3,"age":null}'),
        (["valid"], '{"id":4,"age":200}'),
    ]
    sql("DROP JOB j")
