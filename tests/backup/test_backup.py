"""`jetsql backup` without an engine, and `jetsql restore`: whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from jetsql.backup import backup_folder, backup_manifest, file_copies
from jetsql.backup import restore as restore_module
from jetsql.backup.backup_manifest import MANIFEST, BackupManifest, read_manifest
from jetsql.backup.make_backup import BackedUpHome, back_up_stopped
from jetsql.backup.restore import restore
from jetsql.cli import cli
from jetsql.cli.flags import ExitCode
from jetsql.client.find_engine import RunningEngine
from jetsql.client.http_client import HttpClient
from jetsql.errors import EngineError
from jetsql.failpoints import VARIABLE
from jetsql.home.discovery import EngineNote
from jetsql.home.home_lock import HomeLock
from jetsql.home.restore_note import NOTE, check_restored
from jetsql.home.storage import Storage, join_storage, storage_of
from jetsql.jobs.model.job import Status
from jetsql.jobs.store.database import VERSION
from jetsql.jobs.store.store_choice import find_database, open_store
from tests.jobs.store.test_store import JOB, row, snapshot
from tests.support.golden_reports import raises
from tests.support.paths import ROOT

CHECKPOINT = f"checkpoints/{JOB.id}"
FILES = {
    "metastore/seg0/c10.dat": "the catalogue",
    "metastore/service.properties": "",
    f"{CHECKPOINT}/spark/metadata": "{}",
    f"{CHECKPOINT}/spark/offsets/6": "v1",
    f"{CHECKPOINT}/spark/offsets/7": "v1",
    f"{CHECKPOINT}/spark/commits/6": "v1",
    f"{CHECKPOINT}/manifests/000000006.json": "{}",
    "snapshots/0003-0000-0000-0001/metadata": "{}",
    "warehouse/t/part-1.json": '{"id": 1}',
    "warehouse/t/.jetsql/x/staged": "",
}
LEFT_OUT = {
    "metastore/db.lck": "",
    f"{CHECKPOINT}/lease.json": "{}",
    "warehouse/t/_temporary/0/part-2.json": "",
    "engine.log": "",
    "engine.token": "secret",
}


def fill(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1000, 1000))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    with closing(open_store(home, None, None)) as store:
        store.add(JOB, row(JOB, "submitted"))
        ended = replace(JOB, id="0002-0000-0000-0001", name="ended", status=Status.COMPLETED, end_time=7.25)
        store.add(ended, row(ended))
        store.add_snapshot(snapshot(), None, row(JOB, "snapshot"))
    fill(home, FILES | LEFT_OUT)
    (home / "warehouse" / "empty").mkdir()
    return home


def back_up(
    home: Path, target: Path, catalog: str | None = None, servers: Mapping[str, str] | None = None
) -> BackupManifest:
    database = find_database(home, None, None)
    return back_up_stopped(BackedUpHome(home, storage_of(home), database, catalog, {}, servers or {}), target)


def tree(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text(errors="replace") for path in root.rglob("*") if path.is_file()}


def jobs(home: Path) -> tuple[object, ...]:
    with closing(open_store(home, None, None)) as store:
        return store.all_jobs(), store.history(), store.snapshots(), store.id, store.functions()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, env={"JETSQL_CONFIG": os.devnull, "JETSQL_URL": ""})


def kill_at(point: str, *arguments: str) -> None:
    environment = {**os.environ, "JETSQL_CONFIG": os.devnull, VARIABLE: point}
    ended = subprocess.run(
        [sys.executable, "-m", "jetsql", *arguments], cwd=ROOT, env=environment, capture_output=True, check=False
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def test_home_is_restored(home: Path, tmp_path: Path) -> None:
    before = jobs(home)
    target = tmp_path / "backups" / "monday"
    target.parent.mkdir()
    written = run("backup", str(target), "--home", str(home))
    assert written.exit_code == 0, written.output
    assert "1 jobs, 1 snapshots" in written.output
    manifest = read_manifest(target)
    [job] = manifest.jobs
    assert (job.name, job.committed, job.planned) == (JOB.name, 6, 7)
    assert manifest.outside == ("spark_catalog.default.out",)  # the job's table, whose location is not in the home
    home.rename(tmp_path / "lost")
    restored = run("restore", str(target), "--home", str(home))
    assert restored.exit_code == 0, restored.output
    assert jobs(home) == before
    found = tree(home)
    assert {name: found[name] for name in FILES} == FILES
    assert not set(LEFT_OUT) & set(found)
    assert (home / "warehouse" / "t" / "part-1.json").stat().st_mtime == 1000
    assert (home / "warehouse" / "empty").is_dir()
    assert (home.stat().st_mode & 0o777, (home / "jetsql.db").stat().st_mode & 0o777) == (0o700, 0o600)
    check_restored(home)


def test_backups_and_restored_homes_are_private_from_the_beginning(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Use every umask, and check the folders while they are written, when other users could find them."""
    seen: dict[str, int] = {}

    def see(point: str) -> None:
        backups = tmp_path / "monday.part", tmp_path / "monday"
        for root in backups if point.startswith("backup") else (*backups, home):
            for path in (root, *root.rglob("*")) if root.exists() else ():
                seen[f"{point}: {path}"] = path.lstat().st_mode & 0o077

    for module in (backup_folder, restore_module):
        monkeypatch.setattr(module, "failpoint", see)
    before = os.umask(0)
    try:
        back_up(home, tmp_path / "monday")
        shutil.rmtree(home)
        assert run("restore", str(tmp_path / "monday"), "--home", str(home)).exit_code == 0
        see("end")
    finally:
        os.umask(before)
    assert {name.partition(":")[0] for name in seen} >= {"backup-half-copied", "restore-half-copied", "end"}
    assert {name: mode for name, mode in seen.items() if mode} == {}


