"""Check a JDBC sink before its job is created: write a batch without rows and roll it back.

The transaction runs the statements of the job, so the database itself checks every privilege, index and column that
the job needs. The rollback leaves no trace.
"""

from __future__ import annotations

from typing import Final
from uuid import uuid4

from pyspark.sql import SparkSession

from jetsql.engine.jdbc.jdbc_databases import Database, JdbcError, TransactionStep
from jetsql.engine.jdbc.jdbc_dialects import LEDGER_TABLE, Dialect, find_dialect, find_schema, is_table_name, quote
from jetsql.engine.session.catalog import Catalog, TableFacts
from jetsql.engine.sinks.jdbc import JdbcTarget, needs_transactions, open_target
from jetsql.errors import StatementError
from jetsql.jobs.model.job import SinkPlan
from jetsql.jobs.model.job_options import Guarantee

_NO_TABLE: Final = ("42P01", "3F000", "42S02", "42X05", "42Y07")
_NOT_ALLOWED: Final = "42501"
_PURPOSES: Final = {
    "newest": f"read its ledger {LEDGER_TABLE} in the schema of {{table}}",
    "ledger": f"create its ledger {LEDGER_TABLE} in the schema of {{table}}",
    "claim": f"write its ledger {LEDGER_TABLE} in the schema of {{table}}",
    "prune": f"delete rows of its ledger {LEDGER_TABLE} in the schema of {{table}}",
    "stage": "create a staging table in the schema of {table}",
    "empty": "delete rows of {table}",
    "delete": "delete rows of {table}",
    "move": "insert rows into {table}",
}


def check_jdbc_table(spark: SparkSession, table: TableFacts) -> None:
    """Check that the table's database is reachable and has the table.

    Spark's first connection would wait longer and fail with an error of the driver.
    Raises StatementError EXTERNAL_SYSTEM_UNAVAILABLE, SINK_NOT_READY, UNSUPPORTED_SINK.
    """
    database = Database(spark, table.options)
    if not database.table or database.table.lstrip().startswith("("):
        raise StatementError(
            "UNSUPPORTED_SINK",
            f"{table.name} reads a query, so jobs cannot insert rows into it.",
            hint="Write to a table whose option 'dbtable' is a table's name.",
        )
    try:
        database.transact([TransactionStep("check", f"SELECT 1 FROM {database.table} WHERE 1 = 0")], keep=False)
    except JdbcError as error:
        if error.sqlstate in _NO_TABLE:
            message = database.redact(f"{database.server} has no table {database.table}.")
            raise StatementError("SINK_NOT_READY", message, hint="Create the table first.") from error
        raise database.explain_error(error) from error


def check_jdbc_sink(spark: SparkSession, catalog: Catalog, plan: SinkPlan, marks_deleted: bool) -> None:
    """Write a batch without rows and roll it back. marks_deleted: see `Analysis`

    Raises StatementError EXTERNAL_SYSTEM_UNAVAILABLE, SINK_NOT_READY, UNSUPPORTED_SINK.
    """
    table = catalog.require_sink_table(plan.sink)
    database = Database(spark, table.options)
    dialect = find_dialect(database.driver)
    if needs_transactions(plan):
        _check_dialect(database, dialect, plan, marks_deleted)
        _try_batch(open_target(spark, table, plan, f"preflight-{uuid4()}"), plan)
    elif dialect is not None:
        _try_append(open_target(spark, table, plan, ""))


def _check_dialect(database: Database, dialect: Dialect | None, plan: SinkPlan, marks_deleted: bool) -> None:
    verb = "SINK INTO with 'key.columns'" if plan.upsert else "INSERT OVERWRITE" if plan.overwrite else ""
    verb = "AUTO CDC" if plan.deletes and not marks_deleted else verb
    if dialect is not None and (dialect.can_upsert or not plan.upsert) and is_table_name(database.table):
        return
    where = database.server if dialect is None or plan.upsert else f"the 'dbtable' {database.table}"
    raise StatementError(
        "UNSUPPORTED_SINK",
        database.redact(f"{verb or 'Writing exactly once'} is not possible with {where}."),
        hint="Use PostgreSQL." if verb else "Use OPTIONS ('processingGuarantee' = 'atLeastOnce').",
    )


