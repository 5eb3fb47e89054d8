"""The Spark of tests without Spark: how it ends, and what stays on the disk."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from jetsql.sqltests import run_files
from jetsql.sqltests.run_files import SparkOfTests


class RecordedSpark:
    """A Spark that records its end."""

    def __init__(self, ended: list[str]) -> None:
        self._ended = ended

    def stop(self) -> None:
        self._ended.append("stopped")


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    ended: list[str] = []

    def start(folder: Path, cores: int, archives: Any) -> RecordedSpark:
        (folder / "engine.log").touch()
        return RecordedSpark(ended)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(run_files, "start_memory_spark", start)
    monkeypatch.setattr(run_files, "kill_process", lambda spark: ended.append("killed"))
    return ended


@pytest.mark.parametrize(
    ("error", "end"), [(None, "stopped"), (RuntimeError(), "stopped"), (KeyboardInterrupt(), "killed")]
)
def test_ctrl_c_kills_spark_and_deletes_its_files(
    ended: list[str], tmp_path: Path, error: BaseException | None, end: str
) -> None:
    try:
        with SparkOfTests(1):
            assert [each.name.startswith("jetsql-test-") for each in tmp_path.iterdir()] == [True]
            if error is not None:
                raise error
    except (RuntimeError, KeyboardInterrupt) as raised:
        assert raised is error
    assert ended == [end]
    assert list(tmp_path.iterdir()) == []