def test_pipe_instead_of_a_leftover_does_not_block(home: Path, tmp_path: Path) -> None:
    """Ignore the pipe, which another user can create in a folder that all can write."""
    (tmp_path / "monday.part").mkdir()
    os.mkfifo(tmp_path / "monday.part" / "unfinished.json")
    with raises(EngineError):
        back_up(home, tmp_path / "monday")


def test_storage_outside_the_home_is_restored(home: Path, tmp_path: Path) -> None:
    storage = tmp_path / "shared"
    for name in ("checkpoints", "snapshots", "warehouse"):
        (home / name).rename(storage / name) if storage.exists() else shutil.move(home / name, storage / name)
    join_storage(home, Storage(f"file:{storage}", "an-id"))
    target = tmp_path / "backup"
    back_up(home, target)
    shutil.rmtree(home)
    with raises(EngineError, "is not empty"):
        restore(target, home)
    assert not (home / NOTE).exists()
    shutil.rmtree(storage)
    restore(target, home)
    assert storage_of(home) == Storage(f"file:{storage}", "an-id")
    assert (storage / "warehouse" / "t" / "part-1.json").exists()


@pytest.mark.parametrize("point", ["backup-half-copied", "backup-written"])
def test_killed_backup_is_invalid(home: Path, tmp_path: Path, point: str) -> None:
    target, before = tmp_path / "backup", tree(home)
    kill_at(point, "backup", str(target), "--home", str(home))
    assert not target.exists()
    part = tmp_path / "backup.part"
    assert part.is_dir() and tree(home).keys() - before.keys() <= {"engine.lock", "engine.owner"}
    if point == "backup-half-copied":
        assert run("restore", str(part), "--home", str(home)).exit_code == ExitCode.NO_ENGINE
    assert run("backup", str(target), "--home", str(home)).exit_code == 0
    assert not part.exists() and read_manifest(target).jobs


@pytest.mark.parametrize("point", ["restore-half-copied", "restore-copied"])
def test_a_home_whose_restore_was_killed_is_not_usable(home: Path, tmp_path: Path, point: str) -> None:
    before = jobs(home)
    back_up(home, tmp_path / "backup")
    shutil.rmtree(home)
    kill_at(point, "restore", str(tmp_path / "backup"), "--home", str(home))
    with raises(EngineError, "has not ended"):
        check_restored(home)
    assert run("backup", str(tmp_path / "other"), "--home", str(home)).exit_code == ExitCode.NO_ENGINE
    assert "has not ended" in run("check", "--home", str(home)).output
    assert run("restore", str(tmp_path / "backup"), "--home", str(home)).exit_code == 0
    check_restored(home)
    assert jobs(home) == before
    assert tree(home).keys() >= FILES.keys()


@pytest.mark.parametrize(
    "name", [f"storage/{CHECKPOINT}/spark/offsets/7", "home/jetsql.db", "home/metastore/seg0/c10.dat"]
)
@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_damaged_file_is_found_before_anything_is_written(home: Path, tmp_path: Path, name: str, damage: str) -> None:
    back_up(home, tmp_path / "backup")
    path = tmp_path / "backup" / name
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    shutil.rmtree(home)
    with raises(EngineError, "BACKUP_NOT_USABLE"):
        restore(tmp_path / "backup", home)
    assert not home.exists()


