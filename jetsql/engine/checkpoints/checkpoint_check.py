"""Check a checkpoint before a job starts from it.

Spark treats an empty folder as a new query and begins with batch 0: an established job would write every row a second
time. Spark's error for a truncated file names neither the file nor the job. JetSQL therefore first reads the files that
Spark reads first: the query's id, the newest planned batch and the newest committed batch.
"""

from __future__ import annotations

import json
import re
from typing import Final

from jetsql.engine.checkpoints.checkpoint_reader import Progress, read_progress
from jetsql.engine.errors.remedies import RESTORE
from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.errors import StatementError
from jetsql.jobs.model.job import Guarantee, Job
from jetsql.jobs.planning.progress_tracking import can_have_offset_gaps

_VERSION: Final = re.compile(r"v\d+")


def check_checkpoint(files: FileSystem, folder: str, job: Job) -> Progress:
    """Return the progress stored in a job's checkpoint.

    Raises StatementError CHECKPOINT_DAMAGED when the job has run before and its checkpoint is incomplete. A version on
    trial may begin with an empty checkpoint.
    """
    progress = read_progress(files, folder)
    if _continues(job):
        _check_identity(files, folder)
        _check_complete(folder, job, progress)
        _check_entry(files, f"{folder}/offsets", progress.planned, 3)
        _check_entry(files, f"{folder}/commits", progress.committed, 2)
    return progress


def _continues(job: Job) -> bool:
    """Return whether the job's next run continues an earlier one."""
    has_run = job.version.first_trigger_done and job.rollback_version is None
    return has_run and job.plan.analysis.streaming and job.plan.guarantee is not Guarantee.NONE


def _check_identity(files: FileSystem, folder: str) -> None:
    path = f"{folder}/metadata"
    text = files.read_if_there(path)
    if text is None:
        raise _damaged(*((path, "is missing") if files.list_names(folder) else (folder, "is empty or missing")))
    if not _is_json(text):
        raise _damaged(path, "is truncated or was changed")


def _check_complete(folder: str, job: Job, progress: Progress) -> None:
    planned = -1 if progress.planned is None else progress.planned
    committed = -1 if progress.committed is None else progress.committed
    if planned < committed:
        raise _damaged(f"{folder}/offsets/{committed}", "is missing")
    if can_have_offset_gaps(job.plan):
        return
    if job.batch is not None and planned < job.batch:
        raise _damaged(f"{folder}/offsets/{job.batch}", f"is missing, and the job has committed batch {job.batch}")
    if planned > committed + 1:
        raise _damaged(f"{folder}/commits/{planned - 1}", "is missing")


def _check_entry(files: FileSystem, log: str, batch: int | None, lines: int) -> None:
    """Check one entry of Spark's logs: its version, then one line of JSON each, or `-` for a source without rows.

    lines: the least number of lines. Raises StatementError CHECKPOINT_DAMAGED.
    """
    if batch is None:
        return
    version, *rest = (files.read_if_there(f"{log}/{batch}") or "").splitlines() or [""]
    if not _VERSION.fullmatch(version) or len(rest) + 1 < lines or not all(map(_is_json, rest)):
        raise _damaged(f"{log}/{batch}", "is truncated or was changed")


def _is_json(line: str) -> bool:
    if line == "-":
        return True
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _damaged(path: str, damage: str) -> StatementError:
    return StatementError(
        "CHECKPOINT_DAMAGED",
        f"The job's checkpoint is damaged: {path} {damage}.",
        hint=RESTORE,
        where=path,
    )
