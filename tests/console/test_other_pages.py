"""The pages about tables, members, snapshots and the engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from jetsql.console.catalog_page import quoted_parts
from jetsql.console.cluster_pages import LOG_LINES, log_tail
from jetsql.console.jobs.lineage import NODES_MOST, lineage, used_tables
from jetsql.console.statement_runs import RunOutcome
from jetsql.jobs.model.job import Job
from jetsql.settings.engine_settings import Settings, shown_settings
from jetsql.settings.store_settings import StoreSettings
from tests.support.engines.in_memory_engine import sink, source
from tests.support.engines.managed_engine import Managed
from tests.support.screens.console_browser import Browser, events
from tests.support.servers.http_server import RunningServer

HOSTILE = "<script>alert(1)</script>\"'`--&"


def create(engine: Managed, name: str, read: str, written: str) -> Job:
    """Create a job that reads one table and writes another."""
    found = engine.engine.analysis
    engine.engine.analysis = replace(found, sources=(source(read),), sink=sink(written))
    quoted = name.replace("`", "``")
    list(engine.run(f"CREATE JOB `{quoted}` AS INSERT INTO out SELECT * FROM STREAM src").rows)
    return engine.manager.registry.live()[0].job


def test_the_catalogue_has_the_tables_of_jobs(engine: Managed, browser: Browser) -> None:
    assert "No job reads or writes a table yet" in browser.get("/console/catalog").visible
    create(engine, "clean", "s.raw", "s.clean")
    create(engine, "count", "s.clean", "s.counts")
    page = browser.get("/console/catalog")
    assert page.status == 200
    assert "s.clean clean count" in page.visible
    assert "From s.raw, s.clean, s.counts through clean, count" in page.text


def test_lineage_leads_from_left_to_right(engine: Managed) -> None:
    jobs = [create(engine, "clean", "raw", "clean"), create(engine, "count", "clean", "counts")]
    graph = lineage(jobs[::-1])
    assert graph is not None
    assert [node.name for node in sorted(graph.nodes, key=lambda node: node.x)] == [
        "raw",
        "clean",
        "clean",
        "count",
        "counts",
    ]
    assert len(graph.edges) == 4
    assert [(use.name, len(use.readers), len(use.writers)) for use in used_tables(jobs)] == [
        ("clean", 1, 1),
        ("counts", 0, 1),
        ("raw", 1, 0),
    ]


def test_lineage_of_a_table_has_what_belongs_to_it(engine: Managed) -> None:
    jobs = [create(engine, "a", "t1", "t2"), create(engine, "b", "t2", "t3"), create(engine, "c", "other", "t9")]
    graph = lineage(jobs, around="t2")
    assert graph is not None
    assert {node.name for node in graph.nodes} == {"t1", "a", "t2", "b", "t3"}
    assert lineage(jobs, around="none") is None


def test_lineage_of_a_circle(engine: Managed) -> None:
    jobs = [create(engine, "a", "t1", "t2"), create(engine, "b", "t2", "t1")]
    graph = lineage(jobs)
    assert graph is not None
    assert (len(graph.nodes), len(graph.edges)) == (4, 4)


def test_a_large_lineage_is_left_out(engine: Managed, browser: Browser) -> None:
    for number in range(NODES_MOST // 3 + 1):
        create(engine, f"j{number}", f"from{number}", f"to{number}")
    page = browser.get("/console/catalog")
    assert "There are too many jobs for one graph" in page.visible
    assert "from7" in page.visible
    assert "From from7 through" not in page.visible
    assert "From from7, to7 through j7" in browser.get("/console/catalog/table?name=from7").text


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[dict[str, Any]]]:
    """Rows by the statement that returns them, in place of Spark's."""
    rows: dict[str, list[dict[str, Any]]] = {}

    async def run(server: object, text: str) -> RunOutcome:
        return RunOutcome(text, rows[text])

    monkeypatch.setattr("jetsql.console.catalog_page.run_statement", run)
    return rows


def table(name: str, *, temporary: bool = False) -> dict[str, Any]:
    return {"namespace": "", "tableName": name, "isTemporary": temporary}


def test_tables_of_all_catalogues_are_found(browser: Browser, statements: dict[str, list[dict[str, Any]]]) -> None:
    statements.update({
        "SHOW SCHEMAS IN `lake`": [{"namespace": "sales"}],
        "SHOW TABLES IN `lake`.`sales`": [table("orders"), table("a.b"), table("view", temporary=True)],
        "SHOW SCHEMAS IN `lake`.`sales`": [{"namespace": "sales.`north west`"}],
        "SHOW TABLES IN lake.sales.`north west`": [table("`odd`")],
        "SHOW SCHEMAS IN lake.sales.`north west`": [],
    })  # fmt: skip
    page = browser.get("/console/catalog")
    assert "spark_catalog" in page.visible and "/console/catalog/schemas?catalog=lake" in page.text
    page = browser.get("/console/catalog/schemas?catalog=lake")
    assert "/console/catalog/tables?catalog=lake&amp;schema=sales" in page.text
    page = browser.get("/console/catalog/tables?catalog=lake&schema=sales")
    assert page.visible.split()[-2:] == ["orders", "a.b"]
    assert "schema=sales.%60north%20west%60" in page.text
    assert "name=lake.sales.orders" in page.text and f"name={quote('lake.sales.`a.b`')}" in page.text
    page = browser.get(f"/console/catalog/tables?catalog=lake&schema={quote('sales.`north west`')}")
    assert f"name={quote('lake.sales.`north west`.```odd```')}" in page.text


