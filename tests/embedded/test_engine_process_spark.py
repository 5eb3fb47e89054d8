"""The process of an engine with Spark: started by the first command, killed in each phase, stopped gracefully."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from jetsql.engine.jvm.launch import CRASH_REPORT
from jetsql.home.discovery import EngineNote, read_note
from jetsql.home.log_reader import LogReader, records
from jetsql.home.private_files import is_open_to_others
from tests.conftest import until
from tests.support.paths import ROOT
from tests.support.servers.ports import kinds, listeners

pytestmark = pytest.mark.spark


class Cli:
    """A function that runs the program on a home."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def __call__(self, *arguments: str, code: int = 0, input: str = "") -> str:
        """Return the standard output of a call."""
        ended = subprocess.run(
            [sys.executable, "-m", "jetsql", *arguments],
            cwd=ROOT,
            input=input,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
            env=self.environ,
        )
        assert ended.returncode == code, ended.stderr
        return ended.stdout

    @property
    def environ(self) -> dict[str, str]:
        settings = {"CONFIG": os.devnull, "HOME": str(self.home), "MASTER": "local[2]", "DRIVER_MEMORY": "1g"}
        return {**os.environ, **{f"JETSQL_{name}": value for name, value in settings.items()}}

    def rows(self, *arguments: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in self("--format", "json", *arguments).splitlines()]

    @property
    def note(self) -> EngineNote:
        note = read_note(self.home)
        assert note is not None
        return note

    def add(self, *numbers: int) -> None:
        """Add rows to the source, and wait until the job has copied them."""
        values = ", ".join(f"({number})" for number in numbers)
        self("-e", f"INSERT INTO numbers VALUES {values}; WAIT FOR JOB copy UNTIL IDLE")

    @property
    def copied(self) -> list[object]:
        return [row["id"] for row in self.rows("-e", "SELECT id FROM copies ORDER BY id")]


@pytest.fixture(scope="module")
def jetsql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    cli = Cli(tmp_path_factory.mktemp("a home"))
    yield cli
    cli("stop")


def test_engine_survives_errors_and_restarts(jetsql: Cli) -> None:
    """Test one story, because each start takes seconds."""
    with ThreadPoolExecutor() as threads:
        starts = list(threads.map(lambda _: jetsql("start"), range(2)))
    assert sorted(line.partition(":")[0] for line in starts) == ["runs already", "started"]
    jetsql("-e", "CREATE TABLE numbers (id INT) USING json; CREATE TABLE copies (id INT) USING parquet")
    jetsql(
        *("submit", "-n", "copy", "-o", "snapshotIntervalMillis=200", "-"),
        input="INSERT INTO copies SELECT id FROM STREAM numbers",
    )
    jetsql.add(1, 2)
    assert jetsql.copied == [1, 2]

    first = jetsql.note
    os.kill(first.pid, signal.SIGKILL)
    jetsql.add(3)
    assert jetsql.copied == [1, 2, 3]
    assert jetsql.note.pid != first.pid

    engine = psutil.Process(jetsql.note.pid)
    [java] = [child for child in engine.children(recursive=True) if "java" in child.name()]
    java.send_signal(signal.SIGSEGV)
    until(lambda: not engine.is_running() or engine.status() == psutil.STATUS_ZOMBIE)
    jetsql.add(4)
    assert jetsql.copied == [1, 2, 3, 4]
    crash_files = [
        path for path in jetsql.home.rglob("*") if re.match(r"java-crash|hs_err|replay|core|.*hprof", path.name)
    ]
    assert [path.name for path in crash_files] == [CRASH_REPORT]
    assert jetsql.note.token not in crash_files[0].read_text(encoding="utf-8")
    assert not is_open_to_others(crash_files[0])
    jetsql("-e", "SUSPEND JOB copy; DROP TABLE numbers")
    jetsql("resume", "copy", code=1)
    jetsql("cancel", "copy")
    assert jetsql("stop") == "stopped\n"
    assert read_note(jetsql.home) is None


