"""Carries out the actions of steps on worker threads and reports back as events.

The actions of one job run one after another in their order (a stop never overtakes its start), those of different jobs
side by side. An action that fails becomes an event; nothing is lost.

Threads are made as needed and are daemons, not those of an executor: an executor takes no work once the interpreter is
ending, and that is when an engine that nobody closed still has to stop its runs.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import groupby
from threading import BoundedSemaphore, Condition, Thread
from typing import Final, TypeVar

from jetsql.failpoints import failpoint
from jetsql.jobs.lifecycle.engine_api import Engine, EngineEvent
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
from jetsql.jobs.model.job import Cause, Job, RunId, Version

T = TypeVar("T")
Work = Callable[[], None]
_STARTS_AT_ONCE: Final = 8  # a start plans a query; with many jobs all at once would only take turns
_LOG: Final = logging.getLogger(__name__)


class Workers:
    """report: called from worker threads with every event. stop_deadline: seconds until a stop is forced."""

    def __init__(self, engine: Engine, report: Callable[[RunEvent], None], stop_deadline: float) -> None:
        self._engine = engine
        self._report = report
        self._stop_deadline = stop_deadline
        self._starting = BoundedSemaphore(_STARTS_AT_ONCE)
        self._chains: dict[str, deque[Work]] = {}
        self._update_cancellations: dict[str, Future[None]] = {}
        self._changed = Condition()

    def dispatch(self, actions: Sequence[WorkerAction]) -> None:
        """Carry out the actions after those that their jobs have already; giving up what one of those does, at once."""
        for job_id, of_job in groupby(actions, key=lambda action: action.job.id):
            self._chain(job_id, [self._work(action) for action in of_job])

    def _work(self, action: WorkerAction) -> Work:
        match action:
            case StartRun(job):
                return lambda: self._start(job)
            case StopRun(job):
                return lambda: self._stop(job)
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
            except BaseException as error:  # it belongs to who waits for the result
                result.set_exception(error)

        _in_thread(run)
        return result

    def watch_idle(self, run: RunId) -> None:
        """Have the run report when it next finds nothing to do; after what its job has to do already."""
        self._chain(run.job, [lambda: self._watch_idle(run)])

    def wait_for_job(self, job_id: str, seconds: float) -> bool:
        """Wait until nothing is left to do for the job; whether that came about."""
        with self._changed:
            return self._changed.wait_for(lambda: job_id not in self._chains, seconds)

    def is_idle(self) -> bool:
        """Return whether nothing is left to do for any job."""
        with self._changed:
            return not self._chains

    def wait_all(self, seconds: float) -> bool:
        """Wait until nothing is left to do for any job; whether that came about."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._chains, seconds)

    def _chain(self, job_id: str, work: Sequence[Work]) -> None:
        with self._changed:
            chain = self._chains.get(job_id)
            if chain is not None:
                chain.extend(work)
                return
            self._chains[job_id] = deque(work)
        _in_thread(lambda: self._drain(job_id))

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
        """Return the engine's own words; when even that fails, the error's."""
        try:
            return self._engine.cause_of(error)
        except Exception as second:
            _LOG.exception("No cause of %r", error, exc_info=second)
            return Cause(f"{type(error).__name__}: {error}")

    def _start(self, job: Job) -> None:
        try:
            with self._starting:
                self._engine.start(job, self._engine_report)
        except Exception as error:
            self._report(StartFailed(job.run_id, self.cause_of(error)))
        else:
            self._report(Started(job.run_id))

    def _engine_report(self, event: EngineEvent) -> None:
        self._report(event)

    def _stop(self, job: Job) -> None:
        try:
            graceful = self._engine.stop(job.run_id, self._stop_deadline)
        except Exception as error:
            self._report(StopFailed(job.run_id, self.cause_of(error)))
        else:
            self._report(Stopped(job.run_id, graceful))

    def _recover(self, job: Job) -> None:
        try:
            self._engine.recover_sink(job)
            failpoint("sink-recovered", job.name)
        except Exception as error:
            self._report(CleanupFailed(job.run_id, "Finishing the last batch in the sink", self.cause_of(error)))

    def _discard(self, job: Job) -> None:
        try:
            self._engine.discard_files(job)
        except Exception as error:
            self._report(CleanupFailed(job.run_id, "Deleting the job's files", self.cause_of(error)))
        else:
            self._report(FilesDiscarded(job.run_id))

    def _write_snapshot(self, job: Job) -> None:
        export = job.snapshot_request
        assert export is not None, "the action comes with what is to be written"
        try:
            copied = self._engine.copy_state(job, export.id, self._engine_report)
        except Exception as error:
            self._report(SnapshotFailed(job.run_id, self.cause_of(error)))
        else:
            written = SnapshotWritten(export, job.version, copied.batch, copied.size_bytes)
            self._report(SnapshotFinished(job.run_id, written))

    def _abandon_update(self, job: Job) -> Work:
        cancelled = self._update_cancellations.pop(job.id, None)
        if cancelled is not None:
            _in_thread(lambda: cancelled.set_result(None))
        return lambda: None

    def _prepare_update(self, job: Job, cancelled: Future[None]) -> None:
        try:
            self._engine.prepare_update(job, self._engine_report, cancelled)
        except Exception as error:
            self._report(UpdateFailed(job.run_id, self.cause_of(error)))
        else:
            self._report(UpdatePrepared(job.run_id))

    def _probe_trial(self, job: Job) -> None:
        try:
            found = self._engine.sink_has_batch(job)
        except Exception as error:
            self._report(TrialProbed(job.run_id, None, self.cause_of(error)))
        else:
            self._report(TrialProbed(job.run_id, found))

    def _discard_version(self, job: Job, version: Version) -> None:
        try:
            self._engine.discard_version(job, version)
        except Exception as error:
            self._report(CleanupFailed(job.run_id, "Deleting a checkpoint of no more use", self.cause_of(error)))

    def _watch_idle(self, run: RunId) -> None:
        try:
            self._engine.watch_idle(run)
        except Exception as error:
            _LOG.warning("Run %s can't be watched: %s", run, self.cause_of(error).message)


def _in_thread(work: Work) -> None:
    """Run it apart; where the interpreter makes no more threads because it is ending, here."""
    thread = Thread(target=work, name="jetsql-worker", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        work()
