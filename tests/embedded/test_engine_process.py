"""The process of an engine from start to end, as a whole process with an engine without Spark."""

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from jetsql.backup.backup_manifest import read_manifest
from jetsql.cli.flags import ExitCode
from jetsql.home.discovery import EngineNote, read_note, write_note
from tests.conftest import until
from tests.support.paths import PROGRAMS

PROGRAM = PROGRAMS / "jetsql_without_spark.py"
Ended = subprocess.CompletedProcess


@dataclass
class Bench:
    """A function that runs the program on a home."""

    home: Path
    environ: dict[str, str] = field(default_factory=dict)
    processes: list["subprocess.Popen[str]"] = field(default_factory=list)

    def __call__(self, *arguments: str, input: str | None = None, **environ: str) -> "Ended[str]":
        return subprocess.run(
            self.command(*arguments),
            input=input or "",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**self.environ, **environ},
        )

    def background(self, *arguments: str, **environ: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**self.environ, **environ},
        )
        self.processes.append(process)
        return process

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, str(PROGRAM), *arguments]

    def row(self, *arguments: str, input: str | None = None) -> dict[str, object]:
        ended = self("--format", "json", *arguments, input=input)
        assert ended.returncode == ExitCode.SUCCESS, ended.stderr
        report: dict[str, object] = json.loads(ended.stdout)
        return report

    def submit(self, name: str) -> None:
        self.row("submit", "-n", name, "-", input="INSERT INTO out SELECT * FROM STREAM src")

    @property
    def note(self) -> EngineNote:
        note = read_note(self.home)
        assert note is not None
        return note

    @property
    def log(self) -> str:
        return (self.home / "engine.log").read_text()


@pytest.fixture
def jetsql(tmp_path: Path) -> Iterator[Bench]:
    home = tmp_path / "jetsql"  # the default home, which is created without a message
    environ = {"JETSQL_HOME": str(home), "JETSQL_CONFIG": os.devnull, "XDG_DATA_HOME": str(tmp_path)}
    bench = Bench(home, os.environ | environ)
    yield bench
    ended = bench("stop")
    for process in bench.processes:
        if process.poll() is None:
            process.kill()
        process.communicate()
    assert ended.returncode == 0, ended.stderr


def status(jetsql: Bench) -> str:
    return str(json.loads(jetsql("status", "--format", "json").stdout)["status"])


def messages(ended: "subprocess.CompletedProcess[str]") -> list[str]:
    """Return the messages of a call."""
    return ended.stderr.splitlines()


@pytest.mark.parametrize("command", [["start"], ["-e", "CREATE SNAPSHOT s FOR JOB j"]], ids=" ".join)
@pytest.mark.slow
def test_a_new_home_is_reported_once(jetsql: Bench, tmp_path: Path, command: list[str]) -> None:
    """Report a new home, whose name may be misspelled; that of the default home cannot be."""
    home = tmp_path / "new"
    message = f"Creating a new home: {home}"
    try:
        assert messages(jetsql("--home", str(home), *command))[0] == message
        assert message not in messages(jetsql("--home", str(home), *command))
    finally:
        assert jetsql("stop", "--home", str(home)).stdout == "stopped\n"
    assert message not in messages(jetsql("--home", str(home), *command))
    assert jetsql("stop", "--home", str(home)).stdout == "stopped\n"


def test_start_stop_and_start(jetsql: Bench) -> None:
    ended = jetsql("start")
    assert (ended.returncode, messages(ended)) == (ExitCode.SUCCESS, [])
    assert ended.stdout.startswith("started: process ")
    assert jetsql("start").stdout.startswith("runs already: process ")
    jetsql.submit("orders")
    assert status(jetsql) == "up"
    assert jetsql("stop").stdout == "stopped\n"
    assert read_note(jetsql.home) is None
    assert (status(jetsql), jetsql("status").returncode) == ("down", ExitCode.NO_ENGINE)
    assert jetsql.row("list-jobs")["name"] == "orders"
    assert jetsql("stop", "--home", str(jetsql.home / "none")).returncode == ExitCode.SUCCESS


def test_no_start(jetsql: Bench) -> None:
    ended = jetsql("list-jobs", "--no-start")
    assert (ended.returncode, ended.stdout) == (ExitCode.NO_ENGINE, "")
    assert "No engine runs on" in ended.stderr and "jetsql start" in ended.stderr
    assert not (jetsql.home / "engine.log").exists()


