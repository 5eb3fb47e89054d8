"""Checks of staged rows of file tables: staged files, and the manifests with their destinations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from shlex import quote

from jetsql.check.checked_paths import CheckedPaths
from jetsql.check.findings import Finding, Severity
from jetsql.jobs.model.job import Job
from jetsql.jobs.model.staging import STAGING, staging_owner
from jetsql.jobs.planning.sink_traits import traits_of
from jetsql.language.tokens import quoted_name


def check_manifests(job: Job, folder: Path, committed: int | None, paths: CheckedPaths) -> Iterator[Finding]:
    """Check the manifests of the batches whose rows wait for their moves into file tables.

    A manifest without staged rows is not needed any more. folder: that of the job. committed: its newest commit.
    """
    for number, sink in enumerate(job.plan.analysis.sinks):
        table = paths.local_path(sink.location) if traits_of(sink).has_rows_in_folder else None
        if table is None:
            continue
        manifests = folder / f"manifests{_suffix('-', number)}"
        staging = table / STAGING / f"{job.id}{_suffix('-sink', number)}"
        newest = max((path for path in manifests.glob("*.json") if path.stem.isdecimal()), default=None)
        if newest is not None and any(staging.glob(f"{newest.stem}*")):
            yield from _manifest_findings(job, newest, staging, committed, paths)


def _suffix(text: str, sink: int) -> str:
    return f"{text}{sink}" if sink else ""


def _manifest_findings(
    job: Job, path: Path, staging: Path, committed: int | None, paths: CheckedPaths
) -> Iterator[Finding]:
    try:
        manifest = _record(path)
        batch = int(str(manifest["batch"]))
        waiting = _unmoved_files(manifest, staging / f"{batch:09d}", paths)
    except FileNotFoundError:
        return  # a running job has deleted it
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        yield _unreadable_record("manifest", job, path, error)
        return
    if committed is not None and batch <= committed and waiting:
        message = (
            f"The committed batch {batch} of job {job.name} is not complete in the table: {len(waiting)} of its"
            " files are not moved."
        )
        remedy = "Start an engine on the home and the job (RESUME JOB if it is suspended), which moves the files."
        yield Finding(Severity.ERROR, message, str(waiting[0].parent), remedy)


def check_parts(job: Job, folder: Path, planned: int | None, committed: int | None) -> Iterator[Finding]:
    """Check the record of the parts of a batch for a topic that the next start repeats. folder: that of the job."""
    if planned is None or planned == committed:
        return
    for path in sorted(folder.glob(f"parts*/{planned:09d}.json")):
        try:
            _record(path)
        except FileNotFoundError:
            continue  # a running job has deleted it
        except ValueError as error:
            yield _unreadable_record("list of parts", job, path, error)


def _record(path: Path) -> dict[str, object]:
    """Return the record of a batch, which is without checksums. Raises FileNotFoundError, ValueError with a phrase."""
    content = path.read_bytes()
    if not content.strip(b"\0"):
        raise ValueError("it is empty")
    try:
        record = json.loads(content)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object")
    return record


def _unreadable_record(kind: str, job: Job, path: Path, error: Exception) -> Finding:
    reason = f"it lacks {error}" if isinstance(error, KeyError) else error
    message = f"A {kind} of job {job.name} is not readable: {reason}."
    remedy = f"Restore it from a backup. Otherwise DROP JOB {quoted_name(job.name)} and create it again."
    return Finding(Severity.ERROR, message, str(path), remedy)


def _unmoved_files(manifest: dict[str, object], own: Path, paths: CheckedPaths) -> list[Path]:
    """Return the files that are not moved. own: the folder of the batch, or the beginning of its name.

    Raises ValueError with a phrase, KeyError, TypeError, AttributeError for a malformed manifest.
    """
    staging, moves = paths.local_path(str(manifest["staging"])), manifest["moves"]
    if not isinstance(moves, list):
        raise TypeError("its moves are not a list")
    if staging is None or not str(staging).startswith(str(own)):
        raise ValueError("it names another folder")
    named = {str(move["source"]) for move in moves}
    staged = {path.relative_to(staging).as_posix(): path for path in staging.glob("**/*") if path.is_file()}
    unknown = [name for name in sorted(staged) if name not in named and not _is_hidden(name)]
    if unknown:
        raise ValueError(f"it does not name the staged file {unknown[0]}")
    return [path for name, path in staged.items() if name in named]


def _is_hidden(name: str) -> bool:
    """Return whether Spark does not take a file for one with rows."""
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in name.split("/"))


def check_table(job: Job, paths: CheckedPaths) -> Iterator[Finding]:
    """Check that the folders of a live job's tables exist. The folder of an overwritten table changes."""
    for sink in job.plan.analysis.sinks:
        has_folder = traits_of(sink).has_rows_in_folder and not job.plan.overwrite
        folder = paths.local_path(sink.location) if has_folder else None
        if folder is not None and not folder.is_dir():
            message = f"The folder of the table {sink.table}, which job {job.name} writes, is missing."
            remedy = f"Restore the folder, or DROP JOB {quoted_name(job.name)} and create table and job again."
            yield Finding(Severity.ERROR, message, str(folder), remedy)


def check_staging(jobs: Iterable[Job], warehouse: Path, paths: CheckedPaths) -> Iterator[Finding]:
    """Check for staged rows that no job will move. jobs: all jobs of the store."""
    known = {job.id for job in jobs if job.has_files}
    tables = {
        paths.local_path(sink.location)
        for job in jobs
        for sink in job.plan.analysis.sinks
        if traits_of(sink).has_rows_in_folder
    }
    staging = {table / STAGING for table in tables if table is not None and paths.is_checked(table)}
    staging |= {*warehouse.glob(f"*/{STAGING}"), *warehouse.glob(f"*/*/{STAGING}")}
    for folder in sorted(path for root in staging if root.is_dir() for path in root.iterdir()):
        if folder.is_dir() and staging_owner(folder.name) not in known:
            message = "These staged rows belong to a deleted job; they are in no table."
            yield Finding(Severity.WARNING, message, str(folder), f"Delete the folder: rm -r {quote(str(folder))}")
