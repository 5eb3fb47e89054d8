"""The folders of jobs: one for each job, named by its id and never by a name that a user wrote.

<root>/<job id>/spark/        Spark's own checkpoint: offsets, commits, state; and topics.json, see `topic_positions`
<root>/<job id>/spark-<n>/    the same after n updates of the job; each begins as a copy of the previous one
<root>/<job id>/manifests/    the files that each batch moves into its file table; kept here because TRUNCATE and
                              OVERWRITE delete hidden folders inside a table
<root>/<job id>/parts/        the parts into which each batch for a Kafka topic is split
<root>/<job id>/results/      of a job that deletes rows of a topic or a lake table: the newest results of its query
<root>/<job id>/rows/         of a job with several sinks: the rows of a batch until they are in all sinks
<root>/<job id>/refused/      of a job with a table for refused rows: the rows of a batch until both parts are written
<root>/<job id>/restored      of a job that was restored from a backup, until its first start

The further sinks of a job have folders with their numbers: manifests-1, parts-1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.jobs.checkpoint_files.log_entries import Progress, read_progress
from jetsql.jobs.model.job import RESTORED, Job, checkpoint_name
from jetsql.jobs.model.leadership import Leadership

_CHECKPOINT_NAME: Final = re.compile(r"spark(-\d+)?(\.begin|(\.\d+)?\.draft)?")


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of all jobs."""

    root: str
    """The parent folder of the jobs' folders, a path or URI."""
    files: FileSystem
    leadership: Leadership = field(default_factory=Leadership)
    """The right of this engine to write to them."""

    def job_folder(self, job_id: str) -> str:
        """Return the folder with all files of a job."""
        return f"{self.root}/{job_id}"

    def spark_checkpoint(self, job_id: str, number: int) -> str:
        """Return the folder of one of the Spark checkpoints of a job. number: `Version.checkpoint`."""
        return f"{self.job_folder(job_id)}/{checkpoint_name(number)}"

    def manifests_folder(self, job_id: str, sink: int = 0) -> str:
        return f"{self.job_folder(job_id)}/manifests{_suffix(sink)}"

    def parts_folder(self, job_id: str, sink: int = 0) -> str:
        return f"{self.job_folder(job_id)}/parts{_suffix(sink)}"

    def results_folder(self, job_id: str) -> str:
        return f"{self.job_folder(job_id)}/results"

    def rows_folder(self, job_id: str) -> str:
        return f"{self.job_folder(job_id)}/rows"

    def refused_rows_folder(self, job_id: str, sink: int = 0) -> str:
        return f"{self.job_folder(job_id)}/refused{_suffix(sink)}"

    def restored_note(self, job_id: str) -> str:
        """Return the file of a job that was restored from a backup and did not start since."""
        return f"{self.job_folder(job_id)}/{RESTORED}"

    def read_progress(self, job: Job) -> Progress:
        return read_progress(self.files, self.spark_checkpoint(job.id, job.version.checkpoint))

    def delete(self, path: str) -> None:
        """Delete a file or folder if it exists.

        An engine that was paused may find here what the next leader uses. So this waits until the engine surely leads.
        Raises StatementError JOB_IN_USE when another engine leads.
        """
        self.leadership.check()
        self.files.delete(path)

    def delete_stale(self, job: Job) -> None:
        """Delete the checkpoint folders of versions that the job neither runs nor can return to."""
        versions = (version for version in (job.rollback_version, job.pending_version) if version is not None)
        kept = [
            self.spark_checkpoint(job.id, number)
            for number in (job.version.checkpoint, *(each.checkpoint for each in versions))
        ]
        kept += [f"{path}.begin" for path in kept]
        for name in self.files.list_names(self.job_folder(job.id)):
            path = f"{self.job_folder(job.id)}/{name}"
            if _CHECKPOINT_NAME.fullmatch(name) and path not in kept:
                self.delete(path)

    def reset(self, job: Job) -> None:
        """Delete the checkpoint of the job's current version, so that the job begins again."""
        self.delete(self.spark_checkpoint(job.id, job.version.checkpoint))

    def discard(self, job: Job) -> None:
        """Delete all files of the job."""
        self.delete(self.job_folder(job.id))


def _suffix(sink: int) -> str:
    """Return the suffix of a folder of a job's sink, by the number of the sink."""
    return f"-{sink}" if sink else ""
