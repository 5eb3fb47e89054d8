"""The lock on a home folder: its owner, refusals of others, and stale or damaged files in the folder."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.client.find_engine import StopOutcome, silent_engine_state, stop_engine
from jetsql.errors import EngineError
from jetsql.home.home_lock import HomeLock, check_location, make_home
from tests.support.golden_reports import raises


@pytest.fixture
def lease(tmp_path: Path) -> Iterator[HomeLock]:
    held = HomeLock(tmp_path)
    yield held
    held.release()


def refusal(home: Path) -> EngineError:
    with raises(EngineError) as refused:
        HomeLock(home)
    return refused.value


def test_a_second_engine_is_told_who_the_first_is(lease: HomeLock, tmp_path: Path) -> None:
    refused = refusal(tmp_path)
    assert refused.condition == "JETSQL.HOME_IN_USE"
    assert str(tmp_path) in refused.message
    assert f"the engine of process {os.getpid()}" in refused.message


@pytest.mark.parametrize(("service", "found"), [(False, "embedded"), (True, "starting")])
def test_clients_see_what_kind_of_engine_has_the_home(tmp_path: Path, service: bool, found: str) -> None:
    assert silent_engine_state(tmp_path) is None
    held = HomeLock(tmp_path, service)
    try:
        assert silent_engine_state(tmp_path) == found
    finally:
        held.release()
    assert silent_engine_state(tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"{}", b"[1]", b"5", b"null"])
def test_whatever_stands_in_the_owners_file_the_lock_decides(lease: HomeLock, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "engine.owner").write_bytes(content)
    refused = refusal(tmp_path)
    assert refused.condition == "JETSQL.HOME_IN_USE"
    assert "another process" in refused.message


def test_a_home_is_free_again_afterwards(tmp_path: Path) -> None:
    first = HomeLock(tmp_path)
    assert refusal(tmp_path).condition == "JETSQL.HOME_IN_USE"
    first.release()
    second = HomeLock(tmp_path)
    assert refusal(tmp_path).condition == "JETSQL.HOME_IN_USE"
    second.release()


@pytest.mark.parametrize("name", ["engine.lock", "engine.owner"])
def test_a_home_where_nothing_can_be_written_is_left_free(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert refusal(tmp_path).condition == "JETSQL.HOME_NOT_USABLE"
    (tmp_path / name).rmdir()
    HomeLock(tmp_path).release()


@pytest.mark.parametrize("name", ["file", "file/below", "x" * 300])
def test_a_home_that_can_be_no_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with raises(EngineError) as refused:
        make_home(tmp_path / name)
    assert refused.value.condition == "JETSQL.HOME_NOT_USABLE"


def test_a_home_that_was_copied_or_moved_is_refused(tmp_path: Path) -> None:
    original, alias, copy = tmp_path / "original", tmp_path / "alias", tmp_path / "copy"
    original.mkdir()
    alias.symlink_to(original)
    check_location(original)
    check_location(alias)
    shutil.copytree(original, copy)
    with raises(EngineError) as refused:
        check_location(copy)
    assert refused.value.condition == "JETSQL.HOME_NOT_USABLE"
    assert str(original) in refused.value.message
    check_location(original)


def test_the_error_names_the_folder_to_which_a_home_was_moved(tmp_path: Path) -> None:
    original, moved = tmp_path / "original", tmp_path / "moved"
    original.mkdir()
    check_location(original)
    original.rename(moved)
    original.symlink_to(moved)
    with raises(EngineError) as refused:
        check_location(original)
    assert f"{moved} was copied or moved from {original}," in refused.value.message


def test_the_end_of_an_engine_is_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lease = HomeLock(tmp_path, service=True)
    asked = []

    def end(home: Path) -> None:
        asked.append(home)
        lease.release()

    monkeypatch.setattr("jetsql.client.find_engine.find_engine", end)
    assert stop_engine(tmp_path, 60) is StopOutcome.STOPPED
    assert stop_engine(tmp_path, 60) is StopOutcome.NOT_RUNNING
    assert asked == [tmp_path]


def test_an_engine_that_does_not_end_is_still_stopping(tmp_path: Path) -> None:
    lease = HomeLock(tmp_path, service=True)
    assert stop_engine(tmp_path, -1) is StopOutcome.STILL_STOPPING
    lease.release()
