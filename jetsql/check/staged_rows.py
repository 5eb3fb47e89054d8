"""Checks of staged rows of file tables: staged files, and the manifests with their destinations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from shlex import quote
from typing import Final

from jetsql.check.findings import Finding, Severity
from jetsql.check.log_files import json_object
from jetsql.check.places import Places
from jetsql.jobs.model.body_analysis import SinkKind
from jetsql.jobs.model.job import Job
from jetsql.language.tokens import quoted_name

STAGING: Final = ".jetsql"


def check_manifests(job: Job, folder: Path, committed: int | None, places: Places) -> Iterator[Finding]:
    """Check that committed batches are completely in the table. committed: the newest committed batch."""
    for path in sorted(folder.glob("*.json")):
        try:
            manifest = json_object(path)
            waiting = _unmoved_files(manifest, places)
            batch = int(str(manifest["batch"]))
        except FileNotFoundError:
            continue  # a running job deletes old ones
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"it lacks {error}" if isinstance(error, KeyError) else error
            message = f"A manifest of job {job.name} is not readable: {reason}."
            remedy = f"Restore it from a backup. Otherwise DROP JOB {quoted_name(job.name)} and create it again."
            yield Finding(Severity.ERROR, message, str(path), remedy)
            continue
        if committed is not None and batch <= committed and waiting:
            message = (
                f"The committed batch {batch} of job {job.name} is not complete in the table: {len(waiting)} of its"
                " files are not moved."
            )
            remedy = "Start an engine on the home and the job (RESUME JOB if it is suspended), which moves the files."
            yield Finding(Severity.ERROR, message, str(waiting[0].parent), remedy)


def _unmoved_files(manifest: dict[str, object], places: Places) -> list[Path]:
    """Return the files that are not moved. Raises KeyError, TypeError, AttributeError for a malformed manifest."""
    staging, moves = places.local_path(str(manifest["staging"])), manifest["moves"]
    if not isinstance(moves, list):
        raise TypeError("its moves are not a list")
    sources = [str(move["source"]) for move in moves]
    return [staging / source for source in sources if (staging / source).exists()] if staging else []


def check_table(job: Job, places: Places) -> Iterator[Finding]:
    """Check that the folders of a live job's tables exist. The folder of an overwritten table changes."""
    for sink in job.plan.analysis.sinks:
        has_folder = sink.kind is SinkKind.FILES and not job.plan.overwrite
        folder = places.local_path(sink.location) if has_folder else None
        if folder is not None and not folder.is_dir():
            message = f"The folder of the table {sink.table}, which job {job.name} writes, is missing."
            remedy = f"Restore the folder, or DROP JOB {quoted_name(job.name)} and create table and job again."
            yield Finding(Severity.ERROR, message, str(folder), remedy)


def check_staging(jobs: Iterable[Job], warehouse: Path, places: Places) -> Iterator[Finding]:
    """Check for staged rows that no job will move. jobs: all jobs of the store."""
    known = {job.id for job in jobs if job.has_files}
    tables = {
        places.local_path(sink.location)
        for job in jobs
        for sink in job.plan.analysis.sinks
        if sink.kind is SinkKind.FILES
    }
    staging = {table / STAGING for table in tables if table is not None and places.is_checked(table)}
    staging |= {*warehouse.glob(f"*/{STAGING}"), *warehouse.glob(f"*/*/{STAGING}")}
    for folder in sorted(path for root in staging if root.is_dir() for path in root.iterdir()):
        if folder.is_dir() and _owner(folder.name) not in known:
            message = "These staged rows belong to a deleted job; they are in no table."
            yield Finding(Severity.WARNING, message, str(folder), f"Delete the folder: rm -r {quote(str(folder))}")


def _owner(folder: str) -> str:
    """Return the job id in a folder's name: four groups, followed by the number of dead letters or of a sink."""
    return "-".join(folder.split("-")[:4])