def test_the_session_catalogue_has_no_schemas_in_schemas(
    browser: Browser, statements: dict[str, list[dict[str, Any]]]
) -> None:
    statements["SHOW TABLES IN `spark_catalog`.`shop`"] = []
    page = browser.get("/console/catalog/tables?catalog=spark_catalog&schema=shop")
    assert "There are no tables." in page.visible


def test_errors_of_spark_are_shown(browser: Browser) -> None:
    for path in ("schemas", "tables?schema=s", "table?name=s.t"):
        page = browser.get(f"/console/catalog/{path}")
        assert page.status == 200
        assert "PARSE_SYNTAX_ERROR" in page.visible


def test_hostile_tables_are_escaped(engine: Managed, browser: Browser) -> None:
    create(engine, HOSTILE, HOSTILE, f"b{HOSTILE}")
    pages = [
        browser.get("/console/catalog"),
        browser.get("/console/catalog/table?name=%3Cscript%3Ealert(1)%3C/script%3E"),
    ]
    for page in pages:
        assert page.status == 200
        assert "&lt;script&gt;alert(1)" in page.text
        assert "<script>alert" not in page.text


@pytest.mark.parametrize(
    ("name", "quoted"),
    [("a.b.c", "`a`.`b`.`c`"), ("t", "`t`"), ("`a.b`.c", "`a.b`.c"), ("a`b", "`a``b`"), ("`a` x", "```a`` x`")],
)
def test_names_are_quoted(name: str, quoted: str) -> None:
    assert quoted_parts(name) == quoted


def test_members_and_engines(browser: Browser) -> None:
    page = browser.get("/console/members")
    assert page.status == 200
    assert "driver 127.0.0.1" in page.visible
    assert "leader" in page.visible


def test_snapshots(engine: Managed, browser: Browser) -> None:
    assert "There are no snapshots." in browser.get("/console/snapshots").visible
    job = create(engine, "orders", "a", "b")
    list(engine.run("CREATE SNAPSHOT `<b>` FOR JOB orders").rows)
    page = browser.get("/console/snapshots")
    assert "<b> orders" in page.visible
    assert f'href="/console/jobs/{job.id}"' in page.text
    assert "<b>" not in page.text


def test_the_engine_and_its_log(engine: Managed, browser: Browser) -> None:
    assert "There is no log" in browser.get("/console/engine").visible
    (engine.home / "engine.log").write_text("2026 INFO one\n2026 WARN <script>two</script>\n")
    page = browser.get("/console/engine")
    assert "2026 INFO one" in page.visible and str(engine.home) in page.visible
    assert "<script>two" not in page.text
    page = browser.get("/console/engine?q=warn")
    assert "INFO one" not in page.visible and "two" in page.visible
    assert "No line of the log's end contains this text" in browser.get("/console/engine?q=%3Cb%3E").visible


def test_an_open_page_follows_the_log(engine: Managed, server: RunningServer, browser: Browser) -> None:
    file = engine.home / "engine.log"
    file.write_text("INFO one\nWARN two\n")
    with events(server, browser, "/console/events/log?q=warn") as messages:
        assert next(messages) == ("end", ["WARN two"])
        with file.open("a") as log:
            log.write("INFO three\nwarn <four>\nWARN fi")
        assert next(messages) == ("lines", ["warn <four>"])
        with file.open("a") as log:
            log.write("ve\n")
        assert next(messages) == ("lines", ["WARN five"])
        file.rename(engine.home / "engine.log.1")
        file.write_text("WARN six\n")
        assert next(messages) == ("lines", ["WARN six"])
        browser.post("/console/logout", {"csrf": browser.get().csrf})
        assert [name for name, _ in messages if name != "ping"] == ["logout"]


def test_a_log_that_begins_later_is_followed(engine: Managed, server: RunningServer, browser: Browser) -> None:
    with events(server, browser, "/console/events/log?q=") as messages:
        assert next(messages) == ("end", [])
        (engine.home / "engine.log").write_text("INFO one\n")
        assert next(messages) == ("lines", ["INFO one"])


def test_a_long_log_is_read_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "engine.log").write_text("".join(f"line {number}\n" for number in range(1_000_000)))
    lines = log_tail(tmp_path, "")
    assert (len(lines), lines[-1]) == (LOG_LINES, "line 999999")
    assert log_tail(tmp_path, "LINE 999998") == ["line 999998"]


def test_settings_are_shown_without_secrets(tmp_path: Path) -> None:
    conf = {"spark.my.password": "hunter2secret", "spark.sql.shuffle.partitions": "4"}
    store = StoreSettings(store="postgresql://ann:pa55word@host/db")
    shown = shown_settings(Settings(home=tmp_path, spark_conf=conf, store=store))
    assert shown["home"] == str(tmp_path)
    assert shown["spark.sql.shuffle.partitions"] == "4"
    assert shown["kafka"] == "false"
    assert not any("hunter2secret" in value or "pa55word" in value for value in shown.values())
    assert shown["spark.my.password"] == "***"
