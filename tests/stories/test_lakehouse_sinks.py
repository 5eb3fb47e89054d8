"""Delta and Iceberg tables as sinks: each batch is one commit, and is in the table once."""

from __future__ import annotations

import pytest

from tests.support.tables.lake_tables import QUICK, LakeTables
from tests.support.tables.lakehouse import Lakehouse

pytest_plugins = ["tests.support.tables.lake_fixtures"]
# Long enough to install a Spark for the first time.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1200)]
SUMS = "SELECT name, sum(id) AS total FROM STREAM events GROUP BY name"
COMPLETE = "OPTIONS ('snapshotIntervalMillis' = '100', 'outputMode' = 'complete')"


def test_each_batch_is_added_with_one_commit(lake: LakeTables) -> None:
    t = lake.create("t", "id INT, name STRING")
    [(_, _, status, message)] = lake.sql(f"CREATE JOB j {QUICK} AS INSERT INTO {t} SELECT * FROM STREAM events")
    assert (status, message) == ("RUNNING", "Created. The first batch is committed. Delivery: exactly once.")
    assert lake.after("t", (3, "c")) == [(1, "a"), (2, "b"), (3, "c")]
    assert lake.commits("t") == 2
    sink = "spark_catalog." + lake.schema + ".t" if lake.is_delta else t
    assert dict(lake.sql("DESCRIBE JOB j"))["sink"].startswith(sink)


def test_a_repeated_batch_is_read_and_not_written(lake: LakeTables) -> None:
    t = lake.create("t", "id INT, name STRING")
    sums = lake.create("sums", "name STRING, total BIGINT", key_columns="name")
    lake.sql(f"CREATE JOB j {QUICK} AS INSERT INTO {t} SELECT * FROM STREAM events")
    lake.after("t", (3, "c"))
    lake.repeat_newest_batch()
    lake.sql("RESUME JOB j")
    assert lake.after("t", (4, "d")) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    assert lake.commits("t") == 3
    lake.sql("DROP JOB j")
    lake.sql(f"CREATE JOB j {QUICK} AS SINK INTO {sums} {SUMS}")
    assert lake.after("sums", (10, "a"))[0] == ("a", 11)
    lake.repeat_newest_batch()
    lake.sql(f"UPDATE {sums} SET total = total + 1000 WHERE name = 'a'")
    lake.sql("RESUME JOB j")
    assert lake.after("sums", (5, "b"))[:2] == [("a", 1011), ("b", 7)]  # the repeated batch did not write `a` again
    assert lake.after("sums", (100, "a"))[0] == ("a", 111)  # and its state is right


def test_overwrite_replaces_the_result_with_one_commit(lake: LakeTables) -> None:
    t = lake.create("t", "name STRING, total BIGINT", "PARTITIONED BY (name)")
    lake.sql(f"CREATE JOB j {QUICK} AS INSERT OVERWRITE {t} {SUMS}")
    assert lake.after("t", (3, "a")) == [("a", 4), ("b", 2)]
    assert lake.commits("t") == 2
    lake.repeat_newest_batch()
    lake.sql("RESUME JOB j")
    assert lake.after("t", (4, "c")) == [("a", 4), ("b", 2), ("c", 4)]
    assert lake.commits("t") == 3


def test_sink_into_merges_by_keys_that_may_be_null(lake: LakeTables) -> None:
    t = lake.create("t", "name STRING, total BIGINT", key_columns="name")
    lake.sql(f"INSERT INTO {t} VALUES ('other', 5), (NULL, 7)")
    lake.sql(f"CREATE JOB j {QUICK} AS SINK INTO {t} {SUMS}")
    assert lake.rows("t") == [(None, 7), ("a", 1), ("b", 2), ("other", 5)]
    lake.sql("INSERT INTO events VALUES (4, NULL), (5, 'a')")
    lake.sql("WAIT FOR JOB j UNTIL IDLE")
    assert lake.rows("t") == [(None, 4), ("a", 6), ("b", 2), ("other", 5)]


def test_rows_that_leave_the_result_are_deleted(lake: LakeTables) -> None:
    t = lake.create("t", "name STRING, total BIGINT", key_columns="name")
    lake.sql(f"CREATE JOB j {COMPLETE} AS SINK INTO {t} {SUMS} HAVING sum(id) < 10")
    assert lake.rows("t") == [("a", 1), ("b", 2)]
    assert lake.after("t", (20, "a"), (3, "b")) == [("b", 5)]
    lake.repeat_newest_batch()
    lake.sql("RESUME JOB j")
    assert lake.after("t", (4, "c")) == [("b", 5), ("c", 4)]


