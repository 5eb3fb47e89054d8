"""Options that refer to a secret, with a real database: the secret is used and never shown."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Sql
from tests.support.servers.postgres import PASSWORD, Postgres

pytestmark = pytest.mark.spark


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "database-password"
    file.write_text(f"{PASSWORD}\n", encoding="utf-8")
    return file


@pytest.fixture
def table(postgres: Postgres, sql: Sql, file: Path) -> Iterator[str]:
    """Return a table in the catalogue whose password is in a file."""
    postgres("CREATE TABLE kept (id int, name text)")
    options = postgres.options("public.kept").replace(f"'{PASSWORD}'", f"'secret:file:{file}'")
    assert PASSWORD not in options
    sql(f"CREATE TABLE kept {options}")
    sql("CREATE TABLE events (id INT, name STRING) USING json")
    sql("INSERT INTO events VALUES (1, 'a'), (2, 'b')")
    yield "kept"
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")
    postgres("DROP TABLE kept")


def test_spark_reads_and_writes_with_it(sql: Sql, table: str) -> None:
    sql("INSERT INTO kept VALUES (7, 'g')")
    assert sql("SELECT * FROM kept") == [(7, "g")]
    assert sql("SELECT e.id FROM events e LEFT JOIN kept k ON k.id = e.id + 6 WHERE k.name = 'g'") == [(1,)]


def test_jobs_write_with_it_and_read_with_it(sql: Sql, postgres: Postgres, table: str) -> None:
    sql("CREATE JOB into_it AS INSERT INTO kept SELECT * FROM STREAM events")
    sql("WAIT FOR JOB into_it UNTIL IDLE")
    assert postgres("SELECT id, name FROM kept ORDER BY 1") == [(1, "a"), (2, "b")]
    sql("CREATE TABLE joined (id INT, name STRING) USING parquet")
    body = "INSERT INTO joined SELECT e.id, k.name FROM STREAM events e JOIN kept k ON e.id = k.id"
    sql(f"CREATE JOB beside_it OPTIONS ('snapshotIntervalMillis' = '100') AS {body}")
    sql("WAIT FOR JOB beside_it UNTIL IDLE")
    assert sorted(sql("SELECT * FROM joined")) == [(1, "a"), (2, "b")]


def test_table_and_job_are_shown_without_only_the_secret(sql: Sql, table: str, file: Path) -> None:
    sql("CREATE JOB into_it AS INSERT INTO kept SELECT * FROM STREAM events")
    shown = [
        *sql("DESCRIBE JOB EXTENDED into_it"),
        *sql("SHOW CREATE JOB into_it"),
        *sql("SHOW JOB HISTORY into_it"),
        *sql("EXPLAIN EXTENDED SELECT * FROM kept"),
        *sql("DESCRIBE EXTENDED kept"),
        *sql("SHOW CREATE TABLE kept"),
    ]
    assert PASSWORD not in str(shown)
    assert "INSERT INTO kept SELECT * FROM STREAM events" in str(shown)
    [(text,)] = sql("SHOW CREATE TABLE kept")
    assert "'password' = '*********(redacted)'" in text and "'user' = 'ann'" in text
    log = sql.engine.home / "engine.log"
    assert PASSWORD not in log.read_text(encoding="utf-8", errors="replace")


@pytest.mark.slow
def test_missing_secret_suspends_the_job(sql: Sql, postgres: Postgres, table: str, file: Path) -> None:
    sql("CREATE JOB into_it AS INSERT INTO kept SELECT * FROM STREAM events")
    sql("SUSPEND JOB into_it")
    file.rename(file.with_suffix(".away"))
    error = sql.error("RESUME JOB into_it")
    assert "database-password" in f"{error.message} {error.hint}"
    assert "Cannot read the secret" in f"{error.message} {error.hint}"
    file.with_suffix(".away").rename(file)
    sql("INSERT INTO events VALUES (3, 'c')")
    sql("RESUME JOB into_it")
    sql("WAIT FOR JOB into_it UNTIL IDLE")
    assert postgres("SELECT id FROM kept ORDER BY 1") == [(1,), (2,), (3,)]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("secret:env:NO_SUCH_VARIABLE", "variable NO_SUCH_VARIABLE of the engine is not set"),
        ("secret:file:/no/such/file", "/no/such/file"),
        ("secret:vault:x", "is not a reference to a secret"),
        ("secret:", "is not a reference to a secret"),
        ("secret:env:", "is not a reference to a secret"),
    ],
)
def test_reference_to_no_secret_is_reported(sql: Sql, postgres: Postgres, value: str, words: str) -> None:
    options = postgres.options("public.kept").replace(f"'{PASSWORD}'", f"'{value}'")
    error = sql.error(f"CREATE TABLE other {options}")
    assert (error.condition, error.sqlstate) == ("JETSQL.SECRET_NOT_READABLE", "42704")
    assert words in error.message


@pytest.mark.slow
def test_settings_of_a_job_may_name_one(sql: Sql) -> None:
    sql("CREATE TABLE source (id INT) USING json")
    sql("CREATE TABLE target (id INT) USING parquet")
    body = "AS INSERT INTO target SELECT * FROM STREAM source"
    sql(f"CREATE JOB j OPTIONS ('spark.example.token' = 'secret:env:PATH') {body}")
    [(text,)] = sql("SHOW CREATE JOB j")
    assert "secret:env:PATH" in text and os.environ["PATH"] not in text
    error = sql.error(f"CREATE JOB k OPTIONS ('spark.example.token' = 'secret:env:NO_SUCH_VARIABLE') {body}")
    assert "NO_SUCH_VARIABLE" in error.message
