"""The web console in a real browser and on Spark: streams that are shown, and tables that are found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from jetsql.embedded.embedded_engine import EmbeddedEngine
from tests.conftest import Sql
from tests.faults.source import Source
from tests.support.screens.chromium import checked_page, running_chromium
from tests.support.screens.console_browser import run_console
from tests.support.servers.http_server import TOKEN

pytestmark = [pytest.mark.spark, pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with running_chromium() as browser:
        yield browser


@pytest.fixture
def page(engine: EmbeddedEngine, chromium: Browser) -> Iterator[Page]:
    with run_console(engine) as server, checked_page(chromium) as page:
        page.set_default_timeout(60_000)
        page.goto(server.url)
        page.get_by_label("Token of the engine").fill(TOKEN)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Jobs", level=1)).to_be_visible()
        yield page


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
    page.get_by_role("button", name="Show the schemas").click()
    page.get_by_text(schema, exact=True).click()
    page.get_by_role("link", name="digits", exact=True).click()
    expect(page.locator("main")).to_contain_text("total bigint")
    expect(page.locator("main")).to_contain_text("CREATE TABLE")
    page.get_by_role("link", name="Sample rows").click()
    expect(page.get_by_role("textbox", name="SQL statements")).to_contain_text("LIMIT 100")
