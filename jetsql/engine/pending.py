"""Waiting for a run that does nothing but finish the batch that was pending."""

from __future__ import annotations

from queue import SimpleQueue

from jetsql.errors import StatementError
from jetsql.jobs.engine import EngineEvent, Report, RestartWanted, RunCompleted, RunFailed


class EndedRun:
    """Hears what the run reports and passes on all but its end: the job is not running, so that is no event of it."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._end: SimpleQueue[RunCompleted | RunFailed | RestartWanted] = SimpleQueue()

    def report(self, event: EngineEvent) -> None:
        if isinstance(event, RunCompleted | RunFailed | RestartWanted):
            self._end.put(event)
        else:
            self._report(event)

    def check(self) -> None:
        """Wait for the end. Raises StatementError PENDING_BATCH_FAILED when the batch was not committed."""
        end = self._end.get()
        if isinstance(end, RunCompleted):
            return
        why = end.cause.message if isinstance(end, RunFailed) else end.message
        raise StatementError(
            "PENDING_BATCH_FAILED",
            f"The job's newest batch was planned and is not committed, and it failed again: {why}",
            hint="Mend what it fails with, RESUME the job until the batch is committed, and try again.",
        )
