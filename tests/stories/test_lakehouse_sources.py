"""Jobs that read Delta tables on Spark 4.2 and Iceberg tables on Spark 4.1, the Sparks that have releases of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.tables.lakehouse import Lakehouse, lakehouse

# Long enough to install a Spark for the first time.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def delta(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lakehouse]:
    with lakehouse("4.2", tmp_path_factory.mktemp("delta"), "delta = true") as session:
        session("CREATE TABLE stream_of_files (id BIGINT) USING json")
        yield session


@pytest.fixture(scope="module")
def iceberg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lakehouse]:
    folder = tmp_path_factory.mktemp("iceberg")
    catalog = f"[catalogs.lake]\ntype = 'iceberg'\nkind = 'hadoop'\nwarehouse = '{folder}/lake'"
    with lakehouse("4.1", folder, catalog) as session:
        session(
            "CREATE TABLE stream_of_files (id BIGINT) USING json",
            "CREATE NAMESPACE lake.a",
            "CREATE NAMESPACE lake.a.b",
        )
        yield session


def test_delta_rows_as_they_are_added(delta: Lakehouse) -> None:
    delta("CREATE TABLE d (id BIGINT, v STRING) USING delta", "INSERT INTO d VALUES (1, 'a'), (2, 'b')")
    delta("CREATE TABLE d_copy (id BIGINT, v STRING) USING parquet")
    delta("CREATE JOB d_job AS INSERT INTO d_copy SELECT id, v FROM STREAM d WITH ('maxFilesPerTrigger' = '1')")
    delta("INSERT INTO d VALUES (3, 'c')")
    assert delta.all_rows_of("d_job", "d_copy") == [(1, "a"), (2, "b"), (3, "c")]
    assert delta("SELECT sources FROM jetsql.jobs WHERE name = 'd_job'") == [(["spark_catalog.default.d"],)]
    assert delta.error("DROP TABLE d").condition == "JETSQL.TABLE_IN_USE"
    assert delta.error("CREATE OR REPLACE TABLE d (id BIGINT, v STRING) USING delta").condition == "JETSQL.TABLE_IN_USE"

    delta("UPDATE d SET v = 'x' WHERE id = 1")
    assert "Rows of the source were updated" in delta.wait_until_suspended("d_job")
    delta(
        "CREATE OR REPLACE JOB d_job AS INSERT INTO d_copy"
        " SELECT id, v FROM STREAM d WITH ('skipChangeCommits' = 'true')",
    )
    delta("RESUME JOB d_job", "DELETE FROM d WHERE id = 2", "OPTIMIZE d", "INSERT INTO d VALUES (4, 'd')")
    assert delta.all_rows_of("d_job", "d_copy") == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


def test_delta_changes_with_deletes(delta: Lakehouse) -> None:
    delta("CREATE TABLE f (id BIGINT, v STRING) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)")
    delta(
        "INSERT INTO f VALUES (1, 'a'), (2, 'b')",
        "CREATE TABLE f_copy (kind STRING, id BIGINT, v STRING) USING parquet",
    )
    delta(
        "CREATE JOB f_job AS INSERT INTO f_copy"
        " SELECT _change_type, id, v FROM STREAM f WITH ('readChangeFeed' = 'true')"
    )
    delta("UPDATE f SET v = 'x' WHERE id = 1", "DELETE FROM f WHERE id = 2")
    assert delta.all_rows_of("f_job", "f_copy", "kind, id") == [
        ("delete", 2, "b"),
        ("insert", 1, "a"),
        ("insert", 2, "b"),
        ("update_postimage", 1, "x"),
        ("update_preimage", 1, "a"),
    ]


def test_replaced_delta_table(delta: Lakehouse) -> None:
    delta("CREATE TABLE r (id BIGINT) USING delta", "CREATE TABLE r_copy (id BIGINT) USING parquet")
    delta("CREATE JOB r_job AS INSERT INTO r_copy SELECT id FROM STREAM r", "SUSPEND JOB r_job")
    delta("CREATE OR REPLACE TABLE r (id BIGINT) USING delta", "INSERT INTO r VALUES (7)")
    assert "JETSQL.JOB_CHANGED" in delta.error("RESUME JOB r_job").message


def test_files_that_vacuum_removed(delta: Lakehouse) -> None:
    delta(
        "CREATE TABLE v (id BIGINT) USING delta",
        "INSERT INTO v VALUES (1)",
        "CREATE TABLE v_copy (id BIGINT) USING parquet",
    )
    delta("CREATE JOB v_job AS INSERT INTO v_copy SELECT id FROM STREAM v", "SUSPEND JOB v_job")
    delta("INSERT INTO v VALUES (2)", "OPTIMIZE v", "SET spark.databricks.delta.retentionDurationCheck.enabled = false")
    delta("VACUUM v RETAIN 0 HOURS", "RESUME JOB v_job")
    assert "removed, as by VACUUM" in delta.wait_until_suspended("v_job")


def test_delta_next_to_a_stream_is_as_of_the_batch(delta: Lakehouse) -> None:
    delta("CREATE TABLE side (id BIGINT, name STRING) USING delta", "INSERT INTO side VALUES (1, 'one')")
    _join(delta, "side", "side_job", "side_copy")


def _join(session: Lakehouse, side: str, job: str, copy: str) -> None:
    session(f"CREATE TABLE {copy} (id BIGINT, name STRING) USING parquet", "INSERT INTO stream_of_files VALUES (1)")
    session(
        f"CREATE JOB {job} AS INSERT INTO {copy}"
        f" SELECT f.id, s.name FROM STREAM stream_of_files f JOIN {side} s ON f.id = s.id"
    )
    assert session.all_rows_of(job, copy) == [(1, "one")]
    session(f"INSERT INTO {side} VALUES (2, 'two')", f"UPDATE {side} SET name = 'uno' WHERE id = 1")
    session("INSERT INTO stream_of_files VALUES (1), (2)")
    assert session.all_rows_of(job, copy, "1, 2") == [(1, "one"), (1, "uno"), (2, "two")]


def test_iceberg_rows_as_they_are_added(iceberg: Lakehouse) -> None:
    iceberg("CREATE TABLE lake.a.b.t (id BIGINT, v STRING) USING iceberg PARTITIONED BY (bucket(4, id))")
    iceberg(
        "INSERT INTO lake.a.b.t VALUES (1, 'a'), (2, 'b')", "CREATE TABLE t_copy (id BIGINT, v STRING) USING parquet"
    )
    iceberg("USE lake.a.b", "CREATE JOB t_job AS INSERT INTO spark_catalog.default.t_copy SELECT id, v FROM STREAM t")
    assert iceberg("SELECT sources FROM jetsql.jobs WHERE name = 't_job'") == [(["lake.a.b.t"],)]
    assert iceberg.error("DROP TABLE t").condition == "JETSQL.TABLE_IN_USE"
    assert (
        iceberg.error("CREATE OR REPLACE TABLE t (id BIGINT, v STRING) USING iceberg").condition
        == "JETSQL.TABLE_IN_USE"
    )
    assert iceberg.error("DROP NAMESPACE lake.a.b CASCADE").condition == "JETSQL.TABLE_IN_USE"
    iceberg("INSERT INTO t VALUES (3, 'c')", "ALTER TABLE t ADD COLUMN more INT", "INSERT INTO t VALUES (4, 'd', 1)")
    iceberg("CALL lake.system.rewrite_data_files(table => 'a.b.t', options => map('min-input-files', '2'))")
    iceberg("USE spark_catalog.default")
    assert iceberg.all_rows_of("t_job", "t_copy") == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]

    iceberg("UPDATE lake.a.b.t SET v = 'x' WHERE id = 1")
    assert "Rows of the source were updated" in iceberg.wait_until_suspended("t_job")
    iceberg(
        "CREATE OR REPLACE JOB t_job AS INSERT INTO t_copy"
        " SELECT id, v FROM STREAM lake.a.b.t WITH ('streaming-skip-overwrite-snapshots' = 'true')"
    )
    iceberg("RESUME JOB t_job", "INSERT INTO lake.a.b.t VALUES (5, 'e', 1)")
    assert iceberg.all_rows_of("t_job", "t_copy")[-1] == (5, "e")


def test_a_snapshot_that_has_expired(iceberg: Lakehouse) -> None:
    iceberg("CREATE TABLE lake.a.e (id BIGINT) USING iceberg", "INSERT INTO lake.a.e VALUES (1)")
    iceberg("CREATE TABLE e_copy (id BIGINT) USING parquet")
    iceberg("CREATE JOB e_job AS INSERT INTO e_copy SELECT id FROM STREAM lake.a.e")
    assert iceberg.all_rows_of("e_job", "e_copy") == [(1,)]
    iceberg("SUSPEND JOB e_job", "INSERT INTO lake.a.e VALUES (2)", "INSERT INTO lake.a.e VALUES (3)")
    iceberg(
        "CALL lake.system.expire_snapshots(table => 'a.e', older_than => TIMESTAMP '2100-01-01', retain_last => 1)",
        "RESUME JOB e_job",
    )
    assert "removed by expire_snapshots" in iceberg.wait_until_suspended("e_job")


def test_replaced_iceberg_table(iceberg: Lakehouse) -> None:
    iceberg("CREATE TABLE lake.a.`x.y z` (id BIGINT) USING iceberg", "CREATE TABLE r_copy (id BIGINT) USING parquet")
    iceberg("CREATE JOB r_job AS INSERT INTO r_copy SELECT id FROM STREAM lake.a.`x.y z`", "SUSPEND JOB r_job")
    assert iceberg("SELECT sources FROM jetsql.jobs WHERE name = 'r_job'") == [(["lake.a.`x.y z`"],)]
    iceberg("DROP TABLE lake.a.`x.y z`", "CREATE TABLE lake.a.`x.y z` (id BIGINT) USING iceberg")
    assert "JETSQL.JOB_CHANGED" in iceberg.error("RESUME JOB r_job").message


def test_iceberg_next_to_a_stream_is_as_of_the_batch(iceberg: Lakehouse) -> None:
    iceberg(
        "CREATE TABLE lake.a.side (id BIGINT, name STRING) USING iceberg", "INSERT INTO lake.a.side VALUES (1, 'one')"
    )
    iceberg("CREATE VIEW side_view AS SELECT * FROM lake.a.side")
    _join(iceberg, "lake.a.side", "side_job", "side_copy")


def test_errors_name_the_word(delta: Lakehouse) -> None:
    missing = delta.error("CREATE TABLE i (id INT)\nUSING iceberg")
    assert (missing.condition, missing.line, missing.column) == ("JETSQL.FORMAT_NOT_LOADED", 2, 7)
    assert "pip install 'pyspark==4.1.*'" in missing.message
    assert "[catalogs.nolake]" in delta.error("SELECT * FROM nolake.a.b").hint
