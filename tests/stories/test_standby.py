"""Two engines on one store: one leads, the other takes over, and no row is lost or doubled."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import until
from tests.support.postgres import USER, Postgres
from tests.support.service_engine import ServiceEngine

pytestmark = [pytest.mark.spark, pytest.mark.slow]
Pair = tuple[ServiceEngine, ServiceEngine]


@pytest.fixture
def pair(postgres: Postgres, tmp_path: Path) -> Iterator[Pair]:
    """Two homes with one store, one catalogue and one storage; both engines have the same token."""
    settings = {
        "store": f"postgresql://{USER}@127.0.0.1:{postgres.port}/postgres?schema=pair",
        "store_password": "secret:env:STORE_PASSWORD",
        "catalog": "postgresql",
    }
    first = ServiceEngine(tmp_path / "first", storage=str(tmp_path / "shared"), **settings)
    second = ServiceEngine(tmp_path / "second", **settings)
    first("start")
    (tmp_path / "second").mkdir(mode=0o700)
    token = tmp_path / "second" / "engine.token"
    token.write_text((tmp_path / "first" / "engine.token").read_text())
    token.chmod(0o600)
    second("start")
    yield first, second
    for engine in (first, second):
        engine.signal(signal.SIGCONT)
        engine("stop")
    postgres("DROP SCHEMA IF EXISTS pair CASCADE")


def copy_files(engine: ServiceEngine, source: Path) -> None:
    source.mkdir()
    engine("-e", f"CREATE TABLE src (id BIGINT) USING json LOCATION '{source}'")
    engine("-e", "CREATE TABLE copied (id BIGINT) USING parquet")
    engine(
        "-e",
        "CREATE JOB copy OPTIONS ('processingGuarantee'='exactlyOnce', 'snapshotIntervalMillis'='500')"
        " AS INSERT INTO copied SELECT * FROM STREAM src",
    )


def add(source: Path, number: int) -> None:
    hidden = source / f".{number}"
    hidden.write_text(f'{{"id": {number}}}\n')
    hidden.rename(source / f"{number}.json")


def ids(engine: ServiceEngine) -> list[int]:
    return sorted(int(str(row[0])) for row in engine.rows("SELECT id FROM copied"))


def test_a_standby_takes_over_when_the_leader_is_killed(pair: Pair, tmp_path: Path) -> None:
    first, second = pair
    assert (first.role, second.role) == ("leader", "standby")
    assert '"standby"' in second("status", "--format", "json")
    source = tmp_path / "src"
    copy_files(second, source)  # its client follows the leader
    assert [row[2] for row in second.rows("SHOW ENGINES")] == ["leader", "standby"]
    add(source, 1)
    until(lambda: ids(second) == [1])
    first.kill()
    add(source, 2)
    until(lambda: second.role == "leader")
    until(lambda: ids(second) == [1, 2])
    first("start")
    assert first.role == "standby"
    add(source, 3)
    until(lambda: ids(first) == [1, 2, 3])
    second("stop")  # hands over
    until(lambda: first.role == "leader")
    add(source, 4)
    until(lambda: ids(first) == [1, 2, 3, 4])


def test_a_leader_that_was_paused_becomes_a_standby(pair: Pair, tmp_path: Path) -> None:
    first, second = pair
    source = tmp_path / "src"
    copy_files(first, source)
    add(source, 1)
    until(lambda: ids(first) == [1])
    first.signal(signal.SIGSTOP)
    add(source, 2)
    until(lambda: second.role == "leader")
    until(lambda: ids(second) == [1, 2])
    first.signal(signal.SIGCONT)
    until(lambda: "waits as a standby" in first.log)
    add(source, 3)
    until(lambda: ids(first) == [1, 2, 3])
    assert [row[2] for row in first.rows("SHOW ENGINES")] == ["leader", "standby"]
