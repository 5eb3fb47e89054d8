"""Carries out the actions of steps on worker threads and reports back as events.

The actions of one job run one after another in their order (a stop never overtakes its start), those of different jobs
side by side. An action that fails becomes an event; nothing is lost.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Condition
from typing import Final, TypeVar

from jetsql.jobs.engine import Engine, EngineEvent
from jetsql.jobs.events import (
    Action,
    CleanupFailed,
    DiscardFiles,
    FilesDiscarded,
    RecoverSink,
    RunEvent,
    Started,
    StartFailed,
    StartRun,
    StopFailed,
    Stopped,
    StopRun,
)
from jetsql.jobs.model import Cause, Job, RunId
from jetsql.jobs.moves import run_of

T = TypeVar("T")
Work = Callable[[], None]
_THREADS: Final = 64  # stops wait in them, so as many as may be asked for at once; threads are made as needed
_LOG: Final = logging.getLogger(__name__)


class Workers:
    """report: called from worker threads with every event. stop_deadline: seconds until a stop is forced."""

    def __init__(self, engine: Engine, report: Callable[[RunEvent], None], stop_deadline: float) -> None:
        self._engine = engine
        self._report = report
        self._stop_deadline = stop_deadline
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="jetsql-worker")
        self._chains: dict[str, deque[Work]] = {}
        self._changed = Condition()

    def do(self, action: Action) -> None:
        """Carry out an action after those that its job has already."""
        if isinstance(action, StartRun):
            self._chain(action.job.id, lambda: self._start(action.job))
        elif isinstance(action, StopRun):
            self._chain(action.job.id, lambda: self._stop(action.job))
        elif isinstance(action, RecoverSink):
            self._chain(action.job.id, lambda: self._recover(action.job))
        elif isinstance(action, DiscardFiles):
            self._chain(action.job.id, lambda: self._discard(action.job))

    def call(self, work: Callable[[], T]) -> Future[T]:
        """Call the engine for a statement, apart from any job."""
        return self._pool.submit(work)

    def watch_idle(self, run: RunId) -> None:
        """Have the run report when it next finds nothing to do; after what its job has to do already."""
        self._chain(run.job, lambda: self._watch_idle(run))

    def wait_idle(self, job_id: str, seconds: float) -> bool:
        """Wait until nothing is left to do for the job; whether that came about."""
        with self._changed:
            return self._changed.wait_for(lambda: job_id not in self._chains, seconds)

    def idle(self) -> bool:
        """Whether nothing is left to do for any job."""
        with self._changed:
            return not self._chains

    def wait_all(self) -> None:
        """Wait until nothing is left to do for any job."""
        with self._changed:
            self._changed.wait_for(lambda: not self._chains)

    def close(self) -> None:
        self._pool.shutdown()

    def _chain(self, job_id: str, work: Work) -> None:
        with self._changed:
            chain = self._chains.get(job_id)
            if chain is not None:
                chain.append(work)
                return
            self._chains[job_id] = deque((work,))
        self._pool.submit(self._drain, job_id)

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

    def _cause(self, error: Exception) -> Cause:
        """The engine's own words; when even that fails, the error's."""
        try:
            return self._engine.cause_of(error)
        except Exception as second:
            _LOG.exception("No cause of %r", error, exc_info=second)
            return Cause(f"{type(error).__name__}: {error}")

    def _start(self, job: Job) -> None:
        try:
            self._engine.start(job, self._engine_report)
        except Exception as error:
            self._report(StartFailed(run_of(job), self._cause(error)))
        else:
            self._report(Started(run_of(job)))

    def _engine_report(self, event: EngineEvent) -> None:
        self._report(event)

    def _stop(self, job: Job) -> None:
        try:
            graceful = self._engine.stop(run_of(job), self._stop_deadline)
        except Exception as error:
            self._report(StopFailed(run_of(job), self._cause(error)))
        else:
            self._report(Stopped(run_of(job), graceful))

    def _recover(self, job: Job) -> None:
        try:
            self._engine.recover(job)
        except Exception as error:
            self._report(CleanupFailed(run_of(job), "Finishing the last batch in the sink", self._cause(error)))

    def _discard(self, job: Job) -> None:
        try:
            self._engine.discard(job)
        except Exception as error:
            self._report(CleanupFailed(run_of(job), "Deleting the job's files", self._cause(error)))
        else:
            self._report(FilesDiscarded(run_of(job)))

    def _watch_idle(self, run: RunId) -> None:
        try:
            self._engine.watch_idle(run)
        except Exception as error:
            _LOG.warning("Run %s can't be watched: %s", run, self._cause(error).message)
