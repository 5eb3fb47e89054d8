"""The commands for jobs and snapshots, over the HTTP endpoint of an engine without Spark."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from jetsql import cli
from jetsql.cli.flags import ExitCode
from jetsql.home.discovery import EngineNote, write_note
from jetsql.jobs.model.job_settings import JobSettings
from jetsql.version import VERSION
from tests.support.engines.managed_engine import Managed
from tests.support.paths import ROOT
from tests.support.servers.http_server import TOKEN, RunningServer, run_server

QUICK = JobSettings(statement_wait_seconds=0.01, create_wait_seconds=20.0)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Managed]:
    engine = Managed(tmp_path / "home", service=True)
    yield engine
    for gate in engine.runtime.gates.values():
        gate.set()
    engine.close()


@pytest.fixture
def server(engine: Managed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[RunningServer]:
    with run_server(engine) as server:
        monkeypatch.setenv("JETSQL_URL", server.url)
        monkeypatch.setenv("JETSQL_TOKEN", TOKEN)
        monkeypatch.setenv("JETSQL_CONFIG", os.devnull)
        monkeypatch.chdir(tmp_path)
        yield server


@pytest.fixture
def body(server: RunningServer) -> str:
    Path("body.sql").write_text("-- rows\nINSERT INTO out\nSELECT * FROM STREAM src;\n")
    return "body.sql"


def jetsql(*arguments: str, input: str | None = None) -> Result:
    return CliRunner().invoke(cli.cli, arguments, input=input, catch_exceptions=False, prog_name="jetsql")


def row(*arguments: str) -> dict[str, object]:
    """Return the only row of a command that succeeds."""
    [only] = rows(*arguments)
    return only


def rows(*arguments: str) -> list[dict[str, object]]:
    ended = jetsql("--format", "json", *arguments)
    assert (ended.exit_code, ended.stderr) == (ExitCode.SUCCESS, "")
    return [json.loads(line) for line in ended.stdout.splitlines()]


def submit(name: str, body: str) -> str:
    return str(row("submit", "-n", name, body)["id"])


@pytest.mark.parametrize("command", ["resume", "restart"])
def test_a_job_that_waits_for_members_is_not_waited_for(engine: Managed, body: str, command: str) -> None:
    submit("orders", body)
    row("suspend", "orders")
    engine.runtime.leave("driver")
    row("resume", "orders")
    waiting = row(command, "orders")
    assert waiting["status"] == "NOT_RUNNING" and "Waiting for an executor" in str(waiting["message"])


def test_job_life_cycle_in_commands(body: str) -> None:
    job = row("submit", "-n", "orders", "-o", "snapshotIntervalMillis=100", body)
    assert (job["name"], job["status"]) == ("orders", "RUNNING")
    assert row("list-jobs")["id"] == job["id"]
    assert row("suspend", "orders")["status"] == "SUSPENDED"
    assert row("resume", str(job["id"]))["status"] == "RUNNING"
    assert row("restart", "ORDERS")["status"] == "RUNNING"
    facts = {str(fact["key"]): fact["value"] for fact in rows("describe", "orders")}
    assert facts["option snapshotIntervalMillis"] == "100"
    assert "run" in {fact["key"] for fact in rows("describe", "-x", "orders")}
    assert row("cancel", "orders")["status"] == "DROPPED"
    assert rows("list-jobs") == []
    assert row("list-jobs", "-a")["last_error"] == "cancelled by user"


@pytest.mark.parametrize("form", ["table", "vertical", "csv", "json", "markdown"])
def test_list_jobs_is_show_jobs(body: str, form: str) -> None:
    for name in ("orders", 'a "b" | c', "ended"):
        row("suspend", submit(name, body))
    row("cancel", "ended")
    for command, statement in ((["list-jobs"], "SHOW JOBS"), (["list-jobs", "-a"], "SHOW ALL JOBS")):
        listed = jetsql(*command, "--format", form)
        assert (listed.exit_code, listed.stderr) == (ExitCode.SUCCESS, "")
        assert listed.stdout == jetsql("--format", form, "-e", statement).stdout
    assert listed.stdout.count("orders") == 1


@pytest.mark.parametrize("name", ["a `b` c", "0401-x", 'it\'s "x" \\n', "SELECT", "été 東", ".", "-"])
def test_names_with_special_characters(body: str, name: str) -> None:
    assert row("submit", "-n", name, body)["name"] == name
    assert row("suspend", "--", name)["name"] == name
    assert row("save-snapshot", "--", name, name)["name"] == name
    assert row("list-snapshots")["name"] == name
    row("delete-snapshot", "--", name)
    assert row("cancel", "--", name)["name"] == name


def test_snapshots(body: str) -> None:
    long_name = "orders of all the shops that we have"
    submit(long_name, body)
    row("save-snapshot", long_name, "friday")
    assert row("save-snapshot", "-C", long_name, "last words")["status"] == "DROPPED"
    assert [snapshot["name"] for snapshot in rows("list-snapshots")] == ["last words", "friday"]
    short, full = jetsql("list-snapshots").stdout, jetsql("list-snapshots", "-F").stdout
    assert re.split(r" +\| +", short.splitlines()[0]) == ["created", "size_bytes", "job", "name", "batch"]
    assert "orders of all the sho... |" in short and long_name not in short
    assert long_name in full and "statement" in full
    assert row("submit", "-n", "again", "-s", "friday", body)["status"] == "RUNNING"
    assert row("delete-snapshot", "friday")["message"] == "Dropped."
    ended = jetsql("delete-snapshot", "friday")
    assert (ended.exit_code, ended.stdout) == (ExitCode.STATEMENT_FAILED, "")
    assert ended.stderr.startswith("[JETSQL.SNAPSHOT_NOT_FOUND] There is no snapshot 'friday'.")


def test_missing_job(body: str) -> None:
    submit("orders", body)
    for command in ("suspend", "resume", "restart", "cancel", "describe"):
        ended = jetsql(command, "order")
        assert (ended.exit_code, ended.stdout) == (ExitCode.STATEMENT_FAILED, "")
        assert ended.stderr == "[JETSQL.JOB_NOT_FOUND] There is no job named order. Did you mean orders?\n"
    assert "no job with the id '0401-9f77-b9c0-0001'" in jetsql("cancel", "0401-9f77-b9c0-0001").stderr


def test_trace_is_shown_on_request(server: RunningServer) -> None:
    assert "Traceback" not in jetsql("cancel", "x").stderr
    for arguments in (["cancel", "-v", "x"], ["-v", "cancel", "x"], ["-v", "-e", "DROP JOB x"]):
        lines = jetsql(*arguments).stderr.splitlines()
        assert "[JETSQL.JOB_NOT_FOUND]" in lines[0]
        assert "Traceback (most recent call last):" in lines


def test_restart_all_restarts_running_jobs(body: str, engine: Managed) -> None:
    first, second, third = (submit(name, body) for name in ("first", "second", "third"))
    row("suspend", "second")
    assert {job["id"] for job in rows("restart", "--all")} == {first, third}
    engine.runtime.stop_errors.append(OSError("it hangs"))
    ended = jetsql("restart", "--all", "--format", "json")
    assert ended.exit_code == ExitCode.STATEMENT_FAILED
    assert len(ended.stdout.splitlines()) == 1
    assert "it hangs" in ended.stderr
    assert engine.runtime.runs[second].job.run == 1


def test_restart_all_with_nothing_to_restart(server: RunningServer) -> None:
    ended = jetsql("restart", "--all")
    assert (ended.exit_code, ended.stdout, ended.stderr) == (ExitCode.SUCCESS, "", "No job was restarted.\n")


# --- submit ----------------------------------------------------------------------------------------------------------


def test_errors_of_a_submitted_file_have_places(server: RunningServer) -> None:
    Path("wrong.sql").write_text("-- first\n  INSERT OVER out SELECT * FROM STREAM src")
    ended = jetsql("submit", "-n", "orders", "-o", "snapshotIntervalMillis=100", "wrong.sql")
    assert ended.exit_code == ExitCode.STATEMENT_FAILED
    assert ended.stderr.startswith("wrong.sql:2:10: [JETSQL.")
    Path("one.sql").write_text("INSERT OVER out SELECT * FROM STREAM src")
    assert jetsql("submit", "-n", "orders", "one.sql").stderr.startswith("one.sql:1:8: [JETSQL.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "orders", "-o", "snapshotIntervalMilis=1"], "[JETSQL.UNKNOWN_OPTION] There is no option"),
        (["-n", ""], "[JETSQL."),
        (["-n", "orders", "-s", "nowhere"], "[JETSQL.SNAPSHOT_NOT_FOUND]"),
    ],
)
def test_errors_of_the_call_have_no_place(body: str, arguments: list[str], message: str) -> None:
    ended = jetsql("submit", *arguments, body)
    assert (ended.exit_code, ended.stdout) == (ExitCode.STATEMENT_FAILED, "")
    assert ended.stderr.startswith(message)


def test_a_submitted_file_holds_one_statement(server: RunningServer) -> None:
    Path("two.sql").write_text("INSERT INTO a SELECT 1;\nINSERT INTO b SELECT 2;")
    ended = jetsql("submit", "-n", "orders", "two.sql")
    assert ended.exit_code == ExitCode.STATEMENT_FAILED
    assert ended.stderr.startswith("two.sql:2:1: A submitted file has only one statement")
    assert rows("list-jobs") == []


def test_submit_reads_standard_input_and_fills_in_variables(server: RunningServer) -> None:
    ended = jetsql(
        *("submit", "-n", "orders", "--set", "table=out", "-"), input="INSERT INTO ${table} SELECT * FROM STREAM src"
    )
    assert ended.exit_code == ExitCode.SUCCESS
    assert rows("describe", "orders")[-1]["value"] == "INSERT INTO out SELECT * FROM STREAM src"


USAGE: list[tuple[list[str], str]] = [
    (["submit", "body.sql"], "Missing option '-n'"),
    (["submit", "-n", "x", "missing.sql"], "missing.sql: No such file"),
    (["submit", "-n", "x", "empty.sql"], "empty.sql has no statement"),
    (["submit", "-n", "x", "-o", "novalue", "body.sql"], "-o: 'novalue' is not `key=value`"),
    (["suspend"], "Missing argument 'JOB'"),
    (["restart"], "Name a job, or give --all"),
    (["restart", "--all", "x"], "Name a job, or give --all"),
    (["list-jobs", "x"], "unexpected extra argument"),
    (["list-jobs", "--url", "host:1"], "begins with neither http:// nor https://"),
    (["list-jobs", "--url", "http://localhost:abc"], "'http://localhost:abc' is not valid: Port could not be cast"),
    (["list-jobs", "--url", "http://localhost:99999"], "is not valid: Port out of range"),
    (["list-jobs", "--url", "http://[::1"], "is not valid: Invalid IPv6 URL"),
    (["list-jobs", "--url", f"http://{'a' * 64}.example:1"], "is not valid: "),
    (["list-jobs", "--url", "http://:8123"], "is not valid: it names no host"),
    (["list-jobs", "--url", "http://host", "--home", "x"], "--home applies only to an engine on this machine"),
    (["list-jobs", "--master", "local"], "--master applies only to an engine on this machine"),
    (["--set", "a=b", "list-jobs"], "--set does not apply to list-jobs"),
    (["-e", "SHOW JOBS", "list-jobs"], "-e does not apply to list-jobs"),
    (["list-job"], "There is no command 'list-job'. Did you mean list-jobs?"),
    (["xyz"], "The commands are: sql, run, apply, test, lint, format, convert, lsp, list-jobs,"),
]


@pytest.mark.parametrize(("arguments", "message"), USAGE, ids=[" ".join(arguments) for arguments, _ in USAGE])
def test_wrong_usage(body: str, arguments: list[str], message: str) -> None:
    Path("empty.sql").write_text("-- nothing\n;")
    ended = jetsql(*arguments)
    assert (ended.exit_code, ended.stdout) == (ExitCode.USAGE, "")
    assert message in ended.stderr


COMMANDS = [name for name in cli.cli.commands]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name: str) -> None:
    result = jetsql(name, "--help")
    assert result.exit_code == ExitCode.SUCCESS
    assert f"Examples:\n    jetsql {name}" in result.stdout
    [summary] = [line for line in jetsql("--help").stdout.splitlines() if line.startswith(f"  {name} ")]
    assert summary.endswith(".") and not summary.endswith("...")


# --- waiting ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def impatient(engine: Managed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let statements return long before their jobs have reached their state."""
    monkeypatch.setattr(engine.manager, "settings", QUICK)


