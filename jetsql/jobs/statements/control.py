"""SUSPEND, RESUME, RESTART, ALTER ... OPTIONS and DROP: request the change, wait for it, and report the outcome.

At the deadline the statement reports the current state, and the change continues. Any other outcome than the requested
one is an error, so that scripts stop.
"""

from __future__ import annotations

import logging
from time import monotonic
from typing import Final

from jetsql.errors import ErrorPlace, StatementError
from jetsql.jobs.lifecycle.events import AlterOptions, Cancel, Outcome, Restart, Resume, Step, Suspend, UserEvent
from jetsql.jobs.lifecycle.scaling import describe_missing_members
from jetsql.jobs.lifecycle.step_context import join_sentences, remedy, restart_note
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.job import Job, Plan, Status
from jetsql.jobs.model.job_options import Guarantee, StatementOptions, Trigger
from jetsql.jobs.planning.compatibility import compare_plans
from jetsql.jobs.planning.option_rules import COMMIT_GROUP
from jetsql.jobs.planning.options import parse_options, spec_of
from jetsql.jobs.planning.planner import make_plan
from jetsql.jobs.planning.protected_confs import protection_reason
from jetsql.jobs.statements.access.checks import check_owner
from jetsql.jobs.statements.command_result import (
    CommandResult,
    as_job_sentence,
    describe_error,
    error_text,
    no_job_result,
)
from jetsql.jobs.statements.creation.create_checks import check_confs, check_group, check_real_time, check_writes
from jetsql.jobs.statements.lookup import find_job
from jetsql.jobs.statements.replaced_sinks import accept_sinks
from jetsql.jobs.statements.snapshot import await_snapshot, check_has_state, describe_snapshot, new_snapshot_request
from jetsql.language.statement import AlterJobOptions, DropJob, Name, OptionText, RestartJob, ResumeJob, SuspendJob
from jetsql.resultset import Table

_LOG: Final = logging.getLogger(__name__)
_NO_RUN: Final = (Status.SUSPENDED, Status.FAILED, Status.COMPLETED)


def _apply(manager: Manager, job: Job, name: Name, event: UserEvent) -> Step:
    """Apply an event to the job that was found by the name, even if another job has the name now.

    Raises StatementError WRONG_STATUS at the name.
    """
    with ErrorPlace(name.place):
        return manager.apply(job, event)


def suspend(manager: Manager, statement: SuspendJob) -> Table:
    """Suspend a job and wait until it is suspended."""
    step = _apply(manager, find_job(manager, statement.name).job, statement.name, Suspend())
    if step.job.status is not Status.COMPLETING:
        message = as_job_sentence(step.message) or step.history_message
        return CommandResult(step.job, message).table()
    after = manager.registry.wait(JobView(step.job), _not_stopping, manager.settings.statement_wait_seconds)
    return CommandResult(after.job, _suspend_message(after, manager)).table()


def _not_stopping(view: JobView) -> bool:
    return view.job.status is not Status.COMPLETING


def _suspend_message(view: JobView, manager: Manager) -> str:
    job = view.job
    if job.status is Status.SUSPENDED:
        error = f"Before that it failed: {describe_error(job.cause)}" if job.cause else ""
        return join_sentences("Suspended.", view.stats.stop_message, error)
    if job.status is Status.COMPLETING:
        return _still_message(manager, "being suspended, because its running batch is not finished")
    if job.status is Status.COMPLETED:
        return "The job completed before it could be suspended."
    raise _outcome_error(job, "suspended")


def _still_message(manager: Manager, activity: str) -> str:
    """Return the message at the deadline. activity: a predicate to "the job is still"."""
    seconds = manager.settings.statement_wait_seconds
    return f"After {seconds:g} s the job is still {activity}. The change continues."


def _outcome_error(job: Job, outcome: str) -> StatementError:
    """Return the error for another outcome than the requested one, such as `suspended`."""
    if job.cause is not None:
        message = f"Job {job.name} was not {outcome}; it is {job.shown_status}: {error_text(job.cause)}"
        hint = remedy(job.cause) if job.status is Status.SUSPENDED else job.cause.hint
        return StatementError("JOB_FAILED", message, hint=hint)
    message = f"Job {job.name} was not {outcome}: another statement changed it, and it is {job.shown_status} now."
    return StatementError("WRONG_STATUS", message)


