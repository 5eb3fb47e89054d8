"""Attack every socket that an engine or a cluster listens on, without the token and the secret.

A socket that is missing in the lists here fails the test. The table of ports in docs/reference/security.md has the
same rows.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import product
from pathlib import Path

import psutil
import pyarrow
import pytest

from jetsql.home.private_files import is_open_to_others
from tests.external_clients.engine import ROOT, ClientTestEngine
from tests.external_clients.engine import run_jetsql as command
from tests.support.servers.ports import kinds, listeners, unix_sockets
from tests.support.servers.strangers import half_open, is_closed
from tools.cluster import Cluster, cluster

pytestmark = pytest.mark.spark

SECRET = "hush-0123456789"
STREAM_REQUEST = 6  # the type of this message in Spark's protocol
LOGGED = "eventLog.enabled=true"
RPC = "Spark RPC or blocks: secret required"
PAGES = "web pages of master or worker: 403"
WEB_UI = "Spark web UI: 401"
DRIVER = {RPC: 2, "Py4J gateway: token required": 1, "Py4J callbacks: token required": 1}
CLIENTS = {"HTTP endpoint: 401": 1, "Spark Connect: UNAUTHENTICATED": 1}
PYTHON_FUNCTION = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
spark.udf.register("plus_one", lambda number: number + 1, "long")
print(spark.sql("SELECT sum(plus_one(id)) FROM range(10)").first()[0])
"""
COUNT = """
import sys
from pyspark.sql import SparkSession
conf = {"spark.master": sys.argv[1], "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
builder = SparkSession.builder.config(map={**conf, **dict(pair.split("=") for pair in sys.argv[2:])})
print(builder.getOrCreate().range(5).count())
"""


@contextmanager
def running(home: Path, *flags: str) -> Iterator[ClientTestEngine]:
    started = command(home, "start", *flags)
    assert started.returncode == 0, started.stderr
    try:
        note = json.loads((home / "engine.json").read_text(encoding="utf-8"))
        yield ClientTestEngine(home, *(note[name] for name in ("pid", "url", "connect", "thrift", "token")))
    finally:
        assert command(home, "stop").returncode == 0


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClientTestEngine]:
    """Return an engine with every port open that a setting can open."""
    java = f"-Djavax.net.ssl.keyStorePassword={SECRET}"
    confs = ("ui.enabled=true", "ui.port=0", f"my.password={SECRET}", f"driver.extraJavaOptions={java}", LOGGED)
    conf = [word for each in confs for word in ("--conf", f"spark.{each}")]
    with running(tmp_path_factory.mktemp("ports"), "--thrift", *conf) as engine:
        yield engine


@pytest.fixture(scope="module")
def kind_of(engine: ClientTestEngine) -> dict[int, str]:
    """Return the kind of each port of the engine. To find it takes seconds of silence."""
    found = list(listeners(psutil.Process(engine.pid)))
    return {each.port: kind for each, kind in zip(found, kinds(found), strict=True)}


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


def inventory(process: psutil.Process, engine: ClientTestEngine) -> dict[str, int]:
    """Return what the sockets of a process tree are, by how they refuse a stranger; all are on loopback."""
    known = {port_of(engine.connect): "Spark Connect: UNAUTHENTICATED"}  # by the test of it
    found = list(listeners(process))
    assert {each.address for each in found} == {"127.0.0.1"}
    asked = [each for each in found if each.port not in known]
    return dict(Counter([*(known[each.port] for each in found if each.port in known), *kinds(asked)]))


def test_every_socket_of_an_engine_is_known_and_refuses_strangers(engine: ClientTestEngine) -> None:
    remote = f"{engine.connect}/;token={engine.token}"
    called = python(PYTHON_FUNCTION, remote)
    assert called.stdout == "55\n", called.stderr
    process = psutil.Process(engine.pid)
    expected = {**DRIVER, **CLIENTS, "Thrift: login required": 1, WEB_UI: 1}
    assert inventory(process, engine) == expected
    sockets = {Path(path) for path in unix_sockets(process)}
    assert sockets and {path.parent for path in sockets} == {engine.home / "tmp"}
    assert not is_open_to_others(engine.home / "tmp")


def test_spark_connect_refuses_strangers(engine: ClientTestEngine) -> None:
    for token in ("", ";token=wrong"):
        ended = python(PYTHON_FUNCTION, f"{engine.connect}/{token}")
        assert ended.returncode != 0 and "UNAUTHENTICATED" in ended.stderr


def test_the_web_ui_of_spark_takes_the_token_as_password(engine: ClientTestEngine, kind_of: dict[int, str]) -> None:
    [port] = [port for port, kind in kind_of.items() if kind == WEB_UI]
    login = base64.b64encode(f"anybody:{engine.token}".encode()).decode()
    assert page(port, f"Basic {login}") == 200
    assert page(port, f"Bearer {engine.token}") == 200
    for wrong in ("Basic ***", f"Basic {base64.b64encode(b'anybody:wrong').decode()}", "Bearer wrong", "Bearer"):
        assert page(port, wrong) == 401