def _try_append(target: JdbcTarget) -> None:
    try:
        target.transact(
            [TransactionStep("move", f"{target.sql.insert_from(target.sql.table)} WHERE 1 = 0")], keep=False
        )
    except JdbcError as error:
        raise _not_ready(target, error, "INSERT") from error


def _try_batch(target: JdbcTarget, plan: SinkPlan) -> None:
    staging = target.name_table(f"jetsql_preflight_{uuid4().hex}")
    has_ledger = plan.guarantee is Guarantee.EXACTLY_ONCE
    try:
        ledger = _ledger_steps(target) if has_ledger else []
        steps = [*ledger, TransactionStep("stage", target.sql.create_staging(staging))]
        if plan.overwrite:
            steps.append(TransactionStep("empty", f"{target.sql.delete_rows()} WHERE 1 = 0"))
        if plan.deletes:
            steps.append(TransactionStep("delete", target.sql.delete_from(staging)))
        if target.sql.written:
            steps.append(TransactionStep("stage", target.sql.create_written()))
            steps.append(TransactionStep("delete", target.sql.retract(staging)))
        steps.append(TransactionStep("move", target.sql.insert_from(staging)))
        target.transact([*steps, target.drop_table(staging)], keep=False)
    except JdbcError as error:
        if error.step == "ledger" and error.sqlstate in target.sql.dialect.table_exists_states:
            _try_batch(target, plan)  # another job has created the ledger meanwhile
            return
        raise _not_ready(target, error, "INSERT, UPDATE" if plan.upsert else "INSERT") from error


def _ledger_steps(target: JdbcTarget) -> list[TransactionStep]:
    """Return the steps that write the ledger, and create it if it is missing."""
    steps = [
        TransactionStep("claim", target.ledger.insert_batch(0, 0)),
        TransactionStep("prune", target.ledger.delete_older(0)),
    ]
    try:
        target.transact([TransactionStep("newest", target.ledger.select_newest())], keep=False)
    except JdbcError as error:
        if error.sqlstate not in target.sql.dialect.no_table_states:
            raise
        return [TransactionStep("ledger", target.ledger.create_ledger()), *steps]
    return steps


def _not_ready(target: JdbcTarget, error: JdbcError, rights: str) -> StatementError:
    database, sql = target.database, target.sql
    if error.step == "move" and error.sqlstate == sql.dialect.no_unique_index_state:
        keys = ", ".join(map(quote, sql.keys))
        message = (
            f"{sql.table} in {database.server} has no primary key or unique index on exactly the columns ({keys})."
        )
        return StatementError(
            "SINK_NOT_READY",
            database.redact(message),
            hint=f"Run CREATE UNIQUE INDEX ON {sql.table} ({keys}) there, or change the table option 'key.columns'.",
        )
    reported = database.explain_error(error)
    if reported.condition != "JETSQL.SINK_NOT_READY" or error.step not in _PURPOSES:
        return reported
    message = f"The job must be able to {_PURPOSES[error.step].format(table=sql.table)}. {reported.message}"
    return StatementError("SINK_NOT_READY", message, hint=_grant_hint(target, error, rights))


def _grant_hint(target: JdbcTarget, error: JdbcError, rights: str) -> str:
    """Return a hint with the statement that grants the missing privilege; empty for another error."""
    if error.sqlstate != _NOT_ALLOWED:
        return ""
    user = target.database.user or "the user"
    if error.step in ("stage", "ledger"):
        return f"Run GRANT CREATE ON SCHEMA {find_schema(target.sql.table) or 'of the table'} TO {user} there."
    if error.step in ("newest", "claim", "prune"):
        return f"Run GRANT SELECT, INSERT, DELETE ON {target.ledger.table} TO {user} there."
    rights = {"empty": "DELETE", "delete": "SELECT, DELETE"}.get(error.step or "", rights)
    return f"Run GRANT {rights} ON {target.sql.table} TO {user} there."
