"""SUSPEND, RESUME, RESTART, ALTER ... OPTIONS and DROP: ask for it, wait until it came about, say how it went.

On the deadline the statement tells what is still going on and nothing is undone. What comes out differently than asked
(an error, another statement) is an error, so that scripts stop there.
"""

from __future__ import annotations

from time import monotonic
from typing import Final

from jetsql.errors import ErrorPlace, StatementError
from jetsql.jobs.lifecycle.events import AlterOptions, Cancel, Outcome, Restart, Resume, Step, Suspend, UserEvent
from jetsql.jobs.lifecycle.scaling import describe_missing_members
from jetsql.jobs.lifecycle.step_context import join_sentences, remedy, restart_note
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.job import Guarantee, Job, Plan, Status, Trigger
from jetsql.jobs.planning.compatibility import compare_plans
from jetsql.jobs.planning.options import Options, parse_options, spec_of
from jetsql.jobs.planning.planner import make_plan
from jetsql.jobs.planning.protected_confs import protection_reason
from jetsql.jobs.statements.command_result import (
    CommandResult,
    as_job_sentence,
    describe_error,
    error_text,
    no_job_result,
)
from jetsql.jobs.statements.create_checks import check_confs, check_real_time
from jetsql.jobs.statements.lookup import find_job
from jetsql.jobs.statements.snapshot import await_snapshot, check_has_state, describe_snapshot, new_snapshot_request
from jetsql.language.statement import AlterJobOptions, DropJob, Name, OptionText, RestartJob, ResumeJob, SuspendJob
from jetsql.resultset import Table

_NO_RUN: Final = (Status.SUSPENDED, Status.FAILED, Status.COMPLETED)


def _apply(manager: Manager, job: Job, name: Name, event: UserEvent) -> Step:
    """The step that the event made of the job that was found by the name: what was looked at is what is changed, though
    another job may have the name by now. Raises StatementError WRONG_STATUS at the name.
    """
    with ErrorPlace(name.place):
        return manager.apply(job, event)


def suspend(manager: Manager, statement: SuspendJob) -> Table:
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
        return _still_message(manager, "being suspended: its running batch is not finished yet")
    if job.status is Status.COMPLETED:
        return "The job completed before it could be suspended."
    raise _outcome_error(job, "suspended")


def _still_message(manager: Manager, doing: str) -> str:
    seconds = manager.settings.statement_wait_seconds
    return f"After {seconds:g} s the job is still {doing}. It goes on; nothing is undone."


def _outcome_error(job: Job, wanted: str) -> StatementError:
    if job.cause is not None:
        message = f"Job {job.name} was not {wanted}; it is {job.status.value}: {error_text(job.cause)}"
        hint = remedy(job.cause) if job.status is Status.SUSPENDED else job.cause.hint
        return StatementError("JOB_FAILED", message, hint=hint)
    message = f"Job {job.name} was not {wanted}: another statement came between; it is {job.status.value} now."
    return StatementError("WRONG_STATUS", message)


def resume(manager: Manager, statement: ResumeJob) -> Table:
    step = _apply(manager, find_job(manager, statement.name).job, statement.name, Resume())
    return _wait_for_run(manager, step, "Resumed.")


def restart(manager: Manager, statement: RestartJob) -> Table:
    step = _apply(manager, find_job(manager, statement.name).job, statement.name, Restart())
    return _wait_for_run(manager, step, "Restarted.")


def _wait_for_run(manager: Manager, step: Step, done: str) -> Table:
    """Until the job runs (a run that is to be stopped first does not count), or won't any more by itself."""
    least = step.job.run + (step.job.status is Status.COMPLETING)

    def settled(view: JobView) -> bool:
        job = view.job
        return (
            job.waiting_for_members or _waits_for_system(job) or job.status is Status.RUNNING or job.status in _NO_RUN
        )

    after = manager.registry.wait(JobView(step.job), settled, manager.settings.statement_wait_seconds)
    job = after.job
    message = as_job_sentence(step.message) if step.outcome is Outcome.UNCHANGED else done
    if job.waiting_for_members:
        lacks = (
            "" if step.job.waiting_for_members and step.message else describe_missing_members(job, len(manager.members))
        )
        return CommandResult(job, join_sentences(message, lacks)).table()
    if settled(after) and (job.run < least or job.status in (Status.SUSPENDED, Status.FAILED)):
        raise _outcome_error(job, "started")
    stop = after.stats.stop_message if step.job.status is Status.COMPLETING else ""
    return CommandResult(job, _run_message(after, manager, join_sentences(message, stop))).table()


def _waits_for_system(job: Job) -> bool:
    """Return whether a system that does not answer keeps it from starting: nobody knows for how long."""
    return job.status is Status.NOT_RUNNING and job.cause is not None and job.cause.external_outage


