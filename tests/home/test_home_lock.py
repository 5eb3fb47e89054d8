"""The lock on a home folder: its owner, refusals of others, and stale or damaged files in the folder."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.client.find_engine import StopOutcome, silent_engine_state, stop_engine
from jetsql.embedded.process_log import logging_to
from jetsql.errors import EngineError
from jetsql.home.discovery import EngineNote, read_note, token, write_note
from jetsql.home.home_lock import HomeLock, check_location, make_home, not_usable
from tests.support.golden_reports import raises


@pytest.fixture
def lease(tmp_path: Path) -> Iterator[HomeLock]:
    held = HomeLock(tmp_path)
    yield held
    held.release()


def refusal(home: Path) -> EngineError:
    with raises(EngineError) as caught:
        HomeLock(home)
    return caught.value


def test_error_of_a_second_engine_names_the_first(lease: HomeLock, tmp_path: Path) -> None:
    error = refusal(tmp_path)
    assert error.condition == "JETSQL.HOME_IN_USE"
    assert str(tmp_path) in error.message
    assert f"the engine of process {os.getpid()}" in error.message


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
def test_lock_decides_whatever_the_owner_file_contains(lease: HomeLock, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "engine.owner").write_bytes(content)
    error = refusal(tmp_path)
    assert error.condition == "JETSQL.HOME_IN_USE"
    assert "another process" in error.message


def test_a_home_is_free_again_afterwards(tmp_path: Path) -> None:
    first = HomeLock(tmp_path)
    assert refusal(tmp_path).condition == "JETSQL.HOME_IN_USE"
    first.release()
    second = HomeLock(tmp_path)
    assert refusal(tmp_path).condition == "JETSQL.HOME_IN_USE"
    second.release()


@pytest.mark.parametrize("name", ["engine.lock", "engine.owner"])
def test_unwritable_home_is_not_locked(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert refusal(tmp_path).condition == "JETSQL.HOME_NOT_USABLE"
    (tmp_path / name).rmdir()
    HomeLock(tmp_path).release()


@pytest.mark.parametrize("name", ["file", "file/below", "x" * 300])
def test_a_home_that_can_be_no_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with raises(EngineError) as caught:
        make_home(tmp_path / name)
    assert caught.value.condition == "JETSQL.HOME_NOT_USABLE"


def test_a_home_that_was_copied_or_moved_is_refused(tmp_path: Path) -> None:
    original, alias, copy = tmp_path / "original", tmp_path / "alias", tmp_path / "copy"
    original.mkdir()
    alias.symlink_to(original)
    check_location(original)
    check_location(alias)
    shutil.copytree(original, copy)
    with raises(EngineError) as caught:
        check_location(copy)
    assert caught.value.condition == "JETSQL.HOME_NOT_USABLE"
    assert str(original) in caught.value.message
    check_location(original)


def test_error_names_the_new_folder_of_a_moved_home(tmp_path: Path) -> None:
    original, moved = tmp_path / "original", tmp_path / "moved"
    original.mkdir()
    check_location(original)
    original.rename(moved)
    original.symlink_to(moved)
    with raises(EngineError) as caught:
        check_location(original)
    assert f"{moved} was copied or moved from {original}," in caught.value.message


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe\0", b"\0", b"somewhere"])
def test_damaged_location_note_is_reported_with_a_hint(tmp_path: Path, content: bytes) -> None:
    note = tmp_path / "engine.place"
    note.write_bytes(content)
    with raises(EngineError) as caught:
        check_location(tmp_path)
    assert caught.value.message == f"The file {note}, which names the folder of the home, is damaged."
    assert f"delete the file: rm {note}." in caught.value.hint
    note.unlink()
    check_location(tmp_path)
    check_location(tmp_path)


@pytest.mark.parametrize("name", ["engine.lock", "engine.log", "engine.token", "engine.place", "start.lock"])
def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with raises(EngineError) as caught:
        make_home(tmp_path)
    assert caught.value.message == f"{tmp_path / name} is a folder, but an engine keeps a file there."
    assert "Move the folder away" in caught.value.hint
    (tmp_path / name).rmdir()
    assert make_home(tmp_path) == tmp_path


def test_damaged_token_is_reported_with_a_hint(tmp_path: Path) -> None:
    file = tmp_path / "engine.token"
    file.write_bytes(b"\xff\xfe\0\n")
    with raises(EngineError) as caught:
        token(tmp_path)
    assert caught.value.message == f"The file {file}, which has the token of the home, is damaged."
    assert f"rm {file}." in caught.value.hint
    file.unlink()
    assert token(tmp_path) == token(tmp_path)


def test_the_error_of_a_file_names_it(tmp_path: Path) -> None:
    file = tmp_path / "engine.lock"
    assert not_usable(tmp_path, PermissionError(13, "Permission denied", str(file))).message == (
        f"Cannot use {file} in the home: Permission denied."
    )


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


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o2770, 0o1777], ids=oct)
def test_a_home_in_which_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(mode)
    with raises(EngineError) as caught:
        make_home(home)
    assert caught.value.hint.startswith(f"Check that its files are yours, then run: chmod go-w {home}.")
    home.chmod(mode & ~0o022)  # the remedy
    assert make_home(home) == home


def test_a_home_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 4711)
    if tmp_path.stat().st_uid == 0:
        os.chown(tmp_path, 4712, -1)
    with pytest.raises(EngineError, match=f"The home {tmp_path} belongs to the user") as caught:
        make_home(tmp_path)
    assert caught.value.condition == "JETSQL.HOME_NOT_USABLE"


def test_the_log_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    (tmp_path / "engine.log").symlink_to(tmp_path / "other")
    with raises(EngineError) as caught, logging_to(tmp_path):
        pass
    assert caught.value.message == f"Cannot use {tmp_path / 'engine.log'} in the home: it is a symbolic link."


@pytest.mark.parametrize("kind", ["link", "pipe"])
@pytest.mark.timeout(20)
def test_a_note_that_is_no_file_is_not_read(tmp_path: Path, kind: str) -> None:
    write_note(tmp_path, EngineNote(1, "http://127.0.0.1:1", "token", "0.2", 0.0))
    note, other = tmp_path / "engine.json", tmp_path / "other"
    note.rename(other)
    note.symlink_to(other) if kind == "link" else os.mkfifo(note)
    assert read_note(tmp_path) is None


def test_the_note_of_another_user_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse the note, because statements would go to its address, which a program of that user may have."""
    write_note(tmp_path, EngineNote(1, "http://127.0.0.1:1", "token", "0.2", 0.0))
    if os.geteuid() == 0:
        os.chown(tmp_path / "engine.json", 4711, -1)
    monkeypatch.setattr(os, "geteuid", lambda: 4712)
    with pytest.raises(PermissionError, match="it belongs to another user"):
        read_note(tmp_path)
