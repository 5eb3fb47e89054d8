"""The command `jetsql check`: compares the store with the files of a home, and reports what to do about differences.

The check changes and starts nothing, so it also works while an engine runs, and without Java. While an engine runs,
files change during the check: then it runs twice, and only problems that are found both times are reported.
"""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Final

from jetsql.check.check_checkpoint import Checkpoint, check_checkpoint, progress_of
from jetsql.check.checked_paths import CheckedPaths
from jetsql.check.findings import Finding, Severity
from jetsql.check.staged_rows import check_manifests, check_parts, check_staging, check_table
from jetsql.errors import EngineError
from jetsql.home.discovery import read_token
from jetsql.home.home_lock import check_files, original_place, owner
from jetsql.home.restore_note import check_restored
from jetsql.home.storage import job_folders, storage_of
from jetsql.home.store_note import STORE
from jetsql.jobs.checkpoint_files.checkpoint_damages import continues_checkpoint, expected_of, expected_of_snapshot
from jetsql.jobs.lifecycle.step_context import can_run_again
from jetsql.jobs.model.job import Job, Snapshot, checkpoint_name
from jetsql.jobs.model.job_options import Guarantee
from jetsql.jobs.store.database import VERSION, StoreContents, StoreDatabase
from jetsql.jobs.store.store_choice import find_database
from jetsql.language.tokens import quoted_name
from jetsql.settings.store_settings import DEFAULTS, StoreSettings

MIN_FREE_BYTES: Final = 500 * 1024 * 1024
_ORDER: Final = list(Severity)


@dataclass(frozen=True)
class HomeReport:
    """The result of checking a home."""

    home: Path
    findings: tuple[Finding, ...]  # the most severe first
    jobs: int = 0  # the number of checked jobs
    snapshots: int = 0  # the number of checked snapshots
    unchecked_storage: str = ""  # the storage, if only Spark can reach it and its files were not checked

    @property
    def is_well(self) -> bool:
        """Return whether there are no errors and no warnings."""
        return not any(finding.severity.is_problem for finding in self.findings)


def check(home: Path, store: StoreSettings = DEFAULTS) -> HomeReport:
    """Check a home. store: the settings of its store."""
    try:
        if home.is_dir():
            check_files(home)
            return _report(home, store)
    except OSError as error:
        return HomeReport(home, (_unreadable(error),))
    except EngineError as error:
        return HomeReport(home, (_error_finding(error, home),))
    message, remedy = "The home folder does not exist.", "Name another one with --home; an engine creates a new one."
    return HomeReport(home, (Finding(Severity.ERROR, message, str(home), remedy),))


def _report(home: Path, store: StoreSettings) -> HomeReport:
    engine = owner(home)
    report = _examine(home, store, engine is not None)
    findings = report.findings
    if engine is not None:
        again = _examine(home, store, True)
        note = Finding(Severity.NOTE, f"An engine runs on this home: {engine}.", str(home))
        findings = (note, *(finding for finding in again.findings if finding in findings))
    return replace(report, findings=tuple(sorted(findings, key=lambda finding: _ORDER.index(finding.severity))))


def _examine(home: Path, store: StoreSettings, running: bool) -> HomeReport:
    try:
        check_restored(home)
        storage = storage_of(home)
        database = find_database(home, store.store, store.store_password)
        paths = CheckedPaths(home.absolute(), original_place(home))
        read_token(home)
    except EngineError as error:
        return HomeReport(home, (_error_finding(error, home),))
    root = paths.local_path(storage.root)
    findings = [*_guarded(_home_findings(home, root, paths))]
    try:
        contents = database.contents()
    except EngineError as error:
        return HomeReport(home, (*findings, _error_finding(error, database.name)))
    if contents is None:
        return HomeReport(home, (*findings, *_guarded(_no_store_findings(home, root, database))))
    findings += _store_findings(contents, database)
    findings += (
        _remote_storage_findings(storage.root) if root is None else _files_findings(contents, root, running, paths)
    )
    unchecked_storage = storage.root if root is None else ""
    return HomeReport(home, tuple(findings), len(contents.jobs), len(contents.snapshots), unchecked_storage)


def _remote_storage_findings(root: str) -> Iterator[Finding]:
    message = (
        "Checkpoints, snapshots and staged rows are in a storage that only Spark can reach; they were not checked."
    )
    remedy = "Use RESTART JOB to check a job's checkpoint: the engine checks it at each start of the job."
    yield Finding(Severity.NOTE, message, root, remedy)


def _files_findings(contents: StoreContents, root: Path, running: bool, paths: CheckedPaths) -> Iterator[Finding]:
    """Check the files of jobs and snapshots. root: the folder of checkpoints, snapshots and warehouse."""
    for job in contents.jobs:
        yield from _guarded(_job_findings(job, root, paths))
    for snapshot in contents.snapshots:
        yield from _guarded(check_checkpoint(_snapshot_checkpoint(snapshot, root)))
    yield from _guarded(_leftover_findings(contents, root, running))
    if not contents.unreadable:  # otherwise the owners of staged rows are unknown
        yield from _guarded(check_staging(contents.jobs, root / "warehouse", paths))


def _guarded(findings: Iterator[Finding]) -> Iterator[Finding]:
    """Return the findings, and an OSError as a further finding."""
    try:
        yield from findings
    except OSError as error:
        yield _unreadable(error)


