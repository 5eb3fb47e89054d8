"""The states of jobs as things that can be kept and moved: snapshots of them, the copy that a new version of a job
starts on, the copy that a new job gets of a snapshot, and the same state spread over another number of partitions.

A copy is made in a folder of its own and counts only when it is whole and Spark opens it, so a death in the middle
leaves what was there before untouched. Repartitioning is Spark's own, and is done on copies only: half done, it leaves
a checkpoint that neither number of partitions can read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from pyspark.sql import SparkSession

from jetsql.engine.checkpoints.checkpoint_copies import check_opens, copy, is_whole, plain_path, read_offsets
from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints, progress
from jetsql.engine.checkpoints.checkpoint_pins import CheckpointPins
from jetsql.engine.errors.run_failures import cause_of
from jetsql.engine.jvm.java_classes import missing_file
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.lifecycle.engine_api import CopiedState
from jetsql.jobs.lifecycle.update import is_wider, version_of
from jetsql.jobs.model.job import Guarantee, Job, Version
from jetsql.jobs.planning.compatibility import SHUFFLE_PARTITIONS, partitions_wanted

_ATTEMPTS = 3


@dataclass(frozen=True)
class StateCopies:
    """snapshots: the folder of all snapshots, a path or URI."""

    checkpoints: Checkpoints
    holds: CheckpointPins
    snapshots: str

    def snapshot(self, job: Job, name: str, session: SparkSession) -> CopiedState:
        """Copy a job's state into a new snapshot; nothing is left when that fails. Raises StatementError."""
        target = f"{self.snapshots}/{name}"
        source = self.checkpoints.spark(job.id, job.checkpoint)
        try:
            return self._copied(job, source, target, session)
        except Exception as error:
            self.checkpoints.files.delete(target)
            if isinstance(error, StatementError):
                raise
            message = f"The state could not be copied into {target}: {cause_of(error).message}"
            raise StatementError("SNAPSHOT_FAILED", message, hint="Nothing of it is left; try again.") from error

    def delete(self, name: str) -> None:
        self.checkpoints.files.delete(f"{self.snapshots}/{name}")

    def names(self) -> tuple[str, ...]:
        return tuple(self.checkpoints.files.names(self.snapshots))

    def seed(self, job: Job, session: SparkSession) -> None:
        """Give a new job the state of the snapshot that it starts from, unless it has it."""
        target = self.checkpoints.spark(job.id, job.checkpoint)
        if job.origin is None or job.established or is_whole(self.checkpoints.files, target):
            return
        source = f"{self.snapshots}/{job.origin}"
        if not is_whole(self.checkpoints.files, source):
            message = f"The snapshot that the job starts from is gone: there is no {source}."
            raise StatementError("SNAPSHOT_NOT_FOUND", message, hint="Create the job from another snapshot.")
        batch = progress(self.checkpoints.files, source).committed
        assert batch is not None, "a snapshot holds a committed batch"
        draft = f"{target}.draft"
        copy(self.checkpoints.files, source, draft, batch, job.name)
        if self._spread(job, draft, batch, session):
            check_opens(session, draft, batch + 1)
        self.checkpoints.files.rename(draft, target)

    def prepare(self, job: Job, proposed: Version, session: SparkSession) -> None:
        """Make the checkpoint of a job's new version, and note where it begins."""
        files = self.checkpoints.files
        target = self.checkpoints.spark(job.id, proposed.checkpoint)
        source = self.checkpoints.spark(job.id, job.checkpoint)
        if proposed.plan.guarantee is Guarantee.NONE or progress(files, source).committed is None:
            files.delete(target)
            self._note_beginning(target, -1)
            return
        batch = self._copied(job, source, target, session).batch
        if self._spread(job, target, batch, session, proposed):
            batch += 1
            check_opens(session, target, batch)
        self._note_beginning(target, batch)
        failpoint("update-prepared", job.name)

    def begins_at(self, job: Job) -> int:
        """The newest committed batch in the checkpoint of a version on trial when it was made; -1 for none."""
        return int(json.loads(self.checkpoints.files.read(_beginning(self.checkpoints.spark(job.id, job.checkpoint)))))

    def discard(self, job: str, number: int) -> None:
        """Delete the checkpoint of one version."""
        self.holds.before_deleting(job)
        folder = self.checkpoints.spark(job, number)
        self.checkpoints.files.delete(_beginning(folder))
        self.checkpoints.files.delete(folder)

    def _note_beginning(self, target: str, batch: int) -> None:
        self.checkpoints.files.write(_beginning(target), str(batch))

    def _copied(self, job: Job, source: str, target: str, session: SparkSession) -> CopiedState:
        for attempt in range(_ATTEMPTS):
            batch = self._newest_committed(job, source)
            with self.holds.copying(job.id, batch):
                try:
                    size = copy(self.checkpoints.files, source, target, batch, job.name)
                except Exception as error:
                    # Files that belong to no batch any more go at any time; the next list is without them.
                    if not missing_file(error) or attempt == _ATTEMPTS - 1:
                        raise
                    continue
            check_opens(session, target, batch)
            return CopiedState(batch, size)
        raise AssertionError("the last attempt returns or raises")

    def _newest_committed(self, job: Job, source: str) -> int:
        batch = progress(self.checkpoints.files, source).committed
        if batch is None:
            message = f"Job {job.name} has no state: nothing is committed in {source}."
            raise StatementError("SNAPSHOT_FAILED", message, hint="WAIT FOR JOB waits for its first batch.")
        return batch

    def _spread(self, job: Job, target: str, batch: int, session: SparkSession, version: Version | None = None) -> bool:
        """Spread a copied state over as many partitions as its plan asks for; whether that was something to do."""
        plan = job.plan if version is None else version.plan
        wanted = partitions_wanted(plan) or _widened(job, version)
        pinned = read_offsets(self.checkpoints.files, target, batch).confs.get(SHUFFLE_PARTITIONS)
        if wanted is None or not plan.analysis.stateful or str(wanted) == pinned:
            return False
        failpoint("state-repartitioning", job.name)
        session.conf.set(SHUFFLE_PARTITIONS, str(wanted))
        with plain_path(target) as path:
            session._streamingCheckpointManager.repartition(path, wanted)
        failpoint("state-repartitioned", job.name)
        return True


def _widened(job: Job, version: Version | None) -> int | None:
    """How many partitions a version is to have that was made for more cores; None when it was not."""
    if version is None or not is_wider(version_of(job), version):
        return None
    return int(version.defaults[SHUFFLE_PARTITIONS])


def _beginning(checkpoint: str) -> str:
    return f"{checkpoint}.begin"
