"""The SQL page in a real browser: statements, their results as tables, charts and files, history and saved queries."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from playwright.sync_api import Browser, Download, Locator, Page, expect

from jetsql.errors import StatementError
from jetsql.live_rows import Live, LiveBatch, LiveMode
from jetsql.resultset import Column
from jetsql.server.statement_result import StatementResult
from tests.conftest import until
from tests.support.engines.managed_engine import Managed, ManagedSession
from tests.support.screens.chromium import accessibility_problems, checked_page, overflows
from tests.support.screens.console_browser import run_console
from tests.support.screens.console_steps import create, log_in, open_sql, run, write
from tests.support.servers.http_server import RunningServer

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'`"


@pytest.fixture
def engine(shop: Managed) -> Managed:
    return shop


Answer = Callable[[], StatementResult]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Answer]:
    """Return the results by statement that replace those of the engine without Spark."""
    found: dict[str, Answer] = {}
    own = ManagedSession.run

    def run(session: ManagedSession, text: str, parameters: Any = None, live: bool = False) -> StatementResult:
        return found[text]() if text in found else own(session, text, parameters, live)

    monkeypatch.setattr(ManagedSession, "run", run)
    return found


def result_of(columns: dict[str, str] | Sequence[tuple[str, str]], *rows: tuple[Any, ...]) -> Answer:
    """Return a function that returns a result. columns: types by name."""
    pairs = columns.items() if isinstance(columns, dict) else columns
    described = tuple(Column(name, kind) for name, kind in pairs)
    return lambda: StatementResult(described, iter(rows))


def test_statements_are_run(engine: Managed, page: Page) -> None:
    create(engine)
    open_sql(page)
    write(page, "SELECT 3; SUSPEND JOB none; SHOW JOBS")
    page.keyboard.press("Control+Home")
    page.keyboard.press("Control+Enter")
    result = page.locator(".result").first
    expect(result).to_contain_text("3 rows")
    expect(result.get_by_role("gridcell")).to_have_text(["0", "1", "2"])
    page.get_by_role("button", name="Run all").click()
    expect(page.locator(".result")).to_have_count(3)
    expect(page.locator(".result").first).to_contain_text("There is no job named none")
    expect(page.locator(".result").first).to_contain_text("SHOW ALL JOBS lists the jobs.")
    write(page, "EXPLAIN CREATE JOB j AS INSERT INTO totals SELECT * FROM STREAM orders")
    page.get_by_role("button", name="Run at the cursor").click()
    graph = page.locator(".result").first.get_by_role("img")
    expect(graph).to_have_attribute(
        "aria-label",
        "From spark_catalog.shop.orders, spark_catalog.shop.payments through"
        " Join, Aggregate to spark_catalog.shop.totals.",
    )
    write(page, "SUSPEND JOB or")
    page.keyboard.press("Control+Space")
    expect(page.locator(".cm-tooltip-autocomplete li")).to_contain_text(["orders"])
    page.locator(".cm-tooltip-autocomplete li").click()
    expect(page.get_by_role("textbox", name="SQL statements")).to_have_text("SUSPEND JOB orders")
    page.reload()
    expect(page.get_by_role("textbox", name="SQL statements")).to_have_text("SUSPEND JOB orders")
    page.get_by_label("History and saved queries").select_option(label="SELECT 3")
    expect(page.get_by_role("textbox", name="SQL statements")).to_have_text("SELECT 3")


def test_statement_that_loses_state_needs_a_confirmation(engine: Managed, page: Page) -> None:
    create(engine)
    open_sql(page)
    write(page, "DROP JOB orders; SHOW JOBS")
    page.get_by_role("button", name="Run all").click()
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("Stop and drop job orders for good? Its state is lost.")
    expect(question.get_by_role("button", name="Cancel")).to_be_focused()
    assert not accessibility_problems(page)
    page.keyboard.press("Escape")
    expect(page.locator("#announcement")).to_have_text("Not run.")
    expect(page.locator(".result")).to_have_count(0)
    assert [view.job.name for view in engine.manager.registry.live()] == ["orders"]
    page.get_by_role("button", name="Run all").click()
    question.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".result")).to_have_count(2)
    until(lambda: not list(engine.manager.registry.live()))


def test_errors_are_marked(page: Page) -> None:
    open_sql(page)
    write(page, "SUSPEND JOB; SELECT 1")
    page.keyboard.press("Control+Home")
    expect(page.locator(".cm-lintRange-error")).to_be_visible()


def test_many_rows_are_drawn_in_part(page: Page) -> None:
    open_sql(page)
    write(page, "SELECT 100000")
    page.keyboard.press("Control+Enter")
    grid = page.get_by_role("grid")
    expect(grid).to_have_attribute("aria-rowcount", "100001")
    assert page.get_by_role("gridcell").count() < 100
    grid.focus()
    page.keyboard.press("Control+End")
    expect(page.locator(".cell.active")).to_have_text("99999")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("n, row 100000")


NUMBERS = (9007199254740993, Decimal("12.50"), Decimal("12345678901234567890.123"), 0.1, {"id": 9007199254740993}, None)


def test_numbers_keep_their_digits(page: Page, answers: dict[str, Answer]) -> None:
    """Keep digits that a number of JavaScript loses: it has 53 bits, and no trailing zeros."""
    types = ("bigint", "decimal(4,2)", "decimal(23,3)", "double", "map<string,bigint>", "bigint")
    answers["SELECT *"] = result_of([(f"c{number}", kind) for number, kind in enumerate(types)], NUMBERS)
    open_sql(page)
    result = run(page, "SELECT *")
    texts = ["9007199254740993", "12.50", "12345678901234567890.123", "0.1", '{"id":9007199254740993}', "NULL"]
    expect(result.get_by_role("gridcell")).to_have_text(texts)
    assert text_of(save(page, result, "CSV")).splitlines()[1] == (
        '9007199254740993,12.50,12345678901234567890.123,0.1,"{""id"":9007199254740993}",'
    )
    [row] = json.loads(text_of(save(page, result, "JSON")), parse_float=Decimal)
    assert row == {
        **dict(zip(("c0", "c1", "c2"), NUMBERS, strict=False)),
        "c3": Decimal("0.1"),
        "c4": NUMBERS[4],
        "c5": None,
    }


def save(page: Page, result: Locator, kind: str) -> Download:
    """Save a result as a file."""
    with page.expect_download() as saved:
        result.get_by_role("button", name=kind, exact=True).click()
    return saved.value


def text_of(saved: Download) -> str:
    return Path(saved.path()).read_text(encoding="utf-8")


def test_a_spreadsheet_runs_no_formula_of_a_file(page: Page, answers: dict[str, Answer]) -> None:
    texts = ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "-5", "+1.5", "a=1"]
    names = ["=c", *(f"c{number}" for number in range(1, 8))]
    answers["SELECT *"] = result_of([(name, "string") for name in names], tuple(texts))
    open_sql(page)
    result = run(page, "SELECT *")
    header, row = text_of(save(page, result, "CSV")).splitlines()
    assert header.startswith("'=c,c1,")
    assert row == "'=1+1,'+A1,'-A1,'@SUM(A1),'\t=1,-5,+1.5,a=1"


def test_columns_with_one_name_are_all_in_the_file(page: Page, answers: dict[str, Answer]) -> None:
    answers["SELECT *"] = result_of(
        [("id", "int"), ("id", "int"), ("id_2", "int"), ("a,b", "string")], (1, 2, 3, 'x"y')
    )
    open_sql(page)
    result = run(page, "SELECT *")
    saved = save(page, result, "JSON")
    assert saved.suggested_filename == "result.json"
    assert json.loads(text_of(saved)) == [{"id": 1, "id_3": 2, "id_2": 3, "a,b": 'x"y'}]
    assert text_of(save(page, result, "CSV")) == 'id,id,id_2,"a,b"\n1,2,3,"x""y"\n'
    with pyarrow.ipc.open_stream(Path(save(page, result, "Arrow").path()).read_bytes()) as rows:
        assert rows.read_all().to_pylist() == [{"row": "(1, 2, 3, 'x\"y')"}]


def test_rows_that_break_off_are_not_saved_as_arrow(page: Page, answers: dict[str, Answer]) -> None:
    def rows() -> Generator[tuple[int], None, None]:
        yield (1,)
        raise StatementError("DISK_FULL", "There is no space left.")

    answers["SELECT *"] = result_of({"id": "int"}, (1,))
    open_sql(page)
    result = run(page, "SELECT *")
    expect(result).to_contain_text("1 row")
    answers["SELECT *"] = lambda: StatementResult((Column("id", "int"),), rows())
    result.get_by_role("button", name="Arrow", exact=True).click()
    expect(result.get_by_role("alert")).to_contain_text("There is no space left.")


def test_results_are_drawn_as_charts(page: Page, answers: dict[str, Answer]) -> None:
    days = [(date(2026, 11, day), day * day, float(day)) for day in range(1, 20)]
    answers["SELECT days"] = result_of({"day": "date", "orders": "bigint", "total": "double"}, *days)
    answers["SELECT words"] = result_of({"region": "string", "orders": "bigint"}, (HOSTILE, 4), ("south", 7))
    answers["SELECT name"] = result_of({"region": "string"}, ("south",))
    open_sql(page)
    for statement, lines in (("SELECT days", ["day", "orders", "total"]), ("SELECT words", ["region", "orders"])):
        result = run(page, statement)
        for kind in ("Line chart", "Bar chart"):
            result.get_by_role("button", name=kind).click()
            expect(result.locator(".chart canvas")).to_have_count(1)
            expect(result.locator(".chart .u-label")).to_have_text(lines)
    result = run(page, "SELECT name")
    expect(result).to_contain_text("1 row")
    expect(result.get_by_role("button", name="Line chart")).to_have_count(0)


def test_wide_and_long_values_are_drawn_in_part(page: Page, answers: dict[str, Answer]) -> None:
    columns = {"text": "string", **{f"c{number}": "int" for number in range(1000)}}
    answers["SELECT *"] = result_of(columns, *(("x" * 100_000, *range(1000)) for _ in range(50)))
    open_sql(page)
    result = run(page, "SELECT *")
    expect(result.get_by_role("gridcell", name="999", exact=True)).to_have_count(0)
    assert result.get_by_role("gridcell").count() < 2000
    assert len(result.get_by_role("gridcell").first.inner_text()) < 2000
    grid = result.get_by_role("grid")
    expect(grid).to_have_attribute("aria-colcount", "1001")
    grid.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").locator("pre")).to_have_text("x" * 100_000)
    page.keyboard.press("Escape")
    expect(grid).to_be_focused()
    page.keyboard.press("End")
    expect(result.locator(".cell.active")).to_have_text("999")
    expect(result.locator(".cell.active")).to_be_in_viewport()
    page.keyboard.press("Home")
    expect(result.locator(".cell.active")).to_contain_text("xxx")


def test_a_stream_is_shown_as_it_arrives(page: Page, answers: dict[str, Answer]) -> None:
    more = threading.Event()

    def batches() -> Generator[LiveBatch, None, None]:
        yield LiveBatch(0, iter([(1,), (2,)]))
        more.wait(30)
        yield LiveBatch(1, iter([(3,)]))

    def live(mode: LiveMode) -> StatementResult:
        return StatementResult((Column("n", "int"),), iter(()), Live(mode, batches()))

    for mode, rows in ((LiveMode.APPEND, ["1", "2", "3"]), (LiveMode.REPLACE, ["3"])):
        more.clear()
        answers["SELECT live"] = partial(live, mode)
        open_sql(page)
        result = run(page, "SELECT live")
        expect(result.get_by_role("gridcell")).to_have_text(["1", "2"])
        more.set()
        expect(result.get_by_role("gridcell")).to_have_text(rows)
        expect(result).to_contain_text("Ended after")


def test_a_statement_is_cancelled(engine: Managed, page: Page, server: RunningServer) -> None:
    create(engine)
    open_sql(page)
    write(page, "WAIT FOR JOB orders UNTIL BATCH 5; SELECT 3")
    page.get_by_role("button", name="Run all").click()
    until(lambda: len(server.http_server.running) == 1)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".result")).to_contain_text("Cancelled after")
    expect(page.locator(".result")).to_have_count(1)  # the statements after it are not run
    expect(page.get_by_role("button", name="Run all")).to_be_enabled()


def test_statements_of_the_selection_are_run(page: Page) -> None:
    open_sql(page)
    write(page, "SELECT 3;\nSELECT 4;\nSELECT 5")
    page.keyboard.press("Control+Home")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".result-title")).to_have_text(["SELECT 4", "SELECT 3"])
    expect(page.get_by_role("button", name="Run all")).to_be_enabled()  # a key does nothing while a statement runs
    page.keyboard.press("Control+End")
    page.keyboard.press("Shift+Control+Enter")
    expect(page.locator(".result-title")).to_have_text([f"SELECT {number}" for number in (5, 4, 3, 4, 3)])


def test_queries_are_saved_without_secrets(page: Page) -> None:
    open_sql(page)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("There is no statement to save.")).to_be_visible()
    write(page, "CREATE TABLE t USING jdbc OPTIONS ('password' = 'hunter2'); SELECT 3")
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Name")).to_be_focused()
    page.keyboard.insert_text(HOSTILE)
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    page.reload()
    saved = page.get_by_label("History and saved queries")
    saved.select_option(label=HOSTILE)
    editor = page.get_by_role("textbox", name="SQL statements")
    expect(editor).to_contain_text("OPTIONS ('password' = '***')")
    assert "hunter2" not in page.evaluate("JSON.stringify(localStorage)")
    page.get_by_role("button", name="Delete").click()
    expect(saved.get_by_role("option", name=HOSTILE)).to_have_count(0)
    write(page, "SELECT 3")
    page.get_by_role("button", name="Save", exact=True).click()
    dialog.get_by_role("button", name="Cancel").click()
    expect(saved.get_by_role("option", name="SELECT 3")).to_have_count(0)


def test_a_draft_ends_with_the_session(page: Page, server: RunningServer) -> None:
    open_sql(page)
    write(page, "SELECT 'secret'")
    page.get_by_role("navigation").get_by_role("link", name="Members").click()
    open_sql(page)
    expect(page.get_by_role("textbox", name="SQL statements")).to_have_text("SELECT 'secret'")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Token of the engine")).to_be_visible()
    assert "secret" not in page.evaluate("JSON.stringify(sessionStorage)")


def test_hostile_names_and_values_are_texts(engine: Managed, page: Page, answers: dict[str, Answer]) -> None:
    names = [("catalog", "SHOW CATALOGS"), ("namespace", "SHOW SCHEMAS"), ("function", "SHOW FUNCTIONS")]
    for column, statement in names:
        answers[statement] = result_of({column: "string"}, (HOSTILE,))
    answers["SELECT *"] = result_of({HOSTILE: "string", "s": "struct"}, (HOSTILE, {HOSTILE: [HOSTILE]}))
    open_sql(page)
    result = run(page, "SELECT *")
    expect(result.get_by_role("gridcell").first).to_have_text(HOSTILE)
    result.get_by_role("grid").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text(HOSTILE)
    page.keyboard.press("Escape")
    write(page, "SELECT <im")
    page.keyboard.press("Control+Space")
    write(page, f"SELECT `{HOSTILE}")
    expect(page.get_by_role("textbox", name="SQL statements")).to_contain_text("onerror")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".result").first.get_by_role("alert")).to_be_visible()


def test_statements_wait_for_a_lost_engine(engine: Managed, chromium: Browser) -> None:
    with checked_page(chromium) as page:
        with run_console(engine) as server:
            log_in(page, server.url)
            open_sql(page)
            write(page, "SELECT 3")
        expect(page.locator("#connection")).to_contain_text("The engine does not answer")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#announcement")).to_contain_text("The engine does not answer, or you are logged out.")
        page.keyboard.press("Control+Space")
        expect(page.locator(".result")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_results_are_accessible(
    engine: Managed, chromium: Browser, server: RunningServer, answers: dict[str, Answer], scheme: Any
) -> None:
    answers["SELECT *"] = result_of(
        {"at": "timestamp", "n": "int"}, (datetime(2026, 1, 1, tzinfo=UTC), 3), (None, None)
    )
    size = {"width": 400, "height": 800}
    with checked_page(chromium, color_scheme=scheme, viewport=size, reduced_motion="reduce") as page:
        log_in(page, server.url)
        open_sql(page)
        run(page, "SELECT *").get_by_role("button", name="Bar chart").click()
        run(page, "EXPLAIN CREATE JOB j AS INSERT INTO totals SELECT * FROM STREAM orders")
        expect(page.locator("svg.graph")).to_be_visible()
        run(page, "SUSPEND JOB none")
        expect(page.get_by_role("alert")).to_be_visible()
        assert accessibility_problems(page) == []
        assert not overflows(page)
        write(page, "SELECT 1")
        assert page.evaluate("document.querySelector('.editor').shadowRoot.activeElement !== null")
        assert page.evaluate(MOVING) == []


MOVING = """[document, document.querySelector('.editor').shadowRoot].flatMap((root) =>
  root.getAnimations()
    .filter((each) => each.effect.getComputedTiming().duration > 0)
    .map((each) => each.animationName))"""
