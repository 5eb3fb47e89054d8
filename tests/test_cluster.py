"""`jetsql master` and `jetsql join`: what becomes of the process. `test_scaling_spark` has them for real."""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jetsql import cli
from jetsql.engine import cluster, startup
from jetsql.engine.startup import SparkStart, on_loopback
from jetsql.errors import EngineError

Becomes = Callable[..., tuple[list[str], dict[str, str]]]


class Became(BaseException):
    """The process is another one from here on."""


@pytest.fixture
def becomes(monkeypatch: pytest.MonkeyPatch) -> Becomes:
    """The command and the environment that a call of the command line goes on as."""

    def become(program: str, words: list[str], environment: dict[str, str]) -> None:
        assert os.access(program, os.X_OK)
        raise Became(words[1:], environment)

    def called(*words: str) -> tuple[list[str], dict[str, str]]:
        with pytest.raises(Became) as caught:
            cli.main(list(words))
        return caught.value.args  # type: ignore[return-value]

    monkeypatch.setattr(os, "execve", become)
    monkeypatch.setattr(cluster, "check_java", lambda: None)
    monkeypatch.setattr(cluster, "check_address", lambda *where: None)
    monkeypatch.setattr(startup, "_MASTER_SECONDS", 0.2)
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    return called


def test_a_master_is_on_loopback_unless_a_host_is_given(becomes: Becomes) -> None:
    words, environment = becomes("master")
    assert words == [
        "org.apache.spark.deploy.master.Master", "--webui-port", "0", "--host", "127.0.0.1", "--port", "7077",
    ]  # fmt: skip
    assert environment["SPARK_LOCAL_IP"] == "127.0.0.1" and Path(environment["SPARK_HOME"], "jars").is_dir()
    words, environment = becomes("master", "--host", "10.0.0.7", "--port", "7078")
    assert words[-4:] == ["--host", "10.0.0.7", "--port", "7078"] and environment["SPARK_LOCAL_IP"] == "10.0.0.7"


def test_a_master_that_notes_what_it_knows(
    becomes: Becomes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_DAEMON_JAVA_OPTS", "-Dx=1")
    _, environment = becomes("master", "--recovery-dir", str(tmp_path / "of mine"))
    recovery = ["-Dspark.deploy.recoveryMode=FILESYSTEM", f"-Dspark.deploy.recoveryDirectory={tmp_path}/of mine"]
    told = shlex.split(environment["SPARK_DAEMON_JAVA_OPTS"])
    assert set(recovery) < set(told) and told[-1] == "-Dx=1"  # what the user says holds
    _, environment = becomes("master")
    assert not any("recovery" in word for word in shlex.split(environment["SPARK_DAEMON_JAVA_OPTS"]))


def test_a_master_listens_where_it_says_or_not_at_all(becomes: Becomes) -> None:
    """Spark's would take the next port that is free, where no member looks for it."""
    _, environment = becomes("master")
    assert "-Dspark.port.maxRetries=0" in shlex.split(environment["SPARK_DAEMON_JAVA_OPTS"])


@pytest.mark.parametrize("host", ["127.0.0.1", "192.0.2.1", "no-such-host.invalid"])
def test_a_master_that_can_not_listen_is_told_at_once(
    host: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "check_java", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert cli.main(["master", "--host", host, "--port", str(port)]) == 3
    told = capsys.readouterr()
    assert f"can't listen at {host}:{port}: " in told.err and "--port" in told.err
    assert "The master is" not in told.err + told.out


def test_a_member_can_not_be_where_this_machine_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "check_java", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as master:
        url = f"spark://127.0.0.1:{master.getsockname()[1]}"
        assert cli.main(["join", url, "--host", "192.0.2.1"]) == 3
    assert "The member can't listen at 192.0.2.1: " in capsys.readouterr().err


def test_a_member_needs_a_folder(becomes: Becomes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    with socket.create_server(("127.0.0.1", 0)) as master:
        url = f"spark://127.0.0.1:{master.getsockname()[1]}"
        assert cli.main(["join", url, "--work-dir", str(tmp_path / "file" / "below")]) == 3
        becomes("join", url, "--work-dir", str(tmp_path / "new" / "below"))
    assert "can't make the folder" in capsys.readouterr().err and (tmp_path / "new" / "below").is_dir()


@pytest.mark.parametrize("size", ["abc", "10", "0m", "-1g", "1.5g", ""])
def test_what_is_no_size_is_wrong_usage(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["join", "spark://127.0.0.1:7077", "--memory", size]) == 2
    assert "512m" in capsys.readouterr().err


def test_a_member_is_where_its_master_is(becomes: Becomes, tmp_path: Path) -> None:
    given = ("--cores", "2", "--memory", "2g", "--work-dir", str(tmp_path))
    words, environment = becomes("join", "spark://127.0.0.1:7077", *given)
    assert words[-9:] == ["--host", "127.0.0.1", "--cores", "2", "--memory", "2g", *given[-2:], "spark://127.0.0.1:7077"]
    assert environment["SPARK_LOCAL_IP"] == "127.0.0.1"
    words, environment = becomes("join", "spark://10.0.0.7:7077")
    assert "--host" not in words and "--cores" not in words and "SPARK_LOCAL_IP" not in environment
    assert Path(words[words.index("--work-dir") + 1]).is_dir()  # never within the installed package


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:7077",
        "spark://127.0.0.1",
        "local[2]",
        "http://127.0.0.1:7077",
        "spark://:7077",
        "spark://127.0.0.1:0",
        "spark://127.0.0.1:65536",
        "spark://one:7077,two",
        "spark://user@127.0.0.1:7077",
    ],
)
def test_what_is_no_master_is_wrong_usage(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["join", url]) == 2
    assert "spark://127.0.0.1:7077" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["master"], ["join", "spark://127.0.0.1:7077"]])