@pytest.mark.parametrize(
    ("before", "command", "call", "status"),
    [
        ([], "suspend", "stop", "SUSPENDED"),
        ([], "restart", "stop", "RUNNING"),
        ([], "cancel", "stop", "DROPPED"),
        (["suspend"], "resume", "start", "RUNNING"),
    ],
)
def test_commands_wait_longer_than_their_statements(
    body: str, engine: Managed, impatient: None, before: list[str], command: str, call: str, status: str
) -> None:
    submit("orders", body)
    for first in before:
        row(first, "orders")
    with engine.runtime.gate(call) as opened:
        threading.Timer(0.2, opened.set).start()
        assert row(command, "orders")["status"] == status


def test_ctrl_c_ends_the_wait_and_not_the_request(body: str, engine: Managed, server: RunningServer) -> None:
    submit("orders", body)
    code = "import _thread, sys, threading\nfrom jetsql import cli\nsys.exit(cli.main(['suspend', 'orders']))"
    with engine.runtime.gate("stop"):
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        engine.runtime.wait_entered("stop")
        process.send_signal(2)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (ExitCode.INTERRUPTED, "")
    assert err == "Stopped waiting. The engine continues suspending orders; `jetsql list-jobs` shows the status.\n"
    assert row("suspend", "orders")["status"] == "SUSPENDED"


