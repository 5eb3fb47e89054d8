"""CREATE JOB ... AS CREATE TABLE ...: create the table for the columns of the query, then the job that fills it.

The table has a property with the id of its job. If the engine dies between the two steps, the table is empty and no job
has this id: the next statement that creates the table drops it first. If the job cannot be created, or fails before its
first commit, the statement drops the table that it has created. The job's record has no secrets of the table's options.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.access import access_changes
from jetsql.jobs.access.access_state import table_object
from jetsql.jobs.lifecycle.runtime import JobTable, UserSession
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.body_analysis import Analysis
from jetsql.jobs.model.job import Job, name_key
from jetsql.jobs.model.job_options import StatementOptions
from jetsql.jobs.model.redact_sql import redact_sql
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.output_mode import MODES
from jetsql.jobs.planning.table_verb import choose_verb
from jetsql.jobs.planning.update_verdict import EXISTING_TABLE
from jetsql.jobs.statements.creation.create import create
from jetsql.jobs.statements.creation.create_checks import make_statement_plan
from jetsql.jobs.statements.creation.job_owners import find_job_to_create, owner_of
from jetsql.jobs.statements.creation.rewritten_bodies import add_rewritten_body
from jetsql.jobs.statements.lookup import find_live_job
from jetsql.language import parse
from jetsql.language.statement import CreateJob, CreateStreamingTable, Verb
from jetsql.resultset import Table

JOB_PROPERTY: Final = "jetsql.job"
KIND_PROPERTY: Final = "jetsql.kind"


def create_with_table(manager: Manager, statement: CreateJob, session: UserSession) -> Table:
    """Create the table and the job of a statement, or the job alone if the table may exist.

    Raises StatementError TABLE_ALREADY_EXISTS, and as `create`.
    """
    if statement.table is None:
        return create(manager, statement, session)
    find_job_to_create(manager, statement)
    session = manager.runtime.as_user(session, owner_of(manager, statement))
    table = manager.runtime.qualify(statement.table.name, session)
    existing = _find_usable_table(manager, statement, table)
    if existing is None:
        return _create_both(manager, statement, session, table)
    if find_live_job(manager, statement.name.text) is not None and not statement.or_replace:
        if statement.kind is not None and not statement.if_not_exists:
            raise _already_exists(existing, statement)
        return create(manager, without_secrets(statement), session)  # reports the job that exists
    prepared = prepare(manager, statement, parse_options(statement.options), session, existing)
    return create(manager, without_secrets(prepared), session)


def without_secrets(statement: CreateJob) -> CreateJob:
    """Return the statement as the job keeps it. Only the catalogue has the secrets in the clauses of the table."""
    table = statement.table
    assert table is not None, "the statement has a table"
    text, clauses = statement.text, table.definition
    redacted = redact_sql(text[clauses.start : clauses.stop])
    if redacted == text[clauses.start : clauses.stop]:
        return statement
    read = parse(text[: clauses.start] + redacted + text[clauses.stop :])
    create_job = read.create if isinstance(read, CreateStreamingTable) else read
    assert isinstance(create_job, CreateJob) and create_job.table is not None
    return replace(
        statement,
        text=create_job.text,
        body=create_job.table.insert(statement.body.verb),
        table=replace(create_job.table, if_not_exists=table.if_not_exists),
    )


def prepare_to_explain(
    manager: Manager, statement: CreateJob, options: StatementOptions, session: UserSession
) -> tuple[CreateJob, str]:
    """Return the statement with a body that can be analysed, and a description of its table. Nothing is changed.

    Raises as `create_with_table`.
    """
    assert statement.table is not None, "the statement has a table"
    existing = _usable_table(manager, statement, manager.runtime.qualify(statement.table.name, session))
    if existing is not None and _is_leftover(manager, existing):
        existing = None
    prepared = prepare(manager, statement, options, session, existing)
    columns = manager.runtime.columns(statement.body, session)
    if existing is not None:
        return prepared, f"{EXISTING_TABLE}: {columns}"
    return _before_creation(statement, prepared.body.verb), f"is created with the columns {columns}"


def _before_creation(statement: CreateJob, verb: Verb) -> CreateJob:
    """Return the statement with a body that can be analysed while the table does not exist."""
    return replace(statement, body=replace(statement.body, verb=verb))


def _find_usable_table(manager: Manager, statement: CreateJob, table: str) -> JobTable | None:
    """Return as `_usable_table`; a table that an interrupted statement has left is dropped."""
    existing = _usable_table(manager, statement, table)
    if existing is not None and _is_leftover(manager, existing):
        drop_table(manager, existing.name)
        return None
    return existing


def drop_table(manager: Manager, table: str) -> None:
    """Drop a table with its rights. table: its qualified name"""
    manager.runtime.drop_table(table)
    if manager.access.has_users:
        manager.access.change(lambda state: access_changes.drop_object(state, table_object(table)))


def _usable_table(manager: Manager, statement: CreateJob, table: str) -> JobTable | None:
    """Return the existing table that the job may use, or None if there is no table.

    Raises StatementError TABLE_ALREADY_EXISTS.
    """
    assert statement.table is not None, "the statement has a table"
    existing = manager.runtime.find_table(table)
    if existing is None or not manager.access.sees(table_object(table)):
        return None  # Spark refuses to create a table that the caller cannot see
    live = find_live_job(manager, statement.name.text)
    written = live is not None and name_key(live.job.plan.analysis.sink.table) == name_key(table)
    if not written and _is_leftover(manager, existing):
        return existing
    kind = statement.kind.value if statement.kind is not None else ""
    if existing.is_view or existing.kind != kind or not (statement.table.if_not_exists or written):
        raise _already_exists(existing, statement)
    return existing


def _is_leftover(manager: Manager, existing: JobTable) -> bool:
    """Return whether the table was created for a job that never existed, and has no rows."""
    if not existing.job or any(view.job.id == existing.job for view in manager.registry.live()):
        return False
    return manager.store.job(existing.job) is None and manager.runtime.is_empty(existing.name)


def _already_exists(existing: JobTable, statement: CreateJob) -> StatementError:
    assert statement.table is not None, "the statement has a table"
    kind = existing.kind or ("VIEW" if existing.is_view else "TABLE")
    wanted = statement.kind.value if statement.kind is not None else ""
    if existing.is_view or existing.kind != wanted:
        hint = f"Use another name, or DROP {kind} first."
    elif statement.kind is None:
        hint = "Use another name, CREATE TABLE IF NOT EXISTS, or INSERT INTO to write to this table."
    else:
        hint = f"Use another name, DROP {kind} first, CREATE {kind} IF NOT EXISTS or CREATE OR REFRESH {kind}."
    return StatementError(
        "TABLE_ALREADY_EXISTS",
        f"The {kind.lower()} {existing.name} already exists.",
        place=statement.table.name.place,
        hint=hint,
    )


def prepare(
    manager: Manager, statement: CreateJob, options: StatementOptions, session: UserSession, existing: JobTable | None
) -> CreateJob:
    """Return the statement with the body that the job runs.

    existing: the table if it exists; then its columns must be those of the query.
    Raises StatementError TABLE_ALREADY_EXISTS, and as `make_plan` and `JobRuntime.analyse`.
    """

    def is_accepted(changed: CreateJob) -> bool:
        _with_body(manager, changed, options, session, existing)
        return True

    try:
        return _with_body(manager, statement, options, session, existing)
    except StatementError as error:
        add_rewritten_body(error, manager, statement, options, session, is_accepted)
        raise


def _with_body(
    manager: Manager, statement: CreateJob, options: StatementOptions, session: UserSession, existing: JobTable | None
) -> CreateJob:
    table = statement.table
    assert table is not None, "the statement has a table"
    insert = table.insert

    @cache
    def analyse(verb: Verb) -> Analysis:
        body = insert(verb) if existing is not None else replace(statement.body, verb=verb)
        return manager.runtime.analyse(body, session, MODES[body.verb], options.values.state_ttl_millis)

    if existing is not None:
        modes = MODES[statement.body.verb]
        wanted = manager.runtime.analyse(statement.body, session, modes, options.values.state_ttl_millis)
        _check_columns(existing, wanted, statement)
    verb = choose_verb(analyse, options, statement.kind, table.name.place)
    return replace(statement, body=insert(verb))


def _check_columns(existing: JobTable, wanted: Analysis, statement: CreateJob) -> None:
    new = wanted.sink.columns
    if [name_key(name) for name in existing.columns] == [name_key(name) for name in new]:
        return
    assert statement.table is not None, "the statement has a table"
    drop = f"DROP {statement.kind.value if statement.kind is not None else 'TABLE'}"
    raise StatementError(
        "TABLE_ALREADY_EXISTS",
        f"{existing.name} already exists with other columns: {', '.join(existing.columns)}. The columns of the query"
        f" are: {', '.join(new)}.",
        place=statement.table.name.place,
        hint=f"Use another name, {drop} first, or change the query.",
    )


def _create_both(manager: Manager, statement: CreateJob, session: UserSession, table: str) -> Table:
    """Create the table and the job; drop the table if the job was not created."""
    live = find_live_job(manager, statement.name.text)
    if live is not None and not statement.or_replace:
        return create(manager, without_secrets(statement), session)  # reports the job that exists
    options = parse_options(statement.options)
    prepared = prepare(manager, statement, options, session, None)
    # Every error that the plan can have is reported before the table is created.
    make_statement_plan(manager, _before_creation(statement, prepared.body.verb), options, session)
    job_id = manager.new_id()
    properties = {JOB_PROPERTY: job_id}
    if statement.kind is not None:
        properties[KIND_PROPERTY] = statement.kind.value
    manager.runtime.create_table(statement.body, session, properties)
    if manager.access.has_users:
        owner = owner_of(manager, statement)
        manager.access.change(lambda state: access_changes.set_owner(state, table_object(table), owner))
    failpoint("table-created", statement.name.text)
    try:
        return create(manager, without_secrets(prepared), session, job_id)
    except BaseException:
        if not _is_used(manager, statement.name.text, job_id, table):
            drop_table(manager, table)
        raise


def _is_used(manager: Manager, name: str, job_id: str, table: str) -> bool:
    """Return whether the table belongs to a job: to a live one, or to an ended one that has written rows."""
    ended = manager.store.job(job_id)
    if ended is not None and not ended.is_live:
        return ended.batch is not None
    live = find_live_job(manager, name)
    return live is not None and name_key(table) in _tables(live.job)


def _tables(job: Job) -> set[str]:
    versions = (job.version, job.pending_version, job.rollback_version)
    plans = [version.plan for version in versions if version is not None]
    return {name_key(sink.table) for plan in plans for sink in plan.analysis.sinks}
