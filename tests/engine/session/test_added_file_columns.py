"""Tables of files that gain columns: the jobs that read or write them, and the changes that are refused."""

from __future__ import annotations

import pytest

from tests.conftest import Sql

pytestmark = pytest.mark.spark

QUICK = "OPTIONS ('snapshotIntervalMillis' = '100')"


def wait(sql: Sql, *jobs: str) -> None:
    for job in jobs:
        sql(f"WAIT FOR JOB {job} UNTIL IDLE")


def test_jobs_keep_all_their_columns_at_a_restart(sql: Sql) -> None:
    sql("CREATE TABLE lines (id BIGINT, d STRING) USING json PARTITIONED BY (d)")
    sql("CREATE TABLE words (id BIGINT, word STRING) USING parquet")
    sql("INSERT INTO words VALUES (1, 'one'), (2, 'two')")
    sql("CREATE TABLE joined (id BIGINT, d STRING, id2 BIGINT, word STRING) USING parquet")
    sql("CREATE TABLE parts (id BIGINT, d STRING) USING parquet PARTITIONED BY (d)")
    sql("CREATE TABLE distinct_rows (id BIGINT, d STRING) USING parquet")
    sql("CREATE TABLE small (id BIGINT, d STRING) USING parquet")
    bodies = {
        "joins": "INSERT INTO joined SELECT * FROM STREAM lines l JOIN words w ON l.id = w.id",
        "fixed": "INSERT INTO parts PARTITION (d = 'all') SELECT id FROM STREAM lines",
        "keeps": "INSERT INTO distinct_rows SELECT DISTINCT * FROM STREAM lines",
        "several": "FROM STREAM lines INSERT INTO small SELECT * WHERE id < 2 INSERT INTO parts SELECT *",
    }
    sql("INSERT INTO lines VALUES (1, 'x')")
    for name, body in bodies.items():
        sql(f"CREATE JOB {name} {QUICK} AS {body}")
    wait(sql, *bodies)
    for table in ("lines", "words", "joined", "parts", "distinct_rows", "small"):
        sql(f"ALTER TABLE {table} ADD COLUMN c INT")
    for name in bodies:
        sql(f"RESTART JOB {name}")
    sql("INSERT INTO lines VALUES (2, 22, 'y'), (1, 11, 'x')")
    wait(sql, *bodies)
    assert sql("SELECT * FROM joined ORDER BY id") == [
        *[(1, "x", 1, "one", None)] * 2,
        (2, "y", 2, "two", None),
    ]
    assert sql("SELECT id, c FROM parts WHERE d = 'all' ORDER BY id") == [(1, None), (1, None), (2, None)]
    assert sql("SELECT id, c, d FROM parts WHERE d <> 'all' ORDER BY id") == [*[(1, None, "x")] * 2, (2, None, "y")]
    assert sql("SELECT * FROM distinct_rows ORDER BY id") == [(1, "x", None), (2, "y", None)]
    assert sql("SELECT * FROM small") == [(1, "x", None)] * 2
    wrong = sql.error(f"CREATE OR REPLACE JOB keeps {QUICK} AS {bodies['keeps'].replace('*', 'id, d, c')}")
    assert wrong.condition == "JETSQL.STATE_NOT_COMPATIBLE" and "the distinct rows gained" in wrong.message


def test_earlier_lines_of_csv_have_the_default(sql: Sql) -> None:
    sql("CREATE TABLE lines (id BIGINT, name STRING) USING csv OPTIONS ('on.error' 'table:dead')")
    sql("CREATE TABLE narrow (id BIGINT, name STRING) USING parquet")
    sql("CREATE TABLE wide (id BIGINT, name STRING, c INT) USING parquet")
    sql("INSERT INTO lines VALUES (1, 'a')")
    sql(f"CREATE JOB narrow {QUICK} AS INSERT INTO narrow SELECT * FROM STREAM lines")
    wait(sql, "narrow")
    in_use = sql.error("ALTER TABLE lines ADD COLUMN c INT DEFAULT 5")
    assert in_use.condition == "JETSQL.TABLE_IN_USE" and "SUSPEND JOB `narrow`" in in_use.message + str(in_use.hint)
    sql("SUSPEND JOB narrow")
    sql("ALTER TABLE lines ADD COLUMN c INT DEFAULT 5")
    sql("RESUME JOB narrow")
    sql(f"CREATE JOB wide {QUICK} AS INSERT INTO wide SELECT * FROM STREAM lines")
    sql("INSERT INTO lines VALUES (2, 'b', 22)")
    wait(sql, "narrow", "wide")
    assert sql("SELECT * FROM narrow ORDER BY id") == [(1, "a"), (2, "b")]
    assert sql("SELECT * FROM wide ORDER BY id") == sql("SELECT * FROM lines ORDER BY id")
    assert sql("SELECT * FROM wide ORDER BY id") == [(1, "a", 5), (2, "b", 22)]
    assert sql("SELECT * FROM dead") == []