def test_invalid_backup_is_refused(home: Path, tmp_path: Path) -> None:
    back_up(home, tmp_path / "backup")
    manifest = tmp_path / "backup" / MANIFEST
    fields = json.loads(manifest.read_text())
    for text in ("{", "[]", json.dumps({**fields, "format": backup_manifest.FORMAT + 1}), json.dumps({"format": 1})):
        manifest.write_text(text)
        with raises(EngineError):
            restore(tmp_path / "backup", home)
    manifest.unlink()
    for folder in (tmp_path / "backup", tmp_path / "missing"):
        with raises(EngineError):
            restore(folder, home)


@pytest.mark.parametrize(
    "path",
    [
        "../escaped", "/absolute", "home//etc/x", "home/../../x", "home/metastore/../../../x", "storage/warehouse//x",
        "home/engine.token", "storage/other/x", "home", "elsewhere/x", "storage/warehouse/./x", "home/metastore/a\0b",
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["files", "folders"])
def test_a_path_outside_of_a_home_is_refused(home: Path, tmp_path: Path, path: str, kind: str) -> None:
    back_up(home, tmp_path / "backup")
    shutil.rmtree(home)
    manifest = tmp_path / "backup" / MANIFEST
    fields = json.loads(manifest.read_text())
    empty = {"size": 0, "modified": 0, "sha256": hashlib.sha256().hexdigest()}
    manifest.write_text(json.dumps({**fields, kind: {path: empty} if kind == "files" else [path]}))
    with pytest.raises(EngineError, match="which no backup has"):
        restore(tmp_path / "backup", home)
    assert not home.exists()


def test_a_job_id_that_is_a_path_is_refused(home: Path, tmp_path: Path) -> None:
    manifest = back_up(home, tmp_path / "backup")
    shutil.rmtree(home)
    hostile = replace(manifest, jobs=(replace(manifest.jobs[0], id="../../x"),))
    (tmp_path / "backup" / MANIFEST).write_text(hostile.to_json())
    with raises(EngineError, "BACKUP_NOT_USABLE"):
        restore(tmp_path / "backup", home)


@pytest.mark.parametrize("kind", ["a pipe", "a link", "below a link"])
def test_only_files_of_the_backup_are_restored(home: Path, tmp_path: Path, kind: str) -> None:
    back_up(home, tmp_path / "backup")
    shutil.rmtree(home)
    file = tmp_path / "backup" / "home" / "metastore" / "service.properties"
    other = tmp_path / "other"
    if kind == "below a link":
        file.parent.rename(other)
        file.parent.symlink_to(other)
    else:
        file.rename(other)
        os.mkfifo(file) if kind == "a pipe" else file.symlink_to(other)
    with pytest.raises(EngineError, match="is no regular file" if kind == "a pipe" else "is a link, or below one"):
        restore(tmp_path / "backup", home)
    assert not home.exists()


def test_a_restore_that_was_killed_deletes_nothing_in_another_storage(home: Path, tmp_path: Path) -> None:
    back_up(home, tmp_path / "backup")
    shutil.rmtree(home)
    kill_at("restore-half-copied", "restore", str(tmp_path / "backup"), "--home", str(home))
    other = tmp_path / "other"
    fill(other, {"warehouse/t/part-1.json": "of another home"})
    hostile = replace(read_manifest(tmp_path / "backup"), storage=f"file:{other}")
    (tmp_path / "backup" / MANIFEST).write_text(hostile.to_json())
    with raises(EngineError, "HOME_NOT_USABLE"):
        restore(tmp_path / "backup", home)
    assert (other / "warehouse/t/part-1.json").exists()


def test_a_backup_of_a_newer_store_is_refused(home: Path, tmp_path: Path) -> None:
    import sqlite3

    back_up(home, tmp_path / "backup")
    store = tmp_path / "backup" / "home" / "jetsql.db"
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'version'", (str(VERSION + 1),))
        connection.commit()
    manifest = read_manifest(tmp_path / "backup")
    files = {**manifest.files, "home/jetsql.db": file_copies.read_file(store)}
    (tmp_path / "backup" / MANIFEST).write_text(replace(manifest, files=files).to_json())
    shutil.rmtree(home)
    with raises(EngineError, "STORE_TOO_NEW"):
        restore(tmp_path / "backup", home)
    assert not home.exists()


def test_only_an_empty_home_at_the_same_path_is_restored(home: Path, tmp_path: Path) -> None:
    back_up(home, tmp_path / "backup")
    before = tree(home)
    with raises(EngineError, "is not empty"):
        restore(tmp_path / "backup", home)
    with raises(EngineError, "have this path"):
        restore(tmp_path / "backup", tmp_path / "other")
    assert not (tmp_path / "other").exists()
    assert tree(home) == before


def test_the_token_of_a_new_home_stays(home: Path, tmp_path: Path) -> None:
    back_up(home, tmp_path / "backup")
    shutil.rmtree(home)
    fill(home, {"engine.token": "known to clients"})
    restore(tmp_path / "backup", home)
    assert (home / "engine.token").read_text() == "known to clients"


def test_a_failure_leaves_the_home_empty(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    back_up(home, tmp_path / "backup")
    shutil.rmtree(home)

    def full(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr("jetsql.backup.restore.copy_file", full)
    with raises(EngineError, "No space left"):
        restore(tmp_path / "backup", home)
    assert tree(home).keys() <= {"engine.lock"}


def test_a_backup_needs_a_new_folder_that_can_be_written(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = tmp_path / "full"
    fill(full, {"file": ""})
    for target in (full, full / "file", home / "backup", tmp_path / "missing" / "backup"):
        with raises(EngineError, "BACKUP_FAILED"):
            back_up(home, target)
    fill(tmp_path, {"mine.part/file": ""})
    with raises(EngineError, "is no unfinished backup"):
        back_up(home, tmp_path / "mine")
    assert (tmp_path / "mine.part" / "file").exists()

    make = Path.mkdir

    def denied(self: Path, *arguments: Any, **named: Any) -> None:
        if self.name == "denied.part":
            raise PermissionError(13, "Permission denied", str(self))
        make(self, *arguments, **named)

    monkeypatch.setattr(Path, "mkdir", denied)
    with raises(EngineError, "Permission denied"):
        back_up(home, tmp_path / "denied")
    assert tree(full) == {"file": ""} and not (home / "backup").exists()


def test_a_failure_leaves_no_part_of_a_backup(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr("jetsql.backup.backup_folder.copy_file", full)
    with raises(EngineError, "No space left"):
        back_up(home, tmp_path / "backup")
    assert not (tmp_path / "backup").exists() and not (tmp_path / "backup.part").exists()


def test_files_without_a_consistent_copy_are_refused(home: Path, tmp_path: Path) -> None:
    with raises(EngineError, "pg_dump"):
        back_up(home, tmp_path / "backup", "jdbc:postgresql://db/catalog")
    with raises(EngineError, "the catalogue lake are in the home"):
        back_up(home, tmp_path / "backup", servers={"lake": f"file:{home}/warehouse/lake"})
    assert not (tmp_path / "backup").exists()
    join_storage(home, Storage("s3a://lake/jetsql", "id"))
    with raises(EngineError, "no folder"):
        back_up(home, tmp_path / "backup")
    lock = HomeLock(home)
    with raises(EngineError, "in use"):
        back_up(home, tmp_path / "backup")
    lock.release()
    assert run("backup", str(tmp_path / "backup"), "--home", str(tmp_path / "none")).exit_code == ExitCode.NO_ENGINE
    assert not (tmp_path / "backup").exists()


def test_newest_versions_of_an_overwritten_table_are_kept(tmp_path: Path) -> None:
    job, other = "0001-0000-0000-0001", "0001-0000-0000-0002"
    names = [*(f"{job}-{batch:09d}" for batch in range(8, 12)), f"{other}-000000000", f"{other}-0002-000000001"]
    fill(tmp_path, {f".t.versions/{name}/part": "" for name in names} | {"t/_delta_log/0.json": "", "t/A/part": ""})
    folders, files = file_copies.list_tree(tmp_path)
    assert sorted(files) == [*(f".t.versions/{name}/part" for name in names[2:]), "t/A/part", "t/_delta_log/0.json"]
    assert files.index("t/A/part") > files.index("t/_delta_log/0.json")
    assert ".t.versions" in folders


def test_a_standby_writes_no_backup(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leader = "http://engine-1.example.com:8630"
    note = EngineNote(1, "http://127.0.0.1:1", "token", "0", 0.0)
    standby = RunningEngine(note, {"role": "standby", "leader": leader}, client=HttpClient(note.url, note.token))
    monkeypatch.setattr("jetsql.client.find_engine.find_engine", lambda home, keep_connection: standby)
    ended = run("backup", str(tmp_path / "backup"), "--home", str(home))
    assert ended.exit_code == ExitCode.NO_ENGINE
    assert "NOT_LEADER" in ended.output and leader in ended.output
