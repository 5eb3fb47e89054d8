"""Where a job's files are: one folder a job, named by its id and never by what a user wrote.

<root>/<job id>/spark/        Spark's own checkpoint: offsets, commits, state
<root>/<job id>/manifests/    what each batch moves into its file table; kept here because TRUNCATE and
                              OVERWRITE delete hidden folders inside a table
"""

from __future__ import annotations

from dataclasses import dataclass

from jetsql.engine.filesystem import FileSystem


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints below one root, a path or URI."""

    root: str
    files: FileSystem

    def folder(self, job_id: str) -> str:
        return f"{self.root}/{job_id}"

    def spark(self, job_id: str) -> str:
        return f"{self.folder(job_id)}/spark"

    def manifests(self, job_id: str) -> str:
        return f"{self.folder(job_id)}/manifests"

    def started(self, job_id: str) -> bool:
        """Whether a batch of the job has ever been planned."""
        return bool(self.files.names(f"{self.spark(job_id)}/offsets"))

    def start_over(self, job_id: str) -> None:
        """Forget how far the job came."""
        self.files.delete(self.folder(job_id))

    discard = start_over
