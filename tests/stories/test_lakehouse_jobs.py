"""Streaming SQL into Delta and Iceberg tables: tables made by jobs, AUTO CDC, changes of results, several sinks."""

from __future__ import annotations

import pytest

from tests.support.servers.kafka import Kafka
from tests.support.tables.lake_tables import CATALOG, QUICK, LakeTables

pytest_plugins = ["tests.support.tables.lake_fixtures"]
# Long enough to install a Spark for the first time.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1200)]
SUMS = "SELECT name, sum(id) AS total FROM STREAM events GROUP BY name"


def using(lake: LakeTables, *keys: str) -> str:
    """Return the clauses of a table of the format. keys: the names of its key columns"""
    properties = f" TBLPROPERTIES ('key.columns' = '{', '.join(keys)}')" if keys else ""
    return f"USING {lake.format}{properties}"


def repeated(lake: LakeTables) -> None:
    """Run the newest batch of the job `j` a second time."""
    lake.repeat_newest_batch()
    lake.sql("RESUME JOB j", "WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")


def test_a_job_creates_its_table(lake: LakeTables) -> None:
    t = lake.name("t")
    create = f"CREATE JOB j {QUICK} AS CREATE TABLE {t} {using(lake)} PARTITIONED BY (name) AS SELECT name, id"
    [(plan,)] = lake.sql(f"EXPLAIN {create} FROM STREAM events")
    assert "Table:       is created with the columns name string, id int\n" in plan
    assert f"({lake.format}, partitioned by name); rows are added" in plan
    assert "broken" in lake.sql.error(f"{create}, raise_error('broken' || id)::int AS e FROM STREAM events").message
    lake.sql(f"{create} FROM STREAM events")  # the failed statement has left no table
    lake.after("t", (3, "a"))
    repeated(lake)
    assert lake.after("t", (4, "d")) == [("a", 1), ("a", 3), ("b", 2), ("d", 4)]
    error = lake.sql.error(f"CREATE JOB k AS CREATE TABLE {t} {using(lake)} AS SELECT id FROM STREAM events")
    assert error.condition == "JETSQL.TABLE_ALREADY_EXISTS"
    assert lake.sql.error(f"DROP TABLE {t}").condition == "JETSQL.TABLE_IN_USE"
    replace = f"REPLACE TABLE {t} {using(lake)} AS SELECT 1 AS id, 'x' AS name"
    assert (
        lake.sql.error(f"CREATE OR {replace}").condition == lake.sql.error(replace).condition == "JETSQL.TABLE_IN_USE"
    )
    lake.sql("DROP JOB j")
    assert len(lake.rows("t")) == 4


def test_the_query_and_the_keys_decide_how_rows_are_written(lake: LakeTables) -> None:
    replaced, merged = lake.name("replaced"), lake.name("merged")
    lake.sql(f"CREATE JOB k {QUICK} AS CREATE TABLE {replaced} {using(lake)} AS {SUMS}")
    lake.sql(f"CREATE JOB j {QUICK} AS CREATE TABLE {merged} {using(lake, 'name')} AS {SUMS}")
    lake.after("merged", (3, "a"))
    lake.sql(f"INSERT INTO {merged} VALUES ('other', 7)")
    repeated(lake)
    assert lake.after("merged", (4, "c")) == [("a", 4), ("b", 2), ("c", 4), ("other", 7)]
    lake.sql("WAIT FOR JOB k UNTIL IDLE TIMEOUT 60")
    assert lake.rows("replaced") == [("a", 4), ("b", 2), ("c", 4)]
    assert [dict(lake.sql(f"DESCRIBE JOB {job}"))["output mode"] for job in "jk"] == ["update", "complete"]


