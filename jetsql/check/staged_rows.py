"""Rows on their way into file tables: staged files, and the manifests that say where they are to go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from shlex import quote
from typing import Final

from jetsql.check.findings import Finding, Severity
from jetsql.check.log_files import json_object
from jetsql.jobs.model.job import Job, SinkKind, quoted_name

STAGING: Final = ".jetsql"


def local_path(location: str) -> Path | None:
    """Return a location of the catalogue as a path; None when it is not on this machine's file system."""
    scheme, colon, path = location.partition(":")
    if not colon or "/" in scheme:
        return Path(location)
    return Path("/" + path.lstrip("/")) if scheme == "file" else None


def check_manifests(job: Job, folder: Path, committed: int | None) -> Iterator[Finding]:
    """committed: the newest batch that Spark knows to be done."""
    for path in sorted(folder.glob("*.json")):
        try:
            manifest = json_object(path)
            waiting = _unmoved_files(manifest)
            batch = int(str(manifest["batch"]))
        except FileNotFoundError:
            continue  # a running job deletes old ones
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            why = f"it lacks {error}" if isinstance(error, KeyError) else error
            what = f"A manifest of job {job.name} can't be read: {why}."
            remedy = f"Restore it from a backup; else DROP JOB {quoted_name(job.name)} and create it again."
            yield Finding(Severity.ERROR, what, str(path), remedy)
            continue
        if committed is not None and batch <= committed and waiting:
            what = (
                f"The committed batch {batch} of job {job.name} is not whole in the table: {len(waiting)} more to move."
            )
            remedy = (
                "They are moved in when the job starts: start an engine on the home, and RESUME the job if need be."
            )
            yield Finding(Severity.ERROR, what, str(waiting[0].parent), remedy)


def _unmoved_files(manifest: dict[str, object]) -> list[Path]:
    """Files that have not been moved. Raises KeyError, TypeError, AttributeError for what is no manifest."""
    staging, moves = local_path(str(manifest["staging"])), manifest["moves"]
    if not isinstance(moves, list):
        raise TypeError("its moves are no list")
    sources = [str(move["source"]) for move in moves]
    return [staging / source for source in sources if (staging / source).exists()] if staging else []


def check_table(job: Job) -> Iterator[Finding]:
    """Return whether the folder that a live job writes into is there. That of a table that is overwritten moves."""
    sink, plan = job.plan.analysis.sink, job.plan
    folder = local_path(sink.location) if sink.kind is SinkKind.FILES and not plan.overwrite else None
    if folder is not None and not folder.is_dir():
        what = f"The folder of the table {sink.table} is gone, which job {job.name} writes."
        remedy = f"Bring the folder back, or DROP JOB {quoted_name(job.name)} and create table and job again."
        yield Finding(Severity.ERROR, what, str(folder), remedy)


def check_staging(jobs: Iterable[Job], warehouse: Path) -> Iterator[Finding]:
    """Staged rows that no job will ever move. jobs: all that there are."""
    known = {job.id for job in jobs if job.has_files}
    tables = {
        local_path(job.plan.analysis.sink.location) for job in jobs if job.plan.analysis.sink.kind is SinkKind.FILES
    }
    staging = {table / STAGING for table in tables if table is not None}
    staging |= {*warehouse.glob(f"*/{STAGING}"), *warehouse.glob(f"*/*/{STAGING}")}
    for folder in sorted(path for root in staging if root.is_dir() for path in root.iterdir()):
        if folder.is_dir() and _owner(folder.name) not in known:
            what = "Rows were staged here by a job that there is no more; they are in no table."
            yield Finding(Severity.WARNING, what, str(folder), f"Delete the folder: rm -r {quote(str(folder))}")


def _owner(folder: str) -> str:
    """Return the id of the job that staged there, which is four groups; its dead letters have a number behind it."""
    return "-".join(folder.split("-")[:4])
