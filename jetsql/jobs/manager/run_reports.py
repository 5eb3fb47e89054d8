"""The reports of the manager about runs and batches to receivers outside: events of OpenLineage, and spans."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from jetsql.jobs.lifecycle.events import Event, StartFailed
from jetsql.jobs.lifecycle.runtime import BatchCommitted, LineageFound, RunFailed
from jetsql.jobs.model.job import Job
from jetsql.jobs.openlineage.openlineage_settings import OpenLineageSettings
from jetsql.jobs.openlineage.run_events import RunEvents
from jetsql.jobs.opentelemetry.batch_spans import BatchSpans
from jetsql.jobs.opentelemetry.opentelemetry_settings import OpenTelemetrySettings

if TYPE_CHECKING:  # the store brings SQLAlchemy, which is slow to import
    from jetsql.jobs.store.job_store import Store


class RunReports:
    """The reports of one engine. Only the manager's writer thread calls it, except `close`."""

    def __init__(
        self,
        openlineage: OpenLineageSettings,
        opentelemetry: OpenTelemetrySettings,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Create it without receivers.

        Raises EngineError SECRET_NOT_READABLE, INVALID_SETTING, ENGINE_NOT_STARTED for a receiver that is not usable.
        """
        self._events, self._spans = RunEvents(openlineage, clock), BatchSpans(opentelemetry)
        self._clock = clock

    def start(self, store: Store) -> None:
        """Open the receivers, before the manager continues the jobs of a store."""
        if self._events.is_on:
            self._events.start(lambda: (*store.live_jobs(), *store.ended_jobs()), store.history)
        self._spans.start(store.database.name)

    def note(self, before: Job, after: Job, event: Event) -> None:
        """Report what an event means for the run of a job, after it was stored."""
        failure = event.cause if isinstance(event, RunFailed | StartFailed) else None
        self._events.note_step(before, after, failure)
        if failure is not None:
            self._spans.note_failure(before, before.run, failure, self._clock())
        if isinstance(event, LineageFound):
            self._events.note_lineage(after, event.run.run, event.lineage)
        elif isinstance(event, BatchCommitted):
            self._events.note_batch(after, event.run.run)
            if event.metrics is not None:
                self._spans.note_batch(after, event.metrics)

    def close(self) -> None:
        """Send what waits, within a bounded time."""
        self._events.close()
        self._spans.close()


NO_REPORTS = RunReports(OpenLineageSettings(), OpenTelemetrySettings())
"""The reports of an engine without receivers."""
