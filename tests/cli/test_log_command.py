"""`jetsql logs`: the messages of the log, merged with the history of a job."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pexpect
import pytest
from click.testing import CliRunner, Result

from jetsql import cli
from jetsql.cli.flags import ExitCode
from jetsql.home.discovery import EngineNote, remove_note, write_note
from jetsql.version import VERSION
from tests.support.engines.managed_engine import Managed
from tests.support.paths import ROOT
from tests.support.servers.http_server import TOKEN, run_server

CREATE = "CREATE JOB {} AS INSERT INTO out SELECT * FROM STREAM src"
LATER = "2999-01-01T00:00:00.000"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JETSQL_HOME", str(tmp_path))
    monkeypatch.setenv("JETSQL_CONFIG", os.devnull)
    return tmp_path


@contextmanager
def running(home: Path) -> Iterator[Managed]:
    engine = Managed(home, service=True)
    try:
        with run_server(engine) as server:
            write_note(home, EngineNote(pid=0, url=server.url, token=TOKEN, version=VERSION, started=0.0))
            yield engine
    finally:
        remove_note(home)
        engine.close()


@pytest.fixture
def engine(home: Path) -> Iterator[Managed]:
    with running(home) as engine:
        yield engine


def jetsql(*arguments: str) -> Result:
    return CliRunner().invoke(cli.cli, ["logs", *arguments], catch_exceptions=False, prog_name="jetsql")


def write(home: Path, *lines: str) -> None:
    with (home / "engine.log").open("a") as log:
        log.writelines(f"{line}\n" for line in lines)


def make(engine: Managed, name: str) -> str:
    return str(next(iter(engine.run(CREATE.format(name)).rows))[0])


def test_the_whole_log_of_a_home_without_an_engine(home: Path) -> None:
    assert (jetsql().exit_code, jetsql().stdout) == (ExitCode.SUCCESS, "")
    write(home, "1", f"{LATER} WARN A: 2", "\tat 3")
    assert jetsql().stdout == f"1\n{LATER} WARN A: 2\n\tat 3\n"
    assert jetsql("-n", "1").stdout == f"{LATER} WARN A: 2\n\tat 3\n"
    assert jetsql("-n", "0").stdout == ""


def test_log_output_has_no_control_characters(home: Path) -> None:
    """Escape the log, because it may quote names of tables, columns and files."""
    hostile = f"{LATER} WARN A: \x1b]0;owned\x07\x1b[2J\x9b31m"
    write(home, hostile, "\tat \x1b[3J")
    assert jetsql().stdout == f"{hostile}\n\tat \x1b[3J\n"  # into a pipe it is data
    shown = pexpect.run(
        shlex.join([sys.executable, "-m", "jetsql", "logs", "--home", str(home)]), cwd=str(ROOT)
    ).decode()
    assert f"{LATER} WARN A: \\x1b]0;owned\\x07\\x1b[2J\\x9b31m\r\n" in shown
    assert [char for char in shown if char in "\x1b\x07\x9b"] == []


def test_log_of_a_job_has_messages_and_history(home: Path, engine: Managed) -> None:
    write(home, "2013-01-01T00:00:00.000 WARN A [orders]: of an older job")
    job_id, other_id = make(engine, "orders"), make(engine, "others")
    now = datetime.now().isoformat(timespec="milliseconds")
    write(home, f"{now} WARN A [others]: not its", f"{now} WARN A [orders]: its own", "\tat here", f"{now} WARN A: no")
    write(home, f"{now} ERROR jetsql.jobs.manager.job_manager: Job {job_id}: its too", f"{now} ERROR B: Job {other_id}")
    list(engine.run("SUSPEND JOB orders").rows)
    shown = jetsql("orders").stdout.splitlines()
    messages = [line.split(" ", 1)[1] if line[0] != "\t" else line for line in shown]
    assert messages[0].startswith("JOB orders: submitted (STARTING)")
    places = [messages.index(line) for line in ("WARN A [orders]: its own", "\tat here")]
    assert places == [places[0], places[0] + 1]
    assert f"ERROR jetsql.jobs.manager.job_manager: Job {job_id}: its too" in messages
    assert messages[-1].startswith("JOB orders: suspended (COMPLETING -> SUSPENDED)")
    assert not [line for line in messages if "others" in line or "older" in line or line.endswith(": no")]
    assert jetsql(job_id).stdout.splitlines() == shown


def test_log_without_engine_has_history_from_the_store(home: Path) -> None:
    with running(home) as engine:
        job_id = make(engine, "Orders")
    write(home, f"{LATER} WARN A [Orders]: its own", f"{LATER} WARN A: Job {job_id}", f"{LATER} WARN A: no")
    for job in ("orders", job_id):
        ended = jetsql(job)
        assert ended.exit_code == ExitCode.SUCCESS
        *history, own, by_id = ended.stdout.splitlines()
        assert [line.split(" ", 1)[1].split(")")[0] for line in history] == [
            "JOB Orders: submitted (STARTING",
            "JOB Orders: first trigger (STARTING -> RUNNING",
            "JOB Orders: engine stopped (RUNNING -> NOT_RUNNING",
        ]
        assert (own, by_id) == (f"{LATER} WARN A [Orders]: its own", f"{LATER} WARN A: Job {job_id}")
        assert ended.stderr == ""
    for job in ("nowhere", "0401-9f77-b9c0-0001"):
        ended = jetsql(job)
        assert (ended.exit_code, ended.stdout) == (ExitCode.STATEMENT_FAILED, "")
        assert "[JETSQL.JOB_NOT_FOUND]" in ended.stderr


def test_missing_job(engine: Managed) -> None:
    make(engine, "orders")
    ended = jetsql("order")
    assert (ended.exit_code, ended.stdout) == (ExitCode.STATEMENT_FAILED, "")
    assert ended.stderr == "[JETSQL.JOB_NOT_FOUND] There is no job named order. Did you mean orders?\n"


def test_log_of_a_remote_engine_is_not_available(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JETSQL_URL", "http://elsewhere")
    ended = jetsql()
    assert (ended.exit_code, ended.stdout) == (ExitCode.USAGE, "")
    assert "JETSQL_URL is set to http://elsewhere" in ended.stderr
    assert jetsql("--home", str(home)).exit_code == ExitCode.SUCCESS


def test_following_continues_through_rotations_until_ctrl_c(home: Path, engine: Managed) -> None:
    job_id = make(engine, "orders")
    command = [sys.executable, "-m", "jetsql", "logs", "-f", "orders"]
    following = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert following.stdout is not None

    def reads(what: str) -> None:
        assert following.stdout is not None
        while what not in (line := following.stdout.readline()):
            assert line, f"it ended before {what}"

    reads("(STARTING -> RUNNING)")
    write(home, f"{LATER} WARN A: Job {job_id} first")
    reads("first")
    (home / "engine.log").rename(home / "engine.log.1")
    write(home, f"{LATER} WARN A: Job {job_id} second")
    reads("second")
    list(engine.run("SUSPEND JOB orders").rows)
    reads("(COMPLETING -> SUSPENDED)")
    following.send_signal(signal.SIGINT)
    _, err = following.communicate(timeout=60)
    assert (following.returncode, err) == (ExitCode.INTERRUPTED, "")