def resume(manager: Manager, statement: ResumeJob) -> Table:
    """Start a suspended job and wait until it runs. Raises StatementError SINK_CHANGED, see `accept_sinks`."""
    job = find_job(manager, statement.name).job
    with ErrorPlace(statement.name.place):
        if job.cause is not None and job.cause.condition == "JETSQL.NOT_ALLOWED":
            check_owner(manager, job)
        plan = _accepted_plan(manager, job)
    step = _apply(manager, job, statement.name, Resume(plan, job.plan))
    replaced = plan is not None and plan != job.plan
    continues = f"It continues with {job.plan.analysis.sink_names}, which was replaced." if replaced else ""
    return _wait_for_run(manager, step, join_sentences("Resumed.", continues))


def _accepted_plan(manager: Manager, job: Job) -> Plan | None:
    """Return the plan with the tables as they are now, for a job that was suspended because one was replaced."""
    if job.status is not Status.SUSPENDED or job.cause is None or job.cause.condition != "JETSQL.SINK_CHANGED":
        return None
    try:
        analysis = manager.runtime.analyse_again(job)
    except Exception as error:  # also of Spark: the start fails with it, too, and reports it
        _LOG.info("The body of job %s cannot be analysed now: %s", job.id, type(error).__name__)
        return None
    return accept_sinks(job, analysis)


def restart(manager: Manager, statement: RestartJob) -> Table:
    """Restart a running job and wait until it runs again."""
    step = _apply(manager, find_job(manager, statement.name).job, statement.name, Restart())
    return _wait_for_run(manager, step, "Restarted.")


def _wait_for_run(manager: Manager, step: Step, success: str) -> Table:
    """Wait until the job runs, not counting a run that is stopped first, or will not run by itself.

    success: the message when it runs. Raises StatementError JOB_FAILED, WRONG_STATUS.
    """
    first_run = step.job.run + (step.job.status is Status.COMPLETING)

    def settled(view: JobView) -> bool:
        job = view.job
        return (
            job.waiting_for_members or _waits_for_system(job) or job.status is Status.RUNNING or job.status in _NO_RUN
        )

    after = manager.registry.wait(JobView(step.job), settled, manager.settings.statement_wait_seconds)
    job = after.job
    message = as_job_sentence(step.message) if step.outcome is Outcome.UNCHANGED else success
    if job.waiting_for_members:
        missing_members = (
            "" if step.job.waiting_for_members and step.message else describe_missing_members(job, len(manager.members))
        )
        return CommandResult(job, join_sentences(message, missing_members)).table()
    if settled(after) and (job.run < first_run or job.status in (Status.SUSPENDED, Status.FAILED)):
        raise _outcome_error(job, "started")
    stop = after.stats.stop_message if step.job.status is Status.COMPLETING else ""
    return CommandResult(job, _run_message(after, manager, join_sentences(message, stop))).table()


def _waits_for_system(job: Job) -> bool:
    """Return whether an external outage, which can last for any time, prevents the start."""
    return job.status is Status.NOT_RUNNING and job.cause is not None and job.cause.external_outage


def _run_message(view: JobView, manager: Manager, message: str) -> str:
    job = view.job
    if job.status is Status.COMPLETED:
        return join_sentences(message, view.stats.last_message)
    if job.status is Status.RUNNING:
        return join_sentences(message, restart_note(job))
    if _waits_for_system(job):
        return join_sentences(
            message, "The job cannot start yet and tries again until it can:", describe_error(job.cause)
        )
    error = f"Its last error: {describe_error(job.cause)}" if job.cause else ""
    activity = "being stopped before it starts" if job.status is Status.COMPLETING else "starting"
    return join_sentences(_still_message(manager, activity), error)


def alter_options(manager: Manager, statement: AlterJobOptions) -> Table:
    """Change options of a job; the other options stay.

    Raises StatementError OPTION_NOT_CHANGEABLE, WRONG_STATUS, and as `make_plan` and `JobRuntime.check_real_time`.
    """
    job = find_job(manager, statement.name).job
    for text in statement.options:
        _check_changeable(job, text)
    options = parse_options(statement.options, before=job.plan.options.given)
    check_confs(manager, options)
    branches = [(branch.verb, None) for branch in job.body.branches]
    plan = make_plan(job.plan.analysis, options, job.body.verb, None, branches)
    _check_state_compatible(job, plan, options)
    place = options.value_place("lateRows") or options.value_place(COMMIT_GROUP)
    check_writes(manager, plan, job.owner, place)
    check_group(manager, options, plan, job)
    if plan.options.trigger is Trigger.REAL_TIME and plan.options.trigger is not job.plan.options.trigger:
        check_real_time(manager, job.body, plan, options, job)
    event = AlterOptions(plan, job.plan, tuple(options.texts), statement.resume)
    step = _apply(manager, job, statement.name, event)
    if statement.resume:
        return _wait_for_run(manager, step, "Options changed; resumed.")
    return CommandResult(step.job, "Options changed. They apply from the next RESUME JOB.").table()


