"""Where a job's files are: one folder a job, named by its id and never by what a user wrote.

<root>/<job id>/spark/        Spark's own checkpoint: offsets, commits, state
<root>/<job id>/spark-<n>/    the same after n updates of the job; each begins as a copy of the one before
<root>/<job id>/manifests/    what each batch moves into its file table; kept here because TRUNCATE and
                              OVERWRITE delete hidden folders inside a table
<root>/<job id>/parts/        into which parts each batch for a Kafka topic is split
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.jobs.model.job import Job, checkpoint_name

_OURS: Final = re.compile(r"spark(-\d+)?(\.begin|\.draft)?")


@dataclass(frozen=True)
class Progress:
    """How far a query came. planned, committed: its newest such batch, None before the first."""

    planned: int | None
    committed: int | None

    @property
    def pending(self) -> bool:
        """A batch is planned and not committed: whoever starts next repeats it, whatever its SQL says by then."""
        return self.planned is not None and self.planned != self.committed

    @property
    def replayed(self) -> int | None:
        """The batch that comes again, as it was planned then; None when there is none."""
        return self.planned if self.pending else None

    @property
    def next_batch(self) -> int:
        """The batch that a run begins with."""
        if self.pending and self.planned is not None:
            return self.planned
        return 0 if self.committed is None else self.committed + 1


def progress(files: FileSystem, checkpoint: str) -> Progress:
    """How far the query of a checkpoint of Spark's came, whoever's it is."""
    return Progress(files.newest(f"{checkpoint}/offsets"), files.newest(f"{checkpoint}/commits"))


def fill_gap(files: FileSystem, checkpoint: str) -> None:
    """Let any query go on from a log of offsets in which not each batch has an entry, as asynchronous progress tracking
    leaves it. Without that, Spark wants an entry for the batch before the newest, to know where the newest begins: that
    is where the entry ends that was written before it."""
    newest = files.newest(f"{checkpoint}/offsets") or 0
    written = [int(name) for name in files.names(f"{checkpoint}/offsets") if name.isdecimal() and int(name) < newest]
    if written and max(written) < newest - 1:
        files.write(f"{checkpoint}/offsets/{newest - 1}", files.read(f"{checkpoint}/offsets/{max(written)}"))


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints below one root, a path or URI."""

    root: str
    files: FileSystem

    def folder(self, job_id: str) -> str:
        return f"{self.root}/{job_id}"

    def spark(self, job_id: str, number: int) -> str:
        """number: `Job.checkpoint`."""
        return f"{self.folder(job_id)}/{checkpoint_name(number)}"

    def manifests(self, job_id: str) -> str:
        return f"{self.folder(job_id)}/manifests"

    def parts(self, job_id: str) -> str:
        return f"{self.folder(job_id)}/parts"

    def progress(self, job: Job) -> Progress:
        return progress(self.files, self.spark(job.id, job.version.checkpoint))

    def stale(self, job: Job) -> list[str]:
        """Folders of versions that the job runs no more and can't go back to. What a person put beside them stays."""
        versions = (version for version in (job.rollback_version, job.pending_version) if version is not None)
        kept = [
            self.spark(job.id, number) for number in (job.version.checkpoint, *(each.checkpoint for each in versions))
        ]
        kept += [f"{path}.begin" for path in kept]
        found = [f"{self.folder(job.id)}/{name}" for name in self.files.names(self.folder(job.id))]
        return [path for path in found if _OURS.fullmatch(path.rpartition("/")[2]) and path not in kept]

    def start_over(self, job: Job) -> None:
        """Forget how far the job came."""
        self.files.delete(self.spark(job.id, job.version.checkpoint))

    def discard(self, job: Job) -> None:
        """Delete everything of the job's."""
        self.files.delete(self.folder(job.id))
