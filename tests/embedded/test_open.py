"""Test what `jetsql.open` passes to Spark, without starting it."""

from dataclasses import replace
from pathlib import Path

import pytest

import jetsql
from jetsql.embedded import open_engine
from jetsql.engine.jvm.launch import SparkStart
from jetsql.errors import EngineError
from jetsql.home.discovery import token
from jetsql.settings.engine_settings import load


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[SparkStart]:
    """Return the list of the starts of Spark; each of them fails."""
    starts: list[SparkStart] = []

    def fail(start: SparkStart) -> None:
        starts.append(start)
        raise EngineError("ENGINE_NOT_STARTED", "no Spark here")

    monkeypatch.setattr(open_engine, "start_spark", fail)
    monkeypatch.setattr(open_engine, "has_active_session", lambda: False)
    return starts


def test_the_arguments_reach_spark(tmp_path: Path, starts: list[SparkStart]) -> None:
    home = tmp_path / "home"
    with pytest.raises(EngineError, match="no Spark here"):
        jetsql.open(home=home, master="local[7]", conf={"spark.ui.enabled": "false"})
    [start] = starts
    assert (start.home, start.master, start.conf["spark.ui.enabled"]) == (home, "local[7]", "false")
    assert start.warehouse == (home / "warehouse").as_uri().replace("file://", "file:")
    assert start.token == token(home)
    assert (home / "jetsql.db").is_file()


def test_settings_replace_the_other_arguments(tmp_path: Path, starts: list[SparkStart]) -> None:
    loaded = load(home=tmp_path / "a", master="local[3]", conf={"spark.x": "1"})
    settings = replace(loaded, driver_memory="3g", cluster_secret_file=tmp_path / "secret")
    with pytest.raises(EngineError, match="no Spark here"):
        open_engine.open(home=tmp_path / "b", master="local[4]", conf={"spark.x": "2"}, settings=settings)
    [start] = starts
    assert (start.home, start.master, start.conf["spark.x"]) == (tmp_path / "a", "local[3]", "1")
    assert (start.driver_memory, start.cluster_secret) == ("3g", tmp_path / "secret")
