"""Copies of a job's state: snapshots, a snapshot restored for a new job, and the copy that an update starts on.

A copy is made in a folder of its own and counts only when it is complete and Spark opens it. So a crash in the middle
leaves what was there before untouched. Repartitioning is Spark's own, and is done on copies only: interrupted, it
leaves a checkpoint that Spark can read with neither partition count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

from jetsql.engine.checkpoints.checkpoint_copies import (
    CheckpointPins,
    check_readable,
    copy_checkpoint,
    is_complete,
    local_alias,
)
from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.engine.checkpoints.checkpoint_reader import read_offsets, read_progress
from jetsql.engine.errors.run_failures import cause_of
from jetsql.engine.jvm.java_classes import java, missing_file
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.lifecycle.engine_api import CopiedState
from jetsql.jobs.lifecycle.update import is_rescale
from jetsql.jobs.model.job import Guarantee, Job, Version
from jetsql.jobs.planning.compatibility import SHUFFLE_PARTITIONS, requested_partitions

_ATTEMPTS = 3
_GROUP = "spark.jobGroup.id"


@contextmanager
def cancel_when(cancelled: Future[None], spark: SparkSession, group: str) -> Iterator[None]:
    """Cancel what this thread has Spark do as soon as `cancelled` is done: it could wait for executors for ever.

    group: a name for that work, never used before.
    Raises StatementError SNAPSHOT_FAILED in place of Spark's error for cancelled work.
    """
    context = spark.sparkContext
    context.setLocalProperty(_GROUP, group)
    cancelled.add_done_callback(lambda _: java(spark).stream.CancelledJobGroups.cancel(spark._jsparkSession, group))
    try:
        yield
    except Exception as error:
        if cancelled.done():
            raise StatementError("SNAPSHOT_FAILED", "The copy of the state was given up.") from error
        raise
    finally:
        context.setLocalProperty(_GROUP, None)  # type: ignore[arg-type]


@dataclass(frozen=True)
class StateCopies:
    """Makes, restores and deletes copies of state."""

    checkpoints: Checkpoints
    pins: CheckpointPins
    snapshot_root: str
    """The folder of all snapshots, a path or URI."""

    def create_snapshot(self, job: Job, name: str, session: SparkSession) -> CopiedState:
        """Copy a job's state into a new snapshot; leave nothing when that fails. Raises StatementError."""
        target = f"{self.snapshot_root}/{name}"
        source = self.checkpoints.spark_checkpoint(job.id, job.version.checkpoint)
        try:
            return self._copy_checked(job, source, target, session)
        except Exception as error:
            self.checkpoints.files.delete(target)
            if isinstance(error, StatementError):
                raise
            message = f"The state could not be copied into {target}: {cause_of(error).message}"
            raise StatementError("SNAPSHOT_FAILED", message, hint="Nothing of it is left; try again.") from error

    def delete_snapshot(self, name: str) -> None:
        """Delete the folder of a snapshot, if there is one."""
        self.checkpoints.files.delete(f"{self.snapshot_root}/{name}")

    def list_snapshots(self) -> tuple[str, ...]:
        """Return the names of all snapshot folders, complete or not."""
        return tuple(self.checkpoints.files.list_names(self.snapshot_root))

    def restore_snapshot(self, job: Job, session: SparkSession) -> None:
        """Give a new job the state of the snapshot that it starts from, unless it has that already."""
        target = self.checkpoints.spark_checkpoint(job.id, job.version.checkpoint)
        if (
            job.source_snapshot_id is None
            or job.version.first_trigger_done
            or is_complete(self.checkpoints.files, target)
        ):
            return
        source = f"{self.snapshot_root}/{job.source_snapshot_id}"
        if not is_complete(self.checkpoints.files, source):
            message = f"The snapshot that the job starts from is gone: there is no {source}."
            raise StatementError("SNAPSHOT_NOT_FOUND", message, hint="Create the job from another snapshot.")
        batch = read_progress(self.checkpoints.files, source).committed
        assert batch is not None, "a snapshot holds a committed batch"
        draft = f"{target}.draft"
        copy_checkpoint(self.checkpoints.files, source, draft, batch, job.name)
        if self._repartition(job, draft, batch, session):
            check_readable(session, draft, batch + 1)
        self.checkpoints.files.rename(draft, target)

    def copy_for_update(self, job: Job, proposed: Version, session: SparkSession) -> None:
        """Make the checkpoint of a job's new version, and store the batch that it begins after."""
        files = self.checkpoints.files
        target = self.checkpoints.spark_checkpoint(job.id, proposed.checkpoint)
        source = self.checkpoints.spark_checkpoint(job.id, job.version.checkpoint)
        if proposed.plan.guarantee is Guarantee.NONE or read_progress(files, source).committed is None:
            files.delete(target)
            self._write_base_batch(target, -1)
            return
        batch = self._copy_checked(job, source, target, session).batch
        if self._repartition(job, target, batch, session, proposed):
            batch += 1
            check_readable(session, target, batch)
        self._write_base_batch(target, batch)
        failpoint("update-prepared", job.name)

    def read_base_batch(self, job: Job) -> int:
        """Return the batch that was newest when the checkpoint of a version on trial was made; -1 for none."""
        checkpoint = self.checkpoints.spark_checkpoint(job.id, job.version.checkpoint)
        return int(json.loads(self.checkpoints.files.read(_base_batch_file(checkpoint))))

    def discard_checkpoint(self, job: str, number: int) -> None:
        """Delete the checkpoint of one version."""
        self.pins.wait_until_unpinned(job)
        folder = self.checkpoints.spark_checkpoint(job, number)
        self.checkpoints.files.delete(_base_batch_file(folder))
        self.checkpoints.files.delete(folder)

    def _write_base_batch(self, target: str, batch: int) -> None:
        self.checkpoints.files.write(_base_batch_file(target), str(batch))

    def _copy_checked(self, job: Job, source: str, target: str, session: SparkSession) -> CopiedState:
        for attempt in range(_ATTEMPTS):
            batch = self._newest_committed(job, source)
            with self.pins.pin(job.id, batch):
                try:
                    size = copy_checkpoint(self.checkpoints.files, source, target, batch, job.name)
                except Exception as error:
                    # Files that belong to no batch any more go at any time; the next list is without them.
                    if not missing_file(error) or attempt == _ATTEMPTS - 1:
                        raise
                    continue
            check_readable(session, target, batch)
            return CopiedState(batch, size)
        raise AssertionError("the last attempt returns or raises")

    def _newest_committed(self, job: Job, source: str) -> int:
        batch = read_progress(self.checkpoints.files, source).committed
        if batch is None:
            message = f"Job {job.name} has no state: nothing is committed in {source}."
            raise StatementError("SNAPSHOT_FAILED", message, hint="WAIT FOR JOB waits for its first batch.")
        return batch

    def _repartition(
        self, job: Job, target: str, batch: int, session: SparkSession, version: Version | None = None
    ) -> bool:
        """Repartition a copied state as its plan asks for. Return whether that changed anything."""
        plan = job.plan if version is None else version.plan
        wanted_partitions = requested_partitions(plan) or _rescaled_partitions(job, version)
        pinned = read_offsets(self.checkpoints.files, target, batch).confs.get(SHUFFLE_PARTITIONS)
        if wanted_partitions is None or not plan.analysis.stateful or str(wanted_partitions) == pinned:
            return False
        failpoint("state-repartitioning", job.name)
        session.conf.set(SHUFFLE_PARTITIONS, str(wanted_partitions))
        with local_alias(target) as path:
            session._streamingCheckpointManager.repartition(path, wanted_partitions)
        failpoint("state-repartitioned", job.name)
        return True


def _rescaled_partitions(job: Job, version: Version | None) -> int | None:
    """Return the partition count of a version that was made for more cores, or None for another version."""
    if version is None or not is_rescale(job.version, version):
        return None
    return int(version.session_defaults[SHUFFLE_PARTITIONS])


def _base_batch_file(checkpoint: str) -> str:
    return f"{checkpoint}.begin"