@pytest.mark.parametrize("lake_home", ["iceberg"], indirect=True, scope="module")
def test_a_table_with_transforms_in_a_nested_namespace(lake: LakeTables) -> None:
    namespace = f"{CATALOG}.{lake.schema}.inner"
    lake.sql(f"CREATE NAMESPACE {namespace}", "CREATE TABLE visits (id INT, ts TIMESTAMP) USING json")
    lake.sql("INSERT INTO visits VALUES (1, TIMESTAMP'2026-01-01 10:00:00'), (2, TIMESTAMP'2026-01-02 10:00:00')")
    source = f"spark_catalog.{lake.schema}.visits"
    lake.sql(f"USE {namespace}")
    create = f"CREATE JOB j {QUICK} AS CREATE TABLE days PARTITIONED BY (days(ts), bucket(4, id)) AS"
    lake.sql(f"{create} SELECT id, ts FROM STREAM {source}")
    assert lake.sql(f"SELECT count(DISTINCT partition) FROM {namespace}.days.files") == [(2,)]
    assert dict(lake.sql("DESCRIBE JOB j"))["sink"].startswith(f"{namespace}.days (iceberg")
    lake.sql(f"CREATE STREAMING TABLE latest JOB {QUICK} AS SELECT id FROM STREAM {source} WHERE id > 1")
    assert lake.sql("SHOW STREAMING TABLES LIKE 'latest'")[0][:2] == (namespace, "latest")
    [(text,)] = lake.sql("SHOW CREATE TABLE latest")
    assert text.startswith(f"CREATE STREAMING TABLE `{CATALOG}`.`{lake.schema}`.`inner`.`latest`")
    assert lake.sql(f"DESCRIBE JOB `{namespace}.latest`")[1] == ("name", f"{namespace}.latest")
    assert lake.sql.error(f"DROP NAMESPACE {namespace} CASCADE").condition == "JETSQL.TABLE_IN_USE"
    lake.sql("DROP TABLE latest")
    assert [row[1] for row in lake.sql("SHOW TABLES")] == ["days"]
    error = lake.sql.error(f"CREATE JOB k AS CREATE TABLE f USING csv AS SELECT id FROM STREAM {source}")
    assert "csv" in error.message  # in a catalogue of Iceberg, the format is that of its files
    lake.sql(f"USE spark_catalog.{lake.schema}")
    wrong = lake.sql.error("CREATE STREAMING TABLE i USING iceberg AS SELECT id FROM STREAM visits")
    assert "cannot have tables of Iceberg" in wrong.message


def test_a_streaming_table(lake: LakeTables) -> None:
    st = lake.name("st")
    text = f"STREAMING TABLE {st} JOB {QUICK} {using(lake)} AS {SUMS}"
    lake.sql(f"CREATE {text}", f"REFRESH STREAMING TABLE {st}")
    assert lake.rows("st") == [("a", 1), ("b", 2)]
    lake.sql(f"ALTER STREAMING TABLE {st} SUSPEND", f"ALTER STREAMING TABLE {st} RESUME")
    lake.sql(f"ALTER STREAMING TABLE {st} RESTART")
    assert "its job writes to this name" in lake.sql.error(f"ALTER TABLE {st} RENAME TO other").message
    lake.sql(f"CREATE OR REFRESH {text.replace('GROUP BY', 'WHERE id < 5 GROUP BY')}")
    lake.feed((3, "a"), (5, "b"))
    lake.sql(f"REFRESH STREAMING TABLE {st}")
    assert lake.rows("st") == [("a", 4), ("b", 2)]
    [(shown,)] = lake.sql(f"SHOW CREATE TABLE {st}")
    assert "CREATE STREAMING TABLE" in shown and f"USING {lake.format}" in shown
    assert lake.sql(f"DROP TABLE {st}")[0][3].startswith("Dropped.")
    assert lake.sql("SHOW JOBS") == [] == lake.sql("SHOW STREAMING TABLES")
    lake.sql(f"CREATE {text}")  # the name is free again
    lake.sql(f"DROP STREAMING TABLE {st}")


def test_a_materialized_view(lake: LakeTables) -> None:
    view = lake.name("v")
    lake.sql(f"CREATE MATERIALIZED VIEW {view} {using(lake)} AS SELECT count(*) AS n FROM events")
    lake.feed((3, "c"))
    assert lake.rows("v") == [(2,)]
    lake.sql(f"REFRESH MATERIALIZED VIEW {view}")
    assert lake.rows("v") == [(3,)]
    lake.sql(f"DROP MATERIALIZED VIEW {view}")
    assert lake.sql("SHOW MATERIALIZED VIEWS") == []


def changes(lake: LakeTables, *rows: str) -> None:
    lake.sql(f"INSERT INTO changes VALUES {', '.join(rows)}")


