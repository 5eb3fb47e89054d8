"""The folder of a backup while it is written: it gets its name when it is complete.

Its name ends with `.part` until then. A crash leaves that folder, and the next backup of the same home to the same
place deletes it.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final

from jetsql.backup.backup_manifest import MANIFEST, BackupManifest, SavedFile
from jetsql.backup.file_copies import copy_file, read_file
from jetsql.errors import EngineError
from jetsql.failpoints import failpoint
from jetsql.home.private_files import read_own, write_private

_NOTE: Final = "unfinished.json"
_HALF: Final = 3


class BackupFolder:
    """A backup that is being written. The end of the context deletes it, unless it was finished."""

    def __init__(self, target: Path, home: Path) -> None:
        """Create it for a target that does not exist or is an empty folder.

        home: the home that is backed up. Raises EngineError BACKUP_FAILED.
        """
        self._target = target
        self._home = home
        self.path = target.with_name(f"{target.name}.part")
        self._files: dict[str, SavedFile] = {}
        self._folders: set[str] = set()

    def __enter__(self) -> BackupFolder:
        try:
            self._check_target()
            self._remove_leftover()
            self.path.mkdir(mode=0o700)
            self._write_note()
        except OSError as error:
            raise self.failure(error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            shutil.rmtree(self.path, ignore_errors=True)
        if isinstance(error, OSError):
            raise self.failure(error) from error

    def _write_note(self) -> None:
        try:
            write_private(self.path / _NOTE, json.dumps({"home": str(self._home)}))
        except OSError:  # such as a full disk, which the folder must not fill further
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def _check_target(self) -> None:
        target, home = self._target.resolve(), self._home.resolve()
        if target.is_relative_to(home):
            raise _refusal(f"{self._target} is in the home {self._home}", "Choose a folder on another disk.")
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise _refusal(f"{self._target} exists and is not empty", "Choose a new folder, such as one for each day.")

    def _remove_leftover(self) -> None:
        if not self.path.exists():
            return
        if any(self.path.iterdir()) and str(self._home) not in map(self._read_home, (_NOTE, MANIFEST)):
            raise _refusal(f"{self.path} exists, and is no unfinished backup of {self._home}", "Move it away.")
        shutil.rmtree(self.path)

    def _read_home(self, name: str) -> object:
        """Return the home in a file of an earlier attempt, or None."""
        try:
            return json.loads(read_own(self.path / name))["home"]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def copy(self, source: Path, name: str) -> None:
        """Copy a file. name: relative to the backup. Raises OSError, and StatementError on cancellation."""
        self._files[name] = copy_file(source, self.path / name)
        if len(self._files) == _HALF:
            failpoint("backup-half-copied")

    def copy_if_there(self, source: Path, name: str) -> bool:
        """Copy a file unless it was deleted, and return whether it was there."""
        try:
            self.copy(source, name)
        except FileNotFoundError:
            (self.path / name).unlink(missing_ok=True)
            return False
        return True

    def add(self, name: str) -> None:
        """Add a file that is already in the folder."""
        self._files[name] = read_file(self.path / name)

    def add_folder(self, name: str) -> None:
        """Add a folder, which may be empty."""
        self._folders.add(name)

    def finish(self, manifest: BackupManifest) -> BackupManifest:
        """Write the manifest, and give the folder its name. manifest: without its files and folders"""
        complete = replace(manifest, files=dict(sorted(self._files.items())), folders=tuple(sorted(self._folders)))
        os.sync()
        write_private(self.path / MANIFEST, complete.to_json())
        (self.path / _NOTE).unlink()
        os.sync()
        failpoint("backup-written")
        os.rename(self.path, self._target)
        return complete

    def failure(self, error: OSError) -> EngineError:
        """Return the error for one of the system."""
        path = error.filename or self._target
        if isinstance(error, FileNotFoundError) and str(path) != str(self.path):
            return EngineError(
                "BACKUP_FAILED",
                f"Cannot write the backup {self._target}: {path} was deleted meanwhile, for example by DROP, TRUNCATE"
                " or VACUUM.",
                hint="Try again.",
            )
        reason = f"{error.strerror or error} ({path})"
        return _refusal(reason, "Choose a folder that the user of the engine can write, with enough space.")


def _refusal(reason: str, hint: str) -> EngineError:
    return EngineError("BACKUP_FAILED", f"Cannot write the backup: {reason}.", hint=hint)
