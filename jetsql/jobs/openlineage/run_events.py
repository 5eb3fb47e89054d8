"""The OpenLineage events about the runs of all jobs, made from the steps of their life cycle.

A run begins and ends with a step that is stored. The ids of runs follow from jobs and run numbers, so nothing more is
stored: after a crash, the next engine ends the runs that it finds in the store with ABORT. It also repeats the last
event of runs that ended shortly before, which may have waited for their receiver; a receiver takes an event with the
same content twice as one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from time import monotonic
from typing import Final

from jetsql.errors import EngineError
from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import CANCELLED, Cause, Job, Status, StopGoal
from jetsql.jobs.openlineage.event_documents import EventType, RunFacts, event_document
from jetsql.jobs.openlineage.event_sender import EventQueue, file_delivery, http_delivery
from jetsql.jobs.openlineage.job_lineage import NO_LINEAGE, JobLineage
from jetsql.jobs.openlineage.openlineage_settings import OpenLineageSettings

_LOG: Final = logging.getLogger(__name__)
_ACTIVE: Final = (Status.STARTING, Status.RUNNING, Status.COMPLETING)
_CLOSE_SECONDS: Final = 3.0
_REPEATED_SECONDS: Final = 3600.0
_SUSPENDED: Final = "suspended"  # events of rows of the history
_FAILED: Final = "suspended by an error"


@dataclass(frozen=True)
class _OpenRun:
    """A run that has no end yet."""

    began: float  # seconds since the epoch
    is_reported: bool = False  # its START was sent
    failure: Cause | None = None  # its error, before the life cycle has ended it
    lineage: JobLineage = NO_LINEAGE
    running_at: float = 0.0  # when the newest RUNNING was sent


class RunEvents:
    """The events of one engine. Only the manager's writer thread calls it, except `close`."""

    def __init__(self, settings: OpenLineageSettings, clock: Callable[[], float]) -> None:
        """Create it without receivers. Raises EngineError SECRET_NOT_READABLE, INVALID_SETTING."""
        self._settings, self._clock = settings, clock
        self._receiver = settings.receiver()
        self._queues: list[EventQueue] = []
        self._runs: dict[tuple[str, int], _OpenRun] = {}  # by job and number of the run

    @property
    def is_on(self) -> bool:
        """Return whether events are sent."""
        return self._settings.is_on

    @property
    def dropped(self) -> int:
        """Return the number of events that a receiver did not get."""
        return sum(queue.dropped for queue in self._queues)

    def start(self, jobs: Callable[[], Iterable[Job]], history: Callable[[str], Iterable[HistoryRow]]) -> None:
        """Open the receivers, and repeat the ends of runs under an earlier engine.

        jobs: returns all jobs, also ended ones. history: returns the history of a job by its id
        """
        settings = self._settings
        if settings.openlineage_file is not None:
            file = settings.openlineage_file
            self._queues.append(EventQueue(str(file), file_delivery(file), settings.openlineage_events_most))
        if self._receiver is not None:
            delivery = http_delivery(self._receiver.url, self._receiver.api_key)
            self._queues.append(EventQueue(self._receiver.name, delivery, settings.openlineage_events_most))
        try:
            self._repeat_ends(jobs(), history)
        except EngineError as error:  # of the store; it must not prevent the start of the engine
            _LOG.error("The ends of earlier runs could not be sent to OpenLineage: %s", error)

    def _repeat_ends(self, jobs: Iterable[Job], history: Callable[[str], Iterable[HistoryRow]]) -> None:
        since = self._clock() - _REPEATED_SECONDS
        for job in jobs:
            end = _last_end(job, history(job.id))
            if end is not None and end[1].time > since:
                self._send(*end)

    def close(self) -> None:
        """Send what waits, within a bounded time."""
        until = monotonic() + _CLOSE_SECONDS
        for queue in self._queues:
            queue.close(max(0.1, until - monotonic()))

    def note_step(self, before: Job, after: Job, failure: Cause | None) -> None:
        """Report what a stored step means for the runs of a job. failure: the error of a run that has failed"""
        if not self.is_on:
            return
        had, has = before.status in _ACTIVE, after.status in _ACTIVE
        opened = self._runs.get((before.id, before.run))
        if opened is not None and failure is not None:
            self._runs[before.id, before.run] = replace(opened, failure=failure)
        if had and (not has or after.run != before.run):
            self._end(before, after)
        if has and (not had or after.run != before.run):
            self._runs[after.id, after.run] = _OpenRun(self._clock())

    def note_lineage(self, job: Job, run: int, lineage: JobLineage) -> None:
        """Report the start of a run with its datasets."""
        opened = self._runs.get((job.id, run))
        if opened is not None:
            self._runs[job.id, run] = self._report_start(job, run, replace(opened, lineage=lineage))

    def note_batch(self, job: Job, run: int) -> None:
        """Report a batch of a run, unless the last report is not long ago."""
        opened = self._runs.get((job.id, run))
        now = self._clock()
        if opened is None or now - opened.running_at < self._settings.openlineage_running_seconds:
            return
        opened = self._report_start(job, run, opened)
        self._send(EventType.RUNNING, RunFacts(job, run, now, opened.lineage))
        self._runs[job.id, run] = replace(opened, running_at=now)

    def _report_start(self, job: Job, run: int, opened: _OpenRun) -> _OpenRun:
        if not opened.is_reported:
            self._send(EventType.START, RunFacts(job, run, opened.began, opened.lineage))
        return replace(opened, is_reported=True)

    def _end(self, before: Job, after: Job) -> None:
        opened = self._runs.pop((before.id, before.run), None)  # None for a run of an engine that has crashed
        if opened is not None:
            opened = self._report_start(before, before.run, opened)
        lineage, failure = (NO_LINEAGE, None) if opened is None else (opened.lineage, opened.failure)
        if failure is None and before.stop_goal in (StopGoal.SUSPEND, StopGoal.FAIL):
            failure = before.stop_cause
        kind = EventType.ABORT if failure is None else EventType.FAIL
        if after.status is Status.COMPLETED:
            kind, failure = EventType.COMPLETE, None
        job = replace(before, rule_counts=after.rule_counts)
        self._send(kind, RunFacts(job, before.run, self._clock(), lineage, failure))

    def _send(self, kind: EventType, facts: RunFacts) -> None:
        try:
            event = event_document(kind, facts, self._settings.openlineage_namespace)
        except Exception:  # an error of the event must not affect the job
            _LOG.exception("The OpenLineage event %s of job %s could not be made", kind, facts.job.id)
            return
        for queue in self._queues:
            queue.add(event)


def _last_end(job: Job, history: Iterable[HistoryRow]) -> tuple[EventType, RunFacts] | None:
    """Return the event at the end of the newest run of a job, if the history shows it without doubt."""
    ends = [
        row for row in history if row.run == job.run and row.from_status in _ACTIVE and row.to_status not in _ACTIVE
    ]
    if not ends:
        return None
    end = ends[-1]
    kind = None
    if end.to_status is Status.COMPLETED:
        kind = EventType.COMPLETE
    elif end.to_status is Status.FAILED:
        kind = EventType.ABORT if job.cause == CANCELLED else EventType.FAIL
    elif end.event == _FAILED:
        kind = EventType.FAIL
    elif end.event == _SUSPENDED and job.cause is None:
        kind = EventType.ABORT
    if kind is None:
        return None
    return kind, RunFacts(job, job.run, end.time, cause=job.cause if kind is EventType.FAIL else None)