def test_auto_cdc_updates_and_deletes(lake: LakeTables) -> None:
    t = lake.create("t", "id INT, name STRING", key_columns="id")
    lake.sql("CREATE TABLE changes (id INT, name STRING, op STRING, seq INT) USING json")
    lake.sql("INSERT INTO changes VALUES (1, 'a', 'c', 1), (2, 'b', 'c', 1)")
    lake.sql(
        f"CREATE JOB j {QUICK} AS AUTO CDC INTO {t} FROM STREAM changes KEYS (id) APPLY AS DELETE WHEN op = 'd'"
        " SEQUENCE BY seq COLUMNS * EXCEPT (op, seq)"
    )
    assert lake.rows("t") == [(1, "a"), (2, "b")]
    lake.sql("INSERT INTO changes VALUES (1, 'x', 'u', 3), (2, NULL, 'd', 3), (3, NULL, 'd', 2), (1, 'old', 'u', 2)")
    lake.sql("WAIT FOR JOB j UNTIL IDLE")
    assert lake.rows("t") == [(1, "x")]


def test_delete_when_deletes_rows_that_meet_it(lake: LakeTables) -> None:
    t = lake.create("t", "name STRING, total BIGINT", key_columns="name", delete_when="total > 9")
    lake.sql(f"CREATE JOB j {QUICK} AS SINK INTO {t} {SUMS}")
    assert lake.after("t", (20, "a"), (30, "c")) == [("b", 2)]


def test_a_batch_job_replaces_partitions(lake: LakeTables) -> None:
    t = lake.create("t", "id INT, name STRING", "PARTITIONED BY (name)")
    lake.sql(f"INSERT INTO {t} VALUES (10, 'a'), (11, 'z')")
    lake.sql(f"CREATE JOB j AS INSERT OVERWRITE {t} PARTITION (name = 'a') SELECT id FROM events WHERE name = 'a'")
    lake.sql("WAIT FOR JOB j UNTIL COMPLETED")
    assert lake.rows("t") == [(1, "a"), (11, "z")]
    lake.sql("SET spark.sql.sources.partitionOverwriteMode = dynamic")
    try:
        lake.sql(f"CREATE JOB k AS INSERT OVERWRITE {t} SELECT id + 100, name FROM events")
        lake.sql("WAIT FOR JOB k UNTIL COMPLETED")
    finally:
        lake.sql("RESET spark.sql.sources.partitionOverwriteMode")
    assert lake.rows("t") == [(11, "z"), (101, "a"), (102, "b")]


def test_a_batch_job_replaces_the_rows_that_meet_a_condition(lake: LakeTables) -> None:
    t = lake.create("t", "id INT, name STRING", "PARTITIONED BY (name)")
    lake.sql(f"INSERT INTO {t} VALUES (10, 'a'), (11, 'z')")
    body = f"INSERT INTO {t} REPLACE WHERE name = 'a' SELECT * FROM events WHERE name = 'a'"
    assert "rows that meet the condition are replaced" in str(lake.sql(f"EXPLAIN CREATE JOB j AS {body}"))
    lake.sql(f"CREATE JOB j AS {body}")
    lake.sql("WAIT FOR JOB j UNTIL COMPLETED")
    assert lake.rows("t") == [(1, "a"), (11, "z")]
    assert lake.commits("t") == 2
    stream = lake.sql.error(f"CREATE JOB k AS INSERT INTO {t} REPLACE WHERE name = 'a' SELECT * FROM STREAM events")
    assert "REPLACE WHERE is not possible" in stream.message
    lake.sql("CREATE TABLE plain (id INT, name STRING) USING parquet")
    plain = lake.sql.error("CREATE JOB k AS INSERT INTO plain REPLACE WHERE name = 'a' SELECT * FROM events")
    assert "REPLACE WHERE is not possible for this table" in plain.message and "USING delta" in plain.hint
    lake.sql(f"CREATE JOB k AS INSERT INTO {t} REPLACE WHERE id = 1 SELECT 1, 'b'")
    lake.sql("WAIT FOR JOB k UNTIL COMPLETED")
    assert lake.rows("t") == [(1, "b"), (11, "z")]
    if lake.is_delta:
        outside = f"CREATE JOB l AS INSERT INTO {t} REPLACE WHERE name = 'b' SELECT 3, 'c'"
        assert "violated by row with values" in lake.sql.error(outside).message
    else:
        lake.sql(f"INSERT INTO {t} SELECT /*+ COALESCE(1) */ * FROM VALUES (5, 'y'), (6, 'y')")
        error = lake.sql.error(f"CREATE JOB l AS INSERT INTO {t} REPLACE WHERE id = 5 SELECT 5, 'w'")
        assert "Iceberg replaces whole files" in error.message and "PARTITIONED BY" in error.hint


