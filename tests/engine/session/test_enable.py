"""`jetsql.enable` on a session in use: it adds the statements and changes nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import jetsql
from jetsql.embedded.engine_instance import EngineInstance
from jetsql.errors import EngineError

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.support.programs.plain_spark", str(tmp_path_factory.mktemp("home"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_statements_of_spark_are_unchanged(report: dict[str, Any]) -> None:
    assert len(report["before"]) > 30
    assert report["after"] == report["before"]


def test_the_session_keeps_its_queries_and_settings(report: dict[str, Any]) -> None:
    assert report["queries"] == ["theirs"]
    assert report["zone"] == "Europe/Paris"
    assert "Did you mean 'spark.sql.shuffle.partitions'?" in report["misspelled"]
    assert report["same"] is True


def test_statements_return_rows_that_are_frames_like_others(report: dict[str, Any]) -> None:
    [[_, name, status, message]] = report["created"]
    assert (name, status) == ("copy", "RUNNING")
    assert "exactly once" in message
    assert report["listed"] == ["copy"]
    assert report["filtered"] == 1
    assert report["rows"] == 2


def test_the_relations_are_in_a_catalogue_in_memory_too(report: dict[str, Any]) -> None:
    assert {"jobs", "snapshots", "job_history"} <= set(report["relations"])
    assert report["relation"] == [["copy", "RUNNING"]]


def test_errors_have_condition_and_position(report: dict[str, Any]) -> None:
    assert report["error"][0] == "AnalysisException"
    assert "[JETSQL.JOB_NOT_FOUND]" in report["error"][1] and "line 1 pos 12" in report["error"][1]
    assert "[JETSQL.PARSE_SYNTAX_ERROR]" in report["near miss"][1] and "line 2 pos 1" in report["near miss"][1]
    assert "[JETSQL.STREAM_OUTSIDE_JOB]" in report["insert"][1]


def test_a_missing_jdbc_driver_is_an_error_of_the_engine(report: dict[str, Any]) -> None:
    kind, message = report["no driver"]
    assert kind == "DriverMissing"
    assert message.startswith("[JETSQL.EXTERNAL_SYSTEM_UNAVAILABLE] The engine has no JDBC driver")
    assert "com.mysql.cj.jdbc.Driver" in message and "spark.jars.packages=" in message


def test_unchangeable_settings_are_reported(report: dict[str, Any]) -> None:
    assert any("in memory" in text for text in report["warnings"])
    assert any("FIFO" in text for text in report["warnings"])
    assert any("spark.authenticate=true" in text for text in report["warnings"])
    assert not any("spark.ui.enabled" in text for text in report["warnings"])  # theirs is off


def test_secrets_of_tables_are_hidden_in_addition(report: dict[str, Any]) -> None:
    assert report["secrets"] == [0, 1]  # what is theirs to hide is hidden in their session only


@pytest.mark.slow
def test_second_engine_of_a_process_has_its_own_relations(tmp_path: Path) -> None:
    homes = [str(tmp_path / name) for name in ("first", "second")]
    command = [sys.executable, "-m", "tests.support.programs.two_engines", *homes]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["messages"] == []
    assert (
        found["relations"] == [["engines", "functions", "job_history", "jobs", "members", "metrics", "snapshots"]] * 2
    )


def test_a_second_home_in_one_process_is_refused(engine: EngineInstance, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="has an engine on"):
        jetsql.enable(engine.spark, home=tmp_path / "other")
    assert list((tmp_path / "other").iterdir()) == []
    assert jetsql.enable(engine.spark.newSession(), home=engine.home) is engine
    assert list(engine.run("SHOW JOBS LIKE 'none of this name'").rows) == []


def test_closed_session_is_plain_spark(report: dict[str, Any]) -> None:
    assert report["closed"][0] == "ParseException"
    assert "[JETSQL.ENGINE_NOT_STARTED]" in report["closed relation"][1]


def test_an_engine_whose_spark_was_stopped_is_closed(report: dict[str, Any]) -> None:
    assert report["stopped"] is True
