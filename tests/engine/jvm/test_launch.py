"""The launch of Spark's JVM: settings are passed in a private file, which is deleted. No JVM is started."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import SparkContext

from jetsql.engine.jvm import launch
from jetsql.engine.jvm.launch import SparkStart, java_options, launch_jvm, properties, socket_folder, split_secrets
from jetsql.engine.spark.startup import start_spark
from jetsql.errors import EngineError
from jetsql.home.private_files import is_open_to_others
from tests.support.golden_reports import raises


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Launch a JVM that only records what it finds."""

    def call(confs: dict[str, str], home: Path = tmp_path) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def gateway(popen_kwargs: dict[str, Any]) -> object:
            [arguments] = [os.environ["PYSPARK_SUBMIT_ARGS"]]
            file = home / "spark.properties"
            found.update(arguments=arguments, text=file.read_text(encoding="ascii"), open=is_open_to_others(file))
            found.update(address=os.environ.get("SPARK_LOCAL_IP"), popen=popen_kwargs)
            return "the gateway"

        monkeypatch.setattr(launch, "launch_gateway", gateway)
        monkeypatch.setattr(SparkContext, "_gateway", None)
        monkeypatch.setattr(SparkContext, "_ensure_initialized", lambda gateway: None)
        launch_jvm(SparkStart(home, "warehouse", "local[1]"), confs)
        return found

    return call


def test_settings_are_in_a_private_file_that_is_deleted(launched: Any, tmp_path: Path) -> None:
    found = launched({"spark.hadoop.key": "hush", "spark.driver.bindAddress": "127.0.0.1"})
    assert "hush" in found["text"] and not found["open"]
    assert "hush" not in found["arguments"]
    assert found["arguments"].startswith(f"--properties-file {tmp_path}/spark.properties --load-spark-defaults ")
    assert found["address"] == "127.0.0.1"  # of Spark's web UI
    assert not (tmp_path / "spark.properties").exists()
    assert found["popen"]["stdout"].name == str(tmp_path / "engine.log")


def test_environment_is_restored(launched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars a.jar pyspark-shell")
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    found = launched({"spark.driver.bindAddress": "127.0.0.1"})
    assert found["arguments"].endswith(" --jars a.jar pyspark-shell")
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == "--jars a.jar pyspark-shell"
    assert "SPARK_LOCAL_IP" not in os.environ
    assert launched({})["address"] is None  # a driver that executors of other machines reach


def test_a_properties_file_of_the_user_would_replace_the_settings(
    launched: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--properties-file mine.conf pyspark-shell")
    with pytest.raises(EngineError) as caught:
        launched({"spark.hadoop.key": "hush"})
    assert caught.value.condition == "JETSQL.INVALID_SETTING" and "--conf" in caught.value.hint
    assert not (tmp_path / "spark.properties").exists()


def test_files_of_a_killed_engine_are_deleted(launched: Any, tmp_path: Path) -> None:
    (tmp_path / "tmp" / "blockmgr").mkdir(parents=True)
    (tmp_path / "tmp" / "blockmgr" / "rows").touch()
    launched({})
    assert list((tmp_path / "tmp").iterdir()) == [] and not is_open_to_others(tmp_path / "tmp")


def test_a_link_in_its_place_is_not_followed(launched: Any, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    (tmp_path / "tmp").symlink_to(elsewhere)
    launched({})
    assert (elsewhere / "kept").exists() and not (tmp_path / "tmp").is_symlink()


def test_a_file_in_its_place_is_refused(launched: Any, tmp_path: Path) -> None:
    (tmp_path / "tmp").touch()
    with pytest.raises(EngineError, match="Cannot renew the temporary folder") as caught:
        launched({})
    assert caught.value.condition == "JETSQL.HOME_NOT_USABLE"


def test_paths_of_sockets_are_short_enough(tmp_path: Path) -> None:
    assert socket_folder(SparkStart(Path("/short"), "", "local[1]", owns_process=True)) == Path("/short/tmp")
    long = socket_folder(SparkStart(tmp_path / ("long" * 30), "", "local[1]", owns_process=True))
    assert len(str(long)) + launch._SOCKET_NAME <= 103 and not is_open_to_others(long)


def test_sockets_are_not_in_the_home_of_another_program() -> None:
    start = SparkStart(Path("/short"), "", "local[1]")
    assert socket_folder(start) == start.java_temporary and not start.java_temporary.is_relative_to("/short")


def test_sockets_have_short_paths_below_a_long_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("long" * 30)))
    folder = launch._temporary_of_process.__wrapped__()
    assert len(str(folder)) + launch._SOCKET_NAME <= 103 and not is_open_to_others(folder)


@given(st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=40), max_size=5))
def test_java_reads_the_written_settings(confs: dict[str, str]) -> None:
    """Read as java.util.Properties does: lines of key and value, with `\\uXXXX` for other characters."""
    lines = [line.split("=", 1) for line in properties(confs).split("\n") if line]
    read = {key: value for key, value in ((unescaped(key), unescaped(value)) for key, value in lines)}
    assert read == confs


