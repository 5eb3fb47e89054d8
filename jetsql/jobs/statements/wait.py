"""WAIT FOR JOB: wait until a job completes, commits a batch, or has processed all rows available at the beginning.

The statement fails early when the job fails or is suspended. At the deadline its error reports the job's progress.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from jetsql.errors import StatementError
from jetsql.jobs.lifecycle.scaling import describe_missing_members
from jetsql.jobs.lifecycle.step_context import remedy
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.job_registry import JobView, RunStats
from jetsql.jobs.model.job import Status
from jetsql.jobs.model.job_options import Trigger
from jetsql.jobs.statements.command_result import CommandResult, describe_error, error_text
from jetsql.jobs.statements.lookup import find_job
from jetsql.language.statement import Name, WaitForJob, WaitGoal
from jetsql.resultset import Table

_DEAD_ENDS = (Status.SUSPENDED, Status.SUSPENDED_EXPORTING_SNAPSHOT, Status.FAILED)


@dataclass(frozen=True)
class _WaitCondition:
    """The condition that a statement waits for."""

    reached: Callable[[JobView], bool]
    description: str  # a noun phrase
    number: int = 0  # the number with which each run must be watched; 0 if it need not be


def wait_for(manager: Manager, statement: WaitForJob) -> Table:
    """Wait for a job. Raises StatementError JOB_NOT_FOUND, JOB_FAILED, WRONG_STATUS, WAIT_TIMEOUT."""
    view = find_job(manager, statement.name)
    wait = _wait_condition(view, statement, manager.workers.new_wait())
    seconds = manager.settings.wait_timeout_seconds if statement.timeout is None else float(statement.timeout)
    after = _wait_until(manager, view, wait, seconds)
    if not wait.reached(after):
        raise _not_reached(manager, after, wait, seconds, statement.name)
    return CommandResult(after.job, _success_message(after)).table()


def _wait_condition(view: JobView, statement: WaitForJob, number: int) -> _WaitCondition:
    job = view.job
    ends = not job.plan.analysis.streaming or job.plan.options.trigger is Trigger.AVAILABLE_NOW
    match statement.goal:
        case WaitGoal.BATCH:
            return _batch(statement.batch or 0)
        case WaitGoal.COMPLETED if not ends:
            raise StatementError(
                "WRONG_STATUS",
                f"Job {job.name} never completes: it is a streaming job with trigger {job.plan.options.trigger.value}.",
                place=statement.name.place,
                hint="Use UNTIL IDLE or UNTIL BATCH n.",
            )
        case WaitGoal.IDLE if not ends:
            return _idle(view, number)
        case None if not ends:
            return _WaitCondition(lambda view: view.job.batch is not None, "its first batch")
        case _:
            return _WaitCondition(lambda view: view.job.status is Status.COMPLETED, "its end")


def _batch(number: int) -> _WaitCondition:
    return _WaitCondition(lambda view: view.job.batch is not None and view.job.batch >= number, f"batch {number}")


@dataclass(frozen=True)
class IdleGoal:
    """The goal of WAIT FOR JOB ... UNTIL IDLE: all rows that were available when it began are committed."""

    wait: int  # the number of the statement; the times of triggers would not do, because a clock can be set back
    batch_is_enough: bool  # a trigger that commits rows leaves none of the rows that it found

    @staticmethod
    def of(view: JobView, number: int) -> IdleGoal:
        """Return the goal for a job as it is when the statement begins.

        A batch has all rows that were available when its trigger began, unless sources are rate-limited or the batch
        ends by the clock. Output that waits for a watermark comes a batch later, so the goal of its job is to be idle.
        """
        analysis = view.job.plan.analysis
        endless = any(source.endless for source in analysis.sources)
        limited = any(source.rate_limited for source in analysis.sources)
        by_clock = view.job.plan.options.trigger is Trigger.REAL_TIME
        batch_is_enough = not limited and not by_clock and (endless or not analysis.waits_for_watermark)
        return IdleGoal(number, batch_is_enough)

    def reached(self, facts: RunStats) -> bool:
        """Return whether a trigger that began after the statement found no more rows."""
        triggers = [facts.idle_trigger, *([facts.batch_trigger] if self.batch_is_enough else ())]
        return any(each is not None and each.begun_after >= self.wait for each in triggers)


def _idle(view: JobView, number: int) -> _WaitCondition:
    goal = IdleGoal.of(view, number)
    return _WaitCondition(lambda view: goal.reached(view.stats), "the commit of all available rows", number)


def _wait_until(manager: Manager, view: JobView, wait: _WaitCondition, seconds: float) -> JobView:
    """Wait for the condition, a dead end or the deadline; watch each new run."""
    until = monotonic() + seconds
    while True:
        watched = view.job.run_id
        if wait.number and view.job.status in (Status.STARTING, Status.RUNNING):
            manager.workers.watch(watched, wait.number)

        def settled(now: JobView, watched: object = watched) -> bool:
            has_new_run = wait.number > 0 and now.job.run_id != watched
            return wait.reached(now) or _is_dead_end(now) or has_new_run

        view = manager.registry.wait(view, settled, until - monotonic())
        if wait.reached(view) or _is_dead_end(view) or monotonic() >= until:
            return view


def _is_dead_end(view: JobView) -> bool:
    return view.job.status in _DEAD_ENDS or view.job.status is Status.COMPLETED


def _not_reached(manager: Manager, view: JobView, wait: _WaitCondition, seconds: float, name: Name) -> StatementError:
    job = view.job
    if job.status is Status.FAILED and job.cause is not None:
        message = f"Job {job.name} failed: {error_text(job.cause)}"
        return StatementError("JOB_FAILED", message, place=name.place, hint=job.cause.hint)
    if job.status is Status.COMPLETED:
        return StatementError("WRONG_STATUS", f"Job {job.name} completed before {wait.description}.", place=name.place)
    if job.status in _DEAD_ENDS:
        reason, hint = ".", "Start it with RESUME JOB."
        if job.cause is not None:
            reason, hint = f": {error_text(job.cause)}", remedy(job.cause)
        message = f"Job {job.name} is {job.shown_status}{reason}"
        return StatementError("WRONG_STATUS", message, place=name.place, hint=hint)
    message = (
        f"Job {job.name} did not reach {wait.description} within {seconds:g} s. {_describe_progress(manager, view)}"
    )
    hint = "The job continues; nothing was changed."
    if _is_ahead_of_clock(view.stats, manager.clock()):
        hint = (
            "The clock was set back, and Spark begins no batch before it shows the old time again."
            " RESTART JOB continues the job now."
        )
    return StatementError("WAIT_TIMEOUT", message, place=name.place, hint=hint)


def _is_ahead_of_clock(facts: RunStats, now: float) -> bool:
    """Return whether a trigger began later than now. now: seconds since the epoch."""
    return any(each is not None and each.began > now + 1.0 for each in (facts.batch_trigger, facts.idle_trigger))


def _describe_progress(manager: Manager, view: JobView) -> str:
    job, facts, now = view.job, view.stats, manager.clock()
    batch = "no batch is committed yet" if job.batch is None else f"the newest committed batch is {job.batch}"
    began = "" if facts.batch_trigger is None else f", begun {max(0.0, now - facts.batch_trigger.began):.1f} s ago"
    rate = "" if facts.rows_per_second is None else f", at {facts.rows_per_second:g} rows/s"
    error = f" Its last error: {describe_error(job.cause)}" if job.cause else ""
    waits = f" {describe_missing_members(job, len(manager.members))}" if job.waiting_for_members else ""
    return f"It is {job.shown_status}; {batch}{began}{rate}.{waits}{error}"


def _success_message(view: JobView) -> str:
    job = view.job
    if job.status is Status.COMPLETED:
        return view.stats.last_message or "The job has completed."
    if job.batch is None:
        return "No rows were available."
    return f"Batch {job.batch} is committed."
