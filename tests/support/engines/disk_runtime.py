"""The in-memory engine with a simulated disk that the next engine reads, and with a record of forbidden actions.

A checkpoint or snapshot is the number of its newest batch. Every start commits a batch, unless a fault is armed for the
job. A batch that the job knows and the disk does not is therefore a lost batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from copy import deepcopy
from dataclasses import dataclass, field
from threading import RLock

from jetsql.errors import StatementError
from jetsql.jobs.lifecycle.runtime import BatchCommitted, CopiedState, Report, RunCompleted, RunFailed, UserSession
from jetsql.jobs.model.body_analysis import Analysis, OutputMode
from jetsql.jobs.model.job import Cause, Job, RunId, Version
from jetsql.language.statement import Body
from tests.support.engines.in_memory_runtime import InMemoryRuntime, Run, analysis, source

RETRYABLE_ERROR = Cause("the disk is full", "DISK", batch=1)
FATAL_ERROR = Cause("1/0", "DIVIDE_BY_ZERO", batch=1, retryable=False)


HALF = -2  # instead of a batch: the copy is not complete yet


@dataclass
class Disk:
    """The simulated disk."""

    checkpoints: dict[tuple[str, int], int] = field(default_factory=dict)  # the newest batch, by job and number
    snapshots: dict[str, int] = field(default_factory=dict)  # the newest batch, by id
    wrong: list[str] = field(default_factory=list)  # messages about forbidden actions

    def of_job(self, job_id: str) -> set[int]:
        return {number for job, number in self.checkpoints if job == job_id}

    def check(self, holds: bool, message: str) -> None:
        if not holds:
            self.wrong.append(message)


def reads(table: str) -> Analysis:
    return analysis(sources=(source(table),), stateful=True)


@dataclass
class DiskRuntime(InMemoryRuntime):
    """An engine on a disk. Its members have two cores each, so that state is rescaled when they join."""

    cores_each: int = 2
    disk: Disk = field(default_factory=Disk)
    armed: dict[str, Cause] = field(default_factory=dict)  # by job name: the error of the next run, before a commit
    ended: list[Run] = field(default_factory=list)  # their late events have to be ignored

    def __post_init__(self) -> None:
        self.lock: RLock = RLock()

    def frozen(self) -> Disk:
        """Return a copy of the disk's current state. The caller has the lock."""
        return deepcopy(self.disk)

    # --- the protocol ------------------------------------------------------------------------------------------------

    def analyse(
        self,
        body: Body,
        session: UserSession,
        modes: Sequence[OutputMode],
        state_ttl_millis: int | None,
        local_windows: bool = True,
    ) -> Analysis:
        return reads(body.text.rpartition(" ")[2])

    def start(self, job: Job, report: Report) -> None:
        self._pass("start", job)
        with self.lock:
            for number in self.disk.of_job(job.id) - wanted(job):
                del self.disk.checkpoints[job.id, number]
            self._check_start(job)
            run = Run(job, report, self.disk.checkpoints[job.id, job.version.checkpoint])
            before = self.runs.get(job.id)
            if before is not None:
                self.ended.append(before)
            self.runs[job.id] = run
            fault = self.armed.pop(job.name, None)
            if fault is None:
                self.commit(job.id)
            else:
                self.fail(job.id, fault)

    def _check_start(self, job: Job) -> None:
        disk, key = self.disk, (job.id, job.version.checkpoint)
        before = self.runs.get(job.id)
        disk.check(before is None or not before.alive, f"{job.name}: two runs at once")
        disk.check(before is None or before.job.run < job.run, f"{job.name}: run {job.run} starts again")
        if key in disk.checkpoints:
            known = -1 if job.batch is None else job.batch
            disk.check(disk.checkpoints[key] >= known, f"{job.name}: batches are lost")
            return
        disk.check(job.version.checkpoint == 0, f"{job.name}: the checkpoint of a version is not there")
        if job.source_snapshot_id is not None:
            begins = disk.snapshots.get(job.source_snapshot_id)
            disk.check(begins == job.batch, f"{job.name} begins at batch {begins}, and not at {job.batch}")
        else:
            disk.check(job.batch is None, f"{job.name}: its state is gone")
        disk.checkpoints[key] = disk.snapshots.get(job.source_snapshot_id or "", -1)

    def stop(self, run: RunId, deadline_seconds: float) -> bool:
        self._pass("stop", run)
        with self.lock:
            running = self.runs.get(run.job)
            if running is not None and running.job.run == run.run:
                running.alive = False
        return True

    def recover_sink(self, job: Job) -> None:
        self._pass("recover", job)
        with self.lock:
            self._check_still(job, "the sink is recovered")

    def copy_state(self, job: Job, snapshot: str, report: Report) -> CopiedState:
        with self.lock:
            self.disk.snapshots[snapshot] = HALF
        self._pass("copy_state", job)
        with self.lock:
            batch = self.disk.checkpoints.get((job.id, job.version.checkpoint), -1)
            if batch < 0:
                del self.disk.snapshots[snapshot]
                raise StatementError("SNAPSHOT_FAILED", f"The state of job {job.name} is not there any more.")
            self.disk.snapshots[snapshot] = batch
            return CopiedState(batch, 1000)

    def delete_snapshot(self, snapshot: str) -> None:
        self._pass("delete_snapshot")
        with self.lock:
            self.disk.snapshots.pop(snapshot, None)

    def snapshot_folders(self) -> tuple[str, ...]:
        with self.lock:
            return tuple(self.disk.snapshots)

    def prepare_update(self, job: Job, report: Report, unwanted: Future[None]) -> None:
        assert job.pending_version is not None
        old, new = (job.id, job.version.checkpoint), (job.id, job.pending_version.checkpoint)
        with self.lock:
            self.disk.check(new not in self.disk.checkpoints, f"{job.name}: a version's checkpoint is there before it")
            self.disk.checkpoints[new] = HALF
        self._pass("prepare_update", job)
        with self.lock:
            self._check_still(job, "its state is copied for an update")
            self.disk.checkpoints[new] = self.disk.checkpoints.get(old, -1)

    def discard_version(self, job: Job, version: Version) -> None:
        self._pass("discard_version", job)
        with self.lock:
            running = self.runs.get(job.id)
            of_it = running is not None and running.alive and running.job.version.checkpoint == version.checkpoint
            self.disk.check(not of_it, f"{job.name}: the checkpoint of a live run is deleted")
            self.disk.checkpoints.pop((job.id, version.checkpoint), None)

    def sink_has_batch(self, job: Job) -> bool:
        return False

    def discard_files(self, job: Job) -> None:
        self._pass("discard", job)
        with self.lock:
            self._check_still(job, "its files are deleted")
            for number in self.disk.of_job(job.id):
                del self.disk.checkpoints[job.id, number]

    def _check_still(self, job: Job, what: str) -> None:
        running = self.runs.get(job.id)
        self.disk.check(running is None or not running.alive, f"{job.name}: {what} while it runs")

    # --- what happens to runs ----------------------------------------------------------------------------------------

    def alive(self) -> dict[str, Run]:
        """Return the live runs by job id."""
        with self.lock:
            return {job_id: run for job_id, run in self.runs.items() if run.alive}

    def run_named(self, name: str) -> Run | None:
        return next((run for run in self.alive().values() if run.job.name == name), None)

    def commit(self, job_id: str, rows: int = 10, trigger_time: float = 0.0, rate: float = 10.0) -> None:
        with self.lock:
            run = self.runs[job_id]
            if run.alive:
                run.batch += 1
                self.disk.checkpoints[job_id, run.job.version.checkpoint] = run.batch
                self.report(job_id, BatchCommitted(self.run_id(job_id), run.batch, trigger_time, rows, rate))

    def fail(self, job_id: str, cause: Cause) -> None:
        with self.lock:
            run = self.runs[job_id]
            if run.alive:
                run.alive = False
                self.report(job_id, RunFailed(self.run_id(job_id), cause))

    def complete(self, job_id: str, message: str = "") -> None:
        with self.lock:
            run = self.runs[job_id]
            if run.alive:
                run.alive = False
                self.report(job_id, RunCompleted(self.run_id(job_id), message))

    def report_from_ended_runs(self) -> None:
        """Report late events of runs that have ended."""
        for run in list(self.ended):
            over = RunId(run.job.id, run.job.run)
            run.report(BatchCommitted(over, 999, 0.0, 1, 1.0))
            run.report(RunFailed(over, FATAL_ERROR))


def wanted(job: Job) -> set[int]:
    """Return the numbers of the checkpoints that a job needs."""
    others = (version.checkpoint for version in (job.rollback_version, job.pending_version) if version is not None)
    return {job.version.checkpoint, *others}