def _unreadable(error: OSError) -> Finding:
    remedy = "Run the check as the user that the engine runs as."
    return Finding(Severity.ERROR, f"Cannot read this: {error.strerror}.", str(error.filename), remedy)


def _home_findings(home: Path, root: Path | None, paths: CheckedPaths) -> Iterator[Finding]:
    """Check the home folder. root: the folder of the checkpoints; None when only Spark can reach it."""
    if paths.original is not None:
        message = f"This is a copy of {paths.original}. An engine can use it only there."
        remedy = f"To restore this backup, copy it to {paths.original}. Nothing to do to keep it."
        yield Finding(Severity.NOTE, message, str(home), remedy)
    for folder in dict.fromkeys((home, root or home)):
        yield from _space_findings(folder, shutil.disk_usage(folder).free)
    yield from _permission_findings(home, root or home)


def _error_finding(error: EngineError, where: Path | str) -> Finding:
    return Finding(Severity.ERROR, error.message, str(where), error.hint)


def _space_findings(home: Path, free: int) -> Iterator[Finding]:
    """Check the free disk space, in bytes."""
    if free < MIN_FREE_BYTES:
        message = f"The disk is nearly full: {free // 1024**2} MiB are free."
        yield Finding(Severity.WARNING, message, str(home), "Free disk space, which is needed to write checkpoints.")


def _permission_findings(home: Path, root: Path) -> Iterator[Finding]:
    checkpoints = root / "checkpoints"
    for path in (home, home / STORE, checkpoints, *sorted(checkpoints.glob("*/spark*"))):
        if path.exists() and not path.stat().st_mode & stat.S_IWUSR:
            yield Finding(
                Severity.ERROR, "The engine cannot write here.", str(path), f"Allow it: chmod u+w {quote(str(path))}"
            )


def _no_store_findings(home: Path, root: Path | None, database: StoreDatabase) -> Iterator[Finding]:
    left = job_folders(root or home)
    if left:
        message = f"The store is missing, but files of {len(left)} jobs and snapshots exist."
        remedy = (
            f"Restore {database.kind} from a backup; no engine starts before. Without a backup, `jetsql serve"
            " --new-store` starts with an empty store, and the jobs are lost."
        )
        yield Finding(Severity.ERROR, message, database.name, remedy)
    else:
        yield Finding(Severity.NOTE, "There is no store yet; the first start of an engine creates it.", str(home))


def _store_findings(contents: StoreContents, database: StoreDatabase) -> Iterator[Finding]:
    for message in contents.unreadable:
        yield Finding(Severity.ERROR, message, database.name, f"Restore {database.kind} from a backup.")
    if contents.version < VERSION:
        message = f"The store has version {contents.version}; the engine's next start migrates it to version {VERSION}."
        yield Finding(Severity.NOTE, message, database.name)


def _job_findings(job: Job, root: Path, paths: CheckedPaths) -> Iterator[Finding]:
    if not (job.is_live or can_run_again(job)):
        return
    yield from check_table(job, paths)
    folder = root / "checkpoints" / job.id
    spark = folder / checkpoint_name(job.version.checkpoint)
    if not job.plan.analysis.streaming or job.plan.guarantee is Guarantee.NONE:
        return  # it starts from scratch
    if continues_checkpoint(job):
        yield from check_checkpoint(_job_checkpoint(job, spark))
    progress = progress_of(spark)
    yield from check_manifests(job, folder, progress.committed, paths)
    yield from check_parts(job, folder, progress.planned, progress.committed)


def _job_checkpoint(job: Job, folder: Path) -> Checkpoint:
    remedy = (
        "Restore the folder from a backup that was made while no engine was running. Otherwise DROP JOB"
        f" {quoted_name(job.name)}, delete the rows of its table and create the job again, to process all rows again."
    )
    return Checkpoint(folder, f"job {job.name}", remedy, expected_of(job))


def _snapshot_checkpoint(snapshot: Snapshot, root: Path) -> Checkpoint:
    name = quoted_name(snapshot.name)
    remedy = f"Restore the folder from a backup. Otherwise DROP SNAPSHOT {name}, since no job can start from it."
    folder = root / "snapshots" / snapshot.id
    return Checkpoint(folder, f"snapshot {snapshot.name}", remedy, expected_of_snapshot(snapshot))


def _leftover_findings(contents: StoreContents, root: Path, running: bool) -> Iterator[Finding]:
    if contents.unreadable:
        return  # the owners of folders are unknown
    jobs = {job.id for job in contents.jobs if job.has_files}
    for folder in _folders(root / "checkpoints"):
        if folder.name not in jobs:
            yield _leftover("These files belong to no job of the store.", folder)
    snapshots = {snapshot.id for snapshot in contents.snapshots}
    snapshots |= {job.snapshot_request.id for job in contents.jobs if job.snapshot_request is not None}
    for folder in _folders(root / "snapshots"):
        if folder.name not in snapshots and running:
            yield Finding(Severity.NOTE, "This may be a snapshot that is being written or deleted.", str(folder))
        elif folder.name not in snapshots:
            yield _leftover("These files belong to no snapshot of the store.", folder)


def _leftover(message: str, folder: Path) -> Finding:
    remedy = "If the store was restored from an old backup, restore the newest one. Otherwise delete the folder: rm -r "
    return Finding(Severity.WARNING, message, str(folder), remedy + quote(str(folder)))


def _folders(parent: Path) -> list[Path]:
    return sorted(path for path in parent.iterdir() if path.is_dir()) if parent.is_dir() else []