def test_restart_snapshot_and_new_version_write_each_row_once(lake: LakeTables) -> None:
    t = lake.create("t", "id INT, name STRING")
    lake.sql(f"CREATE JOB j {QUICK} AS INSERT INTO {t} SELECT * FROM STREAM events")
    lake.after("t", (3, "c"))
    lake.sql("RESTART JOB j")
    assert len(lake.after("t", (4, "d"))) == 4
    lake.sql(f"CREATE OR REPLACE JOB j {QUICK} AS INSERT INTO {t} SELECT id + 100, name FROM STREAM events")
    assert lake.after("t", (5, "e"))[-1] == (105, "e")
    lake.sql("DROP JOB j WITH SNAPSHOT s")
    options = "OPTIONS ('snapshotIntervalMillis' = '100', 'initialSnapshotName' = 's')"
    lake.sql(f"CREATE JOB j {options} AS INSERT INTO {t} SELECT id + 100, name FROM STREAM events")
    assert [row[0] for row in lake.after("t", (6, "f"))] == [1, 2, 3, 4, 105, 106]


def test_without_a_guarantee_old_notes_lose_no_row(lake: LakeTables) -> None:
    t = lake.create("t", "id INT, name STRING")
    options = "OPTIONS ('snapshotIntervalMillis' = '100', 'processingGuarantee' = 'none')"
    lake.sql(f"CREATE JOB j {options} AS INSERT INTO {t} SELECT * FROM STREAM events")
    assert len(lake.rows("t")) == 2
    lake.sql("RESTART JOB j")
    lake.sql("WAIT FOR JOB j UNTIL IDLE")
    assert len(lake.rows("t")) == 4


