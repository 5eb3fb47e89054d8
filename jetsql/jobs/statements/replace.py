"""CREATE OR REPLACE JOB on a live job: what is decided before anything is touched, and waiting for how it came out.

What can be refused is refused here, with the job running on. `updates` tells what happens then.
"""

from __future__ import annotations

from dataclasses import replace

from jetsql.errors import StatementError
from jetsql.jobs.lifecycle.engine_api import UserSession
from jetsql.jobs.lifecycle.events import Update
from jetsql.jobs.lifecycle.scaling import describe_missing_members
from jetsql.jobs.lifecycle.step_context import join_sentences
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.job import Job, Plan, Status, Version
from jetsql.jobs.planning.compatibility import StateCompatibility, compare_plans
from jetsql.jobs.planning.options import Options
from jetsql.jobs.planning.overwrite_conflicts import check_overwrite_conflicts
from jetsql.jobs.statements.command_result import CommandResult, describe_error
from jetsql.jobs.statements.create_checks import check_reachable, make_statement_plan
from jetsql.language.statement import CreateJob


class JobEnded(Exception):
    """The job that was to go on has ended before it could be asked to."""


def replace_job(
    manager: Manager, statement: CreateJob, options: Options, session: UserSession, job: Job
) -> CommandResult:
    """Let the live job go on under the new statement.

    Raises StatementError STATE_NOT_COMPATIBLE (nothing was touched), UPDATE_FAILED (undone, the old version goes on),
    WRONG_STATUS, and whatever options, analysis and plan are refused with; JobEnded.
    """
    plan = keep_table_location(job, make_statement_plan(manager, statement, options, session, job))
    verdict = check_compatible(job, plan, statement, options)
    others = (view.job for view in manager.registry.live() if view.job.id != job.id)
    check_overwrite_conflicts(plan, statement.body, others)
    if _same(job, statement, plan) and job.status is Status.RUNNING:
        return CommandResult(job, "The job is this one already; it goes on.")
    check_reachable(manager, statement, plan)
    try:
        asked = manager.apply(job, Update(_version(manager, statement, plan, job), job.plan)).job
    except StatementError as error:
        if not manager.view(job).job.is_live:
            raise JobEnded from error
        raise error.at(statement.name.place) from None
    return _outcome(manager, _settled(manager, asked), asked.highest_checkpoint, verdict)


def check_compatible(job: Job, plan: Plan, statement: CreateJob, options: Options) -> StateCompatibility:
    """Raise StatementError STATE_NOT_COMPATIBLE when the job's state can't go on under the plan."""
    if options.initial_snapshot is not None:
        raise StatementError(
            "OPTION_NOT_CHANGEABLE",
            f"Job {job.name} is there already and goes on with its own state, not with that of a snapshot.",
            place=options.value_place("initialSnapshotName"),
            hint="Leave the option out; or DROP JOB first, or use another name.",
        )
    verdict = compare_plans(job.plan, plan)
    if verdict.reasons:
        raise StatementError(
            "STATE_NOT_COMPATIBLE",
            f"Job {job.name} can't go on under this statement: {'; '.join(verdict.reasons)}. It goes on as it is.",
            place=statement.body.place,
            hint="Make a job of another name, or DROP JOB and CREATE JOB to begin without its state.",
        )
    return verdict


def keep_table_location(job: Job, plan: Plan) -> Plan:
    """A table whose rows the job replaces has another place after each batch, and is the same table all the time."""
    then, now = job.plan.analysis.sink, plan.analysis.sink
    if not (job.plan.overwrite and plan.overwrite and then.table == now.table and then.created == now.created):
        return plan
    return replace(plan, analysis=replace(plan.analysis, sink=replace(now, location=then.location)))


def _same(job: Job, statement: CreateJob, plan: Plan) -> bool:
    """Nothing would change, in what the job does or in what is shown of it."""
    return job.body.text == statement.body.text and job.version.comment == statement.comment and job.plan == plan


def _version(manager: Manager, statement: CreateJob, plan: Plan, job: Job) -> Version:
    return Version(
        statement=statement.text,
        body=statement.body,
        plan=plan,
        comment=statement.comment,
        software_versions=manager.engine.software_versions(),
        session_defaults=job.version.session_defaults or manager.engine.session_defaults(),  # the state keeps its form
    )


def _settled(manager: Manager, asked: Job) -> JobView:
    """Wait until the new version has gone through its first trigger, or is not tried any more."""

    def settled(view: JobView) -> bool:
        now = view.job
        if now.waiting_for_members or not now.is_live or now.status is Status.SUSPENDED:
            return True
        on_trial = now.version.checkpoint == asked.highest_checkpoint
        return (
            now.version.first_trigger_done and now.status is Status.RUNNING if on_trial else now.pending_version is None
        )

    seconds = manager.settings.stop_deadline_seconds + manager.settings.create_wait_seconds
    return manager.registry.wait(JobView(asked), settled, seconds)


def _outcome(manager: Manager, after: JobView, checkpoint: int, verdict: StateCompatibility) -> CommandResult:
    """checkpoint: of the new version."""
    job = after.job
    if job.version.checkpoint == checkpoint and job.is_live and job.status is not Status.SUSPENDED:
        progress = describe_missing_members(job, len(manager.members)) if job.waiting_for_members else _progress(job)
        return CommandResult(
            job, join_sentences("Updated.", _state_words(job, verdict), *_sentences(verdict), progress)
        )
    if job.pending_version is not None:
        return CommandResult(job, "The update is under way: the running batch of the old version is not finished yet.")
    why = after.stats.update_message or describe_error(job.cause) or "Another statement came between."
    message = f"The update of job {job.name} failed; it is {job.status.value}. {why}"
    raise StatementError("UPDATE_FAILED", message)


def _state_words(job: Job, verdict: StateCompatibility) -> str:
    if verdict.from_scratch:
        return ""
    return "Its state is kept." if job.plan.analysis.stateful else "It goes on behind the rows that were read."


def _sentences(verdict: StateCompatibility) -> tuple[str, ...]:
    return tuple(f"{change[0].upper()}{change[1:]}." for change in verdict.changes)


def _progress(job: Job) -> str:
    if job.rollback_version is None:
        return "The new version has written its first batch."
    if job.version.first_trigger_done:
        return "There is nothing to read yet; the old version is kept until the new one has committed a batch."
    return "Its first batch is still running; should it fail, the old version comes back."


def update_message(job: Job, plan: Plan) -> str:
    """Return the dry verdict for EXPLAIN CREATE OR REPLACE JOB."""
    verdict = compare_plans(job.plan, plan)
    if verdict.reasons:
        return f"refused: {'; '.join(verdict.reasons)}"
    kept = "its state is kept" if plan.analysis.stateful else "it goes on behind the rows that were read"
    state = () if verdict.from_scratch else (f"possible: {kept} (committed so far: batch {job.batch})",)
    return "; ".join((*state, *verdict.changes))