def test_counts_continue_with_a_renamed_column(sql: Sql) -> None:
    sql("CREATE TABLE sales (shop STRING, amount INT) USING json")
    sql("CREATE TABLE totals (shop STRING, n BIGINT, amount BIGINT) USING parquet")
    sql("INSERT INTO sales VALUES ('a', 1), ('b', 2)")
    body = "INSERT OVERWRITE totals SELECT shop, count(*), sum(amount) FROM {sales} GROUP BY shop"
    renamed = body.replace("shop", "store")
    sql("CREATE VIEW renamed_sales AS SELECT shop AS store, amount AS value FROM STREAM sales")
    texts = (
        body.format(sales="STREAM sales"),
        renamed.format(sales="(SELECT shop AS store, amount FROM STREAM sales)"),
        renamed.replace("sum(amount)", "sum(value)").format(sales="renamed_sales"),
    )
    for number, text in enumerate(texts, 1):
        sql(f"CREATE OR REPLACE JOB j {QUICK} AS {text}")
        sql("INSERT INTO sales VALUES ('a', 10)")
        wait(sql, "j")
        assert sql("SELECT * FROM totals ORDER BY shop") == [("a", 1 + number, 1 + 10 * number), ("b", 1, 2)]
    sql("RESTART JOB j")
    wait(sql, "j")
    assert sql.status("j") == "RUNNING"


def test_rows_continue_with_a_wider_column(sql: Sql) -> None:
    sql("CREATE TABLE sales (shop STRING, amount INT) USING json")
    sql("CREATE TABLE copies (shop STRING, amount BIGINT) USING parquet")
    sql("CREATE TABLE totals (shop STRING, amount BIGINT) USING parquet")
    sql("INSERT INTO sales VALUES ('a', 1), ('b', 2)")
    copied = "INSERT INTO copies SELECT shop, CAST(amount AS BIGINT) AS amount FROM STREAM sales"
    summed = (
        "INSERT OVERWRITE totals SELECT shop, sum(CAST(amount AS BIGINT)) AS amount FROM STREAM sales GROUP BY shop"
    )
    for name, text in (("copied", copied), ("summed", summed)):
        sql(f"CREATE JOB {name} {QUICK} AS {text}")
    wait(sql, "copied", "summed")
    sql("ALTER TABLE sales ADD COLUMN large BIGINT")
    sql(
        f"CREATE OR REPLACE JOB copied {QUICK} AS {copied.replace('CAST(amount AS BIGINT)', 'coalesce(large, amount)')}"
    )
    wider = summed.replace("CAST(amount AS BIGINT)", "coalesce(large, amount)")
    assert sql.error(f"CREATE OR REPLACE JOB summed {QUICK} AS {wider}").condition == "JETSQL.STATE_NOT_COMPATIBLE"
    sql("INSERT INTO sales VALUES ('b', NULL, 5000000000), ('a', 100, NULL)")
    wait(sql, "copied", "summed")
    assert sql("SELECT * FROM copies ORDER BY shop, amount") == [("a", 1), ("a", 100), ("b", 2), ("b", 5000000000)]
    assert sql("SELECT * FROM totals ORDER BY shop") == [("a", 101), ("b", 2)]


@pytest.mark.parametrize(
    ("form", "change", "words"),
    [
        ("csv", "ADD COLUMN c STRUCT<a: INT>", "tables USING csv have no columns of the type STRUCT<a: INT>"),
        ("json", "ADD COLUMN _metadata INT", "queries read the metadata of files with this name"),
        ("json", "ADD COLUMN c INT FIRST", "Leave out the position"),
        ("json", "ADD COLUMN c INT NOT NULL", "Leave out NOT NULL"),
        ("orc", "DROP COLUMN id", "Leave the column out of the query"),
        ("orc", "RENAME COLUMN id TO n", "SELECT old AS new"),
        ("orc", "ALTER COLUMN id TYPE BIGINT", "cast it in the query"),
    ],
)
def test_refused_changes(sql: Sql, form: str, change: str, words: str) -> None:
    sql(f"CREATE TABLE t (id INT) USING {form}")
    error = sql.error(f"ALTER TABLE t {change}")
    assert (error.condition, error.sqlstate) == ("JETSQL.NOT_SUPPORTED", "0A000") and words in error.message
    assert len(sql("DESCRIBE TABLE t")) == 1


def test_headers_of_earlier_files_would_not_fit(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT) USING csv OPTIONS ('header' 'true', 'enforceSchema' 'false')")
    assert "Set 'enforceSchema' to 'true' first" in sql.error("ALTER TABLE t ADD COLUMN c INT").message
