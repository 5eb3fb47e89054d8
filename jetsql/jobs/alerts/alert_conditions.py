"""Evaluate the condition of an alert for a job, and derive the next state and message. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from jetsql.jobs.alerts.alert_records import AlertState, MessageKind
from jetsql.jobs.model.job import Job, RuleCount, Status
from jetsql.language.objects.alert_statement import AlertCondition, AlertTrigger, span_text
from jetsql.language.tokens import written_name
from jetsql.output.counts import counted

_IDLE: Final = (
    *(Status.SUSPENDED, Status.SUSPENDED_EXPORTING_SNAPSHOT),
    *(Status.FAILED, Status.COMPLETED),
)


def condition_text(condition: AlertCondition) -> str:
    """Return a condition as in CREATE ALERT."""
    match condition.trigger:
        case AlertTrigger.STATUS:
            return f"STATUS {', '.join(condition.statuses)}"
        case AlertTrigger.LAG_ROWS:
            return f"LAG > {condition.limit} ROWS"
        case AlertTrigger.LAG_SECONDS:
            return f"LAG > {span_text(condition.limit).upper()}"
        case AlertTrigger.NO_COMMIT:
            return f"NO COMMIT FOR {span_text(condition.limit).upper()}"
        case AlertTrigger.EXPECTATION:
            rule = [written_name(condition.rule)] if condition.rule else []
            return " ".join(("EXPECTATION", *rule, f"> {condition.limit}"))


@dataclass(frozen=True)
class JobFacts:
    """The facts about a job that conditions are about. None stands for what this engine does not know yet."""

    job: Job
    active_since: float  # when it was created or resumed last, in seconds since the epoch
    committed: float | None = None  # when it committed its newest batch
    lag_rows: int | None = None  # after the newest batch
    lag_seconds: float | None = None
    measured: float = 0.0  # the time of the two lags
    counts: tuple[RuleCount, ...] | None = None  # of its rules after the newest batch


@dataclass(frozen=True)
class Evaluation:
    """The result of an evaluation."""

    is_met: bool | None  # None when it is unknown, so that the state stays
    text: str = ""  # what the job does, a sentence
    due: float | None = None  # when the condition can be met without an event


UNKNOWN: Final = Evaluation(None)


def evaluate(condition: AlertCondition, facts: JobFacts, now: float) -> Evaluation:
    """Evaluate a condition at a time, in seconds since the epoch."""
    match condition.trigger:
        case AlertTrigger.STATUS:
            return _evaluate_status(condition, facts.job)
        case AlertTrigger.LAG_ROWS | AlertTrigger.LAG_SECONDS | AlertTrigger.NO_COMMIT if is_idle(facts.job):
            return Evaluation(False)
        case AlertTrigger.LAG_ROWS:
            return _evaluate_rows(condition, facts)
        case AlertTrigger.LAG_SECONDS:
            return _evaluate_waiting(condition, facts, now)
        case AlertTrigger.NO_COMMIT:
            return _evaluate_commits(condition, facts, now)
        case AlertTrigger.EXPECTATION if facts.job.status.is_final:
            return Evaluation(False)
        case AlertTrigger.EXPECTATION:
            return _evaluate_counts(condition, facts)


def is_idle(job: Job) -> bool:
    """Return whether a job has no work to do, so that it has no lag and commits nothing."""
    return job.status in _IDLE


def _evaluate_status(condition: AlertCondition, job: Job) -> Evaluation:
    is_met = job.shown_status in condition.statuses
    return Evaluation(is_met, f"Job {job.name} has the status {job.shown_status}.")


def _evaluate_rows(condition: AlertCondition, facts: JobFacts) -> Evaluation:
    if facts.lag_rows is None:
        return UNKNOWN
    lag, limit = counted(facts.lag_rows, "row"), counted(condition.limit, "row")
    return Evaluation(facts.lag_rows > condition.limit, f"Job {facts.job.name} lags by {lag}; the limit is {limit}.")


def _evaluate_waiting(condition: AlertCondition, facts: JobFacts, now: float) -> Evaluation:
    if facts.lag_rows is None or (facts.lag_rows and facts.lag_seconds is None):
        return UNKNOWN
    if not facts.lag_rows or facts.lag_seconds is None:
        return Evaluation(False)
    due = facts.measured + condition.limit - facts.lag_seconds
    waiting = facts.lag_seconds + max(0.0, now - facts.measured)
    text = f"The oldest unread row of job {facts.job.name} waits for {waiting:.0f} s;"
    return Evaluation(now >= due, f"{text} the limit is {span_text(condition.limit)}.", due)


def _evaluate_commits(condition: AlertCondition, facts: JobFacts, now: float) -> Evaluation:
    due = max(facts.active_since, facts.committed or 0.0) + condition.limit
    return Evaluation(now >= due, f"Job {facts.job.name} has committed no batch for {span_text(condition.limit)}.", due)


def _evaluate_counts(condition: AlertCondition, facts: JobFacts) -> Evaluation:
    if facts.counts is None:
        return UNKNOWN
    rule = condition.rule.casefold()
    counts = [count for count in facts.counts if not rule or count.rule.casefold() == rule]
    broken = [count for count in counts if count.batch_violations > condition.limit]
    rules = "; ".join(
        f"{counted(count.batch_violations, 'row')} of batch {count.batch} violate the rule {count.rule}"
        for count in broken
    )
    return Evaluation(bool(broken), f"Job {facts.job.name}: {rules}." if rules else "")


@dataclass(frozen=True)
class NextState:
    """The state of an alert after an evaluation."""

    state: AlertState
    message: MessageKind | None = None
    suppressed: int = 0  # for the message
    due: float | None = None  # when a suppressed firing gets its message


def next_state(state: AlertState, is_met: bool, every: int, now: float) -> NextState:
    """Return the state after an evaluation. every: the shortest time between two messages of firings, in seconds

    The message that a condition has ended follows its firing immediately. A firing without a message has no end either.
    """
    if not is_met:
        if not state.firing:
            return NextState(state)
        ended = replace(state, firing=False, since=now, reported=False)
        return NextState(ended, MessageKind.RESOLVED if state.reported else None)
    if state.firing and state.reported:
        return NextState(state)
    firing = state if state.firing else replace(state, firing=True, since=now)
    due = None if state.message_time is None or state.message_time > now else state.message_time + every
    if due is not None and now < due:
        suppressed = state.suppressed + (not state.firing)
        return NextState(replace(firing, suppressed=suppressed), due=due)
    before = state.suppressed - state.firing  # a firing that has waited for its message is not suppressed
    reported = replace(firing, reported=True, message_time=now, suppressed=0)
    return NextState(reported, MessageKind.FIRING, before)
