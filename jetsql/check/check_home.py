"""`jetsql check`: holds the store against the files of a home, and says what to do where they differ.

Nothing is changed and nothing is started, so it also works beside a running engine and where Java is missing. Beside an
engine the files move while they are looked at: then it looks twice, and what is not there the second time was nothing.
"""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Final

from jetsql.check.check_checkpoint import Checkpoint, check_checkpoint, newest_commit
from jetsql.check.findings import Finding, Severity
from jetsql.check.staged_rows import check_manifests, check_staging, check_table, local_path
from jetsql.errors import EngineError
from jetsql.home.home_lock import moved_error, owner
from jetsql.home.storage import storage_of
from jetsql.jobs.lifecycle.step_context import can_run_again
from jetsql.jobs.model.job import Guarantee, Job, Snapshot, checkpoint_name, quoted_name
from jetsql.jobs.store.store_file import VERSION, StoreContents, StoreFile

LEAST_FREE: Final = 500 * 1024 * 1024
_ORDER: Final = list(Severity)


@dataclass(frozen=True)
class HomeReport:
    """What was found in a home, worst first. jobs, snapshots: how many were looked at. unseen: the storage of their
    files where only Spark reaches it, so that nothing but the store was looked at.
    """

    home: Path
    findings: tuple[Finding, ...]
    jobs: int = 0
    snapshots: int = 0
    unchecked_storage: str = ""

    @property
    def is_well(self) -> bool:
        return not any(finding.severity.is_problem for finding in self.findings)


def check(home: Path) -> HomeReport:
    """Look through a home."""
    try:
        if home.is_dir():
            return _report(home)
    except OSError as error:
        return HomeReport(home, (_unreadable(error),))
    what, remedy = "There is no such home folder.", "Name the right one with --home; an engine makes a new one."
    return HomeReport(home, (Finding(Severity.ERROR, what, str(home), remedy),))


def _report(home: Path) -> HomeReport:
    runs = owner(home)
    report = _examine(home, runs is not None)
    found = report.findings
    if runs is not None:
        again = _examine(home, True)
        note = Finding(Severity.NOTE, f"An engine runs on this home: {runs}.", str(home))
        found = (note, *(finding for finding in again.findings if finding in found))
    return replace(report, findings=tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity))))


def _examine(home: Path, running: bool) -> HomeReport:
    try:
        storage = storage_of(home)
    except EngineError as error:
        return HomeReport(home, (_error_finding(error, home),))
    root = local_path(storage.root)
    findings = [*_guarded(_home_findings(home, root))]
    file = StoreFile(home / "jetsql.db")
    try:
        contents = file.contents()
    except EngineError as error:
        return HomeReport(home, (*findings, _error_finding(error, file.path)))
    if contents is None:
        return HomeReport(home, (*findings, *_guarded(_no_store_findings(home, root))))
    findings += _store_findings(contents, file.path)
    findings += _remote_storage_findings(storage.root) if root is None else _files_findings(contents, root, running)
    unchecked_storage = storage.root if root is None else ""
    return HomeReport(home, tuple(findings), len(contents.jobs), len(contents.snapshots), unchecked_storage)


def _remote_storage_findings(root: str) -> Iterator[Finding]:
    what = "Checkpoints, snapshots and rows on their way into tables are in a storage that only Spark reaches."
    remedy = (
        "None of it was looked at. The engine looks at a job's checkpoint each time that it starts the job:"
        " RESTART JOB has it done."
    )
    yield Finding(Severity.NOTE, what, root, remedy)


def _files_findings(contents: StoreContents, root: Path, running: bool) -> Iterator[Finding]:
    """root: the folder of checkpoints, snapshots and warehouse."""
    for job in contents.jobs:
        yield from _guarded(_job_findings(job, root))
    for snapshot in contents.snapshots:
        yield from _guarded(check_checkpoint(_snapshot_checkpoint(snapshot, root)))
    yield from _guarded(_leftover_findings(contents, root, running))
    yield from _guarded(check_staging(contents.jobs, root / "warehouse"))


def _guarded(found: Iterator[Finding]) -> Iterator[Finding]:
    """What can't be looked at is a finding too."""
    try:
        yield from found
    except OSError as error:
        yield _unreadable(error)


def _unreadable(error: OSError) -> Finding:
    remedy = "Run the check as the user that the engine runs as."
    return Finding(Severity.ERROR, f"This can't be read: {error.strerror}.", str(error.filename), remedy)


def _home_findings(home: Path, root: Path | None) -> Iterator[Finding]:
    """root: of the checkpoints, None where only Spark reaches it."""
    moved = moved_error(home)
    if moved is not None:
        yield _error_finding(moved, home)
    for place in dict.fromkeys((home, root or home)):
        yield from _space_findings(place, shutil.disk_usage(place).free)
    yield from _permission_findings(home, root or home)


