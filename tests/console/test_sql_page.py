"""The SQL page's requests: statements in a session of the user, their mistakes, completion and graphs."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow
import pyarrow.parquet
import pytest

from jetsql.console.sql_reading import Completion, read_statements
from jetsql.errors import StatementError
from jetsql.resultset import Column
from jetsql.server.statement_result import StatementResult
from tests.conftest import until
from tests.support.engines.in_memory_runtime import InMemoryRuntime
from tests.support.engines.managed_engine import Managed, ManagedSession
from tests.support.screens.console_browser import Browser, Page, logged_in
from tests.support.servers.http_server import RunningServer

HOSTILE = "<script>alert(1)</script>\"'`--&"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Managed]:
    engine = Managed(tmp_path / "home", runtime=InMemoryRuntime(scan="Scan"))
    yield engine
    engine.close()


def post(browser: Browser, what: str, csrf: str | None = None, **message: object) -> Page:
    headers = {"X-CSRF-Token": browser.get().csrf if csrf is None else csrf, "Accept": "application/json"}
    return browser.request("POST", f"/console/sql/{what}", json.dumps(message), headers)


def lines(page: Page) -> list[dict[str, Any]]:
    return [json.loads(line) for line in page.text.splitlines()]


def test_a_statement_has_the_response_of_the_endpoint(browser: Browser) -> None:
    page = post(browser, "run", statement="SELECT 3", id="1")
    assert page.headers["content-type"] == "application/x-ndjson"
    assert lines(page) == [
        {"columns": [{"name": "n", "type": "int"}]},
        {"rows": [[0], [1], [2]]},
        {"end": {"rows": 3}},
    ]


def arrow_stream(columns: dict[str, Any]) -> bytes:
    sink = io.BytesIO()
    rows = pyarrow.table(columns)
    with pyarrow.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=2)
    return sink.getvalue()


def run_as_arrow(monkeypatch: pytest.MonkeyPatch, stream: bytes) -> None:
    """Let statements return a stream as the engine does, in whole messages."""
    messages = pyarrow.ipc.MessageReader.open_stream(stream)
    pieces = [*(message.serialize().to_pybytes() for message in messages), stream[-8:]]
    monkeypatch.setattr(ManagedSession, "run_arrow", lambda session, text, parameters=None: iter(pieces))


def export(server: RunningServer, browser: Browser, statement: str = "SELECT 3") -> tuple[int, bytes]:
    cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    headers = {"X-CSRF-Token": browser.get().csrf, "Cookie": cookies, "Accept": "application/vnd.apache.parquet"}
    with closing(HTTPConnection(urlsplit(server.url).netloc, timeout=30)) as connection:
        connection.request("POST", "/console/sql/parquet", json.dumps({"statement": statement, "id": "1"}), headers)
        response = connection.getresponse()
        return response.status, response.read()


def test_rows_are_exported_as_parquet(server: RunningServer, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"n": [1, 2, 3, None], "name": ["a", None, "c", HOSTILE]}
    run_as_arrow(monkeypatch, arrow_stream(columns))
    status, content = export(server, browser)
    assert status == 200
    assert pyarrow.parquet.read_table(io.BytesIO(content)).to_pydict() == columns
    assert "data-parquet" in browser.get("/console/sql").text


def test_types_that_parquet_lacks_are_named(
    server: RunningServer, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_as_arrow(monkeypatch, arrow_stream({"odd": pyarrow.array([(1, 2, 3)], pyarrow.month_day_nano_interval())}))
    status, content = export(server, browser)
    assert status == 400 and b"cannot be written as Parquet" in content


def test_failed_export_has_a_reason(server: RunningServer, browser: Browser) -> None:
    status, content = export(server, browser, "NONSENSE")
    assert status == 400 and b"PARSE_SYNTAX_ERROR" in content


def test_without_pyarrow_there_is_no_parquet(
    server: RunningServer, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jetsql.console.parquet_export.find_spec", lambda name: None)
    status, content = export(server, browser)
    assert status == 400 and b"jetsql[arrow]" in content
    assert "data-parquet" not in browser.get("/console/sql").text


def test_an_error_has_its_place_and_hint(browser: Browser) -> None:
    page = post(browser, "run", statement="SUSPEND JOB none", id="1")
    error = json.loads(page.text)["error"]
    assert (page.status, error["condition"], error["column"]) == (404, "JETSQL.JOB_NOT_FOUND", 13)
    assert error["hint"]


def test_a_user_has_one_session_until_it_is_closed(server: RunningServer, browser: Browser) -> None:
    sessions = server.http_server.sessions
    for _ in range(3):
        assert post(browser, "run", statement="SELECT 1", id="1").headers.get("x-jetsql-session") is None
    assert len(sessions) == 1
    post(logged_in(server), "run", statement="SELECT 1", id="1")
    assert len(sessions) == 2
    for session in list(sessions._sessions):
        sessions.close(session)
    post(browser, "complete", text="S", cursor=1)  # which opens a session, and has no place for a note
    assert post(browser, "run", statement="SELECT 1", id="1").headers["x-jetsql-session"] == "new"
    assert post(browser, "run", statement="SELECT 1", id="1").headers.get("x-jetsql-session") is None


def test_logout_closes_the_session(server: RunningServer, browser: Browser) -> None:
    post(browser, "run", statement="SELECT 1", id="1")
    browser.post("/console/logout", {"csrf": browser.get().csrf})
    assert len(server.http_server.sessions) == 0


def test_a_statement_is_cancelled_by_its_user(engine: Managed, server: RunningServer, browser: Browser) -> None:
    next(engine.run("CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src").rows)
    pages: list[Page] = []
    wait = threading.Thread(
        target=lambda: pages.append(post(browser, "run", statement="WAIT FOR JOB j UNTIL BATCH 5", id="7"))
    )
    wait.start()
    until_running(server)
    assert post(logged_in(server), "cancel", id="7").status == 404
    assert post(browser, "cancel", id="7").status == 202
    wait.join(30)
    assert json.loads(pages[0].text)["error"]["condition"] == "JETSQL.STATEMENT_CANCELLED"


def until_running(server: RunningServer) -> None:
    until(lambda: len(server.http_server.running) == 1)


@pytest.mark.parametrize("what", ["run", "read", "complete", "cancel", "graph"])
def test_other_pages_cannot_run_statements(server: RunningServer, browser: Browser, what: str) -> None:
    message = {"statement": "SELECT 1", "id": "1", "text": "SELECT 1", "cursor": 0}
    for csrf in ("", "wrong", logged_in(server).get().csrf):
        page = post(browser, what, csrf, **message)
        assert page.status == 403, page.text
    assert post(Browser(server.url), what, "", **message).status == 401
    headers = {"X-CSRF-Token": browser.get().csrf, "Origin": "http://localhost:1"}
    assert browser.request("POST", f"/console/sql/{what}", json.dumps(message), headers).status == 403
    assert len(server.http_server.sessions) == 0


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("run", {"statement": 1, "id": "1"}),
        ("run", {"statement": "SELECT 1"}),
        ("read", {}),
        ("complete", {"text": "a", "cursor": 2}),
        ("complete", {"text": "a", "cursor": "0"}),
    ],
)
def test_wrong_requests_are_refused(browser: Browser, what: str, message: dict[str, Any]) -> None:
    page = post(browser, what, **message)
    assert page.status == 400
    assert "REQUEST_NOT_READABLE" in page.text


def test_statements_and_their_errors() -> None:
    text = "SELECT 1;\n -- two\nCREATE JOB j A INSERT INTO t SELECT ';'; SHOW JOBS"
    first, second, third = read_statements(text)
    found: list[Any] = [first, third]
    assert [text[each["start"] : each["stop"]] for each in found] == [
        "SELECT 1",
        "SHOW JOBS",
    ]
    assert "mistake" not in first and "mistake" not in third
    mistake: Any = second["mistake"]
    assert text[mistake["start"] : mistake["stop"]] == "A"
    assert mistake["message"]


def test_statements_that_drop_objects_or_state_need_a_confirmation() -> None:
    text = "SELECT 1; DROP JOB j; DROP SNAPSHOT s; DROP STREAMING TABLE t; DROP TABLE IF EXISTS u; SUSPEND JOB j"
    assert [str(each.get("question", "")).partition("?")[0] for each in read_statements(text)] == [
        "",
        "Stop and drop job j for good",
        "Drop snapshot s",
        "Drop streaming table t",
        "Drop table u",
        "",
    ]


def test_statements_are_kept_without_secrets() -> None:
    (statement,) = read_statements("CREATE TABLE t USING jdbc OPTIONS ('password' = 'hunter2secret')")
    assert "hunter2secret" not in str(statement["shown"])
    assert "***" in str(statement["shown"])


def test_statements_of_a_page(browser: Browser) -> None:
    page = post(browser, "read", text="SELECT 1; SELECT 2")
    assert [each["start"] for each in json.loads(page.text)["statements"]] == [0, 10]


def test_completion_reads_grammar_and_jobs(engine: Managed, browser: Browser) -> None:
    next(engine.run("CREATE JOB `late flights` AS INSERT INTO out SELECT * FROM STREAM src").rows)
    found = json.loads(post(browser, "complete", text="SUSPEND JOB l", cursor=13).text)["candidates"]
    assert [(each["text"], each["start"], each["kind"]) for each in found] == [("`late flights`", 12, "job")]
    found = json.loads(post(browser, "complete", text="SUSP", cursor=4).text)["candidates"]
    assert "SUSPEND" in [each["text"] for each in found]


class CatalogSession:
    """A session with a table, whose functions cannot be listed."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __enter__(self) -> CatalogSession:
        return self

    def __exit__(self, *error: object) -> None: ...

    def run(self, text: str, parameters: Any = None, live: bool = False) -> StatementResult:
        self.texts.append(text)
        if text.startswith("SHOW FUNCTIONS"):
            raise StatementError("PARSE_SYNTAX_ERROR", "There are no functions here.")
        if text.startswith("SHOW VIEWS"):
            return StatementResult((Column("viewName"), Column("isTemporary")), iter(()))
        if text.startswith("SHOW TABLES"):
            return StatementResult((Column("tableName"), Column("isTemporary")), iter([("orders", False)]))
        if text.startswith("DESCRIBE TABLE"):
            columns = (Column("col_name"), Column("data_type"))
            return StatementResult(columns, iter([("amount", "int"), ("", ""), ("# Partition", "")]))
        return StatementResult((Column("namespace"),), iter([("default",), ("shop",)]))

    def run_arrow(self, text: str, parameters: Any = None) -> Iterator[bytes]:
        raise AssertionError(text)

    def schema(self) -> str:
        return "default"


