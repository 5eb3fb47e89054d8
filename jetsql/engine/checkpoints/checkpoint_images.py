"""The files of a job's checkpoints for a backup: those that a crash would leave, while the job may continue to run.

A snapshot has a committed batch only. A backup also has the plan of the batch after it, if there is one: its rows can
be in the sink already, and the restored job has to repeat exactly this batch.
"""

from __future__ import annotations

from jetsql.engine.checkpoints.checkpoint_copies import METADATA, select_files_as_of
from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.engine.checkpoints.checkpoint_reader import OffsetLogEntry, read_offsets
from jetsql.jobs.checkpoint_files.log_entries import read_progress
from jetsql.jobs.lifecycle.runtime import CheckpointImage
from jetsql.jobs.model.job import Job, checkpoint_name


def list_image(checkpoints: Checkpoints, job: Job) -> CheckpointImage:
    """Return the files of the checkpoints that the job needs, as they are now. They stay while the job is pinned."""
    names: list[str] = []
    for version in (job.version, job.rollback_version):
        if version is not None:
            names += _list_version(checkpoints, job.id, checkpoint_name(version.checkpoint))
    progress = checkpoints.read_progress(job)
    return CheckpointImage(tuple(names), progress.committed, progress.planned)


def _list_version(checkpoints: Checkpoints, job_id: str, name: str) -> list[str]:
    files, folder = checkpoints.files, f"{checkpoints.job_folder(job_id)}/{name}"
    progress = read_progress(files, folder)
    committed = -1 if progress.committed is None else progress.committed
    planned = -1 if progress.planned is None else progress.planned
    offsets = OffsetLogEntry((), {}, 0) if progress.planned is None else read_offsets(files, folder, planned)
    found = files.list_tree(folder)
    chosen = select_files_as_of(found, committed, offsets, planned)
    # The file with the query's id comes last, as in every copy of a checkpoint.
    return [f"{name}/{each}" for each in (*chosen, *(each for each in found if each == METADATA))]
