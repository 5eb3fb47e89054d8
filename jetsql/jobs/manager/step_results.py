"""The parts of a step that the manager keeps: messages without secrets, and the facts about the runs of a job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from jetsql.jobs.lifecycle.events import CleanupFailed, Event, FilesDiscarded, Step, StopFailed, Stopped
from jetsql.jobs.lifecycle.runtime import BatchCommitted, RunIdle, RunProgressed
from jetsql.jobs.lifecycle.update import ROLLED_BACK
from jetsql.jobs.manager.job_registry import ReportedTrigger, RunStats
from jetsql.jobs.model.job import Cause, Job, Status
from jetsql.jobs.model.redaction import redact


def redact_step(before: Job, step: Step) -> Step:
    """Return a step without secrets in its messages. before: the job before the step"""
    options = _options_of_versions(before, step.job)
    redacted = replace(step, history_message=_redact_text(step.history_message, options))
    cause = step.job.cause
    if cause is None or cause is before.cause:
        return redacted
    return replace(redacted, job=replace(step.job, cause=_redact_cause(cause, options)))


def _options_of_versions(before: Job, after: Job) -> tuple[Mapping[str, str], ...]:
    """Return the options of every version that a step can report on: the error of an abandoned version can contain the
    secrets of that version."""
    versions = (before, before.rollback_version, before.pending_version, after)
    return tuple(version.plan.options.given for version in versions if version is not None)


def _redact_text(text: str, options: Iterable[Mapping[str, str]]) -> str:
    """Return the text without the secrets of any of the options."""
    return reduce(redact, options, text)


def _redact_cause(cause: Cause, options: Sequence[Mapping[str, str]]) -> Cause:
    """Return the cause without the secrets of any of the options."""
    message, where, hint = (_redact_text(text, options) for text in (cause.message, cause.where, cause.hint))
    return replace(cause, message=message, where=where, hint=hint)


def updated_stats(stats: RunStats, event: Event, step: Step) -> RunStats:
    """Return the facts about the job's runs after an event."""
    if step.history_event and not isinstance(event, FilesDiscarded | CleanupFailed):
        stats = replace(stats, last_message=step.history_message)
    if isinstance(event, BatchCommitted | RunIdle):
        trigger = ReportedTrigger(event.trigger_time, event.begun_after)
        stats = replace(stats, rows_per_second=event.rows_per_second)
        if isinstance(event, RunIdle):
            return replace(stats, idle_trigger=trigger)
        return stats if event.is_replay else replace(stats, batch_trigger=trigger)
    if isinstance(event, RunProgressed):
        return replace(stats, rows_per_second=event.rows_per_second)
    if isinstance(event, Stopped | StopFailed):
        return replace(stats, stop_message=step.history_message)
    if step.history_event in ROLLED_BACK:
        return replace(stats, update_message=step.history_message)
    return stats if step.job.status is Status.RUNNING else replace(stats, rows_per_second=None)
