"""Spark Connect and Thrift with the clients of PySpark; `make test-clients` tries other clients."""

import os
import resource
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect.client import SparkConnectClient
from pyspark.sql.connect.plan import SQL

from jetsql.client.http_client import HttpClient
from jetsql.errors import ReportedError
from jetsql.home.private_files import is_open_to_others
from tests.external_clients.__main__ import try_client
from tests.external_clients.clients import CLIENTS, PROGRAMS, Client, java_source
from tests.external_clients.engine import ClientTestEngine, run_engine, run_jetsql
from tests.support.servers.strangers import half_open


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClientTestEngine]:
    with ExitStack() as stack:
        with soft_limit_of_files(1024):  # what most systems start programs with
            engine = stack.enter_context(run_engine(tmp_path_factory.mktemp("endpoints")))
        yield engine


@contextmanager
def soft_limit_of_files(files: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def steps(name: str) -> set[str]:
    """Return the names of the steps that a client must try."""
    common = {"connect", "table", "create", "list", "relation", "deliver", "suspend_resume", "error", "drop"}
    own = {"spark-connect": {"cancel", "isolation", "stream"}, "jdbc": {"cancel", "isolation", "look"}}
    return common | {"wrong token"} | own.get(name, set())


@pytest.mark.spark
@pytest.mark.parametrize(
    "name", ["spark-connect", *(pytest.param(name, marks=pytest.mark.slow) for name in ("jdbc", "beeline"))]
)
def test_clients_of_spark_speak_jetsql(engine: ClientTestEngine, name: str) -> None:
    [known] = [client for client in CLIENTS if client.name == name]
    found = try_client(Client(name, known.program), engine)
    assert [step for step in found if not step.ok] == []
    assert steps(name) <= {step.name for step in found}


@pytest.mark.spark
def test_status_shows_the_endpoints_without_the_token(engine: ClientTestEngine) -> None:
    shown = run_jetsql(engine.home, "status").stdout
    assert engine.connect in shown and engine.thrift in shown and engine.token not in shown
    commands = command_lines(psutil.Process(engine.pid))
    assert sum(str(engine.home) in command for command in commands) >= 2  # the engine, and its Java
    assert not any(engine.token in command for command in commands)
    settings = run_jetsql(engine.home, "-e", "SET").stdout
    assert "spark.master" in settings and engine.token not in settings


@pytest.mark.spark
@pytest.mark.slow
def test_connections_without_the_token_do_not_block_clients(engine: ClientTestEngine) -> None:
    """Connect to all endpoints in parallel, from the address of the honest client."""
    with ExitStack() as stack:
        for address, count in ((engine.url, 1500), (engine.thrift.removeprefix("jdbc:"), 600), (engine.connect, 1500)):
            port = urlsplit(address).port
            assert port is not None
            stack.enter_context(half_open(port, count))
        shown = run_jetsql(engine.home, "-e", "SELECT 'honest'")
        assert "honest" in shown.stdout, shown.stderr
        for name, program in (("beeline-crowded", "beeline.py"), ("connect-crowded", "spark_connect.py")):
            assert [step for step in try_client(Client(name, program), engine) if not step.ok] == []
        files, _ = psutil.Process(engine.pid).rlimit(psutil.RLIMIT_NOFILE)
        assert files > 1024  # 256 concurrent statements need more


@pytest.mark.spark
def test_logs_contain_no_session_access(engine: ClientTestEngine) -> None:
    """Search the logs, which are copied into tickets, for ids of sessions: a client needs only the id and the token."""
    http, chosen = HttpClient(engine.url, engine.token), str(uuid.uuid4())
    opened = str(http.request("POST", "/v1/sessions")["session"])
    connect = SparkConnectClient(f"{engine.connect}/;token={engine.token};user_id=ann;session_id={chosen}")
    with closing(http), closing(connect):
        text = "SELECT raise_error('x')"
        with suppress(ReportedError):
            list(http.stream_lines("/v1/sql", {"statement": text, "session": opened}))
        with pytest.raises(PySparkException):
            connect.to_table(SQL(text).to_proto(connect), {})
        http.request("DELETE", f"/v1/sessions/{opened}")
        connect.interrupt_all()
    log = (engine.home / "engine.log").read_text(encoding="utf-8")
    assert opened not in log and chosen not in log


@pytest.mark.spark
def test_files_of_a_client_are_private_in_the_home(engine: ClientTestEngine, tmp_path: Path) -> None:
    """Upload a file, which Spark writes by default into a folder in /tmp that every user can read."""
    uploaded = tmp_path / "uploaded.py"
    uploaded.write_text("x = 1")
    before = set(Path("/tmp").iterdir())
    connect = SparkConnectClient(f"{engine.connect}/;token={engine.token};user_id=ann")
    with closing(connect):
        connect.add_artifacts(str(uploaded), pyfile=True, archive=False, file=False)
        found = list((engine.home / "tmp").rglob(uploaded.name))
        assert found and not is_open_to_others(engine.home / "tmp")
        assert not any(path.stat().st_mode & 0o066 for path in found)  # Spark makes files executable
        new = set(Path("/tmp").iterdir()) - before
        assert not [path for path in new if path.name.startswith(("artifacts", "spark"))]


@pytest.mark.spark
def test_a_heap_dump_is_private_in_the_home(engine: ClientTestEngine) -> None:
    """Dump the heap, which contains all secrets. `-XX:+HeapDumpOnOutOfMemoryError` does it in the same way."""
    [java] = [each for each in psutil.Process(engine.pid).children(recursive=True) if each.name() == "java"]
    dumped = subprocess.run(
        ["jcmd", str(java.pid), "GC.heap_dump", "dump.hprof"], capture_output=True, text=True, timeout=120, check=False
    )
    dump = engine.home / "dump.hprof"
    assert dump.exists(), dumped.stdout + dumped.stderr
    assert not is_open_to_others(dump)
    dump.unlink()


def command_lines(process: psutil.Process) -> list[str]:
    """Return the command lines of a process and of its descendants; some of these end at any moment."""
    found = []
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            found.append(" ".join(each.cmdline()))
    return found


@pytest.mark.spark
def test_a_flag_that_would_do_nothing_is_refused(engine: ClientTestEngine) -> None:
    again = run_jetsql(engine.home, "start", "--thrift", "--thrift-port", "1")
    assert again.returncode == 2
    assert "was started without --thrift-port 1" in again.stderr


@pytest.mark.slow
@pytest.mark.spark
def test_the_engine_ends_while_clients_wait(engine: ClientTestEngine) -> None:
    """Stop the engine, as the last test here: both clients are notified, and neither delays the engine."""
    run_jetsql(engine.home, "-e", "CREATE TABLE t (id BIGINT) USING parquet; CREATE TABLE s (id BIGINT) USING json;")
    run_jetsql(engine.home, "-e", "CREATE JOB waits AS INSERT INTO t SELECT * FROM STREAM s")
    environment = engine.environment("none")
    commands = (
        [sys.executable, "-W", "ignore", str(PROGRAMS / "waiting_connect.py")],
        [*java_source(), str(PROGRAMS / "WaitingJdbc.java")],
    )
    with ExitStack() as stack:
        clients = [
            stack.enter_context(
                subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            )
            for command in commands
        ]
        for client in clients:
            stack.callback(client.kill)
        for client in clients:
            assert client.stdout is not None and client.stdout.readline() == "waiting\n"
        assert run_jetsql(engine.home, "stop", "--timeout", "60").returncode == 0
        outputs = [client.communicate(timeout=60)[0] for client in clients]
        assert [output[:7] for output in outputs] == ["ended: ", "ended: "], outputs


def test_port_in_use_is_reported_before_spark_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        without_java = {**os.environ, "JAVA_HOME": str(tmp_path / "none")}
        started = run_jetsql(tmp_path / "home", "start", "--thrift", "--thrift-port", port, environ=without_java)
    assert started.returncode == 3
    assert f"The Thrift endpoint cannot listen on 127.0.0.1:{port}: Address already in use." in started.stderr
    assert "Set thrift_port to a free port" in started.stderr
