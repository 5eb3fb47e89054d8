"""The look at a checkpoint before a job starts from it: is everything there that Spark will go on from?

Spark takes an empty folder for a new query and begins again with batch 0, which for an established job is every row a
second time; and what it says of a file that is cut off names neither the file nor the job. So the three places that it
reads first are read before it: the query's id, the newest planned batch and the newest committed one.
"""

from __future__ import annotations

import json
import re
from typing import Final

from jetsql.engine.checkpoints import Progress
from jetsql.engine.filesystem import FileSystem
from jetsql.engine.remedies import RESTORE
from jetsql.errors import StatementError
from jetsql.jobs.model import Guarantee, Job

_VERSION: Final = re.compile(r"v\d+")


def check_checkpoint(files: FileSystem, folder: str, job: Job) -> Progress:
    """How far the checkpoint has come.

    Raises StatementError CHECKPOINT_DAMAGED when the job has begun and its checkpoint is not whole. A version on trial
    may begin with an empty one.
    """
    planned = files.newest(f"{folder}/offsets")
    committed = files.newest(f"{folder}/commits")
    progress = Progress(planned.number if planned else None, committed.number if committed else None)
    if not _goes_on(job):
        return progress
    _check_identity(files, folder)
    _check_complete(folder, job, progress)
    if planned is not None and not _whole(planned.text, 3):
        raise _damaged(f"{folder}/offsets/{planned.number}", "is cut off or was changed")
    if committed is not None and not _whole(committed.text, 2):
        raise _damaged(f"{folder}/commits/{committed.number}", "is cut off or was changed")
    return progress


def _goes_on(job: Job) -> bool:
    """Whether the job's next run goes on where another one was."""
    begun = job.established and job.previous is None
    return begun and job.plan.analysis.streaming and job.plan.guarantee is not Guarantee.NONE


def _check_identity(files: FileSystem, folder: str) -> None:
    path = f"{folder}/metadata"
    text = files.read_if_there(path)
    if text is None:
        raise _damaged(*((path, "is missing") if files.names(folder) else (folder, "is empty or gone")))
    if not _is_json(text):
        raise _damaged(path, "is cut off or was changed")


def _check_complete(folder: str, job: Job, progress: Progress) -> None:
    planned = -1 if progress.planned is None else progress.planned
    committed = -1 if progress.committed is None else progress.committed
    if planned < committed:
        raise _damaged(f"{folder}/offsets/{committed}", "is missing")
    if job.batch is not None and planned < job.batch:
        raise _damaged(f"{folder}/offsets/{job.batch}", f"is missing, and the job has committed batch {job.batch}")
    if planned > committed + 1:
        raise _damaged(f"{folder}/commits/{planned - 1}", "is missing")


def _whole(text: str, lines: int) -> bool:
    """Whether an entry of Spark's logs is complete: its version, then lines of JSON, `-` for a source without rows."""
    version, *rest = text.splitlines() or [""]
    return bool(_VERSION.fullmatch(version)) and len(rest) + 1 >= lines and all(map(_is_json, rest))


def _is_json(line: str) -> bool:
    if line == "-":
        return True
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _damaged(path: str, what: str) -> StatementError:
    return StatementError(
        "CHECKPOINT_DAMAGED",
        f"The job's checkpoint is damaged: {path} {what}.",
        hint=RESTORE,
        where=path,
    )