def test_one_of_many_commands_starts_the_engine(jetsql: Bench) -> None:
    with ThreadPoolExecutor() as threads:
        ended = list(threads.map(lambda _: jetsql("start"), range(5)))
    assert [each.returncode for each in ended] == [ExitCode.SUCCESS] * 5
    assert sorted(each.stdout.partition(":")[0] for each in ended) == ["runs already"] * 4 + ["started"]
    assert jetsql.log.count("starts on") == 1


@pytest.mark.slow
def test_a_start_that_meets_a_serve_finds_its_engine(jetsql: Bench, tmp_path: Path) -> None:
    go, late = tmp_path / "go", tmp_path / "late"
    loses = jetsql.background("start", JETSQL_TEST_LATE=str(late))
    until(lambda: (jetsql.home / "engine.log").exists() and "starts on" in jetsql.log)
    served = jetsql.background("serve", JETSQL_TEST_SLOW_START=str(go))
    until(lambda: (jetsql.home / "engine.owner").exists())
    second = jetsql("serve")
    assert (second.returncode, second.stdout) == (ExitCode.NO_ENGINE, "")
    assert "HOME_IN_USE" in second.stderr
    late.touch()
    until(lambda: jetsql.log.count("HOME_IN_USE") == 2)
    go.touch()
    out, _ = loses.communicate(timeout=60)
    assert (loses.returncode, out.partition(":")[0]) == (ExitCode.SUCCESS, "runs already")
    assert served.poll() is None
    assert jetsql("stop").returncode == ExitCode.SUCCESS
    out, err = served.communicate(timeout=60)
    assert (served.returncode, out) == (ExitCode.SUCCESS, "")
    assert [line.partition(":")[0] for line in err.splitlines()] == ["The engine is ready", "stopped"]


@pytest.mark.slow
def test_a_stop_while_it_starts_waits_and_stops_it(jetsql: Bench, tmp_path: Path) -> None:
    go = tmp_path / "go"
    started = jetsql.background("start", JETSQL_TEST_SLOW_START=str(go))
    until(lambda: status(jetsql) == "starting")
    assert jetsql("stop", "--timeout", "0").returncode == ExitCode.NO_ENGINE
    stopping = jetsql.background("stop")
    go.touch()
    assert stopping.communicate(timeout=60)[0] == "stopped\n"
    started.communicate(timeout=60)
    assert status(jetsql) == "down"


@pytest.mark.slow
def test_start_during_stop_waits_and_starts_again(jetsql: Bench) -> None:
    jetsql("start")
    first = jetsql.note
    write_note(jetsql.home, EngineNote(**{**vars(first), "stopping": True}))
    assert status(jetsql) == "stopping"
    started = jetsql.background("start")
    write_note(jetsql.home, first)
    started.communicate(timeout=60)
    jetsql("stop")
    both = [jetsql.background("stop"), jetsql.background("start"), jetsql.background("list-jobs")]
    for process in both:
        process.communicate(timeout=60)
    assert [process.returncode for process in both] == [0, 0, 0]


def test_a_killed_engine_is_started_again_by_the_next_command(jetsql: Bench) -> None:
    jetsql("start")
    jetsql.submit("orders")
    first = jetsql.note
    os.kill(first.pid, signal.SIGKILL)
    assert jetsql.row("list-jobs")["name"] == "orders"
    assert jetsql.note.pid != first.pid


