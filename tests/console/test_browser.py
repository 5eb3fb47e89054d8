"""The console in a real browser, with an engine without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from jetsql.console.web.login_sessions import LoginSessions
from jetsql.jobs.lifecycle.engine_api import BatchCommitted
from jetsql.jobs.model.job import Cause
from jetsql.jobs.store.metrics import BatchMetrics
from tests.support.engines.managed_engine import Managed
from tests.support.paths import ROOT
from tests.support.screens.chromium import accessibility_problems, checked_page, overflows, running_chromium
from tests.support.screens.console_browser import joining_engine, run_console
from tests.support.servers.http_server import TOKEN, RunningServer
from tests.support.servers.standby_http import run_standby

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'`"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with running_chromium() as browser:
        yield browser


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Managed]:
    engine = joining_engine(tmp_path / "home", "shop")
    yield engine
    engine.close()


@pytest.fixture
def page(chromium: Browser, server: RunningServer) -> Iterator[Page]:
    with checked_page(chromium) as page:
        log_in(page, server)
        yield page


def log_in(page: Page, server: RunningServer) -> None:
    page.goto(server.url)
    page.get_by_label("Token of the engine").fill(TOKEN)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Jobs", level=1)).to_be_visible()


def create(engine: Managed, name: str = "orders") -> str:
    quoted = name.replace("`", "``")
    return str(next(engine.run(f"CREATE JOB `{quoted}` AS INSERT INTO totals SELECT * FROM STREAM orders").rows)[0])


def commit(engine: Managed, job: str, ago: float = 0.0, **values: Any) -> None:
    """Commit a batch with these measures. ago: seconds since its trigger."""
    run = engine.engine.runs[job]
    run.batch += 1
    run_id = engine.engine.run_id(job)
    now = engine.manager.clock() - ago
    measure = BatchMetrics(run_id.run, run.batch, now, **{"input_rows": 10, "trigger_ms": 500, **values})
    engine.engine.tell(job, BatchCommitted(run_id, run.batch, now, 10, 1234.0, metrics=measure))


def row(page: Page, name: str) -> Any:
    return page.locator("tbody tr").filter(has=page.get_by_role("link", name=name, exact=True))


def test_jobs_are_watched_and_changed(engine: Managed, page: Page) -> None:
    expect(page.get_by_text("There are no jobs yet")).to_be_visible()
    job = create(engine)
    create(engine, "payments")
    expect(row(page, "orders")).to_contain_text("Running")
    expect(page.get_by_text("2 jobs")).to_be_visible()
    commit(engine, job, state_bytes=2048, state_rows=7, lag={"a": 4321})
    for text in ("1.2k", "4.3k rows", "500 ms", "2.0 KiB, 7 rows"):
        expect(row(page, "orders")).to_contain_text(text)
    page.keyboard.press("/")
    page.keyboard.type("pay")
    expect(row(page, "orders")).to_be_hidden()
    expect(page.get_by_text("1 of 2 jobs")).to_be_visible()
    page.get_by_label("Search jobs").fill("")
    # All of it with the keyboard: select, ask, and say yes.
    page.get_by_label("Select orders").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Suspend").press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Nothing is lost")
    expect(dialog).to_contain_text("SUSPEND JOB `orders`")
    expect(dialog.get_by_role("button", name="Suspend")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("Suspended.")
    expect(dialog.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(row(page, "orders")).to_contain_text("Suspended")
    page.get_by_label("Show jobs with the status").select_option("SUSPENDED")
    expect(row(page, "payments")).to_be_hidden()
    page.reload()
    expect(row(page, "payments")).to_be_hidden()
    expect(row(page, "orders")).to_be_visible()


def test_the_table_is_sorted(engine: Managed, page: Page) -> None:
    for number, name in enumerate(("b", "c", "a")):
        commit(engine, create(engine, name), state_bytes=1000 * (number + 1))
    names = page.locator("tbody th a")
    expect(row(page, "a")).to_contain_text("2.9 KiB")
    page.get_by_role("button", name="Job", exact=True).click()
    expect(names).to_have_text(["a", "b", "c"])
    expect(page.get_by_role("columnheader", name="Job", exact=True)).to_have_attribute("aria-sort", "ascending")
    page.get_by_role("button", name="State").click()
    expect(names).to_have_text(["a", "c", "b"])
    page.get_by_role("button", name="State").click()
    expect(names).to_have_text(["b", "c", "a"])


def test_a_job_is_dropped_after_a_question(engine: Managed, page: Page) -> None:
    create(engine)
    row(page, "orders").get_by_role("checkbox").check()
    page.get_by_role("button", name="Drop").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("its state is deleted")
    page.keyboard.press("Enter")  # the button with the focus is the one that changes nothing
    expect(dialog).to_be_hidden()
    expect(row(page, "orders")).to_contain_text("Running")
    page.get_by_role("button", name="Drop").click()
    dialog.get_by_role("button", name="Drop").click()
    dialog.get_by_role("button", name="Close").click()
    expect(row(page, "orders")).to_contain_text("Failed")


def test_the_page_of_a_job_moves(engine: Managed, page: Page) -> None:
    job = create(engine)
    row(page, "orders").get_by_role("link").click()
    expect(page.get_by_role("heading", name="orders", level=1)).to_be_visible()
    commit(engine, job, lag={"spark_catalog.shop.orders": 4321}, state_rows=77, state_bytes=2048, watermark=1.0)
    expect(page.locator("svg.graph")).to_contain_text("lag 4.3k rows")
    expect(page.locator("figure").filter(has_text="Rows in the state").locator("canvas")).to_be_visible()
    cause = Cause("The table is gone.", "JETSQL.JOB_CHANGED", "42K05", hint="Create it again.", retryable=False)
    engine.engine.fail(job, cause)
    expect(page.get_by_role("alert")).to_contain_text("What to do: Create it again.")
    expect(page.locator("h1 + .status")).to_have_text("Suspended")
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(page.locator("h1 + .status")).to_have_text("Running")
    page.get_by_label("New snapshot").fill("before")
    page.get_by_role("button", name="Take").click()
    page.get_by_role("dialog").get_by_role("button", name="Take snapshot").click()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(page.get_by_role("button", name="Drop snapshot before")).to_be_visible()
    page.get_by_role("button", name="1 hour").click()
    expect(page.get_by_role("button", name="1 hour")).to_have_attribute("aria-pressed", "true")


def open_sql(page: Page) -> None:
    page.get_by_role("navigation").get_by_role("link", name="SQL").click()
    expect(page.get_by_role("textbox", name="SQL statements")).to_be_focused()


def write(page: Page, text: str) -> None:
    """Replace the text in the editor."""
    page.get_by_role("textbox", name="SQL statements").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(text)


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


def test_mistakes_are_marked(page: Page) -> None:
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


def test_a_lost_engine_is_reported_and_found_again(engine: Managed, chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "engine.logins"

    def logins() -> LoginSessions:
        return LoginSessions(file=file)

    with checked_page(chromium) as page:
        with run_console(engine, logins=logins()) as server:
            log_in(page, server)
            create(engine)
            expect(row(page, "orders")).to_be_visible()
            port = int(server.url.rpartition(":")[2])
        expect(page.locator("#connection")).to_contain_text("The engine does not answer")
        create(engine, "payments")
        with run_console(engine, port=port, logins=logins()):
            expect(row(page, "payments")).to_be_visible()
            expect(page.locator("#connection")).to_be_hidden()
        expect(page.locator("#connection")).to_contain_text("The engine does not answer")
        file.unlink()
        with run_console(engine, port=port, logins=logins()):
            expect(page.locator("#connection")).to_contain_text("You are logged out")
            page.get_by_role("link", name="Log in").click()
            expect(page.get_by_label("Token of the engine")).to_be_visible()


def test_a_lost_engine_is_reported_on_pages_that_do_not_move(engine: Managed, chromium: Browser) -> None:
    with checked_page(chromium) as page:
        with run_console(engine) as server:
            log_in(page, server)
            open_sql(page)
        expect(page.locator("#connection")).to_contain_text("The engine does not answer")


def test_the_log_is_followed(engine: Managed, page: Page) -> None:
    file = engine.home / "engine.log"
    file.write_text("INFO one\n")
    page.get_by_role("navigation").get_by_role("link", name="Engine").click()
    log = page.locator("pre.log")
    expect(log).to_have_text("INFO one")
    with file.open("a") as writing:
        writing.write("INFO <b>two</b>\n")
    expect(log).to_have_text("INFO one\nINFO <b>two</b>")
    page.get_by_role("button", name="Pause").press("Enter")
    with file.open("a") as writing:
        writing.write("INFO three\n")
    page.get_by_role("button", name="Continue").press("Enter")
    expect(log).to_contain_text("INFO three")
    page.get_by_label("Lines with").fill("TWO")
    page.keyboard.press("Enter")
    expect(log).to_have_text("INFO <b>two</b>")


def test_a_standby_leads_to_the_leader(chromium: Browser) -> None:
    leader = "http://first:1"
    with run_standby(lambda: leader) as url, checked_page(chromium) as page:
        page.goto(url)
        expect(page.get_by_role("link", name="http://first:1")).to_be_visible()
        assert accessibility_problems(page) == []
        leader = "http://second:1"
        expect(page.get_by_role("link", name="http://second:1")).to_be_visible()


def test_hostile_names_run_no_script(engine: Managed, page: Page) -> None:
    job = create(engine, HOSTILE)
    commit(engine, job, lag={HOSTILE: 5})
    expect(row(page, HOSTILE)).to_contain_text("Running")
    row(page, HOSTILE).get_by_role("checkbox").check()
    page.get_by_role("button", name="Suspend").click()
    expect(page.get_by_role("dialog")).to_contain_text(HOSTILE.replace("`", "``"))
    page.keyboard.press("Escape")
    engine.engine.fail(job, Cause(HOSTILE, HOSTILE, hint=HOSTILE, retryable=False))
    expect(row(page, HOSTILE).locator(".last-error")).to_contain_text("onerror")
    row(page, HOSTILE).get_by_role("link").click()
    expect(page.get_by_role("alert")).to_contain_text(HOSTILE)
    open_sql(page)
    write(page, "SHOW JOBS")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("gridcell", name=HOSTILE, exact=True)).to_be_visible()


PAGES = (
    "/console/",
    "/console/jobs/{job}",
    "/console/sql",
    "/console/catalog",
    "/console/catalog/table?name=spark_catalog.shop.totals",
    "/console/snapshots",
    "/console/members",
    "/console/engine",
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible(engine: Managed, chromium: Browser, server: RunningServer, scheme: Any) -> None:
    job = create(engine)
    failed = create(engine, "failed")
    commit(engine, job, state_rows=7, state_bytes=2048, lag={"spark_catalog.shop.orders": 3})
    engine.engine.fail(failed, Cause("The table is gone.", "X", hint="Create it again.", retryable=False))
    with checked_page(chromium, color_scheme=scheme) as page:
        page.goto(f"{server.url}/console/login")
        assert accessibility_problems(page) == []
        log_in(page, server)
        for path in PAGES:
            page.goto(server.url + path.format(job=job))
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            assert accessibility_problems(page) == [], path
        page.goto(f"{server.url}/console/")
        row(page, "orders").get_by_role("checkbox").check()
        page.get_by_role("button", name="Drop").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        assert accessibility_problems(page) == []


@pytest.mark.parametrize(
    "size", [{"width": 400, "height": 800}, {"width": 640, "height": 450}], ids=["400 px", "200 %"]
)
def test_pages_fit_on_small_screens(engine: Managed, chromium: Browser, server: RunningServer, size: Any) -> None:
    """At a zoom of 200 %, a window has half as many pixels."""
    job = create(engine, "a_job_with_a_long_name_that_has_to_be_broken_somewhere_" * 2)
    commit(engine, job, state_rows=7, state_bytes=2048)
    with checked_page(chromium, viewport=size) as page:
        log_in(page, server)
        for path in PAGES:
            page.goto(server.url + path.format(job=job))
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            assert not overflows(page), path


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_of_all_pages(engine: Managed, chromium: Browser, server: RunningServer, scheme: Any) -> None:
    """Keep a picture of each page in build/console, to see what a change does to them."""
    jobs = [create(engine, name) for name in ("orders_per_minute", "payments_to_lake", "fraud_alerts", "late_flights")]
    for number in range(100):
        for place, job in enumerate(jobs[:3]):
            rate = 400.0 + 300 * abs((number + 9 * place) % 40 - 20)
            values = {
                "input_rows": int(rate * 2),
                "input_rows_per_second": rate,
                "output_rows": int(rate),
                "trigger_ms": 400 + number % 7 * 40,
                "add_batch_ms": 300 + number % 5 * 40,
                "lag": {"spark_catalog.shop.orders": number % 9 * 100},
                "watermark": engine.manager.clock() - 12,
                "state_rows": 120_000 + number * 100,
                "state_bytes": (40 + number // 10) * 2**20,
            }
            commit(engine, job, ago=(100 - number) * 2.0, **values)
    engine.engine.fail(jobs[3], Cause("The table is gone.", "JETSQL.JOB_CHANGED", hint="Create it.", retryable=False))
    folder = ROOT / "build" / "console"
    folder.mkdir(parents=True, exist_ok=True)
    with checked_page(chromium, color_scheme=scheme) as page:
        log_in(page, server)
        expect(row(page, "late_flights")).to_contain_text("Suspended")
        for path in PAGES:
            page.goto(server.url + path.format(job=jobs[0]))
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            name = path.partition("?")[0].replace("{job}", "job").strip("/").replace("/", "-")
            picture = page.screenshot(path=folder / f"{name}-{scheme}.png", full_page=True)
            assert picture.startswith(b"\x89PNG")
