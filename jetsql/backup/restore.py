"""Restore a home from a backup, whole or not at all: until the end, a note in the home keeps engines from starting.

The digests of all files are compared before anything is written, and again while the files are copied. After a crash,
the same command starts from the beginning. A failure deletes what was written.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from jetsql.backup.backup_manifest import (
    HOME,
    STORAGE,
    STORAGE_FOLDERS,
    BackupManifest,
    SavedFile,
    not_usable,
    read_manifest,
)
from jetsql.backup.file_copies import copy_file, read_file
from jetsql.errors import EngineError
from jetsql.failpoints import failpoint
from jetsql.home import home_lock
from jetsql.home.home_lock import HomeLock, make_home
from jetsql.home.log_reader import LOG
from jetsql.home.private_files import private_folders, write_private
from jetsql.home.restore_note import NOTE, has_restore_note, is_restored_to, remove_restore_note, write_restore_note
from jetsql.home.storage import Storage, join_storage, local_folder
from jetsql.home.store_note import STORE
from jetsql.jobs.model.job import RESTORED
from jetsql.jobs.store.store_file import StoreFile

_ALLOWED: Final = ("engine.lock", "engine.owner", "engine.token", "engine.logins", "start.lock", NOTE)
"""The files that an empty home may have, next to the log: a token that clients know, and locks."""


def restore(backup: Path, home: Path) -> BackupManifest:
    """Restore a home, which must be empty, from a backup.

    Raises EngineError BACKUP_NOT_USABLE; HOME_NOT_USABLE for a home that is not empty or that the backup is not of;
    HOME_IN_USE; and STORE_TOO_NEW, STORE_DAMAGED for the store in the backup.
    """
    manifest = read_manifest(backup)
    _check_place(manifest, home)
    _check_files(manifest, backup)
    StoreFile(backup / HOME / STORE).inspect()
    home = make_home(home)
    lock = HomeLock(home)
    try:
        return _restore(manifest, backup, home)
    finally:
        lock.release()


def _check_place(manifest: BackupManifest, home: Path) -> None:
    if str(home.expanduser().absolute()) != manifest.home:
        raise EngineError(
            "HOME_NOT_USABLE",
            f"The backup is of the home {manifest.home}, and its catalogue and checkpoints have this path, so it cannot"
            f" be restored to {home}.",
            hint=f"Restore it with --home {manifest.home}, on this machine or on another one.",
        )
    if local_folder(manifest.storage) is None:
        raise not_usable(Path(manifest.home), f"its storage is {manifest.storage}", "Restore it by hand.")


def _check_files(manifest: BackupManifest, backup: Path) -> None:
    """Compare all files with their digests. Raises EngineError BACKUP_NOT_USABLE."""
    for name, saved in manifest.files.items():
        path = backup / name
        if path.resolve() != backup.resolve() / name:
            raise _damaged(backup, path, "is a link, or below one")
        try:
            found = read_file(path)
        except FileNotFoundError as error:
            raise _damaged(backup, path, "is missing") from error
        except OSError as error:
            raise _damaged(backup, path, f"cannot be read ({error.strerror})") from error
        _compare(backup, path, saved, found)


def _compare(backup: Path, path: Path, saved: SavedFile, found: SavedFile) -> None:
    if (saved.size, saved.sha256) != (found.size, found.sha256):
        raise _damaged(backup, path, "was changed after the backup was written")


def _damaged(backup: Path, path: Path, reason: str) -> EngineError:
    return not_usable(backup, f"{path} {reason}", "Use another backup. Nothing was restored.")


def _restore(manifest: BackupManifest, backup: Path, home: Path) -> BackupManifest:
    root = local_folder(manifest.storage)
    assert root is not None, "it was checked before"
    if not is_restored_to(home, root):
        _check_empty([*([] if has_restore_note(home) else _contents(home)), *_storage_folders(root)], home)
    try:
        write_restore_note(home, backup, root)
        _clear(home, root)
        _copy(manifest, backup, home, root)
    except BaseException as error:
        _clear(home, root)
        remove_restore_note(home)
        if isinstance(error, OSError):
            raise home_lock.not_usable(home, error) from error
        raise
    os.sync()
    failpoint("restore-copied")
    remove_restore_note(home)
    return manifest


def _check_empty(paths: Iterable[Path], home: Path) -> None:
    found = next((path for path in paths if path.exists()), None)
    if found is not None:
        raise EngineError(
            "HOME_NOT_USABLE",
            f"Cannot restore to the home {home}: it is not empty, {found} exists. Nothing was changed.",
            hint="Move it away, and run the command again.",
        )


def _contents(home: Path) -> list[Path]:
    """Return the files and folders of a home that an empty home does not have, in the order of their names."""
    return sorted(path for path in home.iterdir() if path.name not in _ALLOWED and not path.name.startswith(LOG))


def _storage_folders(root: Path) -> list[Path]:
    return [root / name for name in STORAGE_FOLDERS]


def _clear(home: Path, root: Path) -> None:
    """Delete what an earlier attempt has restored."""
    for path in (*_contents(home), *_storage_folders(root)):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _copy(manifest: BackupManifest, backup: Path, home: Path, root: Path) -> None:
    places = {HOME: home, STORAGE: root}

    def place(name: str) -> Path:
        first, _, rest = name.partition("/")
        return places[first] / rest

    for folder in manifest.folders:
        private_folders(place(folder))
    for count, (name, saved) in enumerate(manifest.files.items()):
        copied = copy_file(backup / name, place(name))
        _compare(backup, backup / name, saved, copied)
        os.utime(place(name), ns=(saved.modified, saved.modified))
        if count == len(manifest.files) // 2:
            failpoint("restore-half-copied")
    for job in manifest.jobs:
        note = root / "checkpoints" / job.id / RESTORED
        private_folders(note.parent)
        write_private(note, f"{manifest.id}\n")
    if manifest.storage_id:
        join_storage(home, Storage(manifest.storage, manifest.storage_id))
