"""`jetsql login` and `logout`: a saved token is used for its engine, and is readable for its owner only."""

from __future__ import annotations

import io
import json
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from jetsql.cli import main
from jetsql.cli.flags import ExitCode
from jetsql.client import dbapi
from jetsql.client.saved_logins import logins_file, save_token, saved_token
from jetsql.errors import EngineError
from tests.support.engines.managed_engine import Managed
from tests.support.servers.http_server import TOKEN, RunningServer, run_server

LogIn = Callable[[str], int]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with closing(Managed(tmp_path / "home")) as engine, run_server(engine) as server:
        yield server


@pytest.fixture(autouse=True)
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the saved tokens in a folder of the test, and set no token."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    monkeypatch.delenv("JETSQL_TOKEN", raising=False)


@pytest.fixture
def log_in(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> LogIn:
    def run(token: str) -> int:
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{token}\n"))
        return main(["login", "--url", server.url])

    return run


def test_saved_token_is_used_by_commands_and_programs(
    server: RunningServer, log_in: LogIn, capsys: pytest.CaptureFixture[str]
) -> None:
    assert log_in(TOKEN) == ExitCode.SUCCESS
    assert "The token of the user owner" in capsys.readouterr().err
    assert main(["--url", server.url, "-e", "SHOW JOBS"]) == ExitCode.SUCCESS
    with dbapi.connect(server.url) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW JOBS")
        assert cursor.fetchall() == []


def test_file_of_tokens_is_private(log_in: LogIn) -> None:
    log_in(TOKEN)
    status = logins_file().stat()
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert stat.S_IMODE(logins_file().parent.stat().st_mode) == 0o700


def test_token_that_the_engine_refuses_is_not_saved(log_in: LogIn, capsys: pytest.CaptureFixture[str]) -> None:
    assert log_in("a wrong token") == ExitCode.NO_ENGINE
    captured = capsys.readouterr()
    assert "NOT_AUTHORIZED" in captured.err
    assert "a wrong token" not in captured.err + captured.out
    assert not logins_file().exists()


def test_logout_deletes_the_token(server: RunningServer, log_in: LogIn, capsys: pytest.CaptureFixture[str]) -> None:
    log_in(TOKEN)
    assert main(["logout", "--url", server.url]) == ExitCode.SUCCESS
    assert TOKEN not in logins_file().read_text()
    assert main(["--url", server.url, "-e", "SHOW JOBS"]) == ExitCode.NO_ENGINE
    capsys.readouterr()
    assert main(["logout", "--url", server.url]) == ExitCode.SUCCESS
    assert "There was no saved token" in capsys.readouterr().err


def test_variable_has_precedence(server: RunningServer, log_in: LogIn, monkeypatch: pytest.MonkeyPatch) -> None:
    log_in(TOKEN)
    monkeypatch.setenv("JETSQL_TOKEN", "another")
    assert main(["--url", server.url, "-e", "SHOW JOBS"]) == ExitCode.NO_ENGINE


@pytest.mark.parametrize(
    ("url", "token"),
    [
        ("https://engine.example.com", "t"),
        ("https://ENGINE.example.com:443/", "t"),
        ("https://other.example.com,https://engine.example.com", "t"),
        ("http://engine.example.com:443", ""),
        ("http://engine.example.com", ""),
        ("https://engine.example.com:8443", ""),
        ("https://engine.example.com.evil.example", ""),
        ("https://engine.example.com/prefix", ""),
        ("https://engine.example.com@evil.example", ""),
    ],
)
def test_token_is_for_one_engine_and_scheme(url: str, token: str) -> None:
    save_token("https://engine.example.com", "t")
    assert saved_token(url) == token


@pytest.mark.parametrize("text", ["{", "[]", '{"http://localhost:1": 3}', "\xff"])
def test_damaged_file_is_reported(text: str) -> None:
    save_token("http://localhost:1", "t")
    logins_file().write_text(text, encoding="latin-1")
    with pytest.raises(EngineError, match=r"logins\.json .* cannot be read"):
        saved_token("http://localhost:1")
    assert logins_file().read_text(encoding="latin-1") == text


def test_link_in_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_text(json.dumps({"http://localhost:1": "t"}))
    logins_file().parent.mkdir(parents=True)
    logins_file().symlink_to(target)
    with pytest.raises(EngineError, match="cannot be read"):
        saved_token("http://localhost:1")


@pytest.mark.parametrize("command", ["login", "logout"])
def test_engine_of_this_machine_needs_no_login(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command]) == ExitCode.USAGE
    assert "--url" in capsys.readouterr().err