def test_completion_loads_names_when_they_are_needed_and_keeps_them() -> None:
    session, now = CatalogSession(), [0.0]
    completion = Completion(lambda: now[0])
    text = "SELECT am FROM shop.orders"
    for _ in range(2):
        found = completion.candidates(text, 9, lambda: session)
        assert [each["text"] for each in found][:1] == ["amount"]
    assert session.texts.count("DESCRIBE TABLE `shop`.`orders`") == 1
    now[0] += 3600
    completion.candidates(text, 9, lambda: session)
    completion.expire()
    completion.candidates(text, 9, lambda: session)
    assert session.texts.count("DESCRIBE TABLE `shop`.`orders`") == 3


def test_completion_offers_no_commands_of_the_shell() -> None:
    assert Completion().candidates(".he", 3, CatalogSession) == []


def test_the_plan_of_explain_is_a_graph(browser: Browser) -> None:
    statement = "EXPLAIN CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src"
    text = lines(post(browser, "run", statement=statement, id="1"))[1]["rows"][0][0]
    page = post(browser, "graph", text=text)
    assert page.status == 200
    assert "From spark_catalog.default.src to spark_catalog.default.out." in page.text
    assert post(browser, "graph", text="another text").status == 204


def test_a_hostile_graph_is_escaped(browser: Browser) -> None:
    text = f"Job:         streaming\nSource:      {HOSTILE} (x)\nSink:        {HOSTILE} ({HOSTILE})\n\n"
    page = post(browser, "graph", text=text)
    assert "&lt;script&gt;" in page.text
    assert "<script>" not in page.text


def test_the_text_of_a_link_is_escaped(browser: Browser) -> None:
    page = browser.get("/console/sql?text=%3Cscript%3Ealert(1)%3C/script%3E%22%20x=%22")
    assert page.status == 200
    assert 'data-text="&lt;script&gt;alert(1)&lt;/script&gt;&#34; x=&#34;"' in page.text
