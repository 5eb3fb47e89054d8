"""Users, rights, connections and the jobs of users go along: with a backup, a copy of the store, and to a standby."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from jetsql.client.engine_client import EngineClient
from jetsql.errors import ReportedError
from tests.conftest import until
from tests.stories.test_standby import make_pair
from tests.support.engines.service_engine import ServiceEngine
from tests.support.servers.postgres import DRIVER_PACKAGE, PASSWORD, USER, Postgres

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]
_SETUP: Final = (
    "CREATE USER ann",
    "CREATE ROLE readers",
    "GRANT readers TO ann",
    *(f"CREATE TABLE {name} (id BIGINT) USING parquet" for name in ("source", "copied", "hidden")),
    "INSERT INTO source VALUES (1)",
    "GRANT SELECT ON TABLE source TO readers",
    "GRANT SELECT, INSERT ON TABLE copied TO ann",
    "CREATE SECRET shop FROM ENV 'STORE_PASSWORD' FOR '{host}'",
    "CREATE CONNECTION pg TYPE jdbc OPTIONS ('url' = '{url}', 'user' = '{user}', 'password' = 'secret:shop',"
    " 'driver' = 'org.postgresql.Driver')",
    "CREATE TABLE delivered USING jdbc OPTIONS ('connection' = 'pg', 'dbtable' = 'delivered')",
    "GRANT SELECT ON TABLE delivered TO ann",
)
_COPY: Final = "CREATE JOB copying AS INSERT INTO copied SELECT id FROM STREAM source"


@dataclass
class Ann:
    """A user with few rights, and her token."""

    token: str

    def rows(self, engine: ServiceEngine, statement: str) -> list[tuple[object, ...]]:
        """Return the rows of a statement at an engine."""
        client = EngineClient(engine.url, self.token)
        try:
            return list(client.run(statement).rows)
        finally:
            client.close()

    def check(self, engine: ServiceEngine, numbers: list[int]) -> None:
        """Check that she reads what she may, that she sees nothing else, and that her job has copied the rows."""
        until(lambda: self.rows(engine, "SELECT id FROM copied ORDER BY id") == [(number,) for number in numbers])
        assert self.rows(engine, "SELECT id FROM delivered") == [(7,)]
        assert [row[1] for row in self.rows(engine, "SHOW JOBS")] == ["copying"]
        with pytest.raises(ReportedError) as missing:
            self.rows(engine, "SELECT id FROM hidden")
        assert missing.value.report.condition == "TABLE_OR_VIEW_NOT_FOUND"


def prepare(engine: ServiceEngine, postgres: Postgres) -> Ann:
    """Create the user with her rights, her job, and a table of a connection."""
    postgres("DROP TABLE IF EXISTS delivered; CREATE TABLE delivered (id BIGINT); INSERT INTO delivered VALUES (7)")
    host = postgres.url.rsplit("/", 1)[0]
    for statement in _SETUP:
        engine("-e", statement.format(url=postgres.url, host=host, user=USER))
    [[_, token, *_]] = engine.rows("CREATE TOKEN FOR ann")
    ann = Ann(str(token))
    ann.rows(engine, _COPY)
    ann.check(engine, [1])
    return ann


@pytest.fixture
def engine(tmp_path: Path, postgres: Postgres) -> Iterator[ServiceEngine]:
    engine = ServiceEngine(
        tmp_path / "home",
        store_password="secret:env:STORE_PASSWORD",
        conf=f"spark.sql.shuffle.partitions=2 spark.jars.packages={DRIVER_PACKAGE}",
        store=store(postgres, "users_before"),
    )
    yield engine
    engine("stop")


def store(postgres: Postgres, schema: str) -> str:
    return f"postgresql://{USER}@127.0.0.1:{postgres.port}/postgres?schema={schema}"


def test_a_backup_and_a_copy_of_the_store_have_users(engine: ServiceEngine, postgres: Postgres, tmp_path: Path) -> None:
    engine("start")
    ann = prepare(engine, postgres)
    engine("backup", str(tmp_path / "backup"))
    engine("stop")
    shutil.rmtree(engine.home)
    files = [path for path in (tmp_path / "backup").rglob("*") if path.is_file()]
    assert files and all(PASSWORD.encode() not in path.read_bytes() for path in files)
    assert all(ann.token.encode() not in path.read_bytes() for path in files)

    engine("restore", str(tmp_path / "backup"))
    engine("store", "copy", "--to", store(postgres, "users_after"))
    engine.set("JETSQL_STORE", store(postgres, "users_after"))
    engine("start")
    ann.check(engine, [1])
    engine("-e", "INSERT INTO source VALUES (2)")
    ann.check(engine, [1, 2])
    engine("-e", "REVOKE readers FROM ann")
    until(lambda: engine.rows("SELECT status FROM jetsql.jobs") == [["SUSPENDED"]])


def test_a_standby_knows_users(postgres: Postgres, tmp_path: Path) -> None:
    with make_pair(postgres, tmp_path, "users_pair") as (first, second):
        for each in (first, second):
            each.set("JETSQL_CONF", f"spark.sql.shuffle.partitions=2 spark.jars.packages={DRIVER_PACKAGE}")
            each("start")
        ann = prepare(first, postgres)
        first.kill()
        until(lambda: second.role == "leader" and second.is_ready)
        ann.check(second, [1])
        second("-e", "INSERT INTO source VALUES (2)")
        ann.check(second, [1, 2])
        second("-e", "ALTER USER ann DISABLE")
        assert second.rows("SELECT status, last_error_condition FROM jetsql.jobs") == [
            ["SUSPENDED", "JETSQL.NOT_ALLOWED"]
        ]
