"""CREATE JOB: planning a statement, and starting the job.

A statement that cannot work is refused before the job is created. An error of the job before its first trigger is done
is the statement's error.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from typing import Final

from jetsql import request
from jetsql.errors import Span, StatementError
from jetsql.jobs.access.access_records import Right
from jetsql.jobs.lifecycle.runtime import UserSession
from jetsql.jobs.lifecycle.scaling import describe_missing_members
from jetsql.jobs.lifecycle.start import describe_beginning
from jetsql.jobs.lifecycle.step_context import join_sentences
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.job import Cause, Job, Plan, Snapshot, Status, Version
from jetsql.jobs.model.job_options import StatementOptions, Trigger
from jetsql.jobs.model.redaction import redact
from jetsql.jobs.planning.guarantee import GUARANTEE_TEXTS
from jetsql.jobs.planning.option_changes import OptionDifference, option_differences
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.single_read import SingleRead, find_single_read
from jetsql.jobs.statements.command_result import CommandResult, error_text
from jetsql.jobs.statements.creation.create_checks import check_conflicts, check_reachable, make_statement_plan
from jetsql.jobs.statements.creation.job_owners import find_job_to_create
from jetsql.jobs.statements.creation.real_time_note import describe_real_time
from jetsql.jobs.statements.creation.replace import JobEnded, replace_job
from jetsql.jobs.statements.creation.start_positions import decide_starts
from jetsql.jobs.statements.lookup import compare_visible
from jetsql.jobs.statements.snapshot import find_snapshot
from jetsql.language.statement import Body, CreateJob, TableKind, Verb
from jetsql.resultset import Table

# Errors of `submit` that another statement caused; the statement is planned again then.
_CONFLICTS: Final = ("JETSQL.JOB_ALREADY_EXISTS", "JETSQL.SNAPSHOT_NOT_FOUND")


def create(manager: Manager, statement: CreateJob, session: UserSession, job_id: str | None = None) -> Table:
    """Create the job, start it and wait for its first trigger.

    job_id: the id of the job if it is new; None for any.
    Raises StatementError JOB_ALREADY_EXISTS, JOB_FAILED, and the errors of options, analysis and plan.
    """
    options = parse_options(statement.options)
    while True:  # again only when another statement changes the job or the snapshot in the meantime
        request.current().cancellation.check()
        live = find_job_to_create(manager, statement)
        try:
            if live is None:
                return _create(manager, statement, options, session, job_id).table()
            if statement.or_replace:
                return replace_job(manager, statement, options, session, live.job).table()
            return _already_exists(manager, live, statement, options).table()
        except (_Conflict, JobEnded):
            continue


class _Conflict(Exception):
    """Another statement has created a job with the same name, or dropped or replaced the snapshot."""


def _create(
    manager: Manager, statement: CreateJob, options: StatementOptions, session: UserSession, job_id: str | None
) -> CommandResult:
    """Create a new job. Raises _Conflict, and as `create`."""
    plan = make_statement_plan(manager, statement, options, session)
    snapshot = initial_snapshot(manager, statement, options, plan)
    check_conflicts(manager, statement, options, plan)
    check_reachable(manager, statement, plan)
    starts = decide_starts(manager, statement, plan)
    job = Job(
        id=job_id or manager.new_id(),
        name=statement.name.text,
        version=Version(
            statement=statement.text,
            body=statement.body,
            plan=plan,
            comment=statement.comment,
            software_versions=manager.runtime.software_versions(),
            session_defaults=(snapshot.session_defaults if snapshot is not None else {})
            or manager.runtime.session_defaults(),
            table_kind=statement.kind,
            start_mode=statement.start_mode,
            starts=starts,
        ),
        submission_time=manager.clock(),
        source_snapshot_id=snapshot.id if snapshot is not None else None,
        batch=snapshot.batch if snapshot is not None else None,
        owner=manager.access.new_owner,
    )
    try:
        return start_job(manager, job, statement.name.place, "Created.")
    except StatementError as error:
        if error.condition in _CONFLICTS:
            raise _Conflict from error
        raise


def start_job(manager: Manager, job: Job, place: Span, success: str) -> CommandResult:
    """Store a new job, start it and wait for its first trigger.

    place: the place of the name, for errors. success: the beginning of the message. Raises as `create`.
    """
    # The check asks Spark and a broker, while the job starts.
    real_time = manager.workers.call(partial(describe_real_time, manager, job.body, job.plan, job))
    try:
        view = manager.submit(job)
    except StatementError as error:
        raise error.at(place) from None
    return _first_trigger(manager, view, success, real_time)


def initial_snapshot(manager: Manager, statement: CreateJob, options: StatementOptions, plan: Plan) -> Snapshot | None:
    """Return the snapshot that the job starts from, or None.

    Raises StatementError SNAPSHOT_NOT_FOUND, STATE_NOT_COMPATIBLE at the option.
    """
    if options.values.initial_snapshot is None:
        return None
    place = options.value_place("initialSnapshotName")
    snapshot = find_snapshot(manager, options.values.initial_snapshot, place)
    compatibility = compare_visible(manager, snapshot.plan, plan)
    reasons = (*compatibility.reasons, *(compatibility.changes if compatibility.from_scratch else ()))
    if reasons:
        raise StatementError(
            "STATE_NOT_COMPATIBLE",
            f"Cannot start from the snapshot {snapshot.name} of job {snapshot.job_name}: {'; '.join(reasons)}.",
            place=place,
            hint=f"Its statement: {redact(' '.join(snapshot.statement.split()), snapshot.plan.options.given)}",
        )
    return snapshot


def _already_exists(manager: Manager, live: JobView, statement: CreateJob, options: StatementOptions) -> CommandResult:
    job = live.job
    if not statement.if_not_exists:
        raise StatementError(
            "JOB_ALREADY_EXISTS",
            f"A job named {job.name} already exists, with status {job.status.value}.",
            place=statement.name.place,
            hint="Use another name, DROP JOB first, CREATE JOB IF NOT EXISTS or CREATE OR REPLACE JOB.",
        )
    can_read = manager.access.has_right_on_job(Right.OPERATE, job)
    differences = " ".join(_differences(job, statement, options)) if can_read else "Its statement is hidden."
    return CommandResult(job, f"A job with this name already exists. {differences or 'It is the same.'}")


def _differences(job: Job, statement: CreateJob, options: StatementOptions) -> Iterator[str]:
    if " ".join(job.body.text.split()) != " ".join(statement.body.text.split()):
        yield "Its statement after AS differs: see SHOW CREATE JOB."
    if job.version.comment != statement.comment:
        yield "Its comment differs."
    yield from map(_describe_difference, option_differences(job.plan.options.given, options.values.given))


def _describe_difference(difference: OptionDifference) -> str:
    if difference.is_hidden:
        return f"Its option '{difference.name}' has another value."
    old = f"is '{difference.old}'" if difference.old is not None else "is not set"
    new = f"'{difference.new}'" if difference.new is not None else "not set"
    return f"Its option '{difference.name}' {old}; in this statement it is {new}."


def _first_trigger(manager: Manager, view: JobView, success: str, real_time: Future[str]) -> CommandResult:
    """Wait for the first trigger of a job, and return the result of its statement. real_time: a further note"""
    after = manager.registry.wait(view, _is_past_first_trigger, manager.settings.create_wait_seconds)
    job = after.job
    if job.status is Status.FAILED or (job.status is Status.SUSPENDED and job.cause is not None):
        raise _failure(job)
    return CommandResult(
        job,
        join_sentences(
            _success(job, success),
            describe_beginning(view.job),
            _progress(manager, after, view.job.batch),
            *describe_notes(job.body, job.plan),
            real_time.result(),
            _delivery(job),
        ),
    )


def _success(job: Job, success: str) -> str:
    single_read = unexpected_single_read(job.body, job.plan, job.version.table_kind)
    return success if single_read is None else single_read.sentence(has_ended=not job.is_live)


def unexpected_single_read(body: Body, plan: Plan, kind: TableKind | None) -> SingleRead | None:
    """Return the tables that a job reads once, unless the user expects it.

    kind: the kind of the table that the statement creates together with its job, or None. REFRESH of a materialized
    view reads new rows.
    """
    return None if kind is TableKind.MATERIALIZED_VIEW else find_single_read(body, plan.analysis)


def _is_past_first_trigger(view: JobView) -> bool:
    """Return whether the first trigger is done, or will not be done soon. A batch job has one trigger until its end."""
    job = view.job
    triggered = job.version.first_trigger_done and job.plan.analysis.streaming
    return triggered or job.waiting_for_members or not job.is_live or job.status is Status.SUSPENDED


def _failure(job: Job) -> StatementError:
    cause = job.cause or Cause("The cause is unknown")
    message = f"Job {job.name} failed before its first commit: {error_text(cause)}"
    return StatementError("JOB_FAILED", message, hint=cause.hint)


def _progress(manager: Manager, view: JobView, begins_after: int | None) -> str:
    """Return how far the job is, as a sentence. begins_after: the batch of its snapshot, or None"""
    job, seconds = view.job, manager.settings.create_wait_seconds
    if job.waiting_for_members:
        return describe_missing_members(job, len(manager.members))
    if job.status is Status.COMPLETED:
        return view.stats.last_message or "The job has completed."
    if job.status is Status.SUSPENDED:
        return "Another statement has suspended the job."
    if job.batch != begins_after and job.version.first_trigger_done:
        return "The first batch is committed."
    if job.version.first_trigger_done and job.plan.options.trigger is Trigger.REAL_TIME:
        return "The job is running; rows are written as they arrive."
    if job.version.first_trigger_done:
        return "No rows are available yet."
    subject = "The first batch" if job.plan.analysis.streaming else "The job"
    return f"{subject} is still running after {seconds:g} s; SHOW JOBS shows its progress."


def describe_notes(body: Body, plan: Plan) -> Iterator[str]:
    """Return, as sentences, what the query does that a user may not expect of it."""
    yield from dict.fromkeys(rewrite.caution for rewrite in plan.analysis.rewrites if rewrite.caution)
    yield from _added_rows(body, plan)
    if plan.analysis.kept_state:
        yield f"State that nothing removes: {'; '.join(dict.fromkeys(plan.analysis.kept_state))}."


def _added_rows(body: Body, plan: Plan) -> Iterator[str]:
    """Return that SINK INTO a table without keys updates no rows."""
    verbs = [branch.verb for branch in body.branches] or [body.verb]
    for verb, written in zip(verbs, plan.sinks, strict=True):
        if verb is Verb.SINK_INTO and not written.upsert:
            table = written.sink.table
            yield f"SINK INTO adds rows to {table}, and updates none: the table has no 'key.columns'."


def _delivery(job: Job) -> str:
    return f"Delivery: {GUARANTEE_TEXTS[job.plan.guarantee]}."
