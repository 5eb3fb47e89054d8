"""Steps of stories in the web console with a real browser, on an engine without Spark."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect

from jetsql.jobs.lifecycle.runtime import BatchCommitted
from jetsql.jobs.store.metrics import BatchMetrics
from tests.support.engines.managed_engine import Managed
from tests.support.servers.http_server import TOKEN

PAGES = (
    "/console/",
    "/console/jobs",
    "/console/jobs/{job}",
    "/console/sql",
    "/console/catalog",
    "/console/catalog/table?name=spark_catalog.shop.totals",
    "/console/snapshots",
    "/console/alerts",
    "/console/members",
    "/console/engine",
)
"""The paths of all pages; `job` is the id of a job."""


def log_in(page: Page, url: str) -> None:
    """Log in with the token. url: of the engine."""
    page.goto(url)
    page.get_by_label("Token of the engine").fill(TOKEN)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()


def open_jobs(page: Page, url: str) -> None:
    """Open the list of jobs. url: of the engine."""
    page.goto(f"{url}/console/jobs")
    expect(page.get_by_role("heading", name="Jobs", level=1)).to_be_visible()


def create(engine: Managed, name: str = "orders") -> str:
    """Create a job, and return its id."""
    quoted = name.replace("`", "``")
    return str(next(engine.run(f"CREATE JOB `{quoted}` AS INSERT INTO totals SELECT * FROM STREAM orders").rows)[0])


def commit(engine: Managed, job: str, ago: float = 0.0, **values: Any) -> None:
    """Commit a batch with these measures. ago: seconds since its trigger."""
    run = engine.runtime.runs[job]
    run.batch += 1
    run_id = engine.runtime.run_id(job)
    now = engine.manager.clock() - ago
    measure = BatchMetrics(run_id.run, run.batch, now, **{"input_rows": 10, "trigger_ms": 500, **values})
    engine.runtime.report(job, BatchCommitted(run_id, run.batch, now, 10, 1234.0, metrics=measure))


def row(page: Page, name: str) -> Locator:
    """Return the row of a job on the jobs page."""
    return page.locator("tbody tr").filter(has=page.get_by_role("link", name=name, exact=True))


def open_sql(page: Page) -> None:
    """Open the SQL page with the navigation, which is a menu on a narrow screen."""
    menu = page.get_by_role("button", name="Menu")
    if menu.is_visible():
        menu.click()
    page.get_by_role("navigation").get_by_role("link", name="SQL").click()
    expect(page.get_by_role("textbox", name="SQL statements")).to_be_focused()


def write(page: Page, text: str) -> None:
    """Replace the text in the editor."""
    page.get_by_role("textbox", name="SQL statements").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(text)


def run(page: Page, text: str) -> Locator:
    """Run a statement, and return the place of its result."""
    write(page, text)
    page.keyboard.press("Control+Enter")
    result = page.locator(".result").first
    expect(result.locator("code.result-title")).to_have_attribute("title", text)
    return result
