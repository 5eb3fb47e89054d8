"""The registry of jobs: their current state in memory, and the place where statements wait for a change.

Only the manager's writer thread changes it. Readers get frozen jobs and need no store for live jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition
from time import monotonic
from typing import Final

from jetsql import request
from jetsql.errors import EngineError
from jetsql.jobs.model.job import Job

_MAX_ENDED: Final = 100


@dataclass(frozen=True)
class ReportedTrigger:
    """A trigger of a run that has ended."""

    began: float  # seconds since the epoch, by a clock that can be set back
    begun_after: int  # the newest wait that it began after, see `Workers.new_wait`


@dataclass(frozen=True)
class RunStats:
    """Facts about the runs of a live job that the store does not keep."""

    rows_per_second: float | None = None  # of the newest batch
    run_began: float | None = None  # when its newest run was started, in seconds since the epoch
    batch_trigger: ReportedTrigger | None = None  # the newest one that committed rows
    idle_trigger: ReportedTrigger | None = None  # the newest one without rows
    stop_message: str = ""  # of the last stop
    update_message: str = ""  # why the last update was abandoned or rolled back
    last_message: str = ""  # of the newest history row that is not about cleaning up


@dataclass(frozen=True)
class JobView:
    """A job at one moment, with the facts about its runs."""

    job: Job
    stats: RunStats = RunStats()


class JobRegistry:
    """Views by job id.

    Ended jobs stay while a statement waits for them. The newest ended jobs stay longer: a job can end between a
    statement's step and its wait, and only the registry has the facts about its last run.
    """

    def __init__(self, ended: Callable[[str], Job | None]) -> None:
        """Create an empty registry. ended: returns a job of the store by its id."""
        self._ended = ended
        self._closed = False
        self._views: dict[str, JobView] = {}
        self._ended_lately: dict[str, JobView] = {}
        self._waiting: dict[str, int] = {}
        self._changed = Condition()

    def put(self, view: JobView) -> None:
        """Publish a job's new state and wake the statements that wait for it."""
        with self._changed:
            self._ended_lately.pop(view.job.id, None)
            self._views[view.job.id] = view
            self._forget(view.job.id)
            self._changed.notify_all()

    def get(self, job_id: str) -> JobView | None:
        """Return the view of a job, or None if the job is not in the registry."""
        with self._changed:
            return self._views.get(job_id)

    def live(self) -> tuple[JobView, ...]:
        """Return the jobs that have not ended, newest first."""
        with self._changed:
            views = [view for view in self._views.values() if view.job.is_live]
        return tuple(sorted(views, key=lambda view: view.job.id, reverse=True))

    def wait(self, view: JobView, reached: Callable[[JobView], bool], seconds: float) -> JobView:
        """Wait until the condition is true or the time is up, and return the job's view at that time.

        view: the last known view. Raises EngineError ENGINE_NOT_STARTED when the engine is closed meanwhile, and
        StatementError STATEMENT_CANCELLED.
        """
        job_id = view.job.id
        until = monotonic() + seconds
        statement = request.current().cancellation
        with statement.on_cancel(self._wake), self._changed:
            self._waiting[job_id] = self._waiting.get(job_id, 0) + 1
            try:
                while not reached(self._current(view)) and (left := until - monotonic()) > 0:
                    self._check_open()
                    statement.check()
                    self._changed.wait(left)
                return self._current(view)
            finally:
                self._waiting[job_id] -= 1
                self._forget(job_id)

    def has_waiters(self, job_id: str) -> bool:
        """Return whether a statement waits for this job."""
        with self._changed:
            return job_id in self._waiting

    def close(self) -> None:
        """Wake all waiting statements, which then raise EngineError."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _check_open(self) -> None:
        if self._closed:
            raise EngineError("ENGINE_NOT_STARTED", "The engine was closed while the statement was waiting.")

    def _current(self, view: JobView) -> JobView:
        shown = self._views.get(view.job.id) or self._ended_lately.get(view.job.id)
        if shown is not None or not view.job.is_live:
            return shown or view
        ended = self._ended(view.job.id)
        return view if ended is None else JobView(ended)

    def _forget(self, job_id: str) -> None:
        if not self._waiting.get(job_id):
            self._waiting.pop(job_id, None)
            if job_id in self._views and not self._views[job_id].job.is_live:
                self._ended_lately[job_id] = self._views.pop(job_id)
                while len(self._ended_lately) > _MAX_ENDED:
                    del self._ended_lately[next(iter(self._ended_lately))]
