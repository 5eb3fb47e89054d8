"""Backups of homes with Delta and Iceberg tables whose jobs commit meanwhile: the restored tables are consistent."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.backup.test_backup_spark import Feed
from tests.support.paths import ROOT
from tests.support.tables.lake_tables import CATALOG, QUICK
from tests.support.tables.lakehouse import SETTINGS, Lakehouse
from tools.java.older_sparks import install

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]
BIG_FILE_BYTES = 200_000_000
"""The size of a file that is copied before the tables, so that several batches are committed meanwhile."""
WAREHOUSE = "{home}/warehouse/lake"
FORMATS: Mapping[str, tuple[str, str, str]] = {
    "delta": ("4.2", "delta = true", "copied (id BIGINT) USING delta TBLPROPERTIES ('delta.checkpointInterval' = '1')"),
    "iceberg": (
        "4.1",
        f"[catalogs.{CATALOG}]\ntype = 'iceberg'\nkind = 'hadoop'\nwarehouse = '{WAREHOUSE}'",
        f"{CATALOG}.db.copied (id BIGINT) USING iceberg",
    ),
}
"""The Spark of each format, the settings that load it, and a table whose every commit replaces a file."""


class Engine:
    """The commands of an engine on a Spark with a table format."""

    def __init__(self, folder: Path, spark: str, settings: str) -> None:
        self.home = folder / "home"
        self._python = install(spark)
        self._config = folder / "config.toml"
        self._config.write_text(f"{SETTINGS}\n{settings.format(home=self.home)}", encoding="utf-8")

    def __call__(self, *arguments: str, code: int = 0) -> str:
        command = [str(self._python), "-m", "jetsql", *arguments, "--home", str(self.home)]
        environment = {**os.environ, "JETSQL_CONFIG": str(self._config)}
        ended = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False
        )
        assert ended.returncode == code, ended.stdout + ended.stderr
        return ended.stdout + ended.stderr


@pytest.mark.parametrize("table_format", FORMATS)
def test_a_backup_while_a_job_commits(table_format: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    spark, settings, definition = FORMATS[table_format]
    table = definition.split()[0]
    engine, feed = Engine(tmp_path, spark, settings), Feed(tmp_path / "src")
    feed.add()
    request.addfinalizer(lambda: engine("stop"))
    engine("start")
    sql = Lakehouse(engine.home)
    sql(f"CREATE TABLE src (id BIGINT) USING json LOCATION '{tmp_path / 'src'}'", f"CREATE TABLE {definition}")
    sql(f"CREATE JOB copy {QUICK} AS INSERT INTO {table} SELECT id FROM STREAM src")
    big = engine.home / "warehouse" / "big"
    with big.open("wb") as file:
        file.truncate(BIG_FILE_BYTES)
    with feed.running():
        while len(sql(f"SELECT * FROM {table}")) < 5:
            pass
        engine("backup", str(tmp_path / "backup"))
        [(after,)] = sql(f"SELECT count(*) FROM {table}")
    sql.close()
    engine("stop")
    shutil.rmtree(engine.home)
    engine("restore", str(tmp_path / "backup"))
    [job] = json.loads((tmp_path / "backup" / "manifest.json").read_text())["jobs"]
    engine("start")
    sql = Lakehouse(engine.home)
    rows = sql.all_rows_of("copy", table)
    assert rows == [(number,) for number in range(feed.count)], (after, job)
    sql.close()