def test_without_java_it_is_said(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_java() -> None:
        raise EngineError("ENGINE_NOT_STARTED", "Spark needs Java 17.")

    monkeypatch.setattr(cluster, "check_java", no_java)
    assert cli.main(words) == 3
    assert "Java 17" in capsys.readouterr().err


def test_a_member_tells_that_no_master_answers_and_waits(
    becomes: Becomes, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as master:
        url = f"spark://127.0.0.1:{master.getsockname()[1]}"
        becomes("join", url)
        assert "No master" not in capsys.readouterr().err
    words, _ = becomes("join", url)
    assert words[-1] == url and f"No master answers at {url.removeprefix('spark://')} (" in capsys.readouterr().err


@pytest.mark.parametrize("master_at", ["spark://127.0.0.1:0,{}", "k8s://https://{}", "k8s://{}", "k8s://http://{}/path"])
@pytest.mark.parametrize("listens", [True, False])
def test_an_engine_tells_that_no_master_answers(
    listens: bool, master_at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def falls_over(builder: SparkSession.Builder) -> SparkSession:
        raise RuntimeError("requirement failed: whatever it was")

    monkeypatch.setattr(startup, "check_java", lambda: None)
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", falls_over)
    with socket.create_server(("127.0.0.1", 0)) as master:
        address = f"127.0.0.1:{master.getsockname()[1]}"
        if not listens:
            master.close()
        with pytest.raises(EngineError) as caught:
            startup.start_spark(SparkStart(tmp_path, str(tmp_path), master_at.format(address)))
    told = f"{caught.value}"
    assert ("no master answers" in told and f"{address} (" in told and "--master" in told) is not listens
    assert ("whatever it was" in told) is listens


@pytest.mark.parametrize(
    ("master", "is_there"),
    [
        ("spark://127.0.0.1:7077", True),
        ("spark://localhost:7077", True),
        ("spark://[::1]:7077", True),
        ("spark://localhost.example.com:7077", False),
        ("spark://10.0.0.7:7077", False),
        ("yarn", False),
    ],
)
def test_masters_on_loopback(master: str, is_there: bool) -> None:
    assert on_loopback(master) is is_there
