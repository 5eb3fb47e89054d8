"""Delta and Iceberg by the ways into an engine: Spark Connect, Thrift, `jetsql.enable`, members, JDBC catalogues."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from jetsql.engine.jdbc.jdbc_dialects import POSTGRESQL
from jetsql.home.discovery import read_note
from tests.external_clients.__main__ import parse_steps
from tests.external_clients.clients import PROGRAMS, java_source
from tests.external_clients.engine import ClientTestEngine
from tests.support.paths import ROOT
from tests.support.programs.lake_cluster import FILES, ROWS
from tests.support.servers.postgres import PASSWORD, USER, running_postgres
from tests.support.tables.lakehouse import lakehouse
from tools.java.older_sparks import install

# Long enough to install a Spark for the first time.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1200)]
SQLITE = "org.xerial:sqlite-jdbc:3.50.3.0"


def run_program(name: str, folder: Path, spark: str = "4.2") -> dict[str, Any]:
    """Run a program of `tests.support.programs` on a Spark with Delta, and return what it printed."""
    command = [str(install(spark)), "-m", f"tests.support.programs.{name}", str(folder)]
    environment = {**os.environ, "JETSQL_CONFIG": os.devnull}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert ended.returncode == 0, ended.stderr[:3000]
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def endpoints(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClientTestEngine]:
    folder = tmp_path_factory.mktemp("endpoints")
    with lakehouse("4.2", folder, "delta = true\nthrift = true\nlogin_seconds = 60"):
        note = read_note(folder / "home")
        assert note is not None
        addresses = (note.pid, note.url, note.connect, note.thrift, note.token)
        yield ClientTestEngine(folder / "home", *addresses, formats="delta delta")


@pytest.mark.parametrize("client", ["spark_connect.py", "Jdbc.java"])
def test_clients_of_spark_read_and_write_delta_tables(endpoints: ClientTestEngine, client: str) -> None:
    is_java = client.endswith(".java")
    command = java_source() if is_java else [str(install("4.2")), "-W", "ignore"]
    environment = endpoints.environment(f"lake_{client.partition('.')[0].lower()}")
    ended = subprocess.run(
        [*command, str(PROGRAMS / client)], env=environment, capture_output=True, text=True, timeout=180, check=False
    )
    steps = parse_steps(ended.stdout)
    assert [step for step in steps if not step.ok] == []
    assert {"table", "create", "deliver", "suspend_resume", "drop"} <= {step.name for step in steps}, ended.stderr


def test_enable_on_a_session_with_delta(tmp_path: Path) -> None:
    found = run_program("lake_session", tmp_path)
    assert found["first"] == found["old"] == [["a", 1], ["b", 2]]
    assert found["second"] == found["without"] == [["a", 11], ["b", 2]]
    assert found["changes"] == [[1, "insert"], [2, "insert"], [10, "insert"]]
    assert found["third"] == [["a", 11], ["b", 7]]


def test_exactly_once_is_refused_with_an_older_delta(tmp_path: Path) -> None:
    found = run_program("older_delta_session", tmp_path, "4.1")
    assert "[JETSQL.SINK_NOT_READY] Jobs write to Delta tables exactly once from Delta 4.3 on" in found["error"]
    assert "this session has Delta 4.2.0" in found["error"]
    assert found["jobs"] == 0
    assert found["rows"] == [[1, "a"], [2, "b"]]


def test_members_write_delta_tables_and_one_is_killed(tmp_path: Path) -> None:
    found = run_program("lake_cluster", tmp_path)
    end = FILES * ROWS
    assert found["distinct"] == [[end, end]]
    assert found["kept"] == found["totals"] == by_digit(end)
    assert found["active"] == 1


def by_digit(end: int) -> list[list[int]]:
    """Return by last digit: the count and the sum of the numbers below `end`."""
    return [[digit, len(range(digit, end, 10)), sum(range(digit, end, 10))] for digit in range(10)]


@contextmanager
def database(name: str, folder: Path) -> Iterator[str]:
    """Yield the lines of config.toml for a database that keeps Iceberg's catalogue."""
    if name == "sqlite":
        yield f'spark.jars.packages = "{SQLITE}"\n[catalogs.lake]\nuri = "jdbc:sqlite:{folder}/catalog.db"\n'
        return
    with running_postgres() as server:
        yield (
            f'spark.jars.packages = "{POSTGRESQL.package}"\n[catalogs.lake]\nuri = "{server.url}"\n'
            f'"jdbc.user" = "{USER}"\n"jdbc.password" = "secret:env:LAKE_PASSWORD"\n'
        )


@pytest.mark.parametrize("name", ["sqlite", "postgresql"])
def test_iceberg_with_a_catalogue_in_a_database(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE_PASSWORD", PASSWORD)
    with database(name, tmp_path) as lines:
        settings = f'{lines}type = "iceberg"\nkind = "jdbc"\nwarehouse = "{tmp_path}/lake"\n'
        with lakehouse("4.1", tmp_path, settings) as sql:
            sql("CREATE NAMESPACE lake.shop", "CREATE TABLE lake.shop.orders (id INT, name STRING) USING iceberg")
            sql("CREATE TABLE lake.shop.sums (name STRING, total BIGINT) USING iceberg")
            sql("ALTER TABLE lake.shop.sums SET TBLPROPERTIES ('key.columns' = 'name')")
            sql("INSERT INTO lake.shop.orders VALUES (1, 'a'), (2, 'b')")
            sql(
                "CREATE JOB sums OPTIONS ('snapshotIntervalMillis' = '100') AS SINK INTO lake.shop.sums"
                " SELECT name, sum(id) AS total FROM STREAM lake.shop.orders GROUP BY name"
            )
            sql("INSERT INTO lake.shop.orders VALUES (10, 'a')")
            assert sql.all_rows_of("sums", "lake.shop.sums") == [("a", 11), ("b", 2)]
        with lakehouse("4.1", tmp_path, settings) as sql:  # the catalogue outlives the engine
            sql("INSERT INTO lake.shop.orders VALUES (5, 'b')")
            assert sql.all_rows_of("sums", "lake.shop.sums") == [("a", 11), ("b", 7)]
            assert PASSWORD not in str(sql("SET"))