@pytest.mark.slow
def test_a_suspended_job_stays_suspended_through_a_stop(jetsql: Cli) -> None:
    jetsql("-e", "CREATE TABLE once (id INT) USING json; CREATE TABLE again (id INT) USING parquet")
    jetsql("submit", "-n", "still", "-", input="INSERT INTO again SELECT id FROM STREAM once")
    jetsql("suspend", "still")
    assert jetsql("stop") == "stopped\n"
    [job] = jetsql.rows("list-jobs")
    assert (job["name"], job["status"]) == ("still", "SUSPENDED")
    jetsql("cancel", "still")


@pytest.mark.slow
def test_log_names_the_source_of_messages(jetsql: Cli) -> None:
    script = """
        CREATE TABLE words (word STRING) USING json; CREATE TABLE lengths (n INT) USING parquet;
        CREATE JOB breaks OPTIONS ('snapshotIntervalMillis' = '200', 'restartAttempts' = '0') AS
        INSERT INTO lengths SELECT assert_true(word <> 'bad') IS NULL, 1 FROM STREAM words
    """.replace("(n INT)", "(fine BOOLEAN, n INT)")
    jetsql("-e", script)
    jetsql("-e", "INSERT INTO words VALUES ('good'), ('bad')")
    until(lambda: jetsql.rows("list-jobs")[0]["status"] == "SUSPENDED")
    shown = jetsql("logs", "breaks")
    assert "MicroBatchExecution [breaks]: " in shown
    assert "Executor [breaks]: " in shown
    assert "JOB breaks: " in shown and "-> SUSPENDED)" in shown
    reader = LogReader(jetsql.home)
    whole = list(records(reader.lines()))
    reader.close()
    assert any("jetsql.embedded.engine_process: The engine is ready" in record.text and record.time for record in whole)
    # Spark's warnings for every session, every run and every batch
    noise = ("SimpleFunctionRegistry", "ResolveWriteToStream", "falling behind")
    assert [record.text for record in whole if any(name in record.text for name in noise)] == []
    assert (jetsql.home / "engine.log").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_engine_without_memory_ends_and_is_restarted(jetsql: Cli) -> None:
    jetsql(
        "-e",
        """
        CREATE TABLE arriving (id BIGINT) USING json; CREATE TABLE arrived (id BIGINT) USING parquet;
        CREATE JOB survives AS INSERT INTO arrived SELECT id FROM STREAM arriving
        """,
    )
    first = psutil.Process(jetsql.note.pid)
    jetsql("-e", "SELECT size(collect_list(repeat('x', 1000))) FROM range(10000000)", code=3)
    until(lambda: has_ended(first))
    assert "survives" in {job["name"] for job in jetsql.rows("list-jobs")}
    assert "OutOfMemoryError" in (jetsql.home / "engine.log").read_text()


@pytest.mark.slow
def test_sigterm_ends_statements_and_stops_jobs_between_two_batches(tmp_path: Path) -> None:
    jetsql = Cli(tmp_path / "home")
    environ = jetsql.environ
    served = subprocess.Popen(
        [sys.executable, "-m", "jetsql", "serve"], cwd=ROOT, env=environ, stderr=subprocess.PIPE, text=True
    )
    try:
        jetsql("status", "--wait", "120")
        jetsql(
            "-e", "CREATE TABLE ticks USING rate OPTIONS (rowsPerSecond 50); CREATE TABLE seen (n BIGINT) USING json"
        )
        jetsql(
            *("submit", "-n", "see", "-o", "snapshotIntervalMillis=20", "-"),
            input="INSERT INTO seen SELECT value FROM STREAM ticks",
        )
        jetsql("-e", "WAIT FOR JOB see UNTIL BATCH 3")
        waits = [sys.executable, "-m", "jetsql", "-e", "WAIT FOR JOB see UNTIL BATCH 1000000"]
        waiting = subprocess.Popen(waits, cwd=ROOT, env=environ, stderr=subprocess.PIPE, text=True)
        until(lambda: jetsql.rows("status")[0]["statements"] == 1)
        served.send_signal(signal.SIGTERM)
        _, printed = served.communicate(timeout=120)
        assert (served.returncode, printed.splitlines()[-1]) == (0, "stopped")
        _, error = waiting.communicate(timeout=60)
        assert waiting.returncode == 1 and "STATEMENT_CANCELLED" in error
        checked = jetsql("check")
        assert "not committed" not in checked and "No problems found: checked 1 job" in checked
        before = {row["event"] for row in jetsql.rows("-e", "SHOW JOB HISTORY see")}
        assert "engine stopped" in before and "stopped" not in before  # it was not stopped by force
        jetsql("-e", "SUSPEND JOB see")
        [row] = jetsql.rows("-e", "SELECT count(*) AS all, count(DISTINCT n) AS once, max(n) + 1 AS next FROM seen")
        assert row["all"] == row["once"] == row["next"]
    finally:
        served.kill()
        jetsql("stop")