def test_a_history_of_changes(lake: LakeTables) -> None:
    lake.sql("CREATE TABLE changes (id INT, name STRING, op STRING, seq INT) USING json")
    changes(lake, "(1, 'a', 'c', 1)", "(2, 'b', 'c', 1)")
    columns = "id INT, name STRING, __START_AT INT, __END_AT INT"
    t = lake.create("t", columns, key_columns="id, __START_AT")
    short, one = lake.create("short", "id INT, name STRING", key_columns="id"), lake.create("one", columns)
    clauses = "FROM STREAM changes KEYS (id) APPLY AS DELETE WHEN op = 'd' SEQUENCE BY seq COLUMNS * EXCEPT (op, seq)"
    history = f"{clauses} STORED AS SCD TYPE 2"
    assert "SCD TYPE 2 is not possible" in lake.sql.error(f"CREATE JOB j AS AUTO CDC INTO {short} {history}").message
    assert "has no key" in lake.sql.error(f"CREATE JOB j AS AUTO CDC INTO {one} {history}").message
    lake.sql(f"CREATE JOB j {QUICK} AS AUTO CDC INTO {t} {history}")
    changes(lake, "(1, 'x', 'u', 5)", "(1, 'late', 'u', 3)", "(2, NULL, 'd', 4)", "(3, 'c', 'c', 2)")
    lake.sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    expected = [(1, "a", 1, 3), (1, "late", 3, 5), (1, "x", 5, None), (2, "b", 1, 4), (3, "c", 2, None)]
    assert sorted(lake.rows("t"), key=lambda row: (row[0], row[2])) == expected
    repeated(lake)
    changes(lake, "(3, NULL, 'd', 2)", "(2, 'again', 'c', 6)")  # a deletion with the same sequence wins
    lake.sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    rows = sorted(lake.rows("t"), key=lambda row: (row[0], row[2]))
    assert rows == [*expected[:4], (2, "again", 6, None)]


def test_a_deletion_has_only_the_key(lake: LakeTables) -> None:
    lake.sql("CREATE TABLE changes (id INT, name STRING, op STRING, seq INT) USING json")
    changes(lake, "(1, 'a', 'c', 1)", "(2, 'b', 'c', 1)")
    t = lake.create("t", "id INT NOT NULL, name STRING NOT NULL", key_columns="id")
    lake.sql(
        f"CREATE JOB j {QUICK} AS AUTO CDC INTO {t} FROM STREAM changes KEYS (id) APPLY AS DELETE WHEN op = 'd'"
        " SEQUENCE BY seq COLUMNS * EXCEPT (op, seq)"
    )
    changes(lake, "(1, NULL, 'd', 2)")
    lake.sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    assert lake.rows("t") == [(2, "b")]
    changes(lake, "(3, NULL, 'c', 3)")
    assert "name" in lake.wait_until_suspended()  # a row that is no deletion needs a value
    assert lake.rows("t") == [(2, "b")]


def test_changes_of_aggregates_are_merged_with_deletes(lake: LakeTables) -> None:
    t = lake.create("t", "total BIGINT NOT NULL, names BIGINT NOT NULL", key_columns="total")
    lake.sql(
        f"CREATE JOB j {QUICK} AS SINK INTO {t} SELECT total, count(*) FROM ({SUMS}) GROUP BY total HAVING total < 100"
    )
    assert dict(lake.sql("DESCRIBE JOB j"))["output mode"] == "update"
    assert lake.after("t", (2, "c")) == [(1, 1), (2, 2)]
    repeated(lake)
    assert lake.after("t", (1, "a")) == [(2, 3)]  # the group of 1 has lost its only name
    assert lake.after("t", (200, "b"), (5, "c")) == [(2, 1), (7, 1)]
    lake.sql("RESTART JOB j")
    assert lake.after("t", (5, "a")) == [(7, 2)]


@pytest.mark.parametrize("lake_home", ["iceberg"], indirect=True, scope="module")
def test_identifier_fields_are_keys_of_changes(lake: LakeTables) -> None:
    t = lake.create("t", "total BIGINT NOT NULL, names BIGINT")
    lake.sql(f"ALTER TABLE {t} SET IDENTIFIER FIELDS total")
    lake.sql(f"CREATE JOB j {QUICK} AS SINK INTO {t} SELECT total, count(*) FROM ({SUMS}) GROUP BY total")
    assert lake.after("t", (1, "a")) == [(2, 2)]


