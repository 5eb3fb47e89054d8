"""CREATE OR REPLACE JOB on a live job: the checks before the update, and the wait for its outcome.

A statement that cannot work is refused here, while the job continues. `lifecycle.update` has the update itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from jetsql.errors import StatementError
from jetsql.jobs.lifecycle.events import Update
from jetsql.jobs.lifecycle.runtime import UserSession
from jetsql.jobs.lifecycle.scaling import describe_missing_members
from jetsql.jobs.lifecycle.step_context import join_sentences
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.job import Job, Plan, Status, Version
from jetsql.jobs.model.job_options import StatementOptions
from jetsql.jobs.model.table_names import quoted_table
from jetsql.jobs.planning.compatibility import StateCompatibility
from jetsql.jobs.planning.option_changes import describe_option_changes
from jetsql.jobs.planning.update_verdict import UpdateKind, UpdateVerdict, is_same_text
from jetsql.jobs.statements.command_result import CommandResult, describe_error
from jetsql.jobs.statements.creation.create_checks import check_conflicts, check_reachable, make_statement_plan
from jetsql.jobs.statements.creation.start_positions import refuse_to_begin_again
from jetsql.jobs.statements.lookup import compare_visible
from jetsql.language.statement import CreateJob

_NO_SNAPSHOT: Final = "continues with its own state, so it cannot start from a snapshot"


class JobEnded(Exception):
    """The job ended before the update could be requested."""


def replace_job(
    manager: Manager, statement: CreateJob, options: StatementOptions, session: UserSession, job: Job
) -> CommandResult:
    """Continue the live job with the new statement.

    Raises StatementError STATE_NOT_COMPATIBLE (nothing was changed), UPDATE_FAILED (rolled back, the old version
    continues), WRONG_STATUS, and the errors of options, analysis and plan; JobEnded.
    """
    plan = keep_table_location(job, make_statement_plan(manager, statement, options, session, job))
    if _is_same(job, statement, plan) and job.status is Status.RUNNING:
        return CommandResult(job, "The job already has this statement; it continues.")
    compatibility = check_compatible(manager, job, plan, statement, options)
    check_conflicts(manager, statement, options, plan, job)
    check_reachable(manager, statement, plan)
    try:
        updating = manager.apply(job, Update(_make_version(manager, statement, plan, job), job.plan)).job
    except StatementError as error:
        if not manager.view(job).job.is_live:
            raise JobEnded from error
        raise error.at(statement.name.place) from None
    after = _wait_for_outcome(manager, updating)
    changes = (*compatibility.changes, *describe_option_changes(job.plan, plan))
    return _outcome(manager, after, updating.highest_checkpoint, replace(compatibility, changes=changes))


def check_compatible(
    manager: Manager, job: Job, plan: Plan, statement: CreateJob, options: StatementOptions
) -> StateCompatibility:
    """Return how the plan continues the job.

    Raises StatementError STATE_NOT_COMPATIBLE, OPTION_NOT_CHANGEABLE, START_NOT_POSSIBLE.
    """
    if options.values.initial_snapshot is not None:
        raise StatementError(
            "OPTION_NOT_CHANGEABLE",
            f"Job {job.name} already exists and {_NO_SNAPSHOT}.",
            place=options.value_place("initialSnapshotName"),
            hint="Remove the option, use DROP JOB first, or use another name.",
        )
    compatibility = compare_visible(manager, job.plan, plan)
    refusal = refuse_to_begin_again(job, statement, compatibility)
    if refusal is not None:
        raise refusal
    if compatibility.reasons:
        raise StatementError(
            "STATE_NOT_COMPATIBLE",
            f"Job {job.name} cannot continue with this statement: {'; '.join(compatibility.reasons)}. The job is"
            " unchanged.",
            place=statement.body.place,
            hint=_start_again(job),
        )
    return compatibility


def _start_again(job: Job) -> str:
    """Return the hint for a statement that the state of a job does not fit."""
    kind = job.version.table_kind
    if kind is None:
        return "Use another name, or use DROP JOB and CREATE JOB to start without its state."
    drop = f"DROP {kind.value} {quoted_table(job.plan.analysis.sink.table)}, which deletes its rows"
    return f"Use another name, or use {drop}, and create it again: its job then reads all rows again."


def keep_table_location(job: Job, plan: Plan) -> Plan:
    """Return the plan with the location of the job's sink: INSERT OVERWRITE moves the same table with each batch."""
    old, new = job.plan.analysis.sink, plan.analysis.sink
    if not (job.plan.overwrite and plan.overwrite and old.table == new.table and old.created == new.created):
        return plan
    sinks = (replace(new, location=old.location), *plan.analysis.sinks[1:])
    return replace(plan, analysis=replace(plan.analysis, sinks=sinks))