# --- reaching the engine ---------------------------------------------------------------------------------------------


@pytest.fixture
def noted(server: RunningServer, engine: Managed, monkeypatch: pytest.MonkeyPatch) -> EngineNote:
    """Return the note by which the engine is found in its home."""
    note = EngineNote(pid=0, url=server.url, token=TOKEN, version=VERSION, started=0.0)
    write_note(engine.home, note)
    monkeypatch.delenv("JETSQL_URL")
    monkeypatch.setenv("JETSQL_HOME", str(engine.home))
    return note


def test_a_command_makes_three_requests_and_no_session(
    noted: EngineNote, engine: Managed, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[str] = []
    request = HTTPConnection.request

    def counted(connection: HTTPConnection, method: str, url: str, *more: Any, **others: Any) -> None:
        requests.append(f"{method} {url.partition('?')[0]}")
        request(connection, method, url, *more, **others)

    monkeypatch.setattr(HTTPConnection, "request", counted)
    for command in (["list-jobs"], ["describe", "orders"], ["list-snapshots"]):
        requests.clear()
        jetsql(*command)
        assert requests == ["GET /healthz", "GET /v1/engine", "POST /v1/sql"], command


def test_other_version_of_the_engine_is_reported_once(noted: EngineNote, engine: Managed) -> None:
    write_note(engine.home, replace(noted, version="9.9"))
    ended = jetsql("list-jobs")
    assert ended.exit_code == ExitCode.SUCCESS
    assert ended.stderr.startswith(f"The engine is JetSQL 9.9, this command is JetSQL {VERSION}.")
    assert ended.stderr.count("9.9") == 1


@pytest.mark.parametrize("command", ["list-jobs", "start", "stop", "status"])
def test_an_engine_that_speaks_another_version_is_refused(noted: EngineNote, engine: Managed, command: str) -> None:
    write_note(engine.home, replace(noted, version="9.9", api=2))
    ended = jetsql(command)
    assert (ended.exit_code, ended.stdout) == (ExitCode.NO_ENGINE, "")
    assert "is JetSQL 9.9 with API version 2" in ended.stderr


@pytest.mark.parametrize("body", [b"hello", b'{"home": "elsewhere"}', b"[]"])
def test_another_server_at_the_engine_address_is_detected(
    noted: EngineNote, engine: Managed, tmp_path: Path, body: bytes
) -> None:
    with stranger(body) as url:
        write_note(tmp_path, replace(noted, url=url))
        ended = jetsql("list-jobs", "--no-start", "--home", str(tmp_path))
        assert (ended.exit_code, ended.stdout) == (ExitCode.NO_ENGINE, "")
        assert ended.stderr.startswith("[JETSQL.ENGINE_NOT_REACHABLE] No engine runs on")


@contextmanager
def stranger(body: bytes) -> Iterator[str]:
    """Run a program that answers all requests alike."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_remote_engine_not_reachable(monkeypatch: pytest.MonkeyPatch, server: RunningServer) -> None:
    monkeypatch.setenv("JETSQL_TOKEN", "wrong")
    ended = jetsql("list-jobs")
    assert (ended.exit_code, ended.stdout) == (ExitCode.NO_ENGINE, "")
    assert "NOT_AUTHORIZED" in ended.stderr
    ended = jetsql("list-jobs", "--url", "http://127.0.0.1:1")
    assert (ended.exit_code, ended.stdout) == (ExitCode.NO_ENGINE, "")
    assert "ENGINE_NOT_REACHABLE" in ended.stderr


HEAVY = {
    *("pyspark", "py4j", "sqlalchemy", "lark", "starlette", "uvicorn", "anyio", "filelock", "psutil"),
    *("subprocess", "wcwidth", "jetsql.language", "jetsql.script", "jetsql.jobs.store.job_store"),
    *("jetsql.server", "jetsql.embedded"),
}


def test_list_jobs_imports_nothing_heavy(noted: EngineNote) -> None:
    code = "import sys\nfrom jetsql.cli import main\nassert main(['list-jobs']) == 0\nprint(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
    )
    assert set(ended.stdout.splitlines()[-1].split()) & HEAVY == set()
