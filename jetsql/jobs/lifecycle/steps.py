"""Cells of the life cycle in which the job stays as it is: goals reached, wrong moments, notes for its history."""

from __future__ import annotations

from jetsql.jobs.lifecycle.engine_api import SinkNotice
from jetsql.jobs.lifecycle.events import CleanupFailed, Event, Outcome, Step
from jetsql.jobs.lifecycle.step_context import (
    StepContext,
    describe_cause,
    join_sentences,
    note,
    refuse,
    restart_note,
    unchanged,
)
from jetsql.jobs.model.job import Job


def keep(job: Job, event: Event, context: StepContext) -> Step:
    return Step(job, Outcome.UNCHANGED)


def stale(job: Job, event: Event, context: StepContext) -> Step:
    return Step(job, Outcome.STALE)


def refuse_submit(job: Job, event: Event, context: StepContext) -> Step:
    return refuse(job, "has been submitted before", "")


def suspended_already(job: Job, event: Event, context: StepContext) -> Step:
    return unchanged(job, join_sentences("is suspended already.", restart_note(job)))


def starting_already(job: Job, event: Event, context: StepContext) -> Step:
    return unchanged(job, "is starting already.")


def running_already(job: Job, event: Event, context: StepContext) -> Step:
    return unchanged(job, "is running already.")


def refuse_ended(job: Job, event: Event, context: StepContext) -> Step:
    return refuse(job, f"has ended with status {job.status.value}", "Create it again with CREATE JOB.")


def refuse_during_snapshot(job: Job, event: Event, context: StepContext) -> Step:
    return refuse(
        job, f"has status {job.status.value}: a snapshot of it is being written", "Try again when that is done."
    )


def refuse_restart(job: Job, event: Event, context: StepContext) -> Step:
    return refuse(job, "is suspended, so there is nothing to restart", "Start it with RESUME JOB.")


def refuse_alter(job: Job, event: Event, context: StepContext) -> Step:
    return refuse(
        job, f"has status {job.status.value}, and options change only while it is suspended", "Use SUSPEND JOB first."
    )


def record_sink_notice(job: Job, event: SinkNotice, context: StepContext) -> Step:
    return note(job, "sink notice", event.message)


def record_cleanup_failure(job: Job, event: CleanupFailed, context: StepContext) -> Step:
    return note(job, "cleanup failed", f"{event.operation} failed: {describe_cause(event.cause)}")