def page(port: int, authorization: str) -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/jobs/", headers={"Authorization": authorization})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_refused_connections_do_not_fill_the_log(engine: ClientTestEngine) -> None:
    log = engine.home / "engine.log"
    before = log.stat().st_size
    ports = {each.port for each in listeners(psutil.Process(engine.pid))}
    for port, data in product(ports, (b"\0\0\0\0\0\0\0\x20" + b"x" * 24, b"GET / HTTP/1.0\r\n\r\n")):
        for _ in range(30):
            with socket.create_connection(("127.0.0.1", port)) as stranger, suppress(OSError):
                stranger.sendall(data)
                stranger.shutdown(socket.SHUT_WR)
                stranger.settimeout(5)
                stranger.recv(100)
    assert log.stat().st_size - before < 200_000


def test_silent_connections_are_closed(engine: ClientTestEngine, kind_of: dict[int, str]) -> None:
    ports = {port: kind for port, kind in kind_of.items() if kind != WEB_UI}
    assert len(ports) == 7
    with ExitStack() as stack:
        silent = {port: stack.enter_context(half_open(port, 300)) for port in ports}
        for connections in silent.values():
            assert is_closed(connections[0])  # the oldest, immediately
        assert command(engine.home, "-e", "SELECT 1").returncode == 0
        for port, connections in silent.items():
            if ports[port] in DRIVER:  # the deadline of the others is a setting
                assert is_closed(connections[-1])


def test_files_of_spark_need_its_secret(engine: ClientTestEngine, kind_of: dict[int, str]) -> None:
    jars = command(engine.home, "-e", "LIST JARS").stdout
    assert "jetsql.jar" in jars
    ports = [port for port, kind in kind_of.items() if kind == RPC]
    assert len(ports) == 2
    name = b"/jars/jetsql.jar"
    request = bytes([STREAM_REQUEST]) + struct.pack(">i", len(name)) + name
    for port in ports:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as stranger:
            stranger.sendall(struct.pack(">q", 8 + len(request)) + request)
            assert b"The client has not logged in" in stranger.recv(4096)