def _check_changeable(job: Job, text: OptionText) -> None:
    reason = protection_reason(text.key.strip(), has_state=_has_state(job))
    if reason is not None:
        message = f"Cannot change '{text.key}' of job {job.name}: {reason}."
        raise StatementError("OPTION_NOT_CHANGEABLE", message, place=text.key_place)
    spec = spec_of(text.key)
    if spec is not None and not spec.changeable:
        raise StatementError(
            "OPTION_NOT_CHANGEABLE",
            f"The option '{spec.name}' cannot be changed after CREATE JOB.",
            place=text.key_place,
            hint="Create a new job with it.",
        )


def _check_state_compatible(job: Job, plan: Plan, options: StatementOptions) -> None:
    """Raise StatementError OPTION_NOT_CHANGEABLE at the option that is not compatible with the job's state."""
    reasons = compare_plans(job.plan, plan).reasons if _has_state(job) else ()
    if reasons:
        raise StatementError(
            "OPTION_NOT_CHANGEABLE",
            f"The state of job {job.name} is not compatible with these options: {'; '.join(reasons)}.",
            place=options.value_place("outputMode") or options.value_place("trigger"),
            hint="Create a new job with them, which starts without state.",
        )


def _has_state(job: Job) -> bool:
    analysis = job.plan.analysis
    return job.run > 0 and (analysis.stateful or analysis.has_aggregates) and job.plan.guarantee is not Guarantee.NONE


def drop(manager: Manager, statement: DropJob) -> Table:
    """Drop a job and wait until it has ended and its files are deleted."""
    try:
        job = find_job(manager, statement.name).job
    except StatementError:
        if statement.if_exists:
            return no_job_result(statement.name.text, f"There is no job {_identify(statement.name)}; nothing to drop.")
        raise
    if statement.with_snapshot is not None:
        return _drop_with_snapshot(manager, job, statement.name, statement.with_snapshot)
    until = monotonic() + manager.settings.statement_wait_seconds
    step = _apply(manager, job, statement.name, Cancel())
    after = manager.registry.wait(JobView(step.job), _ended, until - monotonic())
    if after.job.status is Status.RUNNING:
        raise _outcome_error(after.job, "dropped")
    files = _files_message(manager, after.job, until)
    stopped = step.job.status is Status.COMPLETING
    how = after.stats.stop_message if stopped else step.history_message
    return CommandResult(
        after.job, _drop_message(after, manager, how, files) if how else as_job_sentence(step.message)
    ).table()


def _drop_with_snapshot(manager: Manager, job: Job, name: Name, snapshot: Name) -> Table:
    """Drop a job after its snapshot is complete; if the snapshot fails, the job is SUSPENDED."""
    check_has_state(job, name.place)
    with manager.snapshot_names.reserve(snapshot) as pending:
        request = new_snapshot_request(manager, snapshot, or_replace=False, then_cancel=True)
        step = _apply(manager, job, name, Cancel(request))
        result = await_snapshot(manager, step.job, pending, snapshot)
    after, kept = result.view, describe_snapshot(result.snapshot)
    files = _files_message(manager, after.job, monotonic() + manager.settings.statement_wait_seconds)
    return CommandResult(after.job, join_sentences("Dropped.", after.stats.stop_message, kept, files)).table()


def _identify(name: Name) -> str:
    return f"with the id '{name}'" if name.is_id else f"named {name}"


def _ended(view: JobView) -> bool:
    """Return whether the job has ended, or is RUNNING again because the engine could not stop it."""
    return not view.job.is_live or view.job.status is Status.RUNNING


def _files_message(manager: Manager, job: Job, until: float) -> str:
    """Wait for the deletion of an ended job's files; return a sentence if they still exist, otherwise an empty text.

    until: the deadline on the monotonic clock.
    """
    if not manager.workers.wait_for_job(job.id, until - monotonic()):
        return "Its files are still being deleted."
    if not manager.view_after_pending_events(job).job.has_files:
        return ""
    return "Its files could not be deleted; SHOW JOB HISTORY shows why. The engine's next start deletes them."


def _drop_message(view: JobView, manager: Manager, how: str, files: str) -> str:
    if view.job.is_live:
        return _still_message(manager, "being dropped, because its running batch is not finished")
    return join_sentences("Dropped.", how, files)
