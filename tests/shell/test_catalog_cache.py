"""The catalog cache over a real HTTP endpoint, and the menu of completion."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from jetsql.client.background_connection import EngineConnection
from jetsql.client.engine_client import EngineClient
from jetsql.completion.catalog_cache import CatalogCache
from jetsql.completion.known_names import TEMPORARY, JobName, KnownName, Names, SnapshotName, TableKey, TableName
from jetsql.jobs.model.job import Status
from jetsql.shell.repl.completer import ShellCompleter
from tests.support.engines.catalog_engine import CatalogEngine
from tests.support.servers.http_server import TOKEN, run_server


@dataclass
class RunningCache:
    """A cache over an engine. urls: the last is where the connection finds an engine."""

    cache: CatalogCache
    engine: CatalogEngine
    connection: EngineConnection
    changed: threading.Condition
    urls: list[str]

    def type(self, marked: str, until: Callable[[Names], object]) -> Names:
        """Type a text with | for the cursor, and wait for names."""
        before, _, behind = marked.partition("|")
        self.cache.request(before + behind, len(before))
        with self.changed:
            assert self.changed.wait_for(lambda: until(self.cache.names), 20)
        return self.cache.names


def raise_failure(error: Exception) -> None:
    raise error


@contextmanager
def run_cache(engine: CatalogEngine) -> Iterator[RunningCache]:
    news = threading.Condition()

    def changed() -> None:
        with news:
            news.notify_all()

    with run_server(engine) as server:
        urls = [server.url]
        connection = EngineConnection(lambda progress: EngineClient(urls[-1], TOKEN), lambda: None, lambda words: None)
        connection.wait_for_engine()
        cache = CatalogCache(connection, changed, raise_failure)
        cache.start()
        try:
            yield RunningCache(cache, engine, connection, news, urls)
        finally:
            cache.close()
            connection.close()


@pytest.fixture
def cache() -> Iterator[RunningCache]:
    with run_cache(CatalogEngine()) as running:
        yield running


def test_only_names_that_the_text_needs_are_requested(cache: RunningCache) -> None:
    names = cache.type("SELECT o.| FROM orders o", lambda names: names.functions)
    assert cache.engine.queries == [
        "SHOW VIEWS IN `default`",
        "SHOW TABLES IN `default`",
        "SHOW SCHEMAS",
        "DESCRIBE TABLE `default`.`orders`",
        "SHOW FUNCTIONS",
    ]
    assert names.tables["default"] == (TableName("orders"), TableName("Big Orders"), TableName("recent", is_view=True))
    assert names.tables[TEMPORARY] == (TableName("draft", is_view=True),)
    assert names.schemas == ("default", "sales")
    assert names.columns == {TableKey("default", "orders"): (KnownName("id", "bigint"), KnownName("day", "date"))}
    assert [function.name for function in names.functions] == ["!=", "mine", "upper"]


def test_fresh_names_are_not_requested_again(cache: RunningCache) -> None:
    cache.type("SELECT | FROM orders", lambda names: names.functions)
    asked = len(cache.engine.queries)
    cache.type("SELECT i| FROM orders, `big orders`", lambda names: TableKey("default", "big orders") in names.columns)
    assert cache.engine.queries[asked:] == ["DESCRIBE TABLE `default`.`big orders`"]


def test_temporary_views_are_described_by_their_name_alone(cache: RunningCache) -> None:
    cache.type("SELECT | FROM draft", lambda names: TableKey(TEMPORARY, "draft") in names.columns)
    assert "DESCRIBE TABLE `draft`" in cache.engine.queries


def test_job_statements_request_only_jobs(cache: RunningCache) -> None:
    names = cache.type("SUSPEND JOB |", lambda names: names.jobs)
    assert cache.engine.queries == ["SHOW ALL JOBS"]
    assert names.jobs == (JobName("01", "totals", Status.RUNNING), JobName("00", "old", Status.FAILED))
    assert cache.type("DROP SNAPSHOT |", lambda names: names.snapshots).snapshots == (SnapshotName("noon", "totals"),)
    assert cache.engine.queries == ["SHOW ALL JOBS", "SHOW SNAPSHOTS"]


def test_alerts_are_requested_again_after_a_change(cache: RunningCache) -> None:
    alerts = (KnownName("stopped", "on job totals"), KnownName("lag", "on all jobs"))
    for text in ("DROP ALERT |", "ALTER ALERT s|", "SHOW CREATE ALERT |"):
        assert cache.type(text, lambda names: names.alerts).alerts == alerts
    assert cache.engine.queries.count("SHOW ALERTS") == 1
    cache.cache.expire_names("CREATE ALERT a ON JOB j STATUS FAILED CALL 'secret:s'")
    assert cache.cache.lacks_names("DROP ALERT ", 11)


def test_settings_of_spark_with_the_first_sentence_of_their_meaning(cache: RunningCache) -> None:
    names = cache.type("SET sp|", lambda names: names.confs)
    assert names.confs == (KnownName("spark.a"), KnownName("spark.b", "Says how"))


def test_statement_that_may_change_names_expires_them(cache: RunningCache) -> None:
    cache.type("SELECT * FROM |", lambda names: names.functions)
    cache.cache.expire_names("SELECT 1")
    cache.cache.expire_names("CREATE TABLE fresh (a INT)")
    cache.engine.tables.append("fresh")
    asked = len(cache.engine.queries)
    names = cache.type("SELECT * FROM f|", lambda names: TableName("fresh") in names.tables["default"])
    assert cache.engine.queries[asked : asked + 2] == ["SHOW VIEWS IN `default`", "SHOW TABLES IN `default`"]
    assert names.functions


def test_the_schema_is_that_of_the_session(cache: RunningCache) -> None:
    cache.connection.set_schema("sales")
    assert cache.type("SELECT * FROM |", lambda names: "sales" in names.tables).schema == "sales"
    assert "SHOW TABLES IN `sales`" in cache.engine.queries


def test_request_without_response_is_not_repeated(cache: RunningCache) -> None:
    cache.engine.tables.append("broken")
    cache.type("SELECT | FROM broken", lambda names: names.functions)
    cache.type("SELECT a| FROM broken, orders", lambda names: TableKey("default", "orders") in names.columns)
    assert cache.engine.queries.count("DESCRIBE TABLE `default`.`broken`") == 1


def test_stopped_engine_is_no_error_and_its_successor_is_asked(cache: RunningCache) -> None:
    cache.type("SUSPEND JOB |", lambda names: names.jobs)
    old = cache.connection.wait_for_engine()
    with run_server(CatalogEngine(tables=["elsewhere"])) as server:
        cache.connection.mark_lost(old)
        old.close()
        cache.urls.append(server.url)
        cache.connection.wait_for_engine()
        names = cache.type("SELECT * FROM |", lambda names: names.functions)
    assert TableName("elsewhere") in names.tables["default"]
    assert names.jobs


def test_without_an_engine_there_are_no_names(unreachable: CatalogCache) -> None:
    unreachable.request("SUSPEND JOB ", 12)
    unreachable.wake_up()
    assert unreachable.names == Names()


@pytest.fixture
def unreachable() -> Iterator[CatalogCache]:
    cache = CatalogCache(EngineConnection(refuse, lambda: None, lambda words: None), lambda: None, raise_failure)
    cache.start()
    yield cache
    cache.close()


def refuse(progress: object) -> EngineClient:
    raise AssertionError("no test starts an engine")


def offered(completer: ShellCompleter, marked: str, *, asked: bool = False) -> list[tuple[str, int, str]]:
    before, _, behind = marked.partition("|")
    event = CompleteEvent(text_inserted=not asked, completion_requested=asked)
    found = completer.get_completions(Document(before + behind, len(before)), event)
    return [(each.text, each.start_position, each.display_meta_text) for each in found]


def test_completion_menu(cache: RunningCache) -> None:
    cache.type("SELECT | FROM orders", lambda names: names.functions)
    completer = ShellCompleter(cache.cache)
    assert offered(completer, "SELECT i| FROM orders") == [("id", -1, "column, bigint"), ("interval", -1, "")]
    assert offered(completer, "SELECT 1;\nSHOW JOBS l|") == [("like", -1, "")]


def test_menu_is_not_opened_without_need(cache: RunningCache) -> None:
    cache.type("SELECT | FROM orders", lambda names: names.functions)
    completer = ShellCompleter(cache.cache)
    for marked in ("|", "SELECT 1; |", "SELECT 1 |", "SELECT id| FROM orders", "SELECT 1 from|"):
        assert offered(completer, marked) == [], marked
        assert offered(completer, marked, asked=True), marked
    texts = [text for text, _, _ in offered(completer, "SELECT | FROM orders")]
    assert texts[:2] == ["id", "day"] and "upper(" not in texts
    assert "upper(" in [text for text, _, _ in offered(completer, "SELECT | FROM orders", asked=True)]


def test_files_are_offered_for_commands_that_read_some(cache: RunningCache, tmp_path: Path) -> None:
    (tmp_path / "one.sql").touch()
    (tmp_path / "two").mkdir()
    completer = ShellCompleter(cache.cache)
    assert [text for text, _, _ in offered(completer, f".read {tmp_path}/o|")] == ["ne.sql"]
    assert {text for text, _, _ in offered(completer, f".read {tmp_path}/|")} == {"one.sql", "two"}
