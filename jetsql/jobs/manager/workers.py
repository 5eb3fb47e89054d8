"""Worker threads that carry out the actions of steps and report the results as events.

The actions of one job run in their order (a stop never overtakes its start), those of different jobs in parallel. A
failed action is reported as an event. When the engine ends with its Spark, no failure is: the next engine continues.

Threads are daemons that are started when needed and used again: Spark's catalogue opens a store for each new thread.
`ThreadPoolExecutor` is not used: it accepts no work while the interpreter exits, and an engine that was not closed has
to stop its runs then.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from itertools import groupby
from threading import Condition, Thread
from typing import Final, TypeVar

from jetsql.failpoints import failpoint
from jetsql.jobs.lifecycle.events import (
    AbandonUpdate,
    CleanupFailed,
    DiscardFiles,
    DiscardVersion,
    FilesDiscarded,
    PrepareUpdate,
    ProbeTrial,
    RecoverSink,
    RunEvent,
    SnapshotFailed,
    SnapshotFinished,
    SnapshotWritten,
    Started,
    StartFailed,
    StartRun,
    StopFailed,
    Stopped,
    StopRun,
    TrialProbed,
    UpdateFailed,
    UpdatePrepared,
    WorkerAction,
    WriteSnapshot,
)
from jetsql.jobs.lifecycle.runtime import BatchCommitted, JobRuntime, RunFailed, RunIdle, RuntimeEvent
from jetsql.jobs.manager.start_turns import StartTurns
from jetsql.jobs.model.job import Cause, Job, RunId, Version

T = TypeVar("T")
Work = Callable[[], None]
_IDLE_SECONDS: Final = 30.0
_FAILURES: Final = (CleanupFailed, RunFailed, SnapshotFailed, StartFailed, StopFailed, UpdateFailed)
_LOG: Final = logging.getLogger(__name__)


class Workers:
    """The worker threads of a manager."""

    def __init__(self, runtime: JobRuntime, report: Callable[[RunEvent], None], stop_deadline: float) -> None:
        """Create the workers.

        report: called on worker threads with every event. stop_deadline: seconds until a stop is forced.
        """
        self._runtime = runtime
        self._listener = report
        self._stop_deadline = stop_deadline
        self._turns = StartTurns()
        self._chains: dict[str, deque[Work]] = {}
        self._update_cancellations: dict[str, Future[None]] = {}
        self._changed = Condition()
        self._newest_wait = 0

    def dispatch(self, actions: Sequence[WorkerAction]) -> None:
        """Carry out the actions after earlier actions of their jobs. AbandonUpdate takes effect immediately."""
        for job_id, of_job in groupby(actions, key=lambda action: action.job.id):
            self._chain(job_id, [self._work(action) for action in of_job])

    def _work(self, action: WorkerAction) -> Work:
        match action:
            case StartRun(job):
                return lambda: self._start(job)
            case StopRun(job, immediately):
                deadline = 0.0 if immediately else self._stop_deadline
                return lambda: self._stop(job, deadline)
            case RecoverSink(job):
                return lambda: self._recover(job)
            case DiscardFiles(job):
                return lambda: self._discard(job)
            case WriteSnapshot(job):
                return lambda: self._write_snapshot(job)
            case PrepareUpdate(job):
                cancelled = self._update_cancellations[job.id] = Future()
                return lambda: self._prepare_update(job, cancelled)
            case AbandonUpdate(job):
                return self._abandon_update(job)
            case ProbeTrial(job):
                return lambda: self._probe_trial(job)
            case DiscardVersion(job, version):
                return lambda: self._discard_version(job, version)

    def call(self, work: Callable[[], T]) -> Future[T]:
        """Call the engine for a statement, apart from any job."""
        result: Future[T] = Future()

        def run() -> None:
            try:
                result.set_result(work())
            except BaseException as error:  # raised for the caller that waits for the result
                result.set_exception(error)

        _THREADS.run(run)
        return result

    def new_wait(self) -> int:
        """Return the number of a wait for triggers that begin after this call; each call returns a greater one."""
        with self._changed:
            self._newest_wait += 1
            return self._newest_wait

    def watch(self, run: RunId, wait: int) -> None:
        """Make the run report which triggers begin from now on, after earlier actions of its job."""
        self._chain(run.job, [lambda: self._watch(run, wait)])

    def wait_for_job(self, job_id: str, seconds: float) -> bool:
        """Wait until all actions of the job are done; return False when the time is up before."""
        with self._changed:
            return self._changed.wait_for(lambda: job_id not in self._chains, seconds)

    def is_idle(self) -> bool:
        """Return whether all actions of all jobs are done."""
        with self._changed:
            return not self._chains

    def wait_all(self, seconds: float) -> bool:
        """Wait until all actions of all jobs are done; return False when the time is up before."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._chains, seconds)

    def _chain(self, job_id: str, work: Sequence[Work]) -> None:
        with self._changed:
            chain = self._chains.get(job_id)
            if chain is not None:
                chain.extend(work)
                return
            self._chains[job_id] = deque(work)
        _THREADS.run(lambda: self._drain(job_id))

    def _drain(self, job_id: str) -> None:
        while True:
            with self._changed:
                chain = self._chains[job_id]
                if not chain:
                    del self._chains[job_id]
                    self._changed.notify_all()
                    return
                work = chain.popleft()
            work()

    def cause_of(self, error: Exception) -> Cause:
        """Return the engine's cause of an error; the error's text if the engine raises another error."""
        try:
            return self._runtime.cause_of(error)
        except Exception as second:
            _LOG.exception("The cause of %r could not be determined", error, exc_info=second)
            return Cause(f"{type(error).__name__}: {error}")

    def _start(self, job: Job) -> None:
        try:
            with self._turns.turn():
                self._runtime.start(job, partial(self._report_trigger, self._newest_wait))
        except Exception as error:
            self._report(StartFailed(job.run_id, self.cause_of(error)))
        else:
            self._report(Started(job.run_id))

    def _report_trigger(self, begun_after: int, event: RuntimeEvent) -> None:
        """Report an event of a run. begun_after: the newest wait before the start of the run."""
        if isinstance(event, BatchCommitted | RunIdle):
            event = replace(event, begun_after=max(begun_after, event.begun_after))
        self._report(event)

    def _report(self, event: RunEvent) -> None:
        if _is_failure(event) and self._runtime.is_ending:
            _LOG.info("Spark has ended, so this is no failure of a job: %s", event)
            return
        self._listener(event)

    def _runtime_report(self, event: RuntimeEvent) -> None:
        self._report(event)

    def _stop(self, job: Job, deadline: float) -> None:
        try:
            graceful = self._runtime.stop(job.run_id, deadline)
        except Exception as error:
            self._report(StopFailed(job.run_id, self.cause_of(error)))
        else:
            self._report(Stopped(job.run_id, graceful))

    def _recover(self, job: Job) -> None:
        try:
            self._runtime.recover_sink(job)
            failpoint("sink-recovered", job.name)
        except Exception as error:
            self._report(CleanupFailed(job.run_id, "Finishing the last batch in the sink", self.cause_of(error)))

    def _discard(self, job: Job) -> None:
        try:
            self._runtime.discard_files(job)
        except Exception as error:
            self._report(CleanupFailed(job.run_id, "Deleting the job's files", self.cause_of(error)))
        else:
            self._report(FilesDiscarded(job.run_id))

    def _write_snapshot(self, job: Job) -> None:
        request = job.snapshot_request
        assert request is not None, "the job of the action has a snapshot request"
        try:
            copied = self._runtime.copy_state(job, request.id, self._runtime_report)
        except Exception as error:
            self._report(SnapshotFailed(job.run_id, self.cause_of(error)))
        else:
            written = SnapshotWritten(request, job.version, copied.batch, copied.size_bytes)
            self._report(SnapshotFinished(job.run_id, written))

    def _abandon_update(self, job: Job) -> Work:
        cancelled = self._update_cancellations.pop(job.id, None)
        if cancelled is not None:
            _THREADS.run(lambda: cancelled.set_result(None))
        return lambda: None

    def _prepare_update(self, job: Job, cancelled: Future[None]) -> None:
        try:
            self._runtime.prepare_update(job, self._runtime_report, cancelled)
        except Exception as error:
            self._report(UpdateFailed(job.run_id, self.cause_of(error)))
        else:
            self._report(UpdatePrepared(job.run_id))

    def _probe_trial(self, job: Job) -> None:
        try:
            batch_in_sink = self._runtime.sink_has_batch(job)
        except Exception as error:
            self._report(TrialProbed(job.run_id, None, self.cause_of(error)))
        else:
            self._report(TrialProbed(job.run_id, batch_in_sink))

    def _discard_version(self, job: Job, version: Version) -> None:
        try:
            self._runtime.discard_version(job, version)
        except Exception as error:
            self._report(CleanupFailed(job.run_id, "Deleting an unused checkpoint", self.cause_of(error)))

    def _watch(self, run: RunId, wait: int) -> None:
        try:
            self._runtime.watch(run, wait)
        except Exception as error:
            _LOG.warning("The triggers of run %s cannot be watched: %s", run, self.cause_of(error).message)


def _is_failure(event: RunEvent) -> bool:
    return isinstance(event, _FAILURES) or (isinstance(event, TrialProbed) and event.cause is not None)


class _Threads:
    """Daemon threads of all workers of this process, which end after a time without work."""

    def __init__(self) -> None:
        self._work: deque[Work] = deque()
        self._idle = 0
        self._changed = Condition()

    def run(self, work: Work) -> None:
        """Run the work on an idle thread or a new one, or on this one when the interpreter starts no more threads."""
        with self._changed:
            self._work.append(work)
            if self._idle >= len(self._work):
                self._changed.notify()
                return
        try:
            Thread(target=self._loop, name="jetsql-worker", daemon=True).start()
        except RuntimeError:
            self._run_next(0.0)

    def _loop(self) -> None:
        while self._run_next(_IDLE_SECONDS):
            pass

    def _run_next(self, seconds: float) -> bool:
        """Run the oldest work; return False when none has come within the seconds."""
        with self._changed:
            self._idle += 1
            has_work = self._changed.wait_for(lambda: self._work, seconds)
            self._idle -= 1
            if not has_work:
                return False
            work = self._work.popleft()
        work()
        return True


_THREADS: Final = _Threads()
