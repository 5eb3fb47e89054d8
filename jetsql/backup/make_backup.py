"""Back up a home: its store, checkpoints, snapshots, tables and catalogue, as they were at one moment.

While an engine runs, its sinks wait for a moment. Meanwhile the store and the catalogue are copied, and the files of
checkpoints and tables are listed. They are copied afterwards, while the jobs continue: they do not change, and the
engine does not delete the listed ones. So the backup is what a crash at that moment would have left, and a restored
engine continues as after a crash. Without an engine, all files are copied as they are.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final, Protocol
from uuid import uuid4

from jetsql.backup.backup_folder import BackupFolder
from jetsql.backup.backup_manifest import HOME, STORAGE, BackupManifest, SavedJob
from jetsql.backup.file_copies import list_tree
from jetsql.errors import EngineError
from jetsql.home.home_lock import HomeLock
from jetsql.home.restore_note import check_restored
from jetsql.home.storage import METASTORE, Storage, local_folder
from jetsql.home.store_note import STORE
from jetsql.jobs.checkpoint_files.log_entries import Progress, read_progress
from jetsql.jobs.checkpoint_files.stored_files import LocalFiles
from jetsql.jobs.lifecycle.runtime import CheckpointImage
from jetsql.jobs.model.job import Job, Snapshot, checkpoint_name
from jetsql.jobs.store.database import StoreDatabase
from jetsql.jobs.store.store_copy import back_up_store
from jetsql.jobs.store.store_file import METRICS, StoreFile
from jetsql.version import VERSION

_LOG: Final = logging.getLogger(__name__)
PAUSE_SECONDS: Final = 60.0
"""The time within which the running batches of all jobs have to end, so that the backup can begin."""
_LEASE: Final = "lease.json"
_STAGING: Final = "/.jetsql/"
_LOCKS: Final = ("db.lck", "dbex.lck")
_REWRITTEN: Final = ("_last_checkpoint", "version-hint.text")
"""The files of Delta and Iceberg tables that each commit can replace: they name the newest version or checkpoint."""


class BackupSource(Protocol):
    """The engine that runs the jobs: a `SparkRuntime`."""

    def copying_files(self) -> AbstractContextManager[None]:
        """Keep the replaced versions of tables inside the context."""

    def closed_sinks(self, seconds: float) -> AbstractContextManager[None]:
        """Let no sink write inside the context. Raises EngineError BACKUP_FAILED after `seconds`."""

    def pinned_image(self, job: Job) -> AbstractContextManager[CheckpointImage]:
        """Return the files of the job's checkpoints, which stay inside the context."""

    def back_up_catalog(self, metastore: Path, folder: Path) -> None:
        """Copy the catalogue into a folder. Raises EngineError BACKUP_FAILED."""


@dataclass(frozen=True)
class BackedUpHome:
    """The home that is backed up."""

    home: Path
    storage: Storage
    database: StoreDatabase
    catalog: str | None = None  # the setting `catalog`; None for Derby in the home
    settings: Mapping[str, str] = field(default_factory=dict)  # without secrets, for the reader of the manifest
    iceberg_servers: Mapping[str, str] = field(default_factory=dict)
    """The warehouses of Iceberg's catalogues that a database or a server keeps, by their names."""

    @property
    def root(self) -> Path:
        """Return the folder of the storage. Raises EngineError BACKUP_FAILED for what cannot be backed up."""
        if self.catalog is not None:
            raise _not_possible(
                f"the catalogue of {self.home} is in a database (the setting catalog), which JetSQL cannot copy as of"
                " the same moment",
                "Stop the engines, and copy the database (pg_dump) and the storage with their own tools.",
            )
        root = local_folder(self.storage.root)
        if root is None:
            raise _not_possible(
                f"the storage {self.storage.root} is no folder of this machine",
                "Stop the engine, and copy the storage with its own tools.",
            )
        for name, warehouse in self.iceberg_servers.items():
            if _is_in(root / "warehouse", warehouse):
                raise _not_possible(
                    f"the files of the tables in the catalogue {name} are in the home, but their newest versions are in"
                    " a database or a server, which JetSQL cannot copy as of the same moment",
                    f"Stop the engine, and copy the home and the catalogue {name} with their own tools. To back up"
                    " while the engine runs, use kind = 'hadoop', or a warehouse outside of the home.",
                )
        return root


