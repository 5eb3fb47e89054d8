"""Tables that Spark creates for jobs."""

import pytest

from tests.conftest import Sql

pytestmark = pytest.mark.spark


def test_explain_shows_the_columns_and_creates_nothing(sql: Sql) -> None:
    sql("CREATE TABLE src (id BIGINT, at TIMESTAMP, d STRING) USING parquet")
    query = "SELECT d, named_struct('a', id) AS s, at FROM STREAM src"
    plan = str(sql.value(f"EXPLAIN CREATE JOB j AS CREATE TABLE t PARTITIONED BY (d) AS {query}"))
    assert "Table:       is created with the columns d string, s struct<a:bigint>, at timestamp\n" in plan
    assert "partitioned by d); rows are added" in plan
    plan = str(sql.value("EXPLAIN CREATE STREAMING TABLE t AS SELECT d, count(*) AS n FROM STREAM src GROUP BY d"))
    assert "each result replaces the previous rows" in plan
    assert [row[1] for row in sql("SHOW TABLES")] == ["src"]


def test_the_words_of_a_statement_can_be_on_lines_of_their_own(sql: Sql) -> None:
    sql("CREATE TABLE src (id BIGINT) USING parquet")
    sql("INSERT INTO src VALUES (1), (2)")
    sql("CREATE\nMATERIALIZED\nVIEW\nv\nAS\nSELECT\ncount(*)\nAS\nn\nFROM\nsrc")
    assert sql.value("SELECT n FROM v") == 2
    error = sql.error("CREATE\nSTREAMING\nTABLE\nt\nAS\nSELECT\n  nothing FROM STREAM src")
    assert (error.line, error.column) == (7, 3)
    assert [row[1] for row in sql("SHOW TABLES")] == ["src", "v"]


def test_a_table_of_a_missing_catalogue_is_refused(sql: Sql) -> None:
    error = sql.error("CREATE STREAMING TABLE a.b.c AS SELECT 1 AS n")
    assert "There is no catalogue a for the table a.b.c" in str(error)


def test_a_failed_statement_leaves_no_table_and_no_folder(sql: Sql) -> None:
    sql("CREATE TABLE src (id BIGINT) USING parquet")
    sql("INSERT INTO src VALUES (1)")
    text = "CREATE STREAMING TABLE t AS SELECT raise_error('broken') AS e FROM STREAM src"
    assert "broken" in str(sql.error(text))
    assert [row[1] for row in sql("SHOW TABLES")] == ["src"]
    sql(text.replace("raise_error('broken')", "id"))
    assert sql("SELECT * FROM t") == [(1,)]
    sql("DROP TABLE t")