def _run_message(view: JobView, manager: Manager, message: str) -> str:
    job = view.job
    if job.status is Status.COMPLETED:
        return join_sentences(message, view.stats.last_message)
    if job.status is Status.RUNNING:
        return join_sentences(message, restart_note(job))
    if _waits_for_system(job):
        return join_sentences(
            message, "It can't start yet, and is tried again until it can:", describe_error(job.cause)
        )
    error = f"Its last error: {describe_error(job.cause)}" if job.cause else ""
    doing = "being stopped before it starts" if job.status is Status.COMPLETING else "starting"
    return join_sentences(_still_message(manager, doing), error)


def alter_options(manager: Manager, statement: AlterJobOptions) -> Table:
    """New options on top of those that the job has.

    Raises StatementError OPTION_NOT_CHANGEABLE, WRONG_STATUS, and what `make_plan` and `Engine.check_real_time` raise.
    """
    job = find_job(manager, statement.name).job
    for text in statement.options:
        _check_changeable(job, text)
    options = parse_options(statement.options, before=job.plan.options)
    check_confs(manager, options)
    plan = make_plan(job.plan.analysis, options, job.body.verb, None)
    _check_state_goes_on(job, plan, options)
    if plan.trigger is Trigger.REAL_TIME and plan.trigger is not job.plan.trigger:
        check_real_time(manager, job.body, plan, options, job)
    event = AlterOptions(plan, job.plan, tuple(options.texts), statement.resume)
    step = _apply(manager, job, statement.name, event)
    if statement.resume:
        return _wait_for_run(manager, step, "Options changed; resumed.")
    return CommandResult(step.job, "Options changed. They hold from the next RESUME JOB on.").table()


def _check_changeable(job: Job, text: OptionText) -> None:
    reason = protection_reason(text.key.strip(), has_state=_has_state(job))
    if reason is not None:
        message = f"'{text.key}' can't change for job {job.name}: {reason}."
        raise StatementError("OPTION_NOT_CHANGEABLE", message, place=text.key_place)
    spec = spec_of(text.key)
    if spec is not None and not spec.changeable:
        raise StatementError(
            "OPTION_NOT_CHANGEABLE",
            f"The option '{spec.name}' can't change once a job is made.",
            place=text.key_place,
            hint="Make a new job with it.",
        )


def _check_state_goes_on(job: Job, plan: Plan, options: Options) -> None:
    """Raise StatementError OPTION_NOT_CHANGEABLE at the option under which the job's state could not go on."""
    reasons = compare_plans(job.plan, plan).reasons if _has_state(job) else ()
    if reasons:
        raise StatementError(
            "OPTION_NOT_CHANGEABLE",
            f"Job {job.name} keeps state that can't go on with these options: {'; '.join(reasons)}.",
            place=options.value_place("outputMode") or options.value_place("trigger"),
            hint="Make a new job with them, which begins without state.",
        )


def _has_state(job: Job) -> bool:
    analysis = job.plan.analysis
    return job.run > 0 and (analysis.stateful or analysis.has_aggregates) and job.plan.guarantee is not Guarantee.NONE


def drop(manager: Manager, statement: DropJob) -> Table:
    """Returns when the job has ended and its files are gone."""
    try:
        job = find_job(manager, statement.name).job
    except StatementError:
        if statement.if_exists:
            return no_job_result(statement.name.text, f"There is no job {_quoted(statement.name)}; nothing to drop.")
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
    """The job ends only when the snapshot is whole; without it, it is left SUSPENDED."""
    check_has_state(job, name.place)
    with manager.snapshot_names.reserve(snapshot) as writing:
        export = new_snapshot_request(manager, snapshot, or_replace=False, then_cancel=True)
        step = _apply(manager, job, name, Cancel(export))
        exported = await_snapshot(manager, step.job, writing, snapshot)
    after, kept = exported.view, describe_snapshot(exported.snapshot)
    files = _files_message(manager, after.job, monotonic() + manager.settings.statement_wait_seconds)
    return CommandResult(after.job, join_sentences("Dropped.", after.stats.stop_message, kept, files)).table()


def _quoted(name: Name) -> str:
    return f"with the id '{name}'" if name.is_id else f"named {name}"


def _ended(view: JobView) -> bool:
    """RUNNING: the engine could not stop it."""
    return not view.job.is_live or view.job.status is Status.RUNNING


def _files_message(manager: Manager, job: Job, until: float) -> str:
    """What has become of an ended job's files by then (as `monotonic` counts); empty when they are gone."""
    if not manager.workers.wait_for_job(job.id, until - monotonic()):
        return "Its files are still being deleted."
    if not manager.view_after_pending_events(job).job.has_files:
        return ""
    return "Its files could not be deleted: SHOW JOB HISTORY tells why. They go with the engine's next start."


def _drop_message(view: JobView, manager: Manager, how: str, files: str) -> str:
    if view.job.is_live:
        return _still_message(manager, "being dropped: its running batch is not finished yet")
    return join_sentences("Dropped.", how, files)