def _error_finding(error: EngineError, where: Path) -> Finding:
    return Finding(Severity.ERROR, error.message, str(where), error.hint)


def _space_findings(home: Path, free: int) -> Iterator[Finding]:
    """free: bytes."""
    if free < LEAST_FREE:
        what = f"The disk is nearly full: {free // 1024**2} MiB are free."
        yield Finding(Severity.WARNING, what, str(home), "Make room: without it checkpoints can't be written.")


def _permission_findings(home: Path, root: Path) -> Iterator[Finding]:
    checkpoints = root / "checkpoints"
    for path in (home, home / "jetsql.db", checkpoints, *sorted(checkpoints.glob("*/spark*"))):
        if path.exists() and not path.stat().st_mode & stat.S_IWUSR:
            yield Finding(
                Severity.ERROR, "An engine can't write here.", str(path), f"Allow it: chmod u+w {quote(str(path))}"
            )


def _no_store_findings(home: Path, root: Path | None) -> Iterator[Finding]:
    left = [path for name in ("checkpoints", "snapshots") for path in _folders((root or home) / name)]
    if left:
        what = f"The store is gone, but files of {len(left)} jobs and snapshots are there."
        remedy = "Restore jetsql.db from a backup before an engine starts here, which would make a new, empty one."
        yield Finding(Severity.ERROR, what, str(home / "jetsql.db"), remedy)
    else:
        yield Finding(Severity.NOTE, "There is no store yet; the first start of an engine makes one.", str(home))


def _store_findings(contents: StoreContents, path: Path) -> Iterator[Finding]:
    for what in contents.unreadable:
        yield Finding(Severity.ERROR, what, str(path), "Restore jetsql.db from a backup.")
    if contents.version < VERSION:
        what = f"The store has version {contents.version}; the next start of an engine brings it to version {VERSION}."
        yield Finding(Severity.NOTE, what, str(path))


def _job_findings(job: Job, root: Path) -> Iterator[Finding]:
    if not (job.is_live or can_run_again(job)):
        return
    yield from check_table(job)
    folder = root / "checkpoints" / job.id
    spark = folder / checkpoint_name(job.version.checkpoint)
    if not job.plan.analysis.streaming or job.plan.guarantee is Guarantee.NONE:
        return  # it starts from scratch
    if job.version.first_trigger_done:
        yield from check_checkpoint(_job_checkpoint(job, spark))
    yield from check_manifests(job, folder / "manifests", newest_commit(spark))


def _job_checkpoint(job: Job, folder: Path) -> Checkpoint:
    remedy = (
        "Restore the folder from a backup made while no engine ran;"
        f" else DROP JOB {quoted_name(job.name)}, empty its table and create it again: it reads everything anew."
    )
    analysis = job.plan.analysis
    return Checkpoint(folder, f"job {job.name}", remedy, job.batch, analysis.stateful or analysis.has_aggregates)


def _snapshot_checkpoint(snapshot: Snapshot, root: Path) -> Checkpoint:
    name = quoted_name(snapshot.name)
    remedy = f"Restore the folder from a backup; else DROP SNAPSHOT {name}, since no job can start from it."
    analysis = snapshot.plan.analysis
    return Checkpoint(
        root / "snapshots" / snapshot.id,
        f"snapshot {snapshot.name}",
        remedy,
        snapshot.batch,
        snapshot.batch is not None and (analysis.stateful or analysis.has_aggregates),
    )


def _leftover_findings(contents: StoreContents, root: Path, running: bool) -> Iterator[Finding]:
    if contents.unreadable:
        return  # whose folders these are can't be known
    jobs = {job.id for job in contents.jobs if job.has_files}
    for folder in _folders(root / "checkpoints"):
        if folder.name not in jobs:
            yield _leftover("These files belong to no job that the store knows.", folder)
    snapshots = {snapshot.id for snapshot in contents.snapshots}
    snapshots |= {job.snapshot_request.id for job in contents.jobs if job.snapshot_request is not None}
    for folder in _folders(root / "snapshots"):
        if folder.name not in snapshots and running:
            yield Finding(Severity.NOTE, "This may be a snapshot that is being written or deleted.", str(folder))
        elif folder.name not in snapshots:
            yield _leftover("These files belong to no snapshot that the store knows.", folder)


def _leftover(what: str, folder: Path) -> Finding:
    remedy = "If the store was restored from an older copy, restore the newest one; else delete the folder: rm -r "
    return Finding(Severity.WARNING, what, str(folder), remedy + quote(str(folder)))


def _folders(parent: Path) -> list[Path]:
    return sorted(path for path in parent.iterdir() if path.is_dir()) if parent.is_dir() else []