def test_several_sinks_get_each_row_once(lake: LakeTables) -> None:
    t, u = lake.create("t", "id INT, name STRING"), lake.create("u", "kind STRING, id INT")
    lake.sql("CREATE TABLE files (id INT) USING parquet")
    lake.sql(
        f"CREATE JOB j {QUICK} AS FROM (SELECT *, rand() AS r FROM STREAM events)"
        f" INSERT INTO {t} SELECT id, name WHERE r < 0.5"
        " INSERT INTO files SELECT id WHERE r >= 0.5"
        f" INSERT INTO {u} SELECT 'odd', id WHERE id % 2 = 1"
        f" INSERT INTO {u} (id, kind) SELECT id, 'big' WHERE id > 2"
    )
    lake.feed((3, "c"), (4, "d"), (5, "e"), (6, "f"))
    lake.sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    repeated(lake)
    lake.after("t", (7, "g"))
    ids = [row[0] for row in lake.rows("t")] + [row[0] for row in lake.sql("SELECT id FROM files")]
    assert sorted(ids) == list(range(1, 8))
    big, odd = [("big", id_) for id_ in range(3, 8)], [("odd", id_) for id_ in (1, 3, 5, 7)]
    assert sorted(lake.rows("u")) == big + odd
    lake.sql(f"CREATE OR REPLACE JOB j {QUICK} AS INSERT INTO {t} SELECT id, 'new' FROM STREAM events")
    assert (8, "new") in lake.after("t", (8, "h"))


def test_a_group_of_null_that_leaves_the_result_is_deleted(lake: LakeTables) -> None:
    t = lake.create("t", "half INT, n BIGINT", key_columns="half")
    lake.sql("INSERT INTO events VALUES (NULL, 'n')")
    totals = "SELECT name, max(id) AS id FROM STREAM events GROUP BY name"
    lake.sql(f"CREATE JOB j {QUICK} AS SINK INTO {t} SELECT id DIV 2, count(*) FROM ({totals}) GROUP BY id DIV 2")
    assert lake.rows("t") == [(None, 1), (0, 1), (1, 1)]
    assert lake.after("t", (4, "n")) == [(0, 1), (1, 1), (2, 1)]


def test_several_tables_are_updated_by_key(lake: LakeTables) -> None:
    low, all_ = (lake.create(name, "name STRING, total BIGINT", key_columns="name") for name in ("low", "every"))
    lake.sql(
        f"CREATE JOB j {QUICK} AS FROM ({SUMS}) SINK INTO {all_} SELECT name, total"
        f" SINK INTO {low} SELECT name, total WHERE total < 10"
    )
    lake.after("every", (20, "a"), (3, "b"))
    repeated(lake)
    assert lake.rows("every") == [("a", 21), ("b", 5)]
    assert lake.rows("low") == [("a", 1), ("b", 5)]
    t = lake.create("t", "name STRING, id INT", key_columns="name")
    error = lake.sql.error(
        f"CREATE JOB k AS FROM STREAM events SINK INTO {t} SELECT name, id INSERT INTO {all_} SELECT name, id"
    )
    assert "several rows with the same name" in error.message


def test_a_lake_table_and_a_topic(lake: LakeTables, kafka: Kafka) -> None:
    t = lake.create("t", "id INT")
    name = f"{lake.format}_{lake.schema}"
    kafka.topic(name, 1)
    lake.sql(f"CREATE TABLE topic {kafka.options(name)}")
    lake.sql(
        f"CREATE JOB j {QUICK} AS FROM STREAM events"
        " INSERT INTO topic (key, value) SELECT NULL, CAST(CAST(id AS STRING) AS BINARY)"
        f" INSERT INTO {t} SELECT id"
    )
    lake.after("t", (3, "c"))
    repeated(lake)
    assert lake.after("t", (4, "d")) == [(1,), (2,), (3,), (4,)]
    assert lake.sql("SELECT CAST(value AS STRING) FROM topic ORDER BY 1") == [("1",), ("2",), ("3",), ("4",)]


