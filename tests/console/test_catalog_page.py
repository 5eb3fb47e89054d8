"""The catalogue: lineage of tables, schemas, and the page of a table with its sample rows."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest
from starlette.requests import Request

from jetsql.console.catalog_page import quoted_parts
from jetsql.console.jobs.lineage import NODES_MOST, lineage, used_tables
from jetsql.console.statement_runs import RunOutcome
from jetsql.console.table_facts import described_table
from jetsql.errors import ErrorReport
from jetsql.jobs.model.job import Job
from jetsql.server.statement_result import StatementResult
from tests.conftest import until
from tests.support.engines.in_memory_runtime import sink, source
from tests.support.engines.managed_engine import Managed, ManagedSession
from tests.support.screens.console_browser import Browser
from tests.support.servers.http_server import RunningServer

HOSTILE = "<script>alert(1)</script>\"'`--&"


def create(engine: Managed, name: str, read: str, written: str) -> Job:
    """Create a job that reads one table and writes another."""
    found = engine.runtime.analysis
    engine.runtime.analysis = replace(found, sources=(source(read),), sinks=(sink(written),))
    quoted = name.replace("`", "``")
    list(engine.run(f"CREATE JOB `{quoted}` AS INSERT INTO out SELECT * FROM STREAM src").rows)
    return engine.manager.registry.live()[0].job


def test_the_catalogue_has_the_tables_of_jobs(engine: Managed, browser: Browser) -> None:
    assert "No job reads or writes a table yet" in browser.get("/console/catalog").visible
    create(engine, "clean", "s.raw", "s.clean")
    create(engine, "count", "s.clean", "s.counts")
    page = browser.get("/console/catalog")
    assert page.status == 200
    assert "s.clean parquet table stream clean count" in page.visible
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
    """Return the rows by the statement that returns them, which replace Spark's."""
    rows: dict[str, list[dict[str, Any]]] = {}

    async def run(server: object, text: str, http: Request) -> RunOutcome:
        return RunOutcome(text, rows[text])

    monkeypatch.setattr("jetsql.console.catalog_page.run_for_page", run)
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


@pytest.mark.parametrize("path", ["schemas", "tables?schema=s", "table?name=s.t"])
def test_errors_of_spark_are_shown(browser: Browser, path: str) -> None:
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


def described(**facts: str) -> list[dict[str, Any]]:
    """Return the rows of DESCRIBE TABLE EXTENDED for a table with the columns id and day."""
    columns = [("id", "bigint", "<i>the id</i>"), ("day", "date", None)]
    partitions = [("# Partition Information", "", ""), ("# col_name", "data_type", "comment"), ("day", "date", None)]
    details = [("# Detailed Table Information", "", ""), *((name, value, "") for name, value in facts.items())]
    rows = [
        *columns,
        *partitions,
        ("", "", ""),
        *details,
        ("", "", ""),
        ("# Metadata Columns", "", ""),
        ("m", "int", ""),
    ]
    return [dict(zip(("col_name", "data_type", "comment"), row, strict=True)) for row in rows]


def test_the_page_of_a_table(engine: Managed, browser: Browser, statements: dict[str, list[dict[str, Any]]]) -> None:
    create(engine, "clean", "s.raw", "s.clean")
    statements["DESCRIBE TABLE EXTENDED `s`.`raw`"] = described(Provider="kafka", Type="EXTERNAL", Comment="<b>raw</b>")
    statements["SHOW CREATE TABLE `s`.`raw`"] = [{"createtab_stmt": "CREATE TABLE s.raw (id BIGINT COMMENT '<i>')"}]
    page = browser.get("/console/catalog/table?name=s.raw")
    assert page.status == 200
    columns, details = page.visible.partition("Details Fact Value")[::2]
    assert "id bigint <i>the id</i>" in columns and "# Partition Information" in columns
    assert "Provider kafka Type EXTERNAL Comment <b>raw</b>" in details and "# Metadata" not in details
    assert "Read as a stream by clean ." in page.visible
    assert "CREATE TABLE s.raw (id BIGINT COMMENT '<i>' )" in page.visible
    assert "<b>" not in page.text and "<i>" not in page.text


