"""The console of an engine without Spark, and a browser that is logged in. A module may have an engine of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.engines.managed_engine import Managed
from tests.support.screens.console_browser import Browser, joining_engine, logged_in, run_console
from tests.support.servers.http_server import RunningServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium
    from playwright.sync_api import Page


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Managed]:
    engine = Managed(tmp_path / "home")
    yield engine
    engine.close()


@pytest.fixture
def server(engine: Managed) -> Iterator[RunningServer]:
    with run_console(engine) as server:
        yield server


@pytest.fixture
def browser(server: RunningServer) -> Browser:
    return logged_in(server)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    from tests.support.screens.chromium import running_chromium

    with running_chromium() as browser:
        yield browser


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Managed]:
    """Return an engine whose jobs join tables of the schema `shop`."""
    engine = joining_engine(tmp_path / "home", "shop")
    yield engine
    engine.close()


@pytest.fixture
def page(chromium: Chromium, server: RunningServer) -> Iterator[Page]:
    """Return a page of a browser that is logged in, with the list of jobs."""
    from tests.support.screens.chromium import checked_page
    from tests.support.screens.console_steps import log_in, open_jobs

    with checked_page(chromium) as page:
        log_in(page, server.url)
        open_jobs(page, server.url)
        yield page
