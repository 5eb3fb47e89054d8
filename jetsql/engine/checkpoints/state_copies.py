"""Copies of a job's state: snapshots, snapshots restored for new jobs, and the copies that updates start from.

A copy is written to a new folder and is valid only when it is complete and Spark can read it. So a crash during the
copy leaves the existing state unchanged. Spark repartitions the state, and only in copies: an interrupted repartition
leaves a checkpoint that Spark can read with neither partition count.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

from jetsql.engine.checkpoints.checkpoint_check import check_snapshot
from jetsql.engine.checkpoints.checkpoint_copies import (
    CheckpointPins,
    check_readable,
    copy_checkpoint,
    is_complete,
    local_alias,
    move_checkpoint,
)
from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.engine.checkpoints.checkpoint_reader import plan_result, read_offsets
from jetsql.engine.errors.run_failures import cause_of
from jetsql.engine.jvm.java_classes import java, missing_file
from jetsql.engine.jvm.spark_version import fixed_partitions
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.checkpoint_files.log_entries import read_progress
from jetsql.jobs.lifecycle.runtime import CopiedState
from jetsql.jobs.lifecycle.update import is_rescale
from jetsql.jobs.model.body_analysis import OutputMode
from jetsql.jobs.model.job import Job, Version
from jetsql.jobs.model.job_options import Guarantee
from jetsql.jobs.planning.compatibility import SHUFFLE_PARTITIONS, requested_partitions

_ATTEMPTS = 3
_GROUP = "spark.jobGroup.id"


@contextmanager
def cancel_when(cancelled: Future[None], spark: SparkSession, group: str) -> Iterator[None]:
    """Cancel the Spark jobs of this thread as soon as `cancelled` is done: they could wait for executors forever.

    group: a name for the job group that was never used before.
    Raises StatementError SNAPSHOT_FAILED in place of Spark's error for a cancelled job.
    """
    context = spark.sparkContext
    context.setLocalProperty(_GROUP, group)
    cancelled.add_done_callback(lambda _: java(spark).scheduling.CancelledJobGroups.cancel(spark._jsparkSession, group))
    try:
        yield
    except Exception as error:
        if cancelled.done():
            raise StatementError("SNAPSHOT_FAILED", "The copy of the state was cancelled.") from error
        raise
    finally:
        context.setLocalProperty(_GROUP, None)  # type: ignore[arg-type]


@dataclass(frozen=True)
class StateCopies:
    """The copies of the state of one engine's jobs."""

    checkpoints: Checkpoints
    """The folders of all jobs."""
    pins: CheckpointPins
    """The batches that are being copied."""
    snapshot_root: str
    """The folder of all snapshots, a path or URI."""

    def create_snapshot(self, job: Job, name: str, session: SparkSession) -> CopiedState:
        """Copy a job's state into a new snapshot, and delete an incomplete one. Raises StatementError."""
        target = f"{self.snapshot_root}/{name}"
        source = self.checkpoints.spark_checkpoint(job.id, job.version.checkpoint)
        try:
            return self._copy_checked(job, source, target, session)
        except Exception as error:
            self.checkpoints.delete(target)
            if isinstance(error, StatementError):
                raise
            message = f"Cannot copy the state of job {job.name} to {target}: {cause_of(error).message}"
            raise StatementError(
                "SNAPSHOT_FAILED", message, hint="Try again; the incomplete copy is deleted."
            ) from error

    def delete_snapshot(self, name: str) -> None:
        """Delete the folder of a snapshot if it exists."""
        self.checkpoints.delete(f"{self.snapshot_root}/{name}")

    def list_snapshots(self) -> tuple[str, ...]:
        """Return the names of all snapshot folders, complete or not."""
        return tuple(self.checkpoints.files.list_names(self.snapshot_root))

    def restore_snapshot(self, job: Job, session: SparkSession) -> None:
        """Copy the snapshot that a new job starts from into its checkpoint, unless that was done.

        Raises StatementError SNAPSHOT_NOT_FOUND, CHECKPOINT_DAMAGED.
        """
        target = self.checkpoints.spark_checkpoint(job.id, job.version.checkpoint)
        if (
            job.source_snapshot_id is None
            or job.version.first_trigger_done
            or is_complete(self.checkpoints.files, target)
        ):
            return
        source = f"{self.snapshot_root}/{job.source_snapshot_id}"
        if not is_complete(self.checkpoints.files, source):
            message = f"The snapshot that job {job.name} starts from is missing or incomplete: {source}."
            raise StatementError("SNAPSHOT_NOT_FOUND", message, hint="Create the job from another snapshot.")
        check_snapshot(self.checkpoints.files, source, job)
        batch = read_progress(self.checkpoints.files, source).committed
        assert batch is not None, "a snapshot has a committed batch"
        # Of its own for each leader: the next one may copy the snapshot while an earlier one is paused in its copy.
        draft = f"{target}.{self.checkpoints.leadership.number}.draft"
        copy_checkpoint(self.checkpoints.files, source, draft, batch, job.name)
        if self._repartition(job, draft, batch, session):
            check_readable(session, draft, batch + 1)
        if job.plan.output_mode is OutputMode.COMPLETE:
            plan_result(self.checkpoints.files, draft)
        self.checkpoints.leadership.check()
        move_checkpoint(self.checkpoints.files, draft, target)

    def copy_for_update(self, job: Job, proposed: Version, session: SparkSession) -> None:
        """Write the checkpoint of a job's new version, and store the batch that the version begins after."""
        files = self.checkpoints.files
        target = self.checkpoints.spark_checkpoint(job.id, proposed.checkpoint)
        source = self.checkpoints.spark_checkpoint(job.id, job.version.checkpoint)
        if proposed.plan.guarantee is Guarantee.NONE or read_progress(files, source).committed is None:
            self.checkpoints.delete(target)
            self._write_base_batch(target, -1)
            return
        batch = self._copy_checked(job, source, target, session).batch
        if self._repartition(job, target, batch, session, proposed):
            batch += 1
            check_readable(session, target, batch)
        before, now = job.plan.analysis, proposed.plan.analysis
        if proposed.plan.output_mode is OutputMode.COMPLETE and now.sink_names != before.sink_names:
            plan_result(files, target)
        self._write_base_batch(target, batch)
        failpoint("update-prepared", job.name)

    def read_base_batch(self, job: Job) -> int:
        """Return the newest batch at the time when the checkpoint of a version on trial was made; -1 for none."""
        checkpoint = self.checkpoints.spark_checkpoint(job.id, job.version.checkpoint)
        return int(json.loads(self.checkpoints.files.read(_base_batch_file(checkpoint))))

    def discard_checkpoint(self, job: str, number: int) -> None:
        """Delete the checkpoint of one version after all copies of it have ended."""
        self.pins.wait_until_unpinned(job)
        folder = self.checkpoints.spark_checkpoint(job, number)
        self.checkpoints.delete(_base_batch_file(folder))
        self.checkpoints.delete(folder)

    def _write_base_batch(self, target: str, batch: int) -> None:
        self.checkpoints.files.write(_base_batch_file(target), str(batch))

    def _copy_checked(self, job: Job, source: str, target: str, session: SparkSession) -> CopiedState:
        for attempt in range(_ATTEMPTS):
            batch = self._newest_committed(job, source)
            with self.pins.pin(job.id, batch):
                try:
                    size = copy_checkpoint(self.checkpoints.files, source, target, batch, job.name)
                except Exception as error:
                    # Spark may delete files that no batch needs any more at any time; the next list omits them.
                    if not missing_file(error) or attempt == _ATTEMPTS - 1:
                        raise
                    continue
            check_readable(session, target, batch)
            return CopiedState(batch, size)
        raise AssertionError("the last attempt returns or raises")

    def _newest_committed(self, job: Job, source: str) -> int:
        batch = read_progress(self.checkpoints.files, source).committed
        if batch is None:
            message = f"Job {job.name} has no state: no batch is committed in {source}."
            raise StatementError("SNAPSHOT_FAILED", message, hint="WAIT FOR JOB waits for its first batch.")
        return batch

    def _repartition(
        self, job: Job, target: str, batch: int, session: SparkSession, version: Version | None = None
    ) -> bool:
        """Repartition a copied state as its plan requires. Return whether the partition count has changed."""
        plan = job.plan if version is None else version.plan
        wanted_partitions = requested_partitions(plan) or _rescaled_partitions(job, version)
        pinned = read_offsets(self.checkpoints.files, target, batch).confs.get(SHUFFLE_PARTITIONS)
        if wanted_partitions is None or not plan.analysis.stateful or str(wanted_partitions) == pinned:
            return False
        if reason := fixed_partitions():
            message = f"Cannot use {wanted_partitions} partitions for the state of job {job.name}: {reason}."
            raise StatementError(
                "STATE_NOT_COMPATIBLE", message, hint=f"Set {SHUFFLE_PARTITIONS} to {pinned}, which the state has."
            )
        failpoint("state-repartitioning", job.name)
        session.conf.set(SHUFFLE_PARTITIONS, str(wanted_partitions))
        with local_alias(target) as path:
            session._streamingCheckpointManager.repartition(path, wanted_partitions)
        failpoint("state-repartitioned", job.name)
        return True


def _rescaled_partitions(job: Job, version: Version | None) -> int | None:
    """Return the partition count of a version that was created to use more cores, or None for another version."""
    if version is None or not is_rescale(job.version, version):
        return None
    return int(version.session_defaults[SHUFFLE_PARTITIONS])


def _base_batch_file(checkpoint: str) -> str:
    return f"{checkpoint}.begin"
