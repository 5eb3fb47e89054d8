"""The console in a real browser, with an engine without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from jetsql.console.web.login_sessions import LoginSessions
from jetsql.jobs.model.job import Cause
from tests.support.engines.managed_engine import Managed
from tests.support.screens.chromium import accessibility_problems, checked_page
from tests.support.screens.console_browser import run_console
from tests.support.screens.console_steps import PAGES, commit, create, log_in, open_jobs, open_sql, row, run
from tests.support.servers.http_server import RunningServer
from tests.support.servers.standby_http import run_standby

pytestmark = pytest.mark.browser


@pytest.fixture
def engine(shop: Managed) -> Managed:
    return shop


HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'`"


def test_jobs_are_watched_and_changed(engine: Managed, page: Page) -> None:
    expect(page.get_by_text("There are no jobs yet")).to_be_visible()
    job = create(engine)
    create(engine, "payments")
    expect(row(page, "orders")).to_contain_text("Running")
    expect(page.get_by_text("2 jobs")).to_be_visible()
    commit(engine, job, state_bytes=2048, state_rows=7, lag={"a": 4321})
    for text in ("1.2k", "4.3k rows", "500 ms", "2.0 KiB, 7 rows"):
        expect(row(page, "orders")).to_contain_text(text)
    page.keyboard.press("Control+k")
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


def test_drop_needs_a_confirmation(engine: Managed, page: Page) -> None:
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
    expect(row(page, "orders")).to_be_hidden()
    page.get_by_label("Show jobs with the status").select_option("all")
    expect(row(page, "orders")).to_contain_text("Dropped")


def test_job_page_is_updated_live(engine: Managed, page: Page) -> None:
    job = create(engine)
    row(page, "orders").get_by_role("link").click()
    expect(page.get_by_role("heading", name="orders", level=1)).to_be_visible()
    commit(engine, job, lag={"spark_catalog.shop.orders": 4321}, state_rows=77, state_bytes=2048, watermark=1.0)
    expect(page.locator("svg.graph")).to_contain_text("lag 4.3k rows")
    expect(page.locator("figure").filter(has_text="Rows in the state").locator("canvas")).to_be_visible()
    cause = Cause("The table is gone.", "JETSQL.JOB_CHANGED", "42K05", hint="Create it again.", retryable=False)
    engine.runtime.fail(job, cause)
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


def test_a_lost_engine_is_reported_and_found_again(engine: Managed, chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "engine.logins"

    def logins() -> LoginSessions:
        return LoginSessions(file=file)

    with checked_page(chromium) as page:
        with run_console(engine, logins=logins()) as server:
            log_in(page, server.url)
            open_jobs(page, server.url)
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


def test_lost_engine_is_reported_on_static_pages(engine: Managed, chromium: Browser) -> None:
    with checked_page(chromium) as page:
        with run_console(engine) as server:
            log_in(page, server.url)
            open_sql(page)
        expect(page.locator("#connection")).to_contain_text("The engine does not answer")


def test_plots_are_read_without_a_mouse(engine: Managed, chromium: Browser, server: RunningServer) -> None:
    job = create(engine)
    for number in range(5):
        commit(engine, job, ago=50.0 - 10 * number, state_rows=1000 * (number + 1), state_bytes=2048)
    with checked_page(chromium) as page:
        log_in(page, server.url)
        page.goto(f"{server.url}/console/jobs/{job}")
        figure = page.locator("figure").filter(has_text="Rows in the state")
        newest = figure.locator(".u-legend .u-value").nth(1)
        expect(newest).to_have_text("5k")  # without a crosshair
        plots = page.get_by_role("group", name="Plots")
        spoken = page.locator("[data-plot-values]")
        plots.focus()
        page.keyboard.press("ArrowLeft")
        expect(spoken).to_contain_text("Rows in the state, rows: 5k")
        page.keyboard.press("ArrowLeft")
        expect(spoken).to_contain_text("Rows in the state, rows: 4k; Memory of the state, memory: 2 KiB")
        expect(newest).to_have_text("4k")  # all plots have one crosshair
        page.keyboard.press("Escape")
        expect(newest).to_have_text("5k")
        ranges = page.get_by_role("button", name="5 minutes")
        for key, pressed in (("+", "false"), ("0", "true"), ("-", "false"), ("0", "true"), ("PageUp", "false")):
            page.keyboard.press(key)
            expect(ranges).to_have_attribute("aria-pressed", pressed)
        for name in ("Zoom in", "Zoom out", "Earlier", "Later"):
            ranges.click()
            page.get_by_role("button", name=name).press("Enter")
            expect(ranges).to_have_attribute("aria-pressed", "false")


def test_times_are_in_the_zone_of_the_viewer(engine: Managed, chromium: Browser, server: RunningServer) -> None:
    job = create(engine)
    with checked_page(chromium, timezone_id="Asia/Kathmandu", locale="en-GB") as page:
        log_in(page, server.url)
        page.goto(f"{server.url}/console/jobs/{job}")
        times = page.locator("[data-section=history] time")
        expected = "(text) => new Date(text).toLocaleString('en-GB', {timeZone: 'Asia/Kathmandu', timeStyle: 'medium'})"
        expect(times.first).to_contain_text(page.evaluate(expected, times.first.get_attribute("datetime")))


def test_the_focus_stays_where_the_user_works(engine: Managed, page: Page) -> None:
    job = create(engine)
    page.goto(f"{page.url}/{job}")
    page.get_by_role("button", name="Suspend").press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Suspend").press("Enter")
    dialog.get_by_role("button", name="Close").press("Enter")
    expect(page.get_by_role("button", name="Resume")).to_be_focused()  # it has replaced the button
    page.get_by_role("button", name="Drop").focus()
    list(engine.run("RESUME JOB orders").rows)
    expect(page.locator("h1 + .status")).to_have_text("Running")
    expect(page.get_by_role("button", name="Restart")).to_be_focused()
    page.get_by_role("button", name="Drop").press("Enter")
    dialog.get_by_role("button", name="Drop").press("Enter")
    dialog.get_by_role("button", name="Close").press("Enter")
    expect(page.locator("h1 + .status")).to_have_text("Dropped")


def test_early_confirmation_returns_focus_to_its_button(engine: Managed, page: Page) -> None:
    job = create(engine)
    page.goto(f"{page.url}/{job}")
    requests: list[Route] = []
    page.route(page.url, lambda route: requests.append(route))
    with page.expect_request(page.url):
        list(engine.run("SUSPEND JOB orders").rows)
    page.get_by_role("button", name="Suspend").press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    with page.expect_response(page.url):
        requests[0].continue_()
    page.unroute(page.url)
    page.get_by_role("dialog").get_by_role("button", name="Cancel").press("Enter")
    expect(page.get_by_role("button", name="Resume")).to_be_focused()


def test_statements_are_copied_without_a_clipboard(engine: Managed, chromium: Browser, server: RunningServer) -> None:
    """Copy on a page from another machine without TLS, where browsers have no clipboard."""
    job = create(engine)
    with checked_page(chromium) as page:
        page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
        log_in(page, server.url)
        open_jobs(page, server.url)
        page.get_by_role("button", name="Copy as SQL").click()
        expect(page.locator("#announcement")).to_have_text("Copied.")
        page.get_by_label("Search jobs").focus()
        page.keyboard.press("Control+v")
        expect(page.get_by_label("Search jobs")).to_have_value("SHOW ALL JOBS")
        page.goto(f"{server.url}/console/jobs/{job}")
        page.get_by_role("button", name="Suspend").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Copy as SQL").click()
        expect(dialog.get_by_text("Copied.")).to_be_visible()  # in front of the page behind it
        page.keyboard.press("Escape")
        page.get_by_label("New snapshot").focus()
        page.keyboard.press("Control+v")
        expect(page.get_by_label("New snapshot")).to_have_value("SUSPEND JOB `orders`;")


HIDDEN = """window.isHidden = true;
Object.defineProperty(Document.prototype, 'hidden', {get: () => window.isHidden});
window.setHidden = (hidden) => { window.isHidden = hidden; document.dispatchEvent(new Event('visibilitychange')); };"""


def test_pages_in_the_background_leave_connections_to_others(
    engine: Managed, chromium: Browser, server: RunningServer
) -> None:
    """Open more pages than the six connections that a browser has for a host."""
    job = create(engine)
    with checked_page(chromium) as page:
        log_in(page, server.url)
        open_jobs(page, server.url)
        page.context.add_init_script(HIDDEN)
        others = [page.context.new_page() for _ in range(8)]
        for number, other in enumerate(others):
            other.goto(f"{server.url}/console/{('jobs', f'jobs/{job}', 'engine', 'sql')[number % 4]}")
        create(engine, "payments")
        expect(row(page, "payments")).to_be_visible()
        expect(row(others[0], "payments")).to_be_hidden()
        others[0].evaluate("setHidden(false)")
        expect(row(others[0], "payments")).to_be_visible()
        others[0].evaluate("setHidden(true)")
        create(engine, "refunds")
        expect(row(page, "refunds")).to_be_visible()
        others[1].evaluate("setHidden(false)")
        list(engine.run("SUSPEND JOB orders").rows)
        expect(others[1].locator("h1 + .status")).to_have_text("Suspended")
        expect(row(others[0], "refunds")).to_be_hidden()


def test_a_snapshot_is_dropped_on_its_page(engine: Managed, page: Page) -> None:
    create(engine)
    list(engine.run("CREATE SNAPSHOT friday FOR JOB orders").rows)
    page.get_by_role("navigation").get_by_role("link", name="Snapshots").click()
    page.get_by_role("link", name="Fork a job from snapshot friday").click()
    expect(page.get_by_role("textbox", name="SQL statements")).to_contain_text("'initialSnapshotName' = 'friday'")
    page.go_back()
    page.get_by_role("button", name="Drop snapshot friday").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("copy of the state is deleted")
    dialog.get_by_role("button", name="Drop snapshot").click()
    dialog.get_by_role("button", name="Close").click()
    expect(page.get_by_text("There are no snapshots.")).to_be_visible()


@pytest.mark.slow
def test_five_hundred_jobs_stay_usable(engine: Managed, page: Page) -> None:
    jobs = [create(engine, f"job {number:03}") for number in range(500)]
    expect(page.get_by_text("500 jobs")).to_be_visible()
    commit(engine, jobs[7], state_rows=7, state_bytes=2**30)
    expect(row(page, "job 007")).to_contain_text("1.0 GiB")
    page.get_by_role("button", name="State").click()
    expect(page.locator("tbody th a").first).to_have_text("job 007")
    page.get_by_label("Search jobs").fill("job 12")
    expect(page.get_by_text("15 of 500 jobs")).to_be_visible()
    page.get_by_label("Select all jobs that are shown").check()
    page.get_by_role("button", name="Suspend").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("listitem")).to_have_count(15)
    dialog.get_by_role("button", name="Suspend").click()
    expect(dialog.get_by_text("Suspended.")).to_have_count(15)
    dialog.get_by_role("button", name="Close").click()
    page.get_by_label("Search jobs").fill("")
    page.get_by_label("Show jobs with the status").select_option("SUSPENDED")
    expect(page.get_by_text("15 of 500 jobs")).to_be_visible()
    page.get_by_label("Show jobs with the status").select_option("")
    page.get_by_label("Select all jobs that are shown").check()
    page.get_by_role("button", name="Drop").click()
    expect(dialog.get_by_role("listitem")).to_have_count(500)
    dialog.get_by_role("button", name="Drop").click()
    expect(dialog.get_by_role("button", name="Close")).to_be_visible(timeout=60_000)
    assert engine.manager.registry.live() == ()


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
    url = page.url.removesuffix("/console/jobs")
    job = create(engine, HOSTILE)
    commit(engine, job, lag={HOSTILE: 5})
    expect(row(page, HOSTILE)).to_contain_text("Running")
    row(page, HOSTILE).get_by_role("checkbox").check()
    page.get_by_role("button", name="Suspend").click()
    expect(page.get_by_role("dialog")).to_contain_text(HOSTILE.replace("`", "``"))
    page.keyboard.press("Escape")
    engine.runtime.fail(job, Cause(HOSTILE, HOSTILE, hint=HOSTILE, retryable=False))
    expect(row(page, HOSTILE).locator(".last-error")).to_contain_text("onerror")
    row(page, HOSTILE).get_by_role("link").click()
    expect(page.get_by_role("alert")).to_contain_text(HOSTILE)
    list(engine.run(f"CREATE SNAPSHOT `{HOSTILE.replace('`', '``')}` FOR JOB '{job}'").rows)
    for path in PAGES:
        page.goto(url + path.format(job=job))
        expect(page.get_by_role("heading", level=1)).to_be_visible()
    open_sql(page)
    run(page, "SHOW JOBS")
    expect(page.get_by_role("gridcell", name=HOSTILE, exact=True)).to_be_visible()