def unescaped(text: str) -> str:
    units = text.encode("ascii").decode("unicode_escape")
    return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """Remove the options of Java that the tests set."""
    for name in ("JAVA_TOOL_OPTIONS", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return monkeypatch


@pytest.mark.parametrize(
    ("memory", "conf", "chosen"),
    [
        (None, {}, True),
        ("2g", {}, True),
        ("2048m", {}, True),
        ("3g", {}, False),
        ("1g", {"spark.driver.memory": "8G"}, False),
        ("1g", {"spark.driver.extraJavaOptions": "-Dx=1 -XX:+UseG1GC"}, False),
        ("1g", {"spark.driver.extraJavaOptions": "-Dx=1"}, True),
    ],
)
def test_a_small_heap_has_the_collector_that_needs_less_time(
    tmp_path: Path, unset: pytest.MonkeyPatch, memory: str | None, conf: dict[str, str], chosen: bool
) -> None:
    start = SparkStart(tmp_path, "warehouse", "local[1]", memory, conf)
    assert ("-XX:+UseParallelGC" in java_options(start).split()) == chosen


@pytest.mark.parametrize("variable", ["JAVA_TOOL_OPTIONS", "PYSPARK_SUBMIT_ARGS"])
def test_a_collector_of_the_environment_is_kept(tmp_path: Path, unset: pytest.MonkeyPatch, variable: str) -> None:
    unset.setenv(variable, "-XX:+UseSerialGC")
    assert "-XX:+UseParallelGC" not in java_options(SparkStart(tmp_path, "warehouse", "local[1]"))


def test_a_collector_of_sparks_defaults_is_kept(tmp_path: Path, unset: pytest.MonkeyPatch) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.driver.defaultJavaOptions -XX:+UseZGC\n")
    assert "-XX:+UseParallelGC" not in java_options(SparkStart(tmp_path, "warehouse", "local[1]"))


def test_secrets_are_no_options_on_the_command_line_of_java() -> None:
    assert split_secrets("-Xss4m '-Dmy.name=a \"b' -Djavax.net.ssl.keyStorePassword=hush -Dmy.token='a b'") == (
        r'"-Xss4m" "-Dmy.name=a \"b"',
        {"javax.net.ssl.keyStorePassword": "hush", "my.token": "a b"},
    )
    for unchanged in ("", "-Xss4m  -Dx=1", "-Dx='open"):
        assert split_secrets(unchanged) == (unchanged, {})


def test_kryo_is_refused_because_it_can_lose_rows(tmp_path: Path) -> None:
    kryo = {"spark.serializer": "org.apache.spark.serializer.KryoSerializer"}
    with raises(EngineError) as caught:
        start_spark(SparkStart(tmp_path, "warehouse", "local[1]", conf=kryo))
    assert (caught.value.condition, caught.value.sqlstate) == ("JETSQL.INVALID_SETTING", "22023")
