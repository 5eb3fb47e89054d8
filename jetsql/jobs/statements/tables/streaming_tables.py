"""Streaming tables and materialized views: tables with a job of their name, and the statements that act on both.

The job is named `schema.table`, or `catalogue.schema.table` for a table outside of Spark's own catalogue. The table has
a property with its kind, which shows that it belongs to a job. Each statement acts on the job first and then on the
table, so it can be repeated after a failure in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from jetsql.errors import ErrorPlace, Span, StatementError
from jetsql.jobs.access.access_records import Right
from jetsql.jobs.access.access_state import table_object
from jetsql.jobs.access.token_accounts import refused
from jetsql.jobs.lifecycle.runtime import JobTable, UserSession
from jetsql.jobs.lifecycle.step_context import can_run_again
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.table_users import refuse_change
from jetsql.jobs.model.job import Job, Status, Version, name_key
from jetsql.jobs.model.table_names import job_name, join_table, split_table, without_session_catalog
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.planner import make_plan
from jetsql.jobs.statements import control, describe
from jetsql.jobs.statements.access.checks import check_owner
from jetsql.jobs.statements.command_result import CommandResult, no_job_result
from jetsql.jobs.statements.creation.create import start_job
from jetsql.jobs.statements.creation.job_owners import find_job_to_create
from jetsql.jobs.statements.explain import explain
from jetsql.jobs.statements.lookup import find_live_job, like_pattern, live_views, visible_jobs
from jetsql.jobs.statements.tables.table_creation import create_with_table, drop_table, without_secrets
from jetsql.jobs.statements.wait import wait_for
from jetsql.language import parse
from jetsql.language.statement import (
    AlterJobOptions,
    AlterStreamingTable,
    CreateJob,
    CreateStreamingTable,
    DropJob,
    DropStreamingTable,
    ExplainCreateJob,
    ExplainCreateStreamingTable,
    Name,
    RefreshStreamingTable,
    RestartJob,
    ResumeJob,
    ShowCreateStreamingTable,
    ShowStreamingTables,
    SuspendJob,
    TableAction,
    TableIdentifier,
    TableKind,
    WaitForJob,
    WaitGoal,
)
from jetsql.resultset import Column, Table

TABLE_COLUMNS: Final = (
    Column("namespace", comment="the schema, after its catalogue if that is not Spark's own"),
    Column("name", comment="the name without the schema"),
    Column("job_id", comment="the id of its newest job"),
    Column("status", comment="the status of this job"),
)
CREATE_COLUMNS: Final = (Column("createtab_stmt", comment="the statement that creates it, without secrets"),)


def create_streaming_table(manager: Manager, statement: CreateStreamingTable, session: UserSession) -> Table:
    """Create a table and its job. Raises as `create_with_table`."""
    job = _named(manager, statement, session)
    live = find_job_to_create(manager, job)
    if live is not None and job.if_not_exists and live.job.version.table_kind is statement.kind:
        message = f"The {statement.kind.value.lower()} already exists. {_same_or_not(live.job, job)}"
        return CommandResult(live.job, message).table()
    ended = None if live is not None else _newest_ended(manager, job.name.text)
    if ended is None or ended.version.table_kind is None:
        return _create(manager, job, session)
    if job.or_replace:
        _require(manager, Right.OWNER, ended, f"CREATE OR REFRESH {statement.kind.value}", job.name.place)
    existing = manager.runtime.find_table(ended.plan.analysis.sink.table)
    if not (existing and existing.kind) or not (job.or_replace or job.if_not_exists):
        return _create(manager, job, session)
    if job.if_not_exists and ended.status is Status.COMPLETED:
        message = f"The {statement.kind.value.lower()} already exists. {_same_or_not(ended, job)}"
        return CommandResult(ended, message).table()
    if ended.status is Status.COMPLETED and _is_same(ended, job):
        return _refresh(manager, ended, job.name)
    return _create(manager, job, session)


def _create(manager: Manager, job: CreateJob, session: UserSession) -> Table:
    """Create the job, and the table if it does not exist; update or refresh the job that exists after OR REFRESH."""
    assert job.table is not None, "the statement has a table"
    live = find_live_job(manager, job.name.text)
    if live is not None and job.or_replace and _is_same(live.job, job):
        return _refresh(manager, live.job, job.name)
    if live is not None or not job.or_replace:
        return create_with_table(manager, job, session)
    # OR REFRESH without a live job: its table continues to be used.
    return create_with_table(manager, replace(job, table=replace(job.table, if_not_exists=True)), session)


def _named(manager: Manager, statement: CreateStreamingTable, session: UserSession) -> CreateJob:
    """Return the statement as a CREATE JOB with the name of the job."""
    create_job = statement.create
    assert create_job.table is not None, "the statement has a table"
    table = create_job.table.name
    return replace(create_job, name=Name(job_name(manager.runtime.qualify(table, session)), table.place))


def _is_same(job: Job, statement: CreateJob) -> bool:
    """Return whether the statement has the query, clauses and options of a job."""
    written = parse(job.body.text)
    table = without_secrets(statement).table
    return (
        isinstance(written, CreateStreamingTable)
        and written.create.table is not None
        and table is not None
        and written.create.table.clauses.split() == table.clauses.split()
        and dict(job.plan.options.given) == dict(parse_options(statement.options).values.given)
    )


def _same_or_not(job: Job, statement: CreateJob) -> str:
    return "It is the same." if _is_same(job, statement) else "Its statement differs: see SHOW CREATE TABLE."


def drop_streaming_table(manager: Manager, statement: DropStreamingTable, session: UserSession) -> Table:
    """Drop the job of a table and then the table.

    Raises StatementError TABLE_NOT_FOUND, TABLE_IN_USE, and as `control.drop`.
    """
    table, name = _names(manager, statement.table, session)
    live = find_live_job(manager, name.text)
    job = live.job if live is not None and live.job.version.table_kind is not None else None
    existing = _find(manager, table, statement.kind, statement.table.place)
    if existing is None and job is None:
        if statement.if_exists:
            return no_job_result(name.text, f"There is no {statement.kind.value.lower()} {table}; nothing to drop.")
        raise _not_found(statement.kind, table, statement.table.place)
    what = f"DROP {statement.kind.value}"
    if job is not None:
        _require(manager, Right.OWNER, job, what, statement.table.place)
    elif not manager.access.owns(table_object(table)):
        raise refused(manager.access.user, what, Right.OWNER, f" on {table}").at(statement.table.place)
    _refuse_other_users(manager, table, job, statement.table.place)
    dropped = control.drop(manager, DropJob(Name(job.id, name.place, is_id=True))) if job is not None else None
    if job is not None and manager.view(job).job.is_live:
        assert dropped is not None
        return dropped  # the job is still being stopped; the same statement drops the table later
    if existing is not None:
        drop_table(manager, existing.name)
    if dropped is None:
        return no_job_result(name.text, f"Dropped the {statement.kind.value.lower()}; it had no live job.")
    return dropped


def _refuse_other_users(manager: Manager, table: str, job: Job | None, place: Span) -> None:
    """Raise StatementError TABLE_IN_USE if running jobs use the table, apart from its own job."""
    *schema, name = split_table(table)
    own = job.id if job is not None else ""
    refusal = refuse_change(manager.registry, manager.access.sees_job, "drop", schema, name, except_job=own)
    if refusal:
        raise StatementError("TABLE_IN_USE", refusal, place=place)


def refresh_streaming_table(manager: Manager, statement: RefreshStreamingTable, session: UserSession) -> Table:
    """Bring a table up to date: run its batch job again, or wait until its streaming job has no more rows."""
    _, name = _names(manager, statement.table, session)
    job = _job(manager, statement.table, statement.kind, session)
    _require(manager, Right.OPERATE, job, f"REFRESH {statement.kind.value}", statement.table.place)
    return _refresh(manager, job, name)


def _refresh(manager: Manager, job: Job, name: Name) -> Table:
    if job.is_live and job.plan.analysis.streaming:
        return wait_for(manager, WaitForJob(Name(job.id, name.place, is_id=True), WaitGoal.IDLE))
    if job.is_live:
        return wait_for(manager, WaitForJob(Name(job.id, name.place, is_id=True), WaitGoal.COMPLETED))
    if job.plan.analysis.streaming and can_run_again(job):
        return control.resume(manager, ResumeJob(Name(job.id, name.place, is_id=True)))
    if job.plan.analysis.streaming:
        kind = job.version.table_kind.value if job.version.table_kind is not None else ""
        raise StatementError(
            "WRONG_STATUS",
            f"Job {job.name} has ended with status {job.shown_status}, and its state is deleted.",
            place=name.place,
            hint=f"Run SHOW CREATE {kind}, and create its job again with CREATE OR REFRESH {kind}, which reads all"
            " rows again.",
        )
    return _run_again(manager, job, name)


def _run_again(manager: Manager, job: Job, name: Name) -> Table:
    """Run an ended batch job again, as a new job with its name."""
    given = parse_options((), before=job.plan.options.given)
    check_owner(manager, job)
    plan = make_plan(manager.runtime.analyse_again(job), given, job.body.verb, None)
    version = Version(
        statement=job.version.statement,
        body=job.body,
        plan=plan,
        comment=job.version.comment,
        software_versions=manager.runtime.software_versions(),
        session_defaults=job.version.session_defaults,
        table_kind=job.version.table_kind,
    )
    new = Job(manager.new_id(), job.name, version, manager.clock(), owner=job.owner)
    return start_job(manager, new, name.place, "Refreshed.").table()


def alter_streaming_table(manager: Manager, statement: AlterStreamingTable, session: UserSession) -> Table:
    """Suspend, resume or restart the job of a table, or change its options."""
    job = _job(manager, statement.table, statement.kind, session)
    name = Name(job.id, statement.table.place, is_id=True)
    right = Right.OWNER if statement.action is TableAction.OPTIONS else Right.OPERATE
    _require(manager, right, job, f"ALTER {statement.kind.value}", statement.table.place)
    match statement.action:
        case TableAction.SUSPEND:
            return control.suspend(manager, SuspendJob(name))
        case TableAction.RESUME:
            return control.resume(manager, ResumeJob(name))
        case TableAction.RESTART:
            return control.restart(manager, RestartJob(name))
        case TableAction.OPTIONS:
            return control.alter_options(manager, AlterJobOptions(name, statement.options))


def show_streaming_tables(manager: Manager, statement: ShowStreamingTables) -> Table:
    """Return the tables of a kind, by name; without those whose table was dropped."""
    pattern = like_pattern(statement.pattern) if statement.pattern is not None else None
    rows = []
    for job in _newest_jobs(manager, statement.kind):
        *schema, table = without_session_catalog(split_table(job.plan.analysis.sink.table))
        if pattern is not None and not pattern.fullmatch(table):
            continue
        existing = manager.runtime.find_table(job.plan.analysis.sink.table)
        if existing is not None and existing.kind == statement.kind.value:
            rows.append((join_table(schema), table, job.id, job.shown_status))
    return Table(TABLE_COLUMNS, tuple(sorted(rows)))


def _newest_jobs(manager: Manager, kind: TableKind) -> Iterator[Job]:
    views: dict[str, Job] = {}
    ended = visible_jobs(manager, reversed(manager.store.ended_jobs()))
    for job in (*(view.job for view in live_views(manager)), *ended):
        known = views.get(name_key(job.name))
        if job.version.table_kind is kind and (known is None or (not known.is_live and known.id < job.id)):
            views[name_key(job.name)] = job
    yield from views.values()


def show_create_streaming_table(manager: Manager, statement: ShowCreateStreamingTable, session: UserSession) -> Table:
    """Return the statement that creates a table and its job, with the current options of the job."""
    job = _job(manager, statement.table, statement.kind, session)
    _require(manager, Right.OPERATE, job, f"SHOW CREATE {statement.kind.value}", statement.table.place)
    return Table(CREATE_COLUMNS, ((describe.create_text(job),),))


def explain_streaming_table(manager: Manager, statement: ExplainCreateStreamingTable, session: UserSession) -> Table:
    """Return the decisions and the plan for a table and its job, without creating them."""
    job = _named(manager, statement.create, session)
    if job.or_replace and job.table is not None and find_live_job(manager, job.name.text) is None:
        job = replace(job, table=replace(job.table, if_not_exists=True))  # as `_create`
    return explain(manager, ExplainCreateJob(job, statement.formatted), session)


def _names(manager: Manager, table: TableIdentifier, session: UserSession) -> tuple[str, Name]:
    """Return the qualified name of a table, and the name of its job."""
    qualified = manager.runtime.qualify(table, session)
    return qualified, Name(job_name(qualified), table.place)


def _job(manager: Manager, table: TableIdentifier, kind: TableKind, session: UserSession) -> Job:
    """Return the live job of a table, otherwise the newest ended one.

    Raises StatementError TABLE_NOT_FOUND, JOB_NOT_FOUND at the name.
    """
    qualified, name = _names(manager, table, session)
    if _find(manager, qualified, kind, table.place) is None:
        raise _not_found(kind, qualified, table.place)
    live = find_live_job(manager, name.text)
    job = live.job if live is not None else _newest_ended(manager, name.text)
    if job is None or job.version.table_kind is None:
        message = f"The {kind.value.lower()} {qualified} has no job any more."
        hint = f"Create its job again with CREATE OR REFRESH {kind.value}, or DROP {kind.value}."
        raise StatementError("JOB_NOT_FOUND", message, place=table.place, hint=hint)
    return job


def _find(manager: Manager, table: str, kind: TableKind, place: Span) -> JobTable | None:
    """Return the table with a qualified name, or None. Raises StatementError TABLE_NOT_FOUND for another kind."""
    existing = manager.runtime.find_table(table)
    if existing is None or not _is_visible(manager, table):
        return None
    if existing.kind == kind.value:
        return existing
    there = existing.kind or ("VIEW" if existing.is_view else "TABLE")
    message = f"{table} is no {kind.value.lower()}, but a {there.lower()}."
    raise StatementError("TABLE_NOT_FOUND", message, place=place, hint=f"Write {there} instead of {kind.value}.")


def _is_visible(manager: Manager, table: str) -> bool:
    """Return whether the caller has a right on a table or on its job."""
    if manager.access.sees(table_object(table)):
        return True
    name = job_name(table)
    return find_live_job(manager, name) is not None or _newest_ended(manager, name) is not None


def _newest_ended(manager: Manager, name: str) -> Job | None:
    """Return the newest job with a name of those that have ended, if the caller has a right on it."""
    job = manager.store.newest_named(name)
    return job if job is not None and manager.access.sees_job(job) else None


def _require(manager: Manager, right: Right, job: Job, what: str, place: Span) -> None:
    with ErrorPlace(place):
        manager.access.require_on_job(right, job, what)


def _not_found(kind: TableKind, table: str, place: Span) -> StatementError:
    plural = f"{kind.value}S"
    return StatementError(
        "TABLE_NOT_FOUND", f"There is no {kind.value.lower()} {table}.", place=place, hint=f"SHOW {plural} lists them."
    )