def test_late_rows_are_kept_next_to_the_table(lake: LakeTables) -> None:
    lake.sql("CREATE TABLE visits (id INT, ts TIMESTAMP) USING json")
    t = lake.create("t", "start TIMESTAMP, n BIGINT")
    options = "OPTIONS ('snapshotIntervalMillis' = '100', 'lateRows' = 'table:late')"
    lake.sql("INSERT INTO visits VALUES (1, TIMESTAMP'2026-01-01 10:00:10'), (2, TIMESTAMP'2026-01-01 10:05:00')")
    lake.sql(
        f"CREATE JOB j {options} AS INSERT INTO {t} SELECT window.start, count(*)"
        " FROM STREAM visits WATERMARK ts DELAY OF INTERVAL 10 SECONDS GROUP BY window(ts, '1 minute')"
    )
    lake.sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    lake.sql("INSERT INTO visits VALUES (3, TIMESTAMP'2026-01-01 10:00:30'), (4, TIMESTAMP'2026-01-01 10:20:00')")
    lake.sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    repeated(lake)
    assert [row[1] for row in lake.rows("t")] == [1, 1]
    assert lake.sql("SELECT event_time FROM late") == lake.sql("SELECT ts FROM visits WHERE id = 3")


@pytest.mark.parametrize("lake_home", ["delta"], indirect=True, scope="module")
@pytest.mark.parametrize(("verb", "keys"), [("SINK INTO", {"key_columns": "name"}), ("INSERT OVERWRITE", {})])
def test_changes_of_a_written_table_are_passed_on(lake: LakeTables, verb: str, keys: dict[str, str]) -> None:
    sums = lake.create("sums", "name STRING, total BIGINT", delta_enableChangeDataFeed="true", **keys)
    copy = lake.create("copy", "name STRING, total BIGINT", key_columns="name")
    complete = "OPTIONS ('snapshotIntervalMillis' = '100', 'outputMode' = 'complete')"
    lake.sql(f"CREATE JOB sums {complete} AS {verb} {sums} {SUMS} HAVING sum(id) < 10")
    lake.sql(
        f"CREATE JOB j {QUICK} AS AUTO CDC INTO {copy} FROM (SELECT * FROM STREAM {sums}"
        " WITH ('readChangeFeed' = 'true') WHERE _change_type <> 'update_preimage') KEYS (name)"
        " APPLY AS DELETE WHEN _change_type = 'delete' SEQUENCE BY struct(_commit_version, _change_type <> 'delete')"
        " COLUMNS * EXCEPT (_change_type, _commit_version, _commit_timestamp)"
    )
    for events, expected in (
        ([(3, "b"), (4, "c")], [("a", 1), ("b", 5), ("c", 4)]),
        ([(20, "a"), (1, "c")], [("b", 5), ("c", 5)]),
    ):
        lake.feed(*events)
        lake.sql("WAIT FOR JOB sums UNTIL IDLE TIMEOUT 60", "WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
        assert lake.rows("copy") == expected
    repeated(lake)
    assert lake.rows("copy") == lake.rows("sums")


def test_rules_check_the_rows_of_a_lake_table(lake: LakeTables) -> None:
    t = lake.create("t", "id INT, name STRING")
    lake.sql(
        "CREATE JOB j (CONSTRAINT named EXPECT (name <> 'b') ON VIOLATION DROP ROW,"
        f" CONSTRAINT small EXPECT (id < 10) ON VIOLATION INTO TABLE wrong) {QUICK}"
        f" AS INSERT INTO {t} SELECT id, name FROM STREAM events"
    )
    lake.feed((30, "c"), (4, "d"), (5, "b"))
    lake.sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    repeated(lake)
    assert lake.rows("t") == [(1, "a"), (4, "d")]
    assert [row[0] for row in lake.sql("SELECT row FROM wrong")] == ['{"id":30,"name":"c"}']
    counts = "SELECT rule, rows, violations FROM jetsql.expectations WHERE job = 'j' AND rows > 0"
    assert sorted(lake.sql(counts)) == [("named", 5, 2), ("small", 5, 1)]


def test_rows_that_a_lake_table_cannot_convert_are_kept(lake: LakeTables) -> None:
    t = lake.create("t", "id INT, name STRING NOT NULL")
    kept = f"{QUICK[:-1]}, 'sink.on.error' = 'table:kept')"
    query = "SELECT if(id = 300, 3000000000, id) AS id, nullif(name, 'b') AS name FROM STREAM events"
    lake.sql(f"CREATE JOB j {kept} AS INSERT INTO {t} {query}")
    lake.feed((300, "c"), (4, "d"))
    lake.sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    repeated(lake)
    assert lake.rows("t") == [(1, "a"), (4, "d")]
    assert sorted(row[0] for row in lake.sql("SELECT row FROM kept")) == [
        '{"id":2,"name":null}',
        '{"id":3000000000,"name":"c"}',
    ]