def back_up_running(source: BackedUpHome, engine: BackupSource, target: Path) -> BackupManifest:
    """Write a backup of a home whose engine runs. target: a new or empty folder. Raises EngineError BACKUP_FAILED."""
    root = source.root
    with BackupFolder(target, source.home) as backup, ExitStack() as pins, engine.copying_files():
        with engine.closed_sinks(PAUSE_SECONDS):
            created = time.time()
            contents = _copy_store(source, backup)
            images = {job.id: pins.enter_context(engine.pinned_image(job)) for job in contents.jobs}
            for job in contents.jobs:
                _copy_job_files(root, job, backup)
            engine.back_up_catalog(source.home / METASTORE, backup.path / HOME)
            tables = list_tree(root / "warehouse")
            _copy_tree(root, "warehouse", tables, backup, _changes)
        _LOG.info("Backup %s: no sink wrote for %.1f s; the files are copied now", target, time.time() - created)
        for name in list_tree(backup.path / HOME / METASTORE)[1]:
            backup.add(f"{HOME}/{METASTORE}/{name}")
        for job in contents.jobs:
            _copy_image(root, job, images[job.id], backup)
        pins.close()
        for snapshot in contents.snapshots:
            folder = f"snapshots/{snapshot.id}"
            _copy_tree(root, folder, list_tree(root / folder), backup)
        _copy_tree(root, "warehouse", tables, backup, lambda name: not _changes(name))
        jobs = (_saved(job, images[job.id]) for job in contents.jobs)
        manifest = backup.finish(_manifest(source, root, created, contents, tuple(jobs)))
    _LOG.info("Backup %s is complete: %d files, %d bytes", target, len(manifest.files), manifest.size)
    return manifest


class OnlineBackups:
    """The backups of a running engine, one at a time."""

    def __init__(self, source: BackedUpHome, engine: BackupSource) -> None:
        self._source = source
        self._engine = engine
        self._lock = Lock()

    def write(self, target: Path) -> BackupManifest:
        """Write a backup. Raises EngineError BACKUP_FAILED, also while another one is written."""
        if not self._lock.acquire(blocking=False):
            raise EngineError("BACKUP_FAILED", "The engine is writing another backup.", hint="Try again after it.")
        try:
            return back_up_running(self._source, self._engine, target)
        finally:
            self._lock.release()


def back_up_stopped(source: BackedUpHome, target: Path) -> BackupManifest:
    """Write a backup of a home on which no engine runs.

    Raises EngineError BACKUP_FAILED; HOME_IN_USE, STORE_IN_USE while one runs.
    """
    check_restored(source.home)
    with _locked(source):
        root = source.root
        with BackupFolder(target, source.home) as backup:
            contents = _copy_store(source, backup)
            folders, files = list_tree(source.home / METASTORE)
            for folder in folders:
                backup.add_folder(f"{HOME}/{METASTORE}/{folder}")
            for name in files:
                if name not in _LOCKS:
                    backup.copy(source.home / METASTORE / name, f"{HOME}/{METASTORE}/{name}")
            for folder in ("checkpoints", "snapshots", "warehouse"):
                _copy_tree(root, folder, list_tree(root / folder), backup, lambda name: Path(name).name != _LEASE)
            jobs = (_saved(job, _read_progress(root, job)) for job in contents.jobs)
            return backup.finish(_manifest(source, root, time.time(), contents, tuple(jobs)))


@contextmanager
def _locked(source: BackedUpHome) -> Iterator[None]:
    lock = HomeLock(source.home)
    try:
        try:
            source.database.lock()
        except source.database.errors as error:
            raise source.database.translate_error(error) from error
        try:
            yield
        finally:
            source.database.close()
    finally:
        lock.release()


@dataclass(frozen=True)
class _Contents:
    """The contents of the copied store that have files."""

    jobs: tuple[Job, ...]
    snapshots: tuple[Snapshot, ...]


