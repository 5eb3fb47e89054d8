"""The handler of the life cycle for a crash of the engine's Spark.

A job that has caused it is counted in its record, so that the next engine, which can be a standby, knows it:
`step_context.start` does not start a job that was counted too often in a row. Progress after some minutes ends the row,
and so does a start by a user. The next engine starts suspects after the other jobs, one after the other, so that a
further crash shows which one it was.
"""

from __future__ import annotations

from dataclasses import replace

from jetsql.jobs.lifecycle.events import EngineCrashed, Outcome, Step
from jetsql.jobs.lifecycle.step_context import CRASHES_MOST, StepContext, join_sentences
from jetsql.jobs.model.job import Job


def engine_crashed(job: Job, event: EngineCrashed, context: StepContext) -> Step:
    """Record the crash, and count it if the job is the culprit. The next engine continues or suspends the job."""
    delayed = replace(job, start_delay=event.start_delay)
    if not event.is_culprit:
        outcome = Outcome.CHANGED if delayed != job else Outcome.UNCHANGED
        return Step(delayed, outcome, history_event="engine crashed", history_message=event.message)
    counted = replace(delayed, crashes=job.crashes + 1, crash_reason=event.message)
    times = f"This is crash {counted.crashes} in a row because of this job; after {CRASHES_MOST}, it is not started."
    message = join_sentences(event.message, times)
    return Step(counted, Outcome.CHANGED, history_event="engine crashed", history_message=message)
