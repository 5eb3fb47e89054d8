"""A job in the web console from its first statement to its end, in a real browser and on Spark."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from jetsql.embedded.engine_instance import EngineInstance
from tests.conftest import Sql
from tests.faults.source import Source
from tests.support.screens.chromium import checked_page, running_chromium
from tests.support.screens.console_browser import run_console
from tests.support.screens.killed_engine import engine_process, pages_survive_a_killed_engine
from tests.support.servers.http_server import TOKEN

pytestmark = [pytest.mark.spark, pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with running_chromium() as browser:
        yield browser


@pytest.fixture
def page(engine: EngineInstance, chromium: Browser) -> Iterator[Page]:
    with run_console(engine) as server, checked_page(chromium) as page:
        page.set_default_timeout(60_000)
        page.goto(server.url)
        page.get_by_label("Token of the engine").fill(TOKEN)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Jobs", level=1)).to_be_visible()
        yield page


def run(page: Page, text: str) -> None:
    """Run statements on the SQL page, and wait for their end."""
    page.get_by_role("navigation").get_by_role("link", name="SQL").click()
    page.get_by_role("textbox", name="SQL statements").click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(text)
    page.get_by_role("button", name="Run all").click()
    expect(page.locator(".result")).to_have_count(text.count(";") + 1, timeout=120_000)
    expect(page.get_by_role("button", name="Cancel")).to_be_disabled(timeout=120_000)


def act(page: Page, action: str) -> None:
    """Press the button of an action, confirm it, and close its outcome."""
    page.get_by_role("button", name=action, exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name=action, exact=True).click()
    dialog.get_by_role("button", name="Close").click(timeout=60_000)


def test_a_job_from_its_first_statement_to_its_end(page: Page, sql: Sql, numbers: Source) -> None:
    schema = sql.value("SELECT current_schema()")
    run(
        page,
        f"USE {schema}; EXPLAIN CREATE JOB odd AS INSERT INTO plain SELECT id FROM STREAM numbers WHERE id % 2 = 1",
    )
    expect(page.get_by_role("img")).to_have_attribute(
        "aria-label", f"From spark_catalog.{schema}.numbers to spark_catalog.{schema}.plain."
    )
    run(
        page,
        "CREATE JOB odd OPTIONS ('restartAttempts' = '0') AS INSERT INTO plain SELECT id FROM STREAM numbers"
        " WHERE id % 2 = 1 AND assert_true(id < 80, 'the number is too large') IS NULL;"
        " SELECT * FROM plain",
    )
    expect(page.get_by_role("grid").first).to_be_visible()
    # Watch it run.
    page.get_by_role("navigation").get_by_role("link", name="Jobs").click()
    page.get_by_role("link", name="odd", exact=True).click()
    status = page.locator("h1 + .status")
    expect(status).to_have_text("Running")
    expect(page.locator("figure").first).to_be_visible()
    # Break it, and read the error.
    numbers.add(1)
    expect(status).to_have_text("Suspended", timeout=60_000)
    expect(page.get_by_role("alert")).to_contain_text("the number is too large")
    # Mend it.
    run(
        page,
        "CREATE OR REPLACE JOB odd AS INSERT INTO plain SELECT id FROM STREAM numbers WHERE id % 2 = 1;"
        " WAIT FOR JOB odd UNTIL IDLE",
    )
    page.get_by_role("navigation").get_by_role("link", name="Jobs").click()
    page.get_by_role("link", name="odd", exact=True).click()
    expect(status).to_have_text("Running", timeout=60_000)
    assert sql.value("SELECT count(*) FROM plain") == len(numbers.ids()) // 2
    act(page, "Suspend")
    expect(status).to_have_text("Suspended")
    act(page, "Resume")
    expect(status).to_have_text("Running")
    act(page, "Drop")
    expect(status).to_have_text("Failed")


def test_a_stream_is_shown_until_it_is_cancelled(page: Page, sql: Sql, numbers: Source) -> None:
    page.get_by_role("navigation").get_by_role("link", name="SQL").click()
    page.get_by_role("textbox", name="SQL statements").click()
    schema = sql.value("SELECT current_schema()")
    page.keyboard.insert_text(f"SELECT id FROM STREAM {schema}.numbers")
    page.keyboard.press("Control+Enter")
    grid = page.get_by_role("grid")
    expect(grid).to_be_visible(timeout=60_000)
    before = int(grid.get_attribute("aria-rowcount") or 0)
    numbers.add(1)
    expect(grid).not_to_have_attribute("aria-rowcount", str(before), timeout=60_000)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".result")).to_contain_text("Cancelled after", timeout=60_000)


def test_tables_are_found_in_the_catalogue(page: Page, sql: Sql, numbers: Source) -> None:
    schema = sql.value("SELECT current_schema()")
    page.get_by_role("navigation").get_by_role("link", name="Catalogue").click()
    page.get_by_text("spark_catalog", exact=True).click()
    page.get_by_text(schema, exact=True).click()
    page.get_by_role("link", name="digits", exact=True).click()
    expect(page.locator("main")).to_contain_text("total bigint")
    expect(page.locator("main")).to_contain_text("CREATE TABLE")
    expect(page.get_by_role("row", name="Provider parquet")).to_be_visible()
    page.get_by_role("button", name="Read 20 rows").click()
    expect(page.locator("#sample")).to_contain_text("The table has no rows.", timeout=60_000)
    page.get_by_role("link", name="Query it in the editor").click()
    expect(page.get_by_role("textbox", name="SQL statements")).to_contain_text("LIMIT 100")


def test_pages_survive_a_killed_engine(chromium: Browser, tmp_path: Path) -> None:
    with engine_process([sys.executable, "-m", "jetsql"], tmp_path / "home") as engine:
        engine(
            "-e",
            "CREATE TABLE numbers (id INT) USING json; CREATE TABLE copies (id INT) USING parquet;"
            " CREATE JOB copy AS INSERT INTO copies SELECT id FROM STREAM numbers",
        )
        pages_survive_a_killed_engine(engine, chromium, "copy", kills=1)
