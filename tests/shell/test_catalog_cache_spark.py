"""The catalog cache with Spark: its queries, and Spark's results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from jetsql.client.background_connection import EngineConnection
from jetsql.client.engine_client import EngineClient
from jetsql.completion.catalog_cache import CatalogCache
from jetsql.completion.complete import complete
from jetsql.completion.known_names import Names
from jetsql.embedded.engine_instance import EngineInstance
from jetsql.jobs.model.job import Status
from tests.support.servers.http_server import TOKEN, run_server

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SET_UP = (
    "CREATE SCHEMA keeper",
    "USE keeper",
    "CREATE TABLE visits (id INT, `page name` STRING, place STRUCT<town: STRING>, day DATE) USING parquet"
    " PARTITIONED BY (day)",
    "CREATE TABLE counts (id INT) USING parquet",
    "CREATE VIEW recent AS SELECT * FROM visits",
    "CREATE TEMPORARY VIEW draft AS SELECT 1 AS note",
    "CREATE JOB keeper_counts OPTIONS ('snapshotIntervalMillis' = '100') AS"
    " INSERT INTO counts SELECT id FROM STREAM visits",
    "INSERT INTO visits VALUES (1, 'home', named_struct('town', 'Rome'), DATE '2026-01-01')",
    "WAIT FOR JOB keeper_counts UNTIL IDLE TIMEOUT 60 SECONDS",
    "SUSPEND JOB keeper_counts",
    "CREATE SNAPSHOT keeper_noon FOR JOB keeper_counts",
)
CLEAN_UP = ("DROP JOB keeper_counts", "DROP SNAPSHOT keeper_noon", "USE default", "DROP SCHEMA keeper CASCADE")


@pytest.fixture(scope="module")
def connection(engine: EngineInstance) -> Iterator[EngineConnection]:
    with run_server(engine) as server:
        connection = EngineConnection(
            lambda progress: EngineClient(server.url, TOKEN), lambda: None, lambda words: None
        )
        for text in SET_UP:
            run(connection, text)
        yield connection
        for text in CLEAN_UP:
            run(connection, text)
        connection.close()


def run(connection: EngineConnection, text: str) -> None:
    list(connection.wait_for_engine().run(text).rows)
    connection.set_schema(connection.wait_for_engine().current_schema())


class CompletionUser:
    """Types texts, with | for the cursor, and sees what is offered after the names are loaded."""

    def __init__(self, connection: EngineConnection) -> None:
        self.news = threading.Condition()
        self.failures: list[Exception] = []
        self.cache = CatalogCache(connection, self._changed, self.failures.append)
        self.cache.start()

    def _changed(self) -> None:
        with self.news:
            self.news.notify_all()

    def offered(self, marked: str, until: Callable[[Names], object]) -> list[str]:
        before, _, behind = marked.partition("|")
        self.cache.request(before + behind, len(before))
        with self.news:
            assert self.news.wait_for(lambda: until(self.cache.names), 60)
        return [each.text for each in complete(before + behind, len(before), self.cache.names)]


@pytest.fixture(scope="module")
def typist(connection: EngineConnection) -> Iterator[CompletionUser]:
    typist = CompletionUser(connection)
    yield typist
    typist.cache.close()


def test_tables_views_and_schemas(typist: CompletionUser) -> None:
    found = typist.offered("SELECT * FROM |", lambda names: names.schemas)
    assert {"visits", "counts", "recent", "draft", "keeper", "jetsql"} <= set(found)
    assert typist.offered("DROP VIEW re|", lambda names: names.schemas) == ["recent"]
    assert typist.offered("SELECT * FROM jetsql.jo|", lambda names: "jetsql" in names.tables) == ["job_history", "jobs"]


def test_columns(typist: CompletionUser) -> None:
    found = typist.offered("SELECT v.| FROM visits v", lambda names: names.columns)
    assert found == ["id", "`page name`", "place", "day", "*"]
    assert typist.offered("SELECT place.| FROM visits", lambda names: names.columns) == ["town"]
    found = typist.offered("SELECT d.| FROM draft d", lambda names: names.columns_of(("draft",)))
    assert found == ["note", "*"]
    found = typist.offered("SELECT j.st| FROM jetsql.jobs j", lambda names: names.columns_of(("jetsql", "jobs")))
    assert found == ["status", "started_time", "statement"]


def test_functions_and_settings(typist: CompletionUser) -> None:
    assert "coalesce(" in typist.offered("SELECT coal|", lambda names: names.functions)
    found = typist.offered("SET spark.sql.shuffle.|", lambda names: names.confs)
    assert "partitions" in found
    about = {conf.name: conf.description for conf in typist.cache.names.confs}
    assert about["spark.sql.shuffle.partitions"]


def test_jobs_and_snapshots(typist: CompletionUser) -> None:
    assert typist.offered("RESUME JOB keeper|", lambda names: names.jobs) == ["keeper_counts"]
    assert typist.cache.names.jobs[0].status is Status.SUSPENDED
    assert typist.offered("SUSPEND JOB keeper|", lambda names: names.jobs) == []
    assert typist.offered("DROP SNAPSHOT keeper|", lambda names: names.snapshots) == ["keeper_noon"]
