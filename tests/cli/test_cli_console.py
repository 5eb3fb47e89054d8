"""`jetsql console`: a link that logs a browser in once."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.cli import main
from tests.support.engines.managed_engine import Managed
from tests.support.engines.server_engine import ServedEngine
from tests.support.screens.console_browser import Browser, run_console
from tests.support.servers.http_server import TOKEN, RunningServer, run_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    engine = Managed(tmp_path / "home")
    with run_console(engine) as server:
        yield server
    engine.close()


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Keep the addresses that a browser would open."""
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("JETSQL_TOKEN", TOKEN)
    return opened


def test_console_opens_a_single_use_login_link(
    server: RunningServer, opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["console", "--url", server.url]) == 0
    url = capsys.readouterr().out.removesuffix("\n")
    assert TOKEN not in url
    [argument] = opened  # of the browser, which every user of the machine can read
    page = Path(argument.removeprefix("file://"))
    assert "code=" not in argument and f'content="0; url={url}"' in page.read_text()
    assert page.stat().st_mode & 0o077 == 0 and page.parent.stat().st_mode & 0o077 == 0
    browser = Browser(server.url)
    assert browser.get(url.removeprefix(server.url)).status == 200
    assert browser.get("/console/").status == 200
    assert Browser(server.url).get(url.removeprefix(server.url)).status == 401


def test_link_can_be_printed_only(server: RunningServer, opened: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["console", "--no-browser", "--url", server.url]) == 0
    assert capsys.readouterr().out.startswith(f"{server.url}/console/enter?code=")
    assert opened == []


def test_a_machine_without_a_browser(
    server: RunningServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    assert main(["console", "--url", server.url]) == 0
    assert "Open the address in a browser within a minute." in capsys.readouterr().err


def test_errors(
    server: RunningServer, opened: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JETSQL_TOKEN", "wrong")
    assert main(["console", "--url", server.url]) == 3
    assert "NOT_AUTHORIZED" in capsys.readouterr().err
    with run_server(ServedEngine()) as older:
        monkeypatch.setenv("JETSQL_TOKEN", TOKEN)
        assert main(["console", "--url", older.url]) == 3
    assert "/console/links: Not Found" in capsys.readouterr().err
    assert opened == []