def _copy_store(source: BackedUpHome, backup: BackupFolder) -> _Contents:
    """Copy the store, and return its jobs with files, and its snapshots."""
    folder = backup.path / HOME
    folder.mkdir(mode=0o700)
    back_up_store(source.database, folder / STORE)
    for name in (STORE, METRICS):
        backup.add(f"{HOME}/{name}")
    contents = StoreFile(folder / STORE).contents()
    assert contents is not None, "the store was just copied"
    jobs = tuple(job for job in contents.jobs if job.is_live or job.has_files)
    return _Contents(jobs, contents.snapshots)


def _copy_job_files(root: Path, job: Job, backup: BackupFolder) -> None:
    """Copy the files of a job except its checkpoints: the records of its sinks."""
    folder = f"checkpoints/{job.id}"
    folders, files = list_tree(root / folder)
    _copy_tree(root, folder, (folders, files), backup, lambda name: not _is_of_checkpoint(name) and name != _LEASE)


def _is_of_checkpoint(name: str) -> bool:
    """Return whether a file in a job's folder belongs to a checkpoint of Spark."""
    first, slash, _ = name.partition("/")
    return bool(slash) and first.startswith("spark")


def _changes(name: str) -> bool:
    """Return whether a file below the warehouse, or the files of a folder, can change: it is copied at the moment.

    Hadoop keeps the checksum of a file in `.NAME.crc`.
    """
    return _STAGING in f"/{name}" or Path(name).name.removeprefix(".").removesuffix(".crc") in _REWRITTEN


def _copy_image(root: Path, job: Job, image: CheckpointImage, backup: BackupFolder) -> None:
    """Copy the checkpoints of a job. Spark may delete files that no batch needs any more at any time."""
    copied = set()
    for name in image.names:
        if backup.copy_if_there(root / "checkpoints" / job.id / name, f"{STORAGE}/checkpoints/{job.id}/{name}"):
            copied.add(name)
    folder = checkpoint_name(job.version.checkpoint)
    needed = {f"{folder}/offsets/{image.planned}", f"{folder}/commits/{image.committed}"} & set(image.names)
    if not needed <= copied:
        raise EngineError(
            "BACKUP_FAILED", f"The checkpoint of job {job.name} was deleted meanwhile.", hint="Try again."
        )


def _copy_tree(
    root: Path,
    folder: str,
    tree: tuple[list[str], list[str]],
    backup: BackupFolder,
    chosen: Callable[[str], bool] = lambda name: True,
) -> None:
    """Copy the chosen files of a folder of the storage, and note all its folders that can be chosen."""
    folders, files = tree
    for name in folders:
        if chosen(f"{name}/"):
            backup.add_folder(f"{STORAGE}/{folder}/{name}")
    for name in files:
        if chosen(name):
            backup.copy(root / folder / name, f"{STORAGE}/{folder}/{name}")


def _read_progress(root: Path, job: Job) -> Progress:
    return read_progress(LocalFiles(), f"{root}/checkpoints/{job.id}/{checkpoint_name(job.version.checkpoint)}")


def _saved(job: Job, batches: Progress | CheckpointImage) -> SavedJob:
    return SavedJob(job.id, job.name, job.status.value, batches.committed, batches.planned)


def _manifest(
    source: BackedUpHome, root: Path, created: float, contents: _Contents, jobs: tuple[SavedJob, ...]
) -> BackupManifest:
    return BackupManifest(
        id=uuid4().hex,
        created=created,
        jetsql=VERSION,
        home=str(source.home),
        storage=source.storage.root,
        storage_id=source.storage.id,
        store=source.database.location,
        jobs=jobs,
        snapshots=tuple(snapshot.name for snapshot in contents.snapshots),
        outside=tuple(sorted(_tables_outside(root, contents.jobs))),
        settings=source.settings,
    )


def _tables_outside(root: Path, jobs: tuple[Job, ...]) -> set[str]:
    """Return the tables in files that jobs write and that are not in the storage."""
    return {
        sink.table
        for job in jobs
        for sink in job.plan.analysis.sinks
        if not sink.system and not _is_in(root / "warehouse", sink.location)
    }


def _is_in(folder: Path, location: str) -> bool:
    path = local_folder(location)
    return path is not None and path.resolve().is_relative_to(folder.resolve())


def _not_possible(reason: str, hint: str) -> EngineError:
    return EngineError("BACKUP_FAILED", f"Cannot write a backup: {reason}.", hint=hint)