def test_no_secret_is_in_command_lines_or_files(engine: ClientTestEngine) -> None:
    process = psutil.Process(engine.pid)
    lines = command_lines(process)
    assert sum(str(engine.home) in line for line in lines) >= 2  # the engine, and its Java
    assert not any(SECRET in line or engine.token in line for line in lines)
    assert command(engine.home, "-e", "SET spark.ui.enabled", "--format", "json").stdout.count("true") == 1
    assert SECRET not in command(engine.home, "-e", "SET spark.my.password").stdout
    holding = [path.name for path in engine.home.iterdir() if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert holding == ["engine.json"]  # of mode 0600: commands compare what they ask for with it
    read = "SELECT java_method('java.lang.System', 'getProperty', 'javax.net.ssl.keyStorePassword')"
    assert SECRET in command(engine.home, "-e", read, "--format", "csv").stdout


AS_STRANGER = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


@AS_STRANGER
def test_other_users_read_only_command_lines_of_processes(engine: ClientTestEngine) -> None:
    check_closed(psutil.Process(engine.pid))


def check_closed(process: psutil.Process) -> None:
    """Check that another user reads nothing of a process and its descendants.

    The environment of Spark's processes has secrets: Py4J's, those of references, that of executors.
    """
    program = (
        "cd /proc/$0; for each in environ maps mem io cwd/. root/.; do cat $each; done; ls fd map_files; readlink cwd"
    )
    for each in (process, *process.children(recursive=True)):
        stranger = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", program)
        found = subprocess.run((*stranger, str(each.pid)), capture_output=True, timeout=60, check=False)
        is_closed = found.stderr.count(b"Permission denied") >= 6 or not each.is_running()  # helpers of Java end soon
        assert found.stdout == b"" and is_closed, found


def test_event_logs_are_in_the_home_without_secrets(engine: ClientTestEngine, tmp_path: Path) -> None:
    tables = "CREATE TABLE src (id INT) USING json; INSERT INTO src VALUES (1); CREATE TABLE out (id INT) USING json;"
    job = f"CREATE JOB logged OPTIONS ('spark.my.token' = '{SECRET}') AS INSERT INTO out SELECT id FROM STREAM src;"
    done = command(engine.home, "-e", tables + job + "DROP JOB logged")
    assert done.returncode == 0, done.stderr
    folder = engine.home / "events"
    assert not is_open_to_others(folder)
    [log] = folder.glob("*/events_*")
    with pyarrow.CompressedInputStream(pyarrow.OSFile(str(log)), "zstd") as stream, suppress(OSError):
        written = b""
        while piece := stream.read(65536):  # ends in the middle of a frame: the engine writes on
            written += piece
    assert b'"spark.my.token":"***' in written or b'"spark.my.token":"*********(redacted)"' in written
    assert SECRET.encode() not in written


def command_lines(process: psutil.Process) -> list[str]:
    """Return those of a process and its descendants."""
    tree = (process, *process.children(recursive=True))
    return [" ".join(each.cmdline()) for each in tree if each.status() != psutil.STATUS_ZOMBIE]


def test_secret_on_a_command_line_gives_a_warning(tmp_path: Path) -> None:
    for value, warned in ((SECRET, True), ("secret:env:NAME", False)):
        ended = command(tmp_path, "-e", "SELECT 1", "--no-start", "--conf", f"spark.my.password={value}")
        assert ended.returncode == 3
        assert ("every user of this machine can read" in ended.stderr) is warned
        assert SECRET not in ended.stderr


@pytest.fixture(scope="module")
def callback_reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("used")
    done = python_module("tests.support.programs.used_callbacks", str(home))
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_open_callbacks_are_closed_to_other_users(callback_reports: dict[str, str]) -> None:
    assert "_call_proxy" in callback_reports["before"]  # Python called the object
    assert callback_reports["after"] == "True"
    assert (callback_reports["called"], callback_reports["statement"]) == (
        "True",
        "id",
    )  # Java's own calls arrive, with the token


@pytest.mark.slow
def test_callbacks_stay_open_while_a_query_may_use_them(callback_reports: dict[str, str]) -> None:
    assert "stop all queries and call it again" in callback_reports["refused"]


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as spark_cluster:
        spark_cluster.join()
        yield spark_cluster


@pytest.mark.slow
def test_every_socket_of_a_cluster_is_known_and_refuses_strangers(members: Cluster, tmp_path: Path) -> None:
    assert members.master is not None
    with running(tmp_path / "home", "--master", members.url, "--conf", "spark.executor.memory=512m") as engine:
        assert command(tmp_path / "home", "-e", "SELECT count(*) FROM range(10)", "--format", "csv").returncode == 0
        accumulators = {"Python accumulators: token required": 1}
        assert inventory(psutil.Process(engine.pid), engine) == {**DRIVER, **CLIENTS, **accumulators}
        log = (engine.home / "engine.log").read_text(encoding="utf-8")
        assert "token to the AccumulatorServer is not correct" in log
        for process, sockets in ((members.master, {RPC: 1, PAGES: 1}), (members.members[0], {RPC: 2, PAGES: 1})):
            assert inventory(psutil.Process(process.pid), engine) == sockets
            secret = (members.folder / "cluster.secret").read_text(encoding="utf-8").strip()
            lines = command_lines(process)
            assert lines and not any(secret in line for line in lines)


@AS_STRANGER
@pytest.mark.slow
def test_secrets_of_an_engine_are_hidden_in_its_cluster(members: Cluster, tmp_path: Path) -> None:
    assert members.master is not None
    confs = ("executor.memory=512m", f"my.password={SECRET}", f"executorEnv.MY_TOKEN={SECRET}")
    flags = [word for each in confs for word in ("--conf", f"spark.{each}")]
    with running(tmp_path / "home", "--master", members.url, *flags) as engine:
        assert command(engine.home, "-e", "SELECT count(*) FROM range(10)", "--format", "csv").returncode == 0
        executors = [each for each in members.members[0].children(recursive=True) if "java" in each.name()]
        assert [each.environ()["MY_TOKEN"] for each in executors] == [SECRET]
        for process in (members.master, members.members[0], psutil.Process(engine.pid)):
            check_closed(process)
            assert not any(SECRET in line for line in command_lines(process))
        files = [path for path in (members.folder / "member-0").rglob("*") if path.is_file()]
        assert any(path.name == "stderr" for path in files)
        assert [path for path in files if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "secret",
    [
        pytest.param((), marks=pytest.mark.slow),
        ("spark.authenticate=true", "spark.authenticate.secret=wrong-wrong-wrong"),
    ],
)
def test_a_cluster_refuses_programs_without_its_secret(members: Cluster, secret: tuple[str, ...]) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", COUNT, members.url, *secret],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as stranger:
        assert stranger.stderr is not None
        error_line = next(line for line in stranger.stderr if "SaslMessage" in line or "Mismatched response" in line)
        stranger.kill()
    assert "Exception" in error_line


@pytest.mark.slow
def test_the_files_of_a_cluster_are_private(members: Cluster) -> None:
    secret = members.folder / "cluster.secret"
    assert not is_open_to_others(secret)
    assert not is_open_to_others(members.folder / "master") and not is_open_to_others(members.folder / "member-0")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return called("-c", program, *arguments)


def python_module(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return called("-m", name, *arguments)


def called(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], env=environment(), capture_output=True, text=True, timeout=200, check=False
    )