def _is_same(job: Job, statement: CreateJob, plan: Plan) -> bool:
    """Return whether the statement would change neither the job nor its description.

    A job of an earlier release does not know the columns of the tables that it reads, and has other words.
    """
    before = job.plan.analysis
    known = replace(job.plan, analysis=replace(before, tables=before.tables or plan.analysis.tables))
    described = replace(plan, analysis=plan.analysis.in_words_of(before))
    return is_same_text(job, statement) and known == described


def _make_version(manager: Manager, statement: CreateJob, plan: Plan, job: Job) -> Version:
    return Version(
        statement=statement.text,
        body=statement.body,
        plan=plan,
        comment=statement.comment,
        software_versions=manager.runtime.software_versions(),
        # The state keeps its format.
        session_defaults=job.version.session_defaults or manager.runtime.session_defaults(),
        table_kind=statement.kind,
        start_mode=statement.start_mode,
        starts=job.version.starts,
    )


def _wait_for_outcome(manager: Manager, updating: Job) -> JobView:
    """Wait until the first trigger of the new version is done, or the update is abandoned."""

    def settled(view: JobView) -> bool:
        now = view.job
        if now.waiting_for_members or not now.is_live or now.status is Status.SUSPENDED:
            return True
        on_trial = now.version.checkpoint == updating.highest_checkpoint
        return (
            now.version.first_trigger_done and now.status is Status.RUNNING if on_trial else now.pending_version is None
        )

    seconds = manager.settings.stop_deadline_seconds + manager.settings.create_wait_seconds
    return manager.registry.wait(JobView(updating), settled, seconds)


def _outcome(manager: Manager, after: JobView, checkpoint: int, compatibility: StateCompatibility) -> CommandResult:
    """Return the outcome of the update. Raises StatementError UPDATE_FAILED. checkpoint: of the new version."""
    job = after.job
    if job.version.checkpoint == checkpoint and job.is_live and job.status is not Status.SUSPENDED:
        progress = describe_missing_members(job, len(manager.members)) if job.waiting_for_members else _progress(job)
        state = _describe_state(job, compatibility)
        return CommandResult(job, join_sentences("Updated.", state, *_change_sentences(compatibility), progress))
    if job.pending_version is not None:
        return CommandResult(job, "The update is in progress: the old version is still finishing its running batch.")
    reason = after.stats.update_message or describe_error(job.cause) or "Another statement changed the job."
    message = f"The update of job {job.name} failed; it is {job.shown_status}. {reason}"
    raise StatementError("UPDATE_FAILED", message)


def _describe_state(job: Job, compatibility: StateCompatibility) -> str:
    if compatibility.from_scratch:
        return ""
    return "The state is kept." if job.plan.analysis.stateful else "The job continues after the rows already read."


def _change_sentences(compatibility: StateCompatibility) -> tuple[str, ...]:
    return tuple(f"{change[0].upper()}{change[1:]}." for change in compatibility.changes)


def _progress(job: Job) -> str:
    if job.rollback_version is None:
        return "The new version has committed its first batch."
    if job.version.first_trigger_done:
        return "No rows are available yet; the old version is kept until the new one has committed a batch."
    return "Its first batch is still running; if it fails, the job returns to the old version."


def explain_update(
    manager: Manager, job: Job, statement: CreateJob, options: StatementOptions, plan: Plan
) -> UpdateVerdict:
    """Return the effect of CREATE OR REPLACE JOB on a live job, without changing it."""
    plan = keep_table_location(job, plan)
    if _is_same(job, statement, plan):
        return UpdateVerdict(UpdateKind.UNCHANGED, f"the job has this statement, and is {job.shown_status}")
    if options.values.initial_snapshot is not None:
        return UpdateVerdict(UpdateKind.REFUSED, f"the job {_NO_SNAPSHOT}")
    compatibility = compare_visible(manager, job.plan, plan)
    refusal = refuse_to_begin_again(job, statement, compatibility)
    if refusal is not None:
        return UpdateVerdict(UpdateKind.REFUSED, refusal.message.removesuffix("."))
    if compatibility.reasons:
        return UpdateVerdict(UpdateKind.REFUSED, "; ".join(compatibility.reasons))
    kept = "the state is kept" if plan.analysis.stateful else "the job continues after the rows already read"
    committed = "no batch" if job.batch is None else f"batch {job.batch}"
    state = () if compatibility.from_scratch else (f"{kept} (committed so far: {committed})",)
    changes = (*compatibility.changes, *describe_option_changes(job.plan, plan))
    return UpdateVerdict(UpdateKind.POSSIBLE, "; ".join((*state, *changes)))
