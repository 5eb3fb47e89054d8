"""The storage of a home's files that all members have to reach."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from jetsql.check.check_home import check
from jetsql.check.findings_report import report_lines
from jetsql.errors import EngineError
from jetsql.home.private_files import is_open_to_others
from jetsql.home.storage import NOTE, Storage, choose_storage, claim_storage, warn_if_open
from jetsql.jobs.store.job_store import Store
from tests.support.golden_reports import raises

HDFS = "hdfs://names:8020/jetsql"


class Files(dict[str, str]):
    """A store of files by their paths."""

    def read_if_there(self, path: str) -> str | None:
        return self.get(path)

    def write(self, path: str, text: str) -> None:
        self[path] = text


def begin(home: Path, wanted: str | None, files: Files) -> str:
    """Do the steps of an engine's start, and return the path of its checkpoints."""
    home.mkdir(exist_ok=True)
    storage = choose_storage(home, wanted)
    (home / "metastore").mkdir(exist_ok=True)
    claim_storage(storage, home, files)
    return storage.checkpoints


def error_of(home: Path, wanted: str | None, files: Files) -> EngineError:
    with raises(EngineError) as caught:
        begin(home, wanted, files)
    assert caught.value.condition == "JETSQL.HOME_NOT_USABLE"
    return caught.value


def test_without_a_storage_all_files_are_in_the_home(tmp_path: Path) -> None:
    files = Files()
    assert begin(tmp_path / "home", None, files) == f"file:{tmp_path}/home/checkpoints"
    assert files == {}
    assert not (tmp_path / "home" / NOTE).exists()


def test_storage_is_set_once_and_kept(tmp_path: Path) -> None:
    files = Files()
    for wanted in (HDFS, None, HDFS):
        assert begin(tmp_path / "home", wanted, files) == f"{HDFS}/checkpoints"
    assert json.loads(files[f"{HDFS}/jetsql-home.json"])["home"] == f"{tmp_path}/home"


@pytest.mark.parametrize("first", [None, HDFS])
def test_another_one_is_refused(tmp_path: Path, first: str | None) -> None:
    files = Files()
    begin(tmp_path / "home", first, files)
    error = error_of(tmp_path / "home", "s3a://bucket/jetsql", files)
    assert (first or f"{tmp_path}/home") in error.message
    assert "s3a://bucket/jetsql" in error.message


def test_storage_belongs_to_one_home(tmp_path: Path) -> None:
    files = Files()
    begin(tmp_path / "one", HDFS, files)
    assert f"{HDFS}/jetsql-home.json" in error_of(tmp_path / "two", HDFS, files).message
    assert not (tmp_path / "two" / NOTE).exists()
    assert begin(tmp_path / "one", None, files) == f"{HDFS}/checkpoints"


def test_start_killed_between_its_notes_is_repaired(tmp_path: Path) -> None:
    files = Files()
    begin(tmp_path / "home", HDFS, files)
    files.clear()
    begin(tmp_path / "home", None, files)
    assert list(files) == [f"{HDFS}/jetsql-home.json"]


def test_unreadable_owner_of_a_storage(tmp_path: Path) -> None:
    files = Files({f"{HDFS}/jetsql-home.json": "[1"})
    assert f"{HDFS}/jetsql-home.json" in error_of(tmp_path / "home", HDFS, files).message


@pytest.mark.parametrize("text", ["", "[]", '{"place": 1}', "{"])
def test_damaged_note_does_not_create_a_new_storage(tmp_path: Path, text: str) -> None:
    (tmp_path / NOTE).write_text(text)
    assert NOTE in error_of(tmp_path, None, Files()).message
    [finding] = check(tmp_path).findings
    assert NOTE in finding.message


def test_check_reads_files_in_the_storage(tmp_path: Path) -> None:
    home, shared = tmp_path / "home", tmp_path / "shared"
    begin(home, str(shared), Files())
    leftover = shared / "checkpoints" / "0001-0000-0000-0001"
    leftover.mkdir(parents=True)
    with closing(Store(home / "jetsql.db")):
        pass
    [finding] = check(home).findings
    assert (finding.message, finding.where) == ("These files belong to no job of the store.", str(leftover))


def test_check_names_what_it_cannot_read(tmp_path: Path) -> None:
    begin(tmp_path / "home", HDFS, Files())
    with closing(Store(tmp_path / "home" / "jetsql.db")):
        pass
    report = check(tmp_path / "home")
    [finding] = report.findings
    assert (finding.severity.is_problem, finding.where) == (False, HDFS)
    assert "they were not checked" in finding.message and "RESTART JOB" in finding.remedy
    summary = f"The store has no problems: checked 0 jobs and 0 snapshots in the store of {tmp_path / 'home'}, not"
    assert list(report_lines(report))[-1] == f"{summary} their files."


def test_a_storage_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    begin(tmp_path / "home", str(tmp_path / "shared" / "storage"), Files())
    assert not is_open_to_others(tmp_path / "shared" / "storage")


def test_folders_that_others_can_enter_are_named_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    home, storage = tmp_path / "home", tmp_path / "storage"
    for folder in (home, storage):
        folder.mkdir(mode=0o700)
    warn_if_open(home, Storage(str(storage)))
    warn_if_open(home, Storage("hdfs://names:8020/jetsql"))
    assert caplog.messages == []
    storage.chmod(0o755)
    warn_if_open(home, Storage(f"file:{storage}"))
    assert caplog.messages == [f"Other users of this machine can read {storage}. Run: chmod 700 {storage}"]
