"""Tables that Spark creates for jobs."""

from pathlib import Path

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


def test_words_of_a_statement_can_be_on_separate_lines(sql: Sql) -> None:
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


# {t}: a streaming table or a materialized view with the columns id, d
CHANGES = """
INSERT INTO {t} VALUES (9, 'x')
INSERT INTO {t} BY NAME SELECT 9 AS id, 'x' AS d
INSERT INTO {t} REPLACE WHERE id = 1 VALUES (1, 'x')
INSERT OVERWRITE {t} VALUES (9, 'x')
WITH q AS (SELECT 9 AS id, 'x' AS d) INSERT INTO {t} SELECT * FROM q
FROM src INSERT INTO other SELECT id, d INSERT INTO {t} SELECT id, d
UPDATE {t} SET d = 'x'
DELETE FROM {t}
MERGE INTO {t} AS t USING src ON t.id = src.id WHEN MATCHED THEN DELETE
TRUNCATE TABLE {t}
LOAD DATA LOCAL INPATH '/tmp/none' INTO TABLE {t}
ALTER TABLE {t} SET LOCATION '/tmp/none'
CREATE OR REPLACE TABLE {t} (id INT) USING parquet
REPLACE TABLE {t} AS SELECT 1 AS id
DROP VIEW {t}
CREATE JOB j AS INSERT INTO {t} SELECT id, d FROM STREAM src
CREATE JOB j AS INSERT OVERWRITE {t} SELECT id, d FROM src
CREATE JOB j AS FROM STREAM src INSERT INTO other SELECT id, d INSERT INTO {t} SELECT id, d
""".strip().splitlines()


def test_only_its_job_writes_a_declared_table(sql: Sql, tmp_path: Path) -> None:
    sql("CREATE TABLE src (id BIGINT, d STRING) USING parquet")
    sql("CREATE TABLE other (id BIGINT, d STRING) USING parquet")
    sql("INSERT INTO src VALUES (1, 'a')")
    sql("CREATE STREAMING TABLE st AS SELECT id, d FROM STREAM src")
    sql("CREATE MATERIALIZED VIEW mv AS SELECT id, d FROM src")
    spark, rows = sql.engine.spark, sql.engine.spark.range(1).selectExpr("id", "'x' AS d")
    stream = spark.readStream.table("src").writeStream.option("checkpointLocation", str(tmp_path))
    for table, kind in (("st", "streaming table"), ("mv", "materialized view")):
        for text in CHANGES:
            error = sql.error(text.format(t=table))
            assert error.condition == "JETSQL.RELATION_READ_ONLY", (text, error)
            assert kind in error.message
            assert error.line == 1 or text.startswith("DROP")
        for write in (
            lambda table=table: rows.write.insertInto(table),
            lambda table=table: rows.write.mode("append").saveAsTable(table),
            lambda table=table: rows.write.mode("overwrite").saveAsTable(table),
            lambda table=table: rows.writeTo(table).append(),
            lambda table=table: rows.writeTo(table).createOrReplace(),
            lambda table=table: stream.trigger(availableNow=True).toTable(table),
        ):
            with pytest.raises(Exception, match="RELATION_READ_ONLY"):
                write()
        for text in ("UNSET TBLPROPERTIES ('jetsql.kind')", "SET TBLPROPERTIES ('jetsql.job' = 'x')"):
            assert sql.error(f"ALTER TABLE {table} {text}").condition == "JETSQL.OPTION_NOT_CHANGEABLE"
        assert sql(f"SELECT * FROM {table}") == [(1, "a")]
    sql("INSERT INTO src VALUES (2, 'b')")  # the jobs themselves continue
    sql("REFRESH STREAMING TABLE st")
    sql("REFRESH MATERIALIZED VIEW mv")
    assert sql.value("SELECT count(*) FROM st JOIN mv USING (id, d)") == 2
    assert sql("SELECT * FROM other") == []
    with pytest.raises(Exception, match="TABLE_IN_USE"):
        rows.write.mode("overwrite").saveAsTable("src")  # a job reads it
    elsewhere = f"ALTER TABLE src SET LOCATION '{tmp_path / 'elsewhere'}'"
    assert sql.error(elsewhere).condition == "JETSQL.TABLE_IN_USE"
    job = f"`{sql.value('SELECT current_schema()')}.st`"
    sql(f"SUSPEND JOB {job}")
    sql(elsewhere)
    assert sql.error(f"RESUME JOB {job}").message.count("elsewhere") == 1
    assert "Dropped." in str(sql("DROP TABLE st"))
