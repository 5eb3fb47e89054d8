"""An engine that is killed under an open page of the web console, and started again."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from jetsql.home.discovery import read_note
from tests.support.chromium import checked_page, running_chromium
from tests.support.service_engine import ServiceEngine

pytestmark = [pytest.mark.spark, pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceEngine]:
    """An engine with a port that its next start has as well."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    engine = ServiceEngine(tmp_path / "home", http_port=str(port), connect="false")
    engine("start")
    yield engine
    if engine.processes():
        engine("stop")


def test_a_page_finds_the_engine_again(service: ServiceEngine) -> None:
    service("-e", "CREATE TABLE numbers (id BIGINT) USING json")
    service("-e", "CREATE TABLE copied (id BIGINT) USING parquet")
    service("-e", "CREATE JOB copy AS INSERT INTO copied SELECT id FROM STREAM numbers")
    note = read_note(service.home)
    assert note is not None
    with running_chromium() as chromium, checked_page(chromium) as page:
        page.set_default_timeout(60_000)
        page.goto(note.url)
        page.get_by_label("Token of the engine").fill(note.token)
        page.get_by_role("button", name="Log in").click()
        row = page.locator("tbody tr").filter(has=page.get_by_role("link", name="copy", exact=True))
        expect(row).to_contain_text("Running")
        service.kill()
        expect(page.locator("#connection")).to_contain_text("The engine does not answer. Trying again")
        service("start")
        expect(page.locator("#connection")).to_be_hidden(timeout=60_000)
        expect(row).to_contain_text("Running", timeout=60_000)
        # The page is as good as before: it sees changes, and makes some.
        row.get_by_role("checkbox").check()
        page.get_by_role("button", name="Suspend").click()
        page.get_by_role("dialog").get_by_role("button", name="Suspend").click()
        page.get_by_role("dialog").get_by_role("button", name="Close").click(timeout=60_000)
        expect(row).to_contain_text("Suspended")
