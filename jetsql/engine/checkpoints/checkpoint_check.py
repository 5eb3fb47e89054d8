"""Check a checkpoint before a job starts from it, and find the damaged file when a run has failed over it.

Spark treats an empty folder as a new query and begins with batch 0: an established job would write every row a second
time. Spark's error for a truncated file names neither the file nor the job. So JetSQL first reads the files that Spark
reads first, with the reader of `jetsql check`.
"""

from __future__ import annotations

import logging
from itertools import chain
from typing import Final

from py4j.protocol import Py4JError

from jetsql.engine.errors.remedies import RESTORE
from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.errors import StatementError
from jetsql.jobs.checkpoint_files.checkpoint_damages import (
    Damage,
    ExpectedCheckpoint,
    continues_checkpoint,
    expected_of,
    find_damages,
    find_deep_damages,
)
from jetsql.jobs.checkpoint_files.log_entries import Progress, read_progress
from jetsql.jobs.model.job import Job

_LOG: Final = logging.getLogger(__name__)
_CONDITION: Final = "CHECKPOINT_DAMAGED"


def check_checkpoint(files: FileSystem, folder: str, job: Job) -> Progress:
    """Return the progress stored in a job's checkpoint.

    Raises StatementError CHECKPOINT_DAMAGED when the job has run before and its checkpoint is incomplete. A version on
    trial may begin with an empty checkpoint.
    """
    if continues_checkpoint(job):
        for damage in find_damages(files, folder, expected_of(job)):
            raise StatementError(_CONDITION, _describe(damage), hint=RESTORE, where=damage.path)
    return read_progress(files, folder)


def check_snapshot(files: FileSystem, folder: str, job: Job) -> None:
    """Raise StatementError CHECKPOINT_DAMAGED when the snapshot that a job starts from is damaged."""
    for damage in find_damages(files, folder, ExpectedCheckpoint(None)):
        message = f"The snapshot that job {job.name} starts from is damaged: {damage.path} {damage.problem}."
        hint = "Restore the file from a backup, or create the job from another snapshot."
        raise StatementError(_CONDITION, message, hint=hint, where=damage.path)


def find_damage(files: FileSystem, folder: str, job: Job) -> Damage | None:
    """Return the first damage in a job's checkpoint after a run has failed over it; None if it is not damaged."""
    if not continues_checkpoint(job):
        return None
    expected = expected_of(job)
    try:
        return next(chain(find_damages(files, folder, expected), find_deep_damages(files, folder, expected)), None)
    except (Py4JError, OSError):
        _LOG.warning("Cannot search the checkpoint %s for damage", folder, exc_info=True)
        return None


def _describe(damage: Damage) -> str:
    return f"The job's checkpoint is damaged: {damage.path} {damage.problem}."
