"""Waiting for a run that does nothing but finish the batch that was pending."""

from __future__ import annotations

from queue import Empty, SimpleQueue

from jetsql.errors import StatementError
from jetsql.jobs.lifecycle.engine_api import EngineEvent, Report, RestartRequested, RunCompleted, RunFailed
from jetsql.jobs.lifecycle.step_context import describe_cause


class PendingBatchRun:
    """Hears what the run reports and passes on all but its end: the job is not running, so that is no event of it."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._end: SimpleQueue[RunCompleted | RunFailed | RestartRequested | None] = SimpleQueue()

    def report(self, event: EngineEvent) -> None:
        if isinstance(event, RunCompleted | RunFailed | RestartRequested):
            self._end.put(event)
        else:
            self._report(event)

    def give_up(self) -> None:
        """End the waiting: nobody wants the batch for now."""
        self._end.put(None)

    def wait(self, seconds: float) -> None:
        """Wait for the good end. Raises StatementError PENDING_BATCH_FAILED when it does not come."""
        try:
            end = self._end.get(timeout=seconds)
        except Empty:
            raise not_finished(f"it did not end within {seconds:g} s") from None
        if end is None:
            raise not_finished("another statement came between")
        if not isinstance(end, RunCompleted):
            raise not_finished(describe_cause(end.cause) if isinstance(end, RunFailed) else end.message)


def not_finished(reason: str) -> StatementError:
    return StatementError(
        "PENDING_BATCH_FAILED",
        f"The job's newest batch was planned and is not committed, and it could not be finished: {reason}",
        hint="Mend that, RESUME the job until the batch is committed, and try again.",
    )