@pytest.mark.slow
def test_process_in_a_stale_note_is_not_touched(jetsql: Bench) -> None:
    jetsql.home.mkdir()
    bystander = jetsql.background("serve", JETSQL_HOME=str(jetsql.home / "other"))
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    write_note(jetsql.home, EngineNote(pid=bystander.pid, url=url, token="t", version="0", started=0.0))
    assert jetsql("stop").returncode == ExitCode.SUCCESS
    assert jetsql("start").stdout.startswith("started")
    assert jetsql.note.pid != bystander.pid
    assert bystander.poll() is None
    assert jetsql("stop", "--home", str(jetsql.home / "other")).returncode == ExitCode.SUCCESS


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({}, "Spark's process ended with exit code -9"),
        (
            {"JETSQL_TEST_END_REASON": "Master removed our application: KILLED."},
            "Spark's application has ended (Master removed our application: KILLED)",
        ),
        ({"JETSQL_TEST_END_REASON": ""}, "Spark's application has ended (Spark gives no reason"),
    ],
    ids=["process", "application", "no reason"],
)
def test_an_engine_whose_spark_dies_ends_with_it(
    jetsql: Bench, tmp_path: Path, environ: dict[str, str], words: str
) -> None:
    dies = tmp_path / "dies"
    served = jetsql.background("serve", JETSQL_TEST_SPARK_DIES=str(dies), **environ)
    until(lambda: status(jetsql) == "up")
    jetsql.submit("orders")
    dies.touch()
    assert served.wait(timeout=60) == 3
    assert f"ERROR jetsql.embedded.engine_process: {words}" in jetsql.log
    assert jetsql.row("list-jobs")["name"] == "orders"


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_stops_it_gracefully(jetsql: Bench, number: signal.Signals) -> None:
    served = jetsql.background("serve")
    until(lambda: status(jetsql) == "up")
    jetsql.submit("orders")
    served.send_signal(number)
    out, err = served.communicate(timeout=60)
    assert (served.returncode, out) == (ExitCode.SUCCESS, "")
    assert err.splitlines()[1:] == ["stopping ... (Ctrl-C again ends immediately)", "stopped"]
    assert "Stopped\n" in jetsql.log
    assert read_note(jetsql.home) is None


@pytest.mark.parametrize("name", ["notify", "@jetsql-test-{pid}"])
def test_systemd_is_notified_of_readiness_and_stop(jetsql: Bench, tmp_path: Path, name: str) -> None:
    """Notify by a file and by a name that begins with @, which has no file."""
    address = name.format(pid=os.getpid()) if name.startswith("@") else str(tmp_path / name)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address.replace("@", "\0"))
        manager.settimeout(60)
        served = jetsql.background("serve", NOTIFY_SOCKET=address)
        assert manager.recv(1000).decode().splitlines()[0] == "READY=1"
        assert status(jetsql) == "up"
        served.send_signal(signal.SIGTERM)
        assert manager.recv(1000).decode().splitlines()[0] == "STOPPING=1"
        assert served.wait(timeout=60) == ExitCode.SUCCESS


def test_a_signal_while_it_starts_ends_it_before_it_answers(jetsql: Bench, tmp_path: Path) -> None:
    go = tmp_path / "go"
    served = jetsql.background("serve", JETSQL_TEST_SLOW_START=str(go))
    until(lambda: (jetsql.home / "engine.owner").exists())
    served.send_signal(signal.SIGTERM)
    assert served.stderr is not None
    assert served.stderr.readline().startswith("stopping")
    go.touch()
    assert served.wait(timeout=60) == ExitCode.SUCCESS
    assert "answers" not in jetsql.log


@pytest.mark.slow
def test_second_signal_ends_it_immediately(jetsql: Bench, tmp_path: Path) -> None:
    served = jetsql.background("serve", JETSQL_TEST_SLOW_START=str(tmp_path / "never"))
    until(lambda: (jetsql.home / "engine.owner").exists())
    served.send_signal(signal.SIGTERM)
    assert served.stderr is not None
    served.stderr.readline()
    while served.poll() is None:  # signals in the same instant count as one
        served.send_signal(signal.SIGTERM)
        time.sleep(0.05)
    assert served.returncode == ExitCode.INTERRUPTED


def test_a_stop_ends_what_clients_have_running(jetsql: Bench) -> None:
    jetsql("start")
    jetsql.submit("orders")
    waiting = jetsql.background("-e", "WAIT FOR JOB orders UNTIL BATCH 100")
    until(lambda: json.loads(jetsql("status", "--format", "json").stdout)["statements"] == 1)
    assert jetsql("stop").stdout == "stopped\n"
    out, err = waiting.communicate(timeout=60)
    assert (waiting.returncode, out) == (ExitCode.NO_ENGINE, "")
    assert "[JETSQL.CONNECTION_LOST] The engine is stopping." in err


# --- serve --init ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_running_engine_writes_the_backup(jetsql: Bench, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    jetsql("start")
    jetsql.submit("orders")
    written = jetsql("backup", str(target))
    assert (written.returncode, written.stdout.splitlines()[0]) == (ExitCode.SUCCESS, f"written: {target}"), (
        written.stderr
    )
    assert [job.name for job in read_manifest(target).jobs] == ["orders"]
    failed = jetsql("backup", str(target))
    assert failed.returncode == ExitCode.NO_ENGINE and "exists and is not empty" in failed.stderr
    assert "HOME_IN_USE" not in failed.stderr  # the engine wrote it, and not the command
    restored = jetsql("restore", str(target))
    assert restored.returncode == ExitCode.NO_ENGINE and "HOME_IN_USE" in restored.stderr
    jetsql("stop")
    shutil.rmtree(jetsql.home)
    assert jetsql("restore", str(target)).returncode == ExitCode.SUCCESS
    assert jetsql.row("list-jobs")["name"] == "orders"


