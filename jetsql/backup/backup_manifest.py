"""The manifest of a backup: its files with their digests, and what they belong to.

The manifest is written last. A folder without one is no backup.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from jetsql.errors import EngineError
from jetsql.home.storage import METASTORE
from jetsql.home.store_note import STORE
from jetsql.jobs.model.ids import canonical_id
from jetsql.jobs.store.store_file import METRICS

MANIFEST: Final = "manifest.json"
FORMAT: Final = 1
HOME: Final = "home"
"""The folder of a backup with the files of the home: store, metrics and catalogue."""
STORAGE: Final = "storage"
"""The folder of a backup with the files of the storage: checkpoints, snapshots and tables."""
_TRUSTED: Final = "Restore only backups that you trust: the restored engine runs their jobs and functions."
STORAGE_FOLDERS: Final = ("checkpoints", "snapshots", "warehouse")
"""The folders of a storage."""
_CONTENTS: Final = {HOME: (STORE, METRICS, METASTORE), STORAGE: STORAGE_FOLDERS}


@dataclass(frozen=True)
class SavedFile:
    """A file of a backup."""

    size: int  # bytes
    modified: int  # nanoseconds since the epoch
    sha256: str


@dataclass(frozen=True)
class SavedJob:
    """A job in a backup."""

    id: str
    name: str
    status: str
    committed: int | None  # the newest committed batch; None before the first
    planned: int | None  # the newest planned batch, which a restored job repeats if it is not committed


@dataclass(frozen=True)
class BackupManifest:
    """The contents of a backup."""

    id: str
    created: float  # when the files were as they are in the backup, seconds since the epoch
    jetsql: str  # the version of JetSQL that made it
    home: str  # the path of the home, to which alone it can be restored
    storage: str  # the root of the storage, a path or URI
    storage_id: str  # see `Storage.id`
    store: str = ""  # the URL of a store on PostgreSQL, without secrets; empty for the home
    jobs: tuple[SavedJob, ...] = ()  # those that have a checkpoint
    snapshots: tuple[str, ...] = ()  # their names
    outside: tuple[str, ...] = ()  # the tables of jobs that are elsewhere, and not in the backup
    settings: Mapping[str, str] = field(default_factory=dict)  # those of the engine, without secrets
    folders: tuple[str, ...] = ()  # also empty ones, relative to the backup
    files: Mapping[str, SavedFile] = field(default_factory=dict)  # by their names relative to the backup
    format: int = FORMAT

    @property
    def size(self) -> int:
        """Return the size of all files in bytes."""
        return sum(file.size for file in self.files.values())

    def to_json(self) -> str:
        """Return the text of the file."""
        return json.dumps(asdict(self), indent=1)


def summary(manifest: BackupManifest) -> dict[str, Any]:
    """Return what a command prints about a backup, as JSON values."""
    names = ("created", "home", "jobs", "snapshots", "outside", "store")
    chosen = {name: value for name, value in asdict(replace(manifest, files={})).items() if name in names}
    return {**chosen, "files": len(manifest.files), "bytes": manifest.size}


def read_manifest(folder: Path) -> BackupManifest:
    """Return the manifest of a backup. Raises EngineError BACKUP_NOT_USABLE."""
    path = folder / MANIFEST
    try:
        fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if fields["format"] != FORMAT:
            raise not_usable(
                folder,
                f"its format is {fields['format']}, written by JetSQL {fields['jetsql']}, and this JetSQL reads"
                f" format {FORMAT}",
                "Restore it with that version of JetSQL.",
            )
        manifest = BackupManifest(
            **{
                **fields,
                "jobs": tuple(SavedJob(**job) for job in fields["jobs"]),
                "files": {name: SavedFile(**file) for name, file in fields["files"].items()},
                **{name: tuple(fields[name]) for name in ("snapshots", "outside", "folders")},
            }
        )
        _check_names(manifest, folder)
        return manifest
    except (FileNotFoundError, NotADirectoryError) as error:
        reason = "it has no manifest.json, which is written last" if folder.is_dir() else "there is no such folder"
        raise not_usable(folder, reason, "Use another backup: this one is not complete.") from error
    except OSError as error:
        raise not_usable(
            folder, f"{path} cannot be read ({error.strerror})", "Check the rights of the file."
        ) from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise not_usable(folder, f"{path} is damaged", "Use another backup.") from error


def _check_names(manifest: BackupManifest, folder: Path) -> None:
    """Raise EngineError BACKUP_NOT_USABLE for a path that no backup has: it could be outside the home."""
    wrong = next((name for name in (*manifest.files, *manifest.folders) if not _is_in_backup(name)), None)
    if wrong is not None:
        raise not_usable(folder, f"its manifest has the path {wrong!r}, which no backup has", _TRUSTED)
    job = next((job.id for job in manifest.jobs if canonical_id(job.id) != job.id), None)
    if job is not None:
        raise not_usable(folder, f"its manifest has the job id {job!r}, which is none", _TRUSTED)


def _is_in_backup(name: str) -> bool:
    """Return whether a path is one of a home or a storage, in the only way to write it."""
    path = PurePosixPath(name)
    if path.is_absolute() or str(path) != name or ".." in path.parts or "\0" in name or len(path.parts) == 1:
        return False
    first, second, *_ = path.parts
    return second in _CONTENTS.get(first, ())


def not_usable(folder: Path, reason: str, hint: str) -> EngineError:
    """Return the error for a folder that cannot be restored. reason: a clause"""
    return EngineError("BACKUP_NOT_USABLE", f"Cannot restore the backup {folder}: {reason}.", hint=hint)
