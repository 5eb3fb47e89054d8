"""CREATE JOB and EXPLAIN CREATE JOB: from a statement to a plan, and from the plan to a job that runs.

Everything that can be refused is refused before the job is made; what fails before its first trigger has gone through
is the statement's error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from jetsql import cancellation
from jetsql.errors import StatementError
from jetsql.jobs.lifecycle.engine_api import UserSession
from jetsql.jobs.lifecycle.scaling import describe_missing_members
from jetsql.jobs.lifecycle.start import describe_beginning
from jetsql.jobs.lifecycle.step_context import join_sentences
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.job import Cause, Job, Plan, Snapshot, Status, Trigger, Version
from jetsql.jobs.model.redaction import redact, show
from jetsql.jobs.planning.compatibility import compare_plans
from jetsql.jobs.planning.guarantee import GUARANTEE_TEXTS
from jetsql.jobs.planning.options import Options, parse_options
from jetsql.jobs.planning.overwrite_conflicts import check_overwrite_conflicts
from jetsql.jobs.statements.command_result import CommandResult, error_text
from jetsql.jobs.statements.create_checks import check_reachable, make_statement_plan
from jetsql.jobs.statements.lookup import find_live_job
from jetsql.jobs.statements.replace import JobEnded, replace_job
from jetsql.jobs.statements.snapshot import find_snapshot
from jetsql.language.statement import CreateJob
from jetsql.resultset import Table

# What `submit` refuses because of another statement that came between; each is looked at anew.
_CONFLICTS: Final = ("JETSQL.JOB_ALREADY_EXISTS", "JETSQL.SNAPSHOT_NOT_FOUND")


def create(manager: Manager, statement: CreateJob, session: UserSession) -> Table:
    """Make the job, start it and wait for its first trigger.

    Raises StatementError JOB_ALREADY_EXISTS, JOB_FAILED, and whatever options, analysis and plan are refused with.
    """
    options = parse_options(statement.options)
    while True:  # once, unless another statement changes in the meantime what this one has looked at
        cancellation.current().check()
        live = find_live_job(manager, statement.name.text)
        try:
            if live is None:
                return _create(manager, statement, options, session).table()
            if statement.or_replace:
                return replace_job(manager, statement, options, session, live.job).table()
            return _exists_already(live, statement, options).table()
        except (_Conflict, JobEnded):
            continue


class _Conflict(Exception):
    """Another session has made a job of the same name, or the snapshot is not the one that was found any more."""


def _create(manager: Manager, statement: CreateJob, options: Options, session: UserSession) -> CommandResult:
    """Raise _Overtaken."""
    plan = make_statement_plan(manager, statement, options, session)
    snapshot = initial_snapshot(manager, statement, options, plan)
    check_overwrite_conflicts(plan, statement.body, (view.job for view in manager.registry.live()))
    check_reachable(manager, statement, plan)
    job = Job(
        id=manager.new_id(),
        name=statement.name.text,
        version=Version(
            statement=statement.text,
            body=statement.body,
            plan=plan,
            comment=statement.comment,
            software_versions=manager.engine.software_versions(),
            session_defaults=(snapshot.session_defaults if snapshot is not None else {})
            or manager.engine.session_defaults(),
        ),
        submission_time=manager.clock(),
        source_snapshot_id=snapshot.id if snapshot is not None else None,
        batch=snapshot.batch if snapshot is not None else None,
    )
    try:
        view = manager.submit(job)
    except StatementError as error:
        if error.condition in _CONFLICTS:
            raise _Conflict from error
        raise error.at(statement.name.place) from None
    return _first_trigger(manager, view)


def initial_snapshot(manager: Manager, statement: CreateJob, options: Options, plan: Plan) -> Snapshot | None:
    """Return the snapshot that the job is to start from.

    Raises StatementError SNAPSHOT_NOT_FOUND, STATE_NOT_COMPATIBLE at the option.
    """
    if options.initial_snapshot is None:
        return None
    place = options.value_place("initialSnapshotName")
    snapshot = find_snapshot(manager, options.initial_snapshot, place)
    verdict = compare_plans(snapshot.plan, plan)
    reasons = (*verdict.reasons, *(verdict.changes if verdict.from_scratch else ()))
    if reasons:
        raise StatementError(
            "STATE_NOT_COMPATIBLE",
            f"The job can't start from the snapshot {snapshot.name} of job {snapshot.job_name}: {'; '.join(reasons)}.",
            place=place,
            hint=f"It was taken of: {redact(' '.join(snapshot.statement.split()), snapshot.plan.options)}",
        )
    return snapshot


def _exists_already(live: JobView, statement: CreateJob, options: Options) -> CommandResult:
    job = live.job
    if not statement.if_not_exists:
        raise StatementError(
            "JOB_ALREADY_EXISTS",
            f"There is a job named {job.name} already, with status {job.status.value}.",
            place=statement.name.place,
            hint="Use another name, DROP JOB first, CREATE JOB IF NOT EXISTS or CREATE OR REPLACE JOB.",
        )
    differences = " ".join(_differences(job, statement, options))
    return CommandResult(job, f"There is a job of this name already. {differences or 'It is the same.'}")


def _differences(job: Job, statement: CreateJob, options: Options) -> Iterator[str]:
    if " ".join(job.body.text.split()) != " ".join(statement.body.text.split()):
        yield "Its statement behind AS is another one: see SHOW CREATE JOB."
    if job.version.comment != statement.comment:
        yield "Its comment is another one."
    yield from _other_options(job.plan.options, options.given)


def _other_options(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    shown_old, shown_new = show(old), show(new)
    for name in sorted({*old, *new}):
        if shown_old.get(name) == shown_new.get(name) and old.get(name) != new.get(name):
            yield f"Its option '{name}' has another value."
        elif old.get(name) != new.get(name):
            there = f"is '{shown_old[name]}'" if name in old else "is not set"
            here = f"'{shown_new[name]}'" if name in new else "left out"
            yield f"Its option '{name}' {there}, here it is {here}."


def _first_trigger(manager: Manager, view: JobView) -> CommandResult:
    after = manager.registry.wait(view, _is_past_first_trigger, manager.settings.create_wait_seconds)
    job = after.job
    if job.status is Status.FAILED or (job.status is Status.SUSPENDED and job.cause is not None):
        raise _failure(job)
    return CommandResult(
        job, join_sentences("Created.", describe_beginning(view.job), _progress(manager, after), _delivery(job))
    )


def _is_past_first_trigger(view: JobView) -> bool:
    """A batch job has one trigger, which is all of it."""
    job = view.job
    begun = job.version.first_trigger_done and job.plan.analysis.streaming
    return begun or job.waiting_for_members or not job.is_live or job.status is Status.SUSPENDED


def _failure(job: Job) -> StatementError:
    cause = job.cause or Cause("The cause is not known")
    message = f"Job {job.name} failed before anything was committed: {error_text(cause)}"
    return StatementError("JOB_FAILED", message, hint=cause.hint)


def _progress(manager: Manager, view: JobView) -> str:
    job, seconds = view.job, manager.settings.create_wait_seconds
    if job.waiting_for_members:
        return describe_missing_members(job, len(manager.members))
    if job.status is Status.COMPLETED:
        return view.stats.last_message or "It has completed."
    if job.status is Status.SUSPENDED:
        return "Another statement suspended it."
    if job.batch is not None and job.version.first_trigger_done:
        return "The first batch is committed."
    if job.version.first_trigger_done and job.plan.trigger is Trigger.REAL_TIME:
        return "It runs: rows are written as they come."
    if job.version.first_trigger_done:
        return "There is nothing to read yet."
    what = "The first batch" if job.plan.analysis.streaming else "It"
    return f"{what} is still running after {seconds:g} s; SHOW JOBS tells how it goes on."


def _delivery(job: Job) -> str:
    return f"Delivery: {GUARANTEE_TEXTS[job.plan.guarantee]}."
