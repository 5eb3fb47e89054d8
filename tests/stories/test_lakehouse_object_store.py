"""Delta and Iceberg tables whose files are in an object store with the interface of S3, written by jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.servers.object_store import running_object_store
from tests.support.tables.lake_tables import QUICK
from tests.support.tables.lakehouse import lakehouse

# Long enough to install a Spark for the first time.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1200)]
ENGINES = {
    "delta": ("4.2", "delta = true", ""),
    "iceberg": (
        "4.1",
        "[catalogs.lake]\ntype = 'iceberg'\nkind = 'hadoop'\nwarehouse = 's3a://lake/tables'",
        "lake.db.",
    ),
}
"""The Spark of each format, the lines of config.toml that load it, and the namespace of the tables."""


@pytest.mark.parametrize("table_format", ENGINES)
def test_jobs_add_and_merge_rows(table_format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark, settings, namespace = ENGINES[table_format]
    with running_object_store(tmp_path) as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        with lakehouse(spark, tmp_path, store.settings("home") + settings) as sql:
            if namespace:
                sql(f"CREATE NAMESPACE {namespace.rstrip('.')}")
            added, merged = f"{namespace}added", f"{namespace}merged"
            sql(
                "CREATE TABLE events (id INT, name STRING) USING json",
                "INSERT INTO events VALUES (1, 'a'), (2, 'b')",
                f"CREATE TABLE {added} (id INT, name STRING) USING {table_format}",
                f"CREATE TABLE {merged} (name STRING, n BIGINT) USING {table_format}"
                " TBLPROPERTIES ('key.columns' = 'name')",
                f"CREATE JOB a {QUICK} AS INSERT INTO {added} SELECT * FROM STREAM events",
                f"CREATE JOB m {QUICK} AS SINK INTO {merged} SELECT name, count(*) FROM STREAM events GROUP BY name",
                "SUSPEND JOB a",
                "SUSPEND JOB m",
                "INSERT INTO events VALUES (3, 'a')",
                "RESUME JOB a",
                "RESUME JOB m",
            )
            assert sql.all_rows_of("a", added) == [(1, "a"), (2, "b"), (3, "a")]
            assert sql.all_rows_of("m", merged) == [("a", 2), ("b", 1)]
            assert "s3a://lake/" in str(sql("DESCRIBE JOB a"))