def test_init_script_runs_at_each_start_before_clients(jetsql: Bench, tmp_path: Path) -> None:
    file = tmp_path / "init.sql"
    file.write_text("CREATE JOB IF NOT EXISTS orders AS INSERT INTO out SELECT * FROM STREAM src;")
    for message in ("Created.", "A job with this name already exists. It is the same."):
        served = jetsql.background("serve", "--init", str(file))
        assert jetsql("status", "--wait", "60").returncode == ExitCode.SUCCESS
        assert jetsql.row("list-jobs")["name"] == "orders"
        jetsql("stop")
        out, _ = served.communicate(timeout=60)
        assert message in out and served.returncode == ExitCode.SUCCESS


def test_an_init_that_fails_ends_the_engine(jetsql: Bench, tmp_path: Path) -> None:
    file = tmp_path / "init.sql"
    file.write_text("SHOW JOBS;\nSUSPEND JOB nowhere;")
    ended = jetsql("serve", "--init", str(file))
    assert ended.returncode == ExitCode.STATEMENT_FAILED
    assert f"{file}:2:13: [JETSQL.JOB_NOT_FOUND]" in ended.stderr
    assert "answers" not in ended.stderr
    assert status(jetsql) == "down"
    assert jetsql("serve", "--init", "missing.sql").returncode == ExitCode.USAGE


# --- what keeps it from starting -------------------------------------------------------------------------------------


def test_port_in_use(jetsql: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for command in ("start", "serve"):
            ended = jetsql(command, JETSQL_HTTP_PORT=port)
            assert (ended.returncode, ended.stdout) == (ExitCode.NO_ENGINE, "")
            assert f"The HTTP endpoint cannot listen on 127.0.0.1:{port}: Address already in use." in ended.stderr
    assert jetsql.log.count("Address already in use") == 2


@pytest.mark.parametrize("command", ["start", "serve", "list-jobs"])
def test_unusable_home(jetsql: Bench, tmp_path: Path, command: str) -> None:
    (tmp_path / "file").touch()
    ended = jetsql(command, "--home", str(tmp_path / "file" / "home"))
    assert (ended.returncode, ended.stdout) == (ExitCode.NO_ENGINE, "")
    assert "HOME_NOT_USABLE" in ended.stderr and "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "name",
    [
        "engine.log",
        "jetsql.db",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("engine.lock", "engine.token", "start.lock")),
    ],
)
def test_unwritable_file_of_the_home(jetsql: Bench, name: str) -> None:
    (jetsql.home / name).mkdir(parents=True)
    ended = jetsql("start")
    assert (ended.returncode, ended.stdout) == (ExitCode.NO_ENGINE, "")
    [words] = messages(ended)
    assert str(jetsql.home) in words
    (jetsql.home / name).rmdir()
    assert jetsql("start").returncode == ExitCode.SUCCESS


def test_reason_of_a_failed_start_is_reported_and_stored(jetsql: Bench) -> None:
    ended = jetsql("start", PYTHONSTARTUP="", JETSQL_TEST_BREAKS="yes")
    assert (ended.returncode, ended.stdout) == (ExitCode.NO_ENGINE, "")
    [words] = messages(ended)
    assert "RuntimeError: it breaks" in words
    assert "Traceback" in jetsql.log and "RuntimeError: it breaks" in jetsql.log


def test_home_is_private_to_its_owner(jetsql: Bench) -> None:
    before = os.umask(0)
    try:
        jetsql("start")
        jetsql.submit("orders")
    finally:
        os.umask(before)
    assert stat.S_IMODE(jetsql.home.stat().st_mode) == 0o700
    modes = {file.name: oct(stat.S_IMODE(file.stat().st_mode)) for file in jetsql.home.rglob("*") if file.is_file()}
    assert {"engine.json", "engine.log", "engine.lock", "engine.token", "start.lock", "jetsql.db"} <= set(modes)
    assert set(modes.values()) == {"0o600"}, modes
