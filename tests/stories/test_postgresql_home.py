"""An engine whose store and catalogue are on PostgreSQL: everything survives restarts, and no password is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from jetsql.home.discovery import read_note
from tests.conftest import until
from tests.support.engines.service_engine import ServiceEngine
from tests.support.servers.postgres import PASSWORD, USER, Postgres

pytestmark = [pytest.mark.spark, pytest.mark.slow]
PASSWORD_KEY = "spark.hadoop.javax.jdo.option.ConnectionPassword"


@pytest.fixture
def engine(postgres: Postgres, tmp_path: Path) -> Iterator[ServiceEngine]:
    engine = ServiceEngine(
        tmp_path / "home",
        store=f"postgresql://{USER}@127.0.0.1:{postgres.port}/postgres?schema=whole",
        store_password="secret:env:STORE_PASSWORD",
        catalog="postgresql",
    )
    yield engine
    engine("stop")
    postgres("DROP SCHEMA IF EXISTS whole CASCADE")


def command_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # a process of a task has just ended
        return ""


def test_jobs_and_tables_survive_and_no_password_is_shown(
    engine: ServiceEngine, postgres: Postgres, tmp_path: Path
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "1.json").write_text('{"id": 1}\n')
    engine("-e", f"CREATE TABLE src (id BIGINT) USING json LOCATION '{tmp_path / 'src'}'")
    engine("-e", "CREATE TABLE copied (id BIGINT) USING parquet")
    engine("-e", "CREATE JOB copy AS INSERT INTO copied SELECT * FROM STREAM src")
    assert engine.rows("SELECT * FROM copied") == [[1]]
    assert PASSWORD not in str(engine.rows(f"SET {PASSWORD_KEY}")) + str(engine.rows("SET -v"))
    note = read_note(engine.home)
    assert note is not None
    process = psutil.Process(note.pid)
    processes = [process, *process.children(recursive=True)]
    assert not [each for each in processes if PASSWORD in command_line(each)]

    engine("stop")
    assert not (engine.home / "metastore").exists() and not (engine.home / "jetsql.db").exists()
    engine("check")
    assert "JOB copy: submitted" in engine("logs", "copy")
    (tmp_path / "src" / "2.json").write_text('{"id": 2}\n')
    engine("start")
    until(lambda: len(engine.rows("SELECT * FROM copied")) == 2)
    assert [row[1] for row in engine.rows("SHOW TABLES")] == ["copied", "src"]
    postgres.stop()
    postgres.start()
    engine("-e", "SUSPEND JOB copy")
    assert sorted(engine.rows("SELECT * FROM copied")) == [[1], [2]]
    assert postgres("SELECT count(*) FROM whole.measures")[0][0] >= 0

    home = tmp_path / "other"
    other = ServiceEngine(
        home,
        catalog=f"jdbc:postgresql://127.0.0.1:{postgres.port}/postgres?currentSchema=whole",
        catalog_user=USER,
        catalog_password="secret:env:STORE_PASSWORD",
    )
    engine("stop")
    other("start")
    assert sorted(other.rows("SELECT * FROM copied")) == [[1], [2]]
    other("stop")
    shown = [path.read_text(errors="replace") for path in (*engine.home.glob("engine.*"), *home.glob("engine.*"))]
    assert not [text for text in shown if PASSWORD in text]


@pytest.mark.timeout(900)
def test_jobs_continue_when_their_store_is_moved(postgres: Postgres, tmp_path: Path) -> None:
    """Continue checkpoints that have the numbers of leaders of the earlier stores."""
    home, server = tmp_path / "home", f"127.0.0.1:{postgres.port}/postgres"
    catalog = {
        "catalog": f"jdbc:postgresql://{server}?currentSchema=moved_catalog",
        "catalog_user": USER,
        "catalog_password": "secret:env:STORE_PASSWORD",
    }
    postgres("CREATE SCHEMA moved_catalog")
    stores = [f"postgresql://{USER}@{server}?schema=moved_{number}" for number in (1, 2)]
    first, second = (
        ServiceEngine(home, store=store, store_password="secret:env:STORE_PASSWORD", **catalog) for store in stores
    )
    in_home = ServiceEngine(home, **catalog)
    (tmp_path / "src").mkdir()

    def check(engine: ServiceEngine, number: int) -> None:
        (tmp_path / "src" / f"{number}.json").write_text(f'{{"id": {number}}}\n')
        until(lambda: sorted(engine.rows("SELECT * FROM copied")) == [[each] for each in range(number + 1)])

    first("-e", f"CREATE TABLE src (id BIGINT) USING json LOCATION '{tmp_path / 'src'}'")
    first("-e", "CREATE TABLE copied (id BIGINT) USING parquet")
    first("-e", "CREATE JOB copy AS INSERT INTO copied SELECT * FROM STREAM src")
    check(first, 0)
    first.kill()  # its leases stay
    first("start")
    check(first, 1)
    first("stop")
    first("store", "copy", "--to", "home")
    in_home("start")
    check(in_home, 2)
    in_home("stop")
    assert "it was copied to" in first("store", "copy", "--to", stores[0], code=3)
    second("store", "copy", "--to", stores[1])
    second("start")
    check(second, 3)
    second("stop")
    for name in ("moved_catalog", "moved_1", "moved_2"):
        postgres(f"DROP SCHEMA {name} CASCADE")


def test_a_catalogue_that_cannot_be_opened(postgres: Postgres, tmp_path: Path) -> None:
    engine = ServiceEngine(
        tmp_path / "home",
        catalog=f"jdbc:postgresql://127.0.0.1:{postgres.port}/postgres",
        catalog_user=USER,
        catalog_password="secret:env:WRONG",
    )
    engine.set("WRONG", "not-the-password")
    shown = engine("start", code=3)
    assert f"Cannot open the catalogue in PostgreSQL 127.0.0.1:{postgres.port}/postgres" in shown
    assert "not-the-password" not in shown + (tmp_path / "home" / "engine.log").read_text()
