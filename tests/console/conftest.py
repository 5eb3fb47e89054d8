"""The console of an engine without Spark, and a browser that is logged in. A module may have an engine of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engines.managed_engine import Managed
from tests.support.screens.console_browser import Browser, logged_in, run_console
from tests.support.servers.http_server import RunningServer


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
