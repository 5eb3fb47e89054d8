"""Handlers of the life cycle that leave the job unchanged: goals already reached, refusals, and history rows."""

from __future__ import annotations

from dataclasses import replace

from jetsql.jobs.lifecycle.events import ChangeOwner, CleanupFailed, Event, Outcome, Step
from jetsql.jobs.lifecycle.runtime import GroupNotice, ResourceNotice, RowsChecked, SinkNotice
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
    """Leave the job unchanged."""
    return Step(job, Outcome.UNCHANGED)


def stale(job: Job, event: Event, context: StepContext) -> Step:
    """Ignore an event that came too late."""
    return Step(job, Outcome.STALE)


def refuse_submit(job: Job, event: Event, context: StepContext) -> Step:
    """Refuse to submit a job twice."""
    return refuse(job, "was already submitted", "")


def suspended_already(job: Job, event: Event, context: StepContext) -> Step:
    """Reply that the job is already suspended."""
    return unchanged(job, join_sentences("is already suspended.", restart_note(job)))


def starting_already(job: Job, event: Event, context: StepContext) -> Step:
    """Reply that the job is already starting."""
    return unchanged(job, "is already starting.")


def running_already(job: Job, event: Event, context: StepContext) -> Step:
    """Reply that the job is already running."""
    return unchanged(job, "is already running.")


def refuse_ended(job: Job, event: Event, context: StepContext) -> Step:
    """Refuse a statement on an ended job."""
    return refuse(job, f"has ended with status {job.shown_status}", "Create it again with CREATE JOB.")


def refuse_during_snapshot(job: Job, event: Event, context: StepContext) -> Step:
    """Refuse a statement while a snapshot of the suspended job is being written."""
    message = f"has status {job.status.value}: a snapshot of it is being written"
    return refuse(job, message, "Try again when the snapshot is complete.")


def refuse_restart(job: Job, event: Event, context: StepContext) -> Step:
    """Refuse to restart a suspended job."""
    return refuse(job, "is suspended and has no run to restart", "Start it with RESUME JOB.")


def refuse_alter(job: Job, event: Event, context: StepContext) -> Step:
    """Refuse to change the options of a job that is not suspended."""
    message = f"has status {job.status.value}, but options can be changed only while it is suspended"
    return refuse(job, message, "Use SUSPEND JOB first.")


def change_owner(job: Job, event: ChangeOwner, context: StepContext) -> Step:
    """Give the job to another user."""
    changed = replace(job, owner=event.owner)
    message = f"from {job.owner} to {event.owner}"
    return Step(changed, Outcome.CHANGED, history_event="owner changed", history_message=message)


def record_sink_notice(job: Job, event: SinkNotice, context: StepContext) -> Step:
    """Write a notice about the sink to the history."""
    return note(job, "sink notice", event.message)


def record_group_notice(job: Job, event: GroupNotice, context: StepContext) -> Step:
    """Write a notice about the consumer group to the history."""
    return note(job, "consumer group notice", event.message)


def record_counts(job: Job, event: RowsChecked, context: StepContext) -> Step:
    """Keep the counts of the job's rules. They are stored with the next row of the history."""
    return Step(replace(job, rule_counts=event.counts), Outcome.UNCHANGED)


def record_resource_notice(job: Job, event: ResourceNotice, context: StepContext) -> Step:
    """Write a warning about a scarce resource to the history."""
    return note(job, "resource warning", event.message)


def record_cleanup_failure(job: Job, event: CleanupFailed, context: StepContext) -> Step:
    """Write a failed cleanup to the history."""
    return note(job, "cleanup failed", f"{event.operation} failed: {describe_cause(event.cause)}")
