"""The overview, the page of alerts and the header in a real browser."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from jetsql.console.web.engine_label import EngineLabel
from jetsql.jobs.model.job import Cause
from tests.support.engines.managed_engine import Managed
from tests.support.screens.chromium import accessibility_problems, checked_page, overflows
from tests.support.screens.console_browser import run_console
from tests.support.screens.console_steps import PAGES, commit, create, log_in, row
from tests.support.servers.http_server import RunningServer

pytestmark = pytest.mark.browser

FATAL = Cause("The disk is full.", "JETSQL.DISK", hint="Free some space.", retryable=False)
ALERT = "CREATE ALERT stopped ON JOB ALL STATUS SUSPENDED CALL 'http://127.0.0.1:9/x'"


@pytest.fixture
def engine(shop: Managed) -> Managed:
    return shop


@pytest.fixture
def overview(page: Page, server: RunningServer) -> Page:
    page.goto(f"{server.url}/console/")
    return page


def tile(page: Page, label: str) -> Locator:
    return page.locator(".tile").filter(has_text=label)


def section(page: Page, name: str) -> Locator:
    return page.locator(f"[data-section={name}]")


def test_the_overview_follows_the_jobs(engine: Managed, overview: Page) -> None:
    expect(overview.get_by_text("There are no jobs yet")).to_be_visible()
    job = create(engine)
    expect(tile(overview, "running")).to_contain_text("1")
    expect(overview.get_by_text("No job is in trouble.")).to_be_visible()
    list(engine.run(ALERT).rows)
    engine.runtime.fail(job, FATAL)
    trouble = section(overview, "trouble")
    expect(trouble).to_contain_text("The disk is full.")
    expect(tile(overview, "suspended")).to_contain_text("1 by an error")
    expect(section(overview, "changes")).to_contain_text("suspended by an error")
    expect(overview.locator(".lines")).to_contain_text("stopped: job orders")
    tile(overview, "suspended").press("Enter")
    expect(overview.get_by_label("Show jobs with the status")).to_have_value("SUSPENDED")
    overview.go_back()
    list(engine.run("DROP JOB orders").rows)
    expect(overview.get_by_text("There are no jobs yet")).to_be_visible()
    expect(tile(overview, "failed")).to_contain_text("0")
    expect(section(overview, "changes")).to_contain_text("Dropped")


def test_alerts_are_changed_with_the_keyboard(engine: Managed, page: Page, server: RunningServer) -> None:
    create(engine)
    list(engine.run(ALERT).rows)
    page.goto(f"{server.url}/console/alerts")
    alerts, messages = section(page, "alerts"), section(page, "messages")
    expect(alerts).to_contain_text("Quiet")
    list(engine.run("SUSPEND JOB orders").rows)
    expect(alerts).to_contain_text("Firing")
    expect(messages).to_contain_text("Job orders has the status SUSPENDED.")
    page.get_by_role("button", name="Disable alert stopped").press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("ALTER ALERT `stopped` DISABLE")
    dialog.get_by_role("button", name="Disable alert").press("Enter")
    expect(dialog).to_contain_text("Disabled.")
    dialog.get_by_role("button", name="Close").press("Enter")
    expect(alerts).to_contain_text("Disabled")
    page.get_by_role("button", name="Drop alert stopped").press("Enter")
    expect(dialog).to_contain_text("The alert is deleted")
    page.keyboard.press("Enter")  # the button with the focus is the one that changes nothing
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Drop alert stopped").press("Enter")
    dialog.get_by_role("button", name="Drop alert").press("Enter")
    dialog.get_by_role("button", name="Close").press("Enter")
    expect(page.get_by_text("There are no alerts of yours.")).to_be_visible()


def test_the_list_shows_what_a_stopped_job_lacks(engine: Managed, page: Page) -> None:
    job = create(engine)
    commit(engine, job, lag={"spark_catalog.shop.orders": 4321}, lag_seconds={"spark_catalog.shop.orders": 2.0})
    expect(row(page, "orders").locator("[data-cell=uptime] time")).to_be_visible()
    expect(row(page, "orders").locator("[data-cell=commit]")).to_contain_text("s ago")
    expect(row(page, "orders").locator("[data-cell=lag]")).to_have_text("4.3k rows, 2.0 s")
    list(engine.run("SUSPEND JOB orders").rows)
    expect(row(page, "orders").locator("[data-cell=lag]")).to_contain_text("≥ 4.3k rows")
    for cell in ("rate", "uptime"):
        expect(row(page, "orders").locator(f"[data-cell={cell}] .text")).to_be_empty()
    list(engine.run("RESUME JOB orders").rows)
    expect(row(page, "orders").locator("[data-cell=restarts]")).to_have_text("1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_troubled_pages_are_accessible_on_all_screens(engine: Managed, chromium: Browser, scheme: Any) -> None:
    job = create(engine, "a_job_with_a_long_name_that_has_to_be_broken_somewhere")
    engine.runtime.fail(job, FATAL)
    create(engine, "gone")
    list(engine.run(ALERT).rows)
    list(engine.run("DROP JOB gone").rows)
    for colour in ("orange", "purple"):
        with run_console(engine, label=EngineLabel("production " * 3, colour)) as server:
            for width in (400, 1280):
                with checked_page(chromium, color_scheme=scheme, viewport={"width": width, "height": 800}) as page:
                    log_in(page, server.url)
                    for path in ("/console/", "/console/jobs?status=all", "/console/alerts"):
                        page.goto(server.url + path)
                        expect(page.get_by_role("heading", level=1)).to_be_visible()
                        assert accessibility_problems(page) == [], path
                        assert not overflows(page), path


def test_the_header_has_one_line_on_a_phone(engine: Managed, chromium: Browser) -> None:
    job = create(engine)
    with run_console(engine, label=EngineLabel("a long name of an engine in production", "teal")) as server:
        with checked_page(chromium, viewport={"width": 400, "height": 800}) as page:
            log_in(page, server.url)
            for path in PAGES:
                page.goto(server.url + path.format(job=job))
                box = page.locator("header.top").bounding_box()
                assert box is not None and box["height"] < 60, path
                assert not overflows(page), path
            page.get_by_role("button", name="Menu").press("Enter")
            link = page.get_by_role("navigation").get_by_role("link", name="Jobs")
            expect(link).to_be_visible()
            assert accessibility_problems(page) == []
            page.keyboard.press("Escape")
            expect(link).to_be_hidden()
            page.get_by_role("button", name="Menu").click()
            link.press("Enter")
            expect(page.get_by_role("heading", name="Jobs", level=1)).to_be_visible()


@pytest.mark.slow
def test_the_overview_stays_usable_with_many_jobs(engine: Managed, overview: Page) -> None:
    jobs = [create(engine, f"job {number:03}") for number in range(500)]
    for job in jobs[:60]:
        engine.runtime.fail(job, FATAL)
    expect(tile(overview, "running")).to_contain_text("440")
    expect(tile(overview, "suspended")).to_contain_text("60")
    expect(section(overview, "trouble").get_by_role("row")).to_have_count(51)
    overview.get_by_role("link", name="All 60 jobs in trouble").click()
    expect(overview.get_by_text("60 of 500 jobs")).to_be_visible()
    assert accessibility_problems(overview) == []