def java_of(jetsql: Cli) -> psutil.Process:
    [java] = [each for each in psutil.Process(jetsql.note.pid).children(recursive=True) if each.name() == "java"]
    return java


def has_ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def health(jetsql: Cli) -> dict[str, str]:
    try:
        with urllib.request.urlopen(f"{jetsql.note.url}/healthz", timeout=30) as response:
            return dict(json.load(response))
    except urllib.error.HTTPError as error:
        return dict(json.load(error))


@pytest.mark.slow
def test_java_without_file_descriptors_is_reported_and_recovers(jetsql: Cli) -> None:
    jetsql("start")
    java = java_of(jetsql)
    _, hard = java.rlimit(psutil.RLIMIT_NOFILE)
    before = java.rlimit(psutil.RLIMIT_NOFILE)
    java.rlimit(psutil.RLIMIT_NOFILE, (java.num_fds(), hard))
    until(lambda: "files that the engine may open are open" in (jetsql.home / "engine.log").read_text())
    java.rlimit(psutil.RLIMIT_NOFILE, before)
    until(lambda: "The engine has enough again" in (jetsql.home / "engine.log").read_text())
    assert jetsql("-e", "SELECT 41 + 1").split()[-1] == "42"
    jetsql("stop")


@pytest.mark.slow
def test_an_engine_whose_gateway_ends_is_ended(jetsql: Cli) -> None:
    """Java may open no file, and so accepts no connection: the gateway ends, and no statement could run again."""
    jetsql("start")
    engine, java = psutil.Process(jetsql.note.pid), java_of(jetsql)
    found = [each for each in listeners(engine) if each.program == "java"]
    kind_of = dict(zip((each.port for each in found), kinds(found), strict=True))
    [gateway] = [port for port, kind in kind_of.items() if kind.startswith("Py4J gateway")]
    _, hard = java.rlimit(psutil.RLIMIT_NOFILE)
    java.rlimit(psutil.RLIMIT_NOFILE, (1, hard))
    with suppress(OSError), socket.create_connection(("127.0.0.1", gateway), timeout=30):
        until(lambda: has_ended(engine))
    assert "Py4J's gateway accepts no connection any more" in (jetsql.home / "engine.log").read_text()
    jetsql("start")
    assert jetsql("-e", "SELECT 41 + 1").split()[-1] == "42"
    jetsql("stop")


@pytest.mark.slow
def test_engine_with_hanging_java_is_down_and_ends_in_time(jetsql: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JETSQL_STOP_DEADLINE_SECONDS", "5")
    monkeypatch.setenv("JETSQL_CLOSE_WAIT_SECONDS", "5")
    jetsql("start")
    assert health(jetsql) == {"status": "up", "role": "leader"}
    engine, java = psutil.Process(jetsql.note.pid), java_of(jetsql)
    java.suspend()
    until(lambda: java.status() == psutil.STATUS_STOPPED)
    assert health(jetsql) == {"status": "down", "role": "leader"}
    engine.send_signal(signal.SIGTERM)
    until(lambda: has_ended(engine) and has_ended(java))
    jetsql("start")
    assert jetsql("-e", "SELECT 41 + 1").split()[-1] == "42"
    jetsql("stop")
