"""`jetsql master` and `jetsql join` without a cluster: their arguments and the processes that they become.

`test_cluster_spark` runs them on a real cluster.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
from pyspark.sql import SparkSession

from jetsql import cli
from jetsql.engine.jvm.authentication import driver_confs, is_on_loopback
from jetsql.engine.jvm.launch import SparkStart
from jetsql.engine.spark import standalone_cluster, startup
from jetsql.errors import EngineError
from jetsql.home.private_files import is_open_to_others, write_private

Becomes = Callable[..., tuple[list[str], dict[str, str]]]


class ProcessReplaced(BaseException):
    """The process was replaced by another program."""


@pytest.fixture(autouse=True)
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the secret of the user's cluster, and return the file."""
    file = tmp_path / "config" / "cluster.secret"
    write_private_below(file, "a secret of enough characters")
    monkeypatch.setenv("JETSQL_CLUSTER_SECRET_FILE", str(file))
    monkeypatch.setenv("JETSQL_CONFIG", os.devnull)
    return file


def write_private_below(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_private(file, text)


@pytest.fixture
def becomes(monkeypatch: pytest.MonkeyPatch) -> Becomes:
    """Return the command and the environment of the process that replaces a call of the command line."""

    def become(program: str, words: list[str], environment: dict[str, str]) -> None:
        assert os.access(program, os.X_OK)
        raise ProcessReplaced(words[1:], environment)

    def called(*words: str) -> tuple[list[str], dict[str, str]]:
        with pytest.raises(ProcessReplaced) as caught:
            cli.main(list(words))
        return caught.value.args

    monkeypatch.setattr(os, "execve", become)
    monkeypatch.setattr(standalone_cluster, "check_java", lambda: None)
    monkeypatch.setattr(standalone_cluster, "check_address", lambda *where: None)
    monkeypatch.setattr(startup, "_MASTER_SECONDS", 0.2)
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    return called


def settings(words: list[str]) -> dict[str, str]:
    """Return the settings in the private file that Spark's process reads."""
    file = Path(words[words.index("--properties-file") + 1])
    assert not is_open_to_others(file) and not is_open_to_others(file.parent)
    pairs = (line.partition("=") for line in file.read_text(encoding="ascii").splitlines())
    return {key: value.encode().decode("unicode_escape") for key, _, value in pairs}


def test_a_master_is_on_loopback_unless_a_host_is_given(becomes: Becomes) -> None:
    words, environment = becomes("master")
    assert words[:4] == ["org.apache.spark.deploy.master.Master", "--webui-port", "0", "--properties-file"]
    assert words[5:] == ["--host", "127.0.0.1", "--port", "7077"] and Path(environment["SPARK_HOME"], "jars").is_dir()
    words, _ = becomes("master", "--host", "10.0.0.7", "--port", "7078")
    assert words[-4:] == ["--host", "10.0.0.7", "--port", "7078"]


def test_master_can_store_its_recovery_state(becomes: Becomes, tmp_path: Path) -> None:
    words, _ = becomes("master", "--recovery-dir", str(tmp_path / "of mine"))
    recovery = {"recoveryMode": "FILESYSTEM", "recoveryDirectory": f"{tmp_path}/of mine", "recoveryTimeout": "20s"}
    assert {f"spark.deploy.{name}": value for name, value in recovery.items()}.items() <= settings(words).items()
    words, _ = becomes("master")
    assert not any("recovery" in name for name in settings(words))


def test_master_listens_only_on_its_own_address(becomes: Becomes) -> None:
    """Refuse a port in use. Spark alone would take the next free port, where no member searches for it."""
    words, _ = becomes("master")
    assert settings(words)["spark.port.maxRetries"] == "0"


@pytest.mark.parametrize("command", [["master"], ["join", "spark://127.0.0.1:7077"]])
def test_processes_of_a_cluster_are_closed_to_strangers(command: list[str], becomes: Becomes) -> None:
    words, environment = becomes(*command)
    found = settings(words)
    assert (found["spark.authenticate"], found["spark.master.rest.enabled"]) == ("true", "false")
    assert found["spark.authenticate.secret"] == "a secret of enough characters"
    assert found["spark.ui.filters"] == "org.apache.spark.ui.JWSFilter"  # with a random key, so there is no web UI
    assert found["spark.master.ui.decommission.allow.mode"] == "DENY" and found["spark.ui.killEnabled"] == "false"
    assert environment["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert not any("secret of enough" in word for word in (*words, *environment.values()))


@pytest.mark.parametrize("command", [["master"], ["join", "spark://127.0.0.1:7077"]])
def test_web_pages_are_served_on_request(command: list[str], becomes: Becomes) -> None:
    words, environment = becomes(*command, "--web-ui", "10.0.0.7")
    assert "spark.ui.filters" not in settings(words) and environment["SPARK_LOCAL_IP"] == "10.0.0.7"
    assert settings(words)["spark.ui.killEnabled"] == "false"


def test_only_a_member_can_be_drained(becomes: Becomes) -> None:
    assert settings(becomes("join", "spark://127.0.0.1:7077")[0])["spark.decommission.enabled"] == "true"
    assert "spark.decommission.enabled" not in settings(becomes("master")[0])


def test_traffic_between_machines_is_encrypted(becomes: Becomes) -> None:
    for command in (["master", "--host", "10.0.0.7"], ["join", "spark://10.0.0.7:7077"]):
        found = settings(becomes(*command)[0])
        assert found["spark.network.crypto.enabled"] == "true" and found["spark.network.crypto.saslFallback"] == "false"
    assert "spark.network.crypto.enabled" not in settings(becomes("join", "spark://127.0.0.1:7077")[0])


def test_spark_settings_of_the_user_win(becomes: Becomes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.ui.killEnabled true\n", encoding="utf-8")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    words, _ = becomes("master")
    assert Path(words[words.index("--properties-file") + 1]).read_text().endswith("spark.ui.killEnabled true\n")


def test_first_master_creates_the_secret(becomes: Becomes, tmp_path: Path) -> None:
    file = tmp_path / "new" / "secret"
    secret = settings(becomes("master", "--secret-file", str(file))[0])["spark.authenticate.secret"]
    assert len(secret) >= 43 and file.read_text(encoding="utf-8").strip() == secret
    assert not is_open_to_others(file) and not is_open_to_others(file.parent)
    again = settings(becomes("join", "spark://127.0.0.1:7077", "--secret-file", str(file))[0])
    assert again["spark.authenticate.secret"] == secret


@pytest.mark.parametrize("command", [["master"], ["join", "spark://127.0.0.1:7077"]])
def test_a_secret_that_others_can_read_is_refused(
    command: list[str], secret: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(standalone_cluster, "check_java", lambda: None)
    monkeypatch.setattr(standalone_cluster, "check_address", lambda *where: None)
    secret.chmod(0o644)
    assert cli.main(command) == 3
    assert f"chmod 600 {secret}" in capsys.readouterr().err
    write_private_below(secret, "short")
    assert cli.main(command) == 3
    assert "has 5 characters" in capsys.readouterr().err


def test_a_member_needs_the_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(standalone_cluster, "check_java", lambda: None)
    assert cli.main(["join", "spark://127.0.0.1:7077", "--secret-file", str(tmp_path / "none")]) == 3
    stderr = capsys.readouterr().err
    assert f"from {tmp_path / 'none'}: No such file" in stderr and "--secret-file" in stderr


def test_an_engine_needs_the_secret_of_its_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    with pytest.raises(EngineError, match=r"The secret of the cluster at spark://10\.0\.0\.7:7077 is missing"):
        driver_confs("spark://10.0.0.7:7077", {}, None)
    assert driver_confs("spark://10.0.0.7:7077", {"spark.authenticate": "false"}, None) == {}
    own = {"spark.authenticate.secret": "theirs"}
    assert driver_confs("spark://10.0.0.7:7077", own, None) == {"spark.authenticate": "true"}


@pytest.mark.parametrize("master", ["local", "local[*]", "local[2,3]", "yarn", "k8s://https://10.0.0.7:6443"])
def test_spark_makes_the_secret_itself_where_it_can(master: str) -> None:
    assert driver_confs(master, {}, None) == {"spark.authenticate": "true"}


def test_other_masters_are_passed_to_spark() -> None:
    assert driver_confs("local[x]", {}, None) == {}


def test_a_member_is_reached_where_it_reaches_the_master() -> None:
    assert standalone_cluster.find_own_address("spark://127.0.0.1:7077,127.0.0.2:7077") == "127.0.0.1"
    assert standalone_cluster.find_own_address("spark://no-such-host.invalid:7077") is None


@pytest.mark.parametrize("host", ["127.0.0.1", "192.0.2.1", "no-such-host.invalid"])
def test_master_that_cannot_listen_fails_immediately(
    host: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(standalone_cluster, "check_java", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert cli.main(["master", "--host", host, "--port", str(port)]) == 3
    output = capsys.readouterr()
    assert f"cannot listen on {host}:{port}: " in output.err and "--port" in output.err
    assert "The master is" not in output.err + output.out


def test_member_host_must_be_an_own_address(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(standalone_cluster, "check_java", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as master:
        url = f"spark://127.0.0.1:{master.getsockname()[1]}"
        assert cli.main(["join", url, "--host", "192.0.2.1"]) == 3
    assert "The member cannot listen on 192.0.2.1: " in capsys.readouterr().err


def test_a_member_needs_a_folder(becomes: Becomes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    with socket.create_server(("127.0.0.1", 0)) as master:
        url = f"spark://127.0.0.1:{master.getsockname()[1]}"
        assert cli.main(["join", url, "--work-dir", str(tmp_path / "file" / "below")]) == 3
        becomes("join", url, "--work-dir", str(tmp_path / "new" / "below"))
    assert "cannot create the folder" in capsys.readouterr().err and (tmp_path / "new" / "below").is_dir()


@pytest.mark.parametrize("size", ["abc", "10", "0m", "-1g", "1.5g", ""])
def test_invalid_size_is_a_usage_error(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["join", "spark://127.0.0.1:7077", "--memory", size]) == 2
    assert "512m" in capsys.readouterr().err


def test_a_member_is_where_its_master_is(becomes: Becomes, tmp_path: Path) -> None:
    given = ("--cores", "2", "--memory", "2g", "--work-dir", str(tmp_path / "work"))
    words, environment = becomes("join", "spark://127.0.0.1:7077", *given)
    assert words[-9:] == [
        "--host",
        "127.0.0.1",
        "--cores",
        "2",
        "--memory",
        "2g",
        *given[-2:],
        "spark://127.0.0.1:7077",
    ]
    assert environment["SPARK_LOCAL_DIRS"] == given[-1]
    words, _ = becomes("join", "spark://10.0.0.7:7077")
    assert "--cores" not in words and "10.0.0.7" not in words
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
def test_invalid_master_is_a_usage_error(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["join", url]) == 2
    assert "spark://127.0.0.1:7077" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["master"], ["join", "spark://127.0.0.1:7077"]])
def test_missing_java_is_reported(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_java() -> None:
        raise EngineError("ENGINE_NOT_STARTED", "Spark needs Java 17.")

    monkeypatch.setattr(standalone_cluster, "check_java", no_java)
    assert cli.main(words) == 3
    assert "Java 17" in capsys.readouterr().err


def test_member_reports_an_unreachable_master_and_waits(becomes: Becomes, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as master:
        url = f"spark://127.0.0.1:{master.getsockname()[1]}"
        becomes("join", url)
        assert "No master" not in capsys.readouterr().err
    words, _ = becomes("join", url)
    assert words[-1] == url and f"No master answers at {url.removeprefix('spark://')} (" in capsys.readouterr().err


@pytest.mark.parametrize(
    "master_at", ["spark://127.0.0.1:0,{}", "k8s://https://{}", "k8s://{}", "k8s://http://{}/path"]
)
@pytest.mark.parametrize("listens", [True, False])
def test_engine_reports_an_unreachable_master(
    listens: bool, master_at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def falls_over(builder: SparkSession.Builder) -> SparkSession:
        raise RuntimeError("requirement failed: whatever it was")

    monkeypatch.setattr(startup, "check_java", lambda: None)
    for step in ("jar", "launch_jvm", "load_classes"):
        monkeypatch.setattr(startup, step, Mock())
    monkeypatch.setattr(startup, "class_confs", lambda *given: {})
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", falls_over)
    with socket.create_server(("127.0.0.1", 0)) as master:
        address = f"127.0.0.1:{master.getsockname()[1]}"
        if not listens:
            master.close()
        with pytest.raises(EngineError) as caught:
            conf = {"spark.authenticate": "false"}  # a cluster's secret would be missing first
            startup.start_spark(SparkStart(tmp_path, str(tmp_path), master_at.format(address), conf=conf))
    message = f"{caught.value}"
    assert ("no master answers" in message and f"{address} (" in message and "--master" in message) is not listens
    assert ("whatever it was" in message) is listens


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
    assert is_on_loopback(master) is is_there