def test_tables_are_marked_by_kind(
    engine: Managed, browser: Browser, statements: dict[str, list[dict[str, Any]]]
) -> None:
    engine.runtime.analysis = replace(
        engine.runtime.analysis,
        sources=(source("spark_catalog.s.orders", format="kafka"),),
        sinks=(sink("spark_catalog.s.totals"),),
    )
    list(engine.run("CREATE STREAMING TABLE s.totals AS SELECT * FROM STREAM orders").rows)
    statements["SHOW TABLES IN `spark_catalog`.`s`"] = [table("orders"), table("totals"), table("plain")]
    text = browser.get("/console/catalog/tables?catalog=spark_catalog&schema=s").visible
    assert text == "orders kafka topic stream totals streaming table stream plain"
    page = browser.get("/console/catalog").text
    for text in ("kafka topic", "streaming table"):
        assert f"<td>{text} <span" in page


@pytest.mark.parametrize(
    ("rows", "facts", "columns"),
    [
        (
            described(Provider="parquet", Type="VIEW", Owner="", Location="UNKNOWN"),
            {"Provider": "parquet", "Type": "VIEW"},
            5,
        ),
        (described()[:2], {}, 2),
        ([], {}, 0),
    ],
)
def test_descriptions_have_parts(rows: list[dict[str, Any]], facts: dict[str, str], columns: int) -> None:
    found = described_table(RunOutcome("DESCRIBE", rows))
    assert (dict(found.facts), len(found.columns.rows), found.is_view) == (facts, columns, "Type" in facts)


def test_the_description_keeps_its_error() -> None:
    report = ErrorReport("TABLE_OR_VIEW_NOT_FOUND", "42P01", "There is no table.")
    assert described_table(RunOutcome("DESCRIBE", error=report)).columns.error is report


def sample(browser: Browser, name: str, csrf: str | None = None) -> Any:
    headers = {"X-CSRF-Token": browser.get().csrf if csrf is None else csrf}
    return browser.request("POST", "/console/catalog/sample", urlencode({"name": name}), headers)


def test_sample_rows_are_shown_as_they_are(browser: Browser, statements: dict[str, list[dict[str, Any]]]) -> None:
    statements["SELECT * FROM `s`.`t` LIMIT 20"] = [
        {
            "size_bytes": HOSTILE,
            "job_id": "x",
            "since": "<b>",
            "a_b": None,
            HOSTILE: {"k": [HOSTILE, 1]},
            "long": "y" * 5000,
        }
    ]
    page = sample(browser, "s.t")
    assert page.status == 200
    assert "size_bytes job_id since a_b" in page.visible and "NULL" in page.visible
    assert "<script>" not in page.text and "<b>" not in page.text and 'href="/console/jobs/x"' not in page.text
    assert "y" * 1000 + "…" in page.visible
    assert '{"k": ["<script>alert(1)</script>' in page.visible
    statements["SELECT * FROM `s`.`t` LIMIT 20"] = []
    assert "The table has no rows." in sample(browser, "s.t").visible


def test_sample_rows_need_the_page(server: RunningServer, browser: Browser) -> None:
    assert sample(browser, "s.t", csrf="x").status == 403
    assert sample(Browser(server.url), "s.t", csrf="x").status == 303


def test_numbers_of_a_sample_keep_their_digits(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    from decimal import Decimal

    from jetsql.resultset import Column

    row = (9007199254740993, Decimal("12345678901234567890.50"), 1.5)
    columns = (Column("id", "bigint"), Column("price", "decimal(22,2)"), Column("x", "double"))

    def run(session: ManagedSession, text: str, parameters: Any = None, live: bool = False) -> StatementResult:
        return StatementResult(columns, iter([row]))

    monkeypatch.setattr(ManagedSession, "run", run)
    assert "9007199254740993 12345678901234567890.50 1.5" in sample(browser, "s.t").visible


def test_a_query_ends_when_the_user_leaves_the_page(
    engine: Managed, server: RunningServer, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    next(engine.run("CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src").rows)
    waits = ManagedSession.run

    def run(session: ManagedSession, text: str, parameters: Any = None, live: bool = False) -> StatementResult:
        return waits(session, "WAIT FOR JOB j UNTIL BATCH 5")

    monkeypatch.setattr(ManagedSession, "run", run)
    headers = {"X-CSRF-Token": browser.get().csrf, "Cookie": "; ".join(f"{k}={v}" for k, v in browser.cookies.items())}
    with closing(HTTPConnection(urlsplit(server.url).netloc, timeout=30)) as connection:
        connection.request("POST", "/console/catalog/sample", urlencode({"name": "s.t"}), headers)
        until(lambda: len(server.http_server.running) == 1)
    until(lambda: len(server.http_server.running) == 0)
