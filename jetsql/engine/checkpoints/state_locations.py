"""Find the state of jobs for the table function `jetsql.state`, which reads it in place, see `JobState.java`.

The function reads the files of one committed batch, as a copy of the checkpoint does. Spark changes none of these
files, and deletes them only a hundred batches later, so the function and the job do not wait for each other.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jetsql.engine.checkpoints.checkpoint_copies import link_to, needs_link
from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.errors import StatementError
from jetsql.jobs.checkpoint_files.log_entries import read_progress
from jetsql.jobs.model.job import Job
from jetsql.language.tokens import quoted_name


class StateLocations:
    """The places of the state of one engine's jobs."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints
        self._links: tempfile.TemporaryDirectory[str] | None = None
        self._lock = threading.Lock()

    def locate(self, job: Job, confs: Mapping[str, str]) -> dict[str, Any]:
        """Return the job's name, its checkpoint, the newest committed batch, and the settings of its state as JSON.

        confs: the settings. Raises StatementError STATE_NOT_FOUND.
        """
        path = self._checkpoints.spark_checkpoint(job.id, job.version.checkpoint)
        batch = read_progress(self._checkpoints.files, path).committed
        if batch is None and job.is_live:
            message = f"The job {job.name} has no state: it has not committed a batch."
            hint = f"WAIT FOR JOB {quoted_name(job.name)} waits for its first batch."
            raise StatementError("STATE_NOT_FOUND", message, hint=hint)
        if batch is None:
            message = f"The job {job.name} has no state: it is {job.status.value}, or it is a batch job."
            raise StatementError("STATE_NOT_FOUND", message, hint="SHOW JOBS lists the jobs that have not ended.")
        return {
            "job": job.name,
            "path": self._readable_path(job, path),
            "batch": batch,
            "confs": dict(confs),
        }

    def _readable_path(self, job: Job, path: str) -> str:
        """Return the path, or that of a link that Spark can read. The links stay until the engine ends."""
        if not needs_link(path):
            return path
        with self._lock:
            if self._links is None:
                self._links = tempfile.TemporaryDirectory(prefix="jetsql-")
            return link_to(path, Path(self._links.name) / f"{job.id}-{job.version.checkpoint}")