def test_columns_of_the_table_change_under_the_job(lake: LakeTables) -> None:
    more = {"delta_columnMapping_mode": "name"} if lake.is_delta else {}
    t = lake.create("t", "id INT, name STRING", **more)
    sums = lake.create("sums", "name STRING, total BIGINT", key_columns="name")
    lake.sql(f"CREATE JOB k {QUICK} AS SINK INTO {sums} {SUMS}")
    lake.sql(f"CREATE JOB j {QUICK} AS INSERT INTO {t} SELECT * FROM STREAM events")
    lake.sql(f"ALTER TABLE {sums} ADD COLUMNS (more INT)")
    lake.sql(f"ALTER TABLE {t} ADD COLUMNS (more INT)")
    assert lake.after("t", (3, "c")) == [(1, "a", None), (2, "b", None), (3, "c", None)]
    lake.sql("WAIT FOR JOB k UNTIL IDLE")
    assert lake.rows("sums") == [("a", 1, None), ("b", 2, None), ("c", 3, None)]
    lake.sql(f"UPDATE {sums} SET more = 7")
    lake.sql("RESTART JOB j")
    lake.sql("RESTART JOB k")
    assert lake.after("t", (4, "d"))[-1] == (4, "d", None)
    lake.after("t", (5, "a"))
    lake.sql("WAIT FOR JOB k UNTIL IDLE TIMEOUT 60")
    assert lake.rows("sums")[0] == ("a", 6, 7)
    lake.sql(f"ALTER TABLE {t} DROP COLUMN name")
    lake.feed((6, "e"))
    error = lake.sql.error("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    assert "The column name of" in error.message and "was dropped or renamed" in error.message
    assert lake.status("j").startswith("SUSPENDED")


def test_a_replaced_table_is_not_written(lake: LakeTables) -> None:
    t = lake.create("t", "id INT, name STRING")
    lake.sql(f"CREATE JOB j {QUICK} AS INSERT INTO {t} SELECT * FROM STREAM events")
    lake.sql("SUSPEND JOB j")
    lake.sql(f"DROP TABLE {t}")
    lake.create("t", "id INT, name STRING")
    assert "was replaced after the job was created" in lake.sql.error("RESUME JOB j").message
    assert lake.rows("t") == []


def test_readers_see_each_batch_without_refresh(lake: LakeTables) -> None:
    t = lake.create("t", "id INT, name STRING")
    lake.sql(f"CREATE JOB j {QUICK} AS INSERT INTO {t} SELECT * FROM STREAM events")
    reader, cached = Lakehouse(lake.home), Lakehouse(lake.home)
    count = f"SELECT count(*) FROM {t}"
    reader(f"USE {lake.schema}")
    assert reader(count) == [(2,)]
    cached(f"USE {lake.schema}", f"CACHE TABLE kept AS SELECT * FROM {t}", f"CACHE TABLE {t}")
    lake.after("t", (3, "c"))
    assert reader(count) == [(3,)]
    assert cached(count) == [(3,)]
    assert cached("SELECT count(*) FROM kept") == [(3,)]
    cached("UNCACHE TABLE kept")


def test_a_note_does_not_expire(lake: LakeTables) -> None:
    t = lake.create("t", "id INT, name STRING")
    lake.sql(f"CREATE JOB j {QUICK} AS INSERT INTO {t} SELECT * FROM STREAM events")
    lake.after("t", (3, "c"))
    lake.repeat_newest_batch()
    lake.sql(f"INSERT INTO {t} VALUES (50, 'x')")
    lake.sql(
        f"VACUUM {t} RETAIN 168 HOURS"
        if lake.is_delta
        else f"CALL lake.system.expire_snapshots(table => '{lake.schema}.t', older_than => TIMESTAMP '2100-01-01',"
        " retain_last => 1)"
    )
    lake.sql("RESUME JOB j")
    assert [row[0] for row in lake.after("t", (4, "d"))] == [1, 2, 3, 4, 50]


def test_a_key_that_a_batch_can_have_twice_is_refused(lake: LakeTables) -> None:
    t = lake.create("t", "id INT, name STRING", key_columns="id")
    error = lake.sql.error(f"CREATE JOB j AS SINK INTO {t} SELECT * FROM STREAM events")
    assert "several rows with the same id" in error.message


@pytest.mark.parametrize("lake_home", ["delta"], indirect=True, scope="module")
def test_properties_of_delta_that_are_refused(lake: LakeTables) -> None:
    t = lake.create("t", "id INT, name STRING", delta_appendOnly="true")
    totals = "SELECT max(id), name FROM STREAM events GROUP BY name"
    assert "Rows can only be added" in lake.sql.error(f"CREATE JOB j AS INSERT OVERWRITE {t} {totals}").message
    u = lake.create("u", "id INT, name STRING", delta_setTransactionRetentionDuration="interval 1 days")
    error = lake.sql.error(f"CREATE JOB j AS INSERT INTO {u} SELECT * FROM STREAM events")
    assert "forgets which batches it has" in error.message


@pytest.mark.parametrize("lake_home", ["iceberg"], indirect=True, scope="module")
def test_a_property_of_iceberg_that_is_refused(lake: LakeTables) -> None:
    t = lake.create("t", "id INT, name STRING", write_wap_enabled="true")
    error = lake.sql.error(f"CREATE JOB j AS INSERT INTO {t} SELECT * FROM STREAM events")
    assert "keep commits unpublished" in error.message


def test_a_key_that_is_twice_in_a_batch_is_refused(lake: LakeTables) -> None:
    t = lake.create("t", "name STRING, total BIGINT", key_columns="name")
    lake.sql(f"CREATE JOB j {QUICK} AS SINK INTO {t} {SUMS}, id % 100")
    assert lake.after("t", (3, "c")) == [("a", 1), ("b", 2), ("c", 3)]
    lake.feed((4, "c"), (5, "c"))
    assert "have the same key (name)" in lake.wait_until_suspended()
    assert lake.rows("t") == [("a", 1), ("b", 2), ("c", 3)]


def test_groups_by_the_keys_are_merged_and_counted(lake: LakeTables) -> None:
    t = lake.create("t", "NAME STRING, total BIGINT", key_columns="Name")
    lake.sql(f"CREATE JOB j {QUICK} AS SINK INTO {t} {SUMS}")
    assert lake.after("t", (3, "a"), (4, "c")) == [("a", 4), ("b", 2), ("c", 4)]
    lake.sql("SUSPEND JOB j")
    metrics = "SELECT output_rows FROM spark_catalog.jetsql.metrics WHERE job = 'j' AND output_rows > 0 ORDER BY batch"
    assert lake.sql(metrics) == [(2,), (2,)]


@pytest.mark.parametrize("lake_home", ["iceberg"], indirect=True, scope="module")
def test_a_job_writes_a_branch_of_an_iceberg_table(lake: LakeTables) -> None:
    t = lake.create("t", "id INT, name STRING")
    lake.sql(f"INSERT INTO {t} VALUES (0, 'z')", f"ALTER TABLE {t} CREATE BRANCH tried")
    lake.sql(f"CREATE JOB j {QUICK} AS INSERT INTO {t}.branch_tried SELECT * FROM STREAM events")
    lake.after("t", (3, "c"))
    lake.repeat_newest_batch()
    lake.sql("RESUME JOB j")
    assert lake.after("t", (4, "d")) == [(0, "z")]
    branch = f"SELECT * FROM {t} VERSION AS OF 'tried' ORDER BY id"
    assert lake.sql(branch) == [(0, "z"), (1, "a"), (2, "b"), (3, "c"), (4, "d")]
