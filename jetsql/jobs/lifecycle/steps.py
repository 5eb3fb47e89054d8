"""Cells of the life cycle in which the job stays as it is: goals reached, wrong moments, notes for its history."""

from __future__ import annotations

from jetsql.jobs.lifecycle.engine_api import SinkNoticed
from jetsql.jobs.lifecycle.events import CleanupFailed, Event, Outcome, Step
from jetsql.jobs.lifecycle.step_context import StepContext, joined, kept, noted, refused, restart_words, why
from jetsql.jobs.model.job import Job


def keep(job: Job, event: Event, moment: StepContext) -> Step:
    return Step(job, Outcome.KEPT)


def late(job: Job, event: Event, moment: StepContext) -> Step:
    return Step(job, Outcome.LATE)


def submitted_before(job: Job, event: Event, moment: StepContext) -> Step:
    return refused(job, "has been submitted before", "")


def suspended_already(job: Job, event: Event, moment: StepContext) -> Step:
    return kept(job, joined("is suspended already.", restart_words(job)))


def starting_already(job: Job, event: Event, moment: StepContext) -> Step:
    return kept(job, "is starting already.")


def running_already(job: Job, event: Event, moment: StepContext) -> Step:
    return kept(job, "is running already.")


def ended(job: Job, event: Event, moment: StepContext) -> Step:
    return refused(job, f"has ended with status {job.status.value}", "Create it again with CREATE JOB.")


def wait_for_snapshot(job: Job, event: Event, moment: StepContext) -> Step:
    return refused(
        job, f"has status {job.status.value}: a snapshot of it is being written", "Try again when that is done."
    )


def restart_of_suspended(job: Job, event: Event, moment: StepContext) -> Step:
    return refused(job, "is suspended, so there is nothing to restart", "Start it with RESUME JOB.")


def alter_refused(job: Job, event: Event, moment: StepContext) -> Step:
    return refused(
        job, f"has status {job.status.value}, and options change only while it is suspended", "Use SUSPEND JOB first."
    )


def sink_noticed(job: Job, event: SinkNoticed, moment: StepContext) -> Step:
    return noted(job, "sink noticed", event.message)


def cleanup_failed(job: Job, event: CleanupFailed, moment: StepContext) -> Step:
    return noted(job, "clean-up failed", f"{event.doing} failed: {why(event.cause)}")
