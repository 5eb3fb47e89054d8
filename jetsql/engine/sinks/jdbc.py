"""Writes to JDBC tables: each batch is one transaction, which also writes the batch's number into a ledger table.

Spark's JDBC writer commits each partition separately, so a crash would leave a partial batch. JetSQL lets it fill a
staging table in parallel. Then one transaction on one connection moves the rows, adds (job, batch) to the ledger and
drops the staging table. A replayed batch whose number is in the ledger is read but not written. If two runs commit the
same batch concurrently, the ledger's key makes the second one fail. The transaction counts the rows before it moves
them, because a task that is retried after a lost success report has written its rows to the staging table twice.

The staging table is also a fence. If a connection breaks in COMMIT, or an engine is paused before it, the database can
commit the batch later. So each run before its first batch, and each question whether the table has a batch, drops the
staging tables of the job: the database lets this wait for the transactions that use them, and later ones fail.

A job that retracts rows has a table with the keys that it has written. Its transaction deletes the rows whose keys are
there and not in the new result, and replaces the keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sf

from jetsql.engine.jdbc.jdbc_databases import Database, JdbcError, TransactionStep, to_sentence
from jetsql.engine.jdbc.jdbc_dialects import LEDGER_TABLE, LedgerSql, TargetSql, find_dialect, name_in_schema, quote
from jetsql.engine.session.catalog import TableFacts
from jetsql.engine.sinks import BatchWriter, SinkContext, consume_rows
from jetsql.engine.sinks.refused import ROW_NUMBER, RefusedRow, SelectiveWriter
from jetsql.engine.sinks.spark_sinks import UntrackedSink
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.model.body_analysis import Sink
from jetsql.jobs.model.job import SinkPlan
from jetsql.jobs.model.job_options import Guarantee
from jetsql.language.tokens import quoted_name

_NO_VALUE: Final = "23502"  # the SQLSTATE of NULL in a column that must have a value


@dataclass(frozen=True)
class JdbcTarget:
    """A sink's table in its database, and the SQL statements for it."""

    database: Database
    """The database of the table."""
    sql: TargetSql
    """The statements for the table and its staging table."""
    ledger: LedgerSql
    """The statements for the ledger."""

    def transact(self, steps: list[TransactionStep], keep: bool = True) -> dict[str, str | None]:
        """Run all steps in one transaction and return their values by step name. Raises JdbcError.

        keep: whether to commit the transaction; False rolls it back.
        """
        setup = [TransactionStep("begin", text) for text in self.sql.dialect.session_setup]
        values = self.database.transact([*setup, *steps], keep)
        return dict(zip((step.name for step in (*setup, *steps)), values, strict=True))

    def name_table(self, name: str) -> str:
        """Return the qualified name of a JetSQL table in the target's schema."""
        return name_in_schema(self.sql.table, name)

    def drop_table(self, table: str) -> TransactionStep:
        """Return the step that drops a table."""
        return TransactionStep("drop", f"DROP TABLE {table}")

    def explain_error(self, error: JdbcError) -> StatementError:
        """Return the error to raise for a failed transaction."""
        if error.sqlstate in self.sql.dialect.lock_timeout_states:
            return _table_locked(self.database, error)
        return self.database.explain_error(error)


def open_target(spark: SparkSession, table: TableFacts, plan: SinkPlan, job_id: str) -> JdbcTarget:
    """Return the target for a sink.

    Raises StatementError UNSUPPORTED_SINK for a database without a dialect.
    """
    database = Database(spark, table.options)
    dialect = find_dialect(database.driver)
    if dialect is None:
        raise StatementError("UNSUPPORTED_SINK", f"JetSQL does not support transactions in {database.server}.")
    keys = plan.sink.key_columns if plan.upsert else ()
    written = name_in_schema(database.table, f"jetsql_keys_{job_id.replace('-', '')}") if plan.retracts else ""
    sql = TargetSql(dialect, database.table, table.columns, keys, plan.deletes, written)
    return JdbcTarget(database, sql, LedgerSql(name_in_schema(database.table, LEDGER_TABLE), job_id))


def needs_transactions(plan: SinkPlan) -> bool:
    """Return whether a sink needs a staging table; otherwise Spark's writer appends the rows directly."""
    return plan.upsert or plan.overwrite or plan.guarantee is Guarantee.EXACTLY_ONCE


class JdbcTransactions(SelectiveWriter):
    """The writer of one job's batches, each of which becomes visible as a whole."""

    def __init__(self, context: SinkContext) -> None:
        self._context = context
        self._job = context.job
        self._sink = context.sink_plan.sink
        # Without a guarantee, each run counts its batches from 0 again, so the numbers identify no batch.
        self._has_ledger = context.sink_plan.guarantee is Guarantee.EXACTLY_ONCE
        self._has_swept = False

    def recover(self) -> None:
        self._context.catalog.require_sink_table(self._sink)

    def write(self, rows: DataFrame, batch: int) -> int | None:
        target = self._target(self._context.catalog.require_sink_table(self._sink))
        staging = target.name_table(f"{self._prefix}{self._job.run}_{batch}")
        try:
            return self._write(target, staging, rows, batch)
        except JdbcError as error:
            raise self._explain_error(target, error, batch) from error

    def is_refusal(self, error: StatementError) -> bool:
        return error.condition in ("JETSQL.SINK_REFUSED_ROWS", "JETSQL.DUPLICATE_KEY")

    def find_refused(self, rows: DataFrame, batch: int, most: int) -> tuple[RefusedRow, ...]:
        target = self._target(self._context.catalog.require_sink_table(self._sink))
        staging = target.name_table(f"{self._prefix}{self._job.run}_{batch}_r")
        try:
            self._sweep(target)  # the attempt that has failed has left its staging table
            target.transact([TransactionStep("stage", target.sql.create_numbered(staging, ROW_NUMBER))])
            found = _find_refused(target, staging, rows, most)
            target.transact([target.drop_table(staging)])
        except JdbcError as error:
            if error.sqlstate == target.sql.dialect.repeated_key_state:
                raise _key_repeated(self._sink, batch) from error
            raise target.explain_error(error) from error
        return tuple(found)

    def has_batch(self, batch: int) -> bool:
        if not self._has_ledger:
            return False
        target = self._target(self._context.catalog.require_sink_table(self._sink))
        try:
            self._sweep(target)
            newest = target.transact([TransactionStep("newest", target.ledger.select_newest())])["newest"]
        except JdbcError as error:
            if error.step == "newest" and error.sqlstate in target.sql.dialect.no_table_states:
                return False
            raise target.explain_error(error) from error
        return newest is not None and int(newest) >= batch

    def discard(self) -> None:
        table = self._context.catalog.table(self._sink.table)
        if table is None:
            self._context.notice(
                f"The ledger keeps the job's rows, because {self._sink.table} does not exist any more."
            )
            return
        target = self._target(table)
        try:
            self._sweep(target)
            if target.sql.written:
                target.transact([TransactionStep("drop", f"DROP TABLE IF EXISTS {target.sql.written}")])
            if self._has_ledger:
                target.transact([TransactionStep("forget", target.ledger.delete_job())])
        except JdbcError as error:
            if error.step != "forget" or error.sqlstate not in target.sql.dialect.no_table_states:
                raise target.explain_error(error) from error

    def close(self) -> None:
        """Do nothing: the sink keeps no resources between batches."""

    def _write(self, target: JdbcTarget, staging: str, rows: DataFrame, batch: int) -> int | None:
        if not self._has_swept:
            self._sweep(target)
        newest = self._prepare(target, staging)
        failpoint("jdbc-prepared", self._job.name)
        if newest is not None and newest >= batch:
            target.transact([target.drop_table(staging)])
            if newest > batch:
                raise _older_checkpoint(self._sink.table, newest, batch)
            consume_rows(rows)
            return None
        count = append_rows(rows, target.database, staging, target.sql.dialect.writer_options)
        failpoint("jdbc-staged", self._job.name)
        self._context.check_leader()
        target.transact(self._commit_steps(target, staging, batch, count))
        failpoint("jdbc-committed", self._job.name)
        return count

    def _prepare(self, target: JdbcTarget, staging: str) -> int | None:
        """Create the staging table, and the ledger if it is missing. Return the newest batch in the ledger."""
        ledger = [TransactionStep("newest", target.ledger.select_newest())] if self._has_ledger else []
        steps = [*ledger, TransactionStep("stage", target.sql.create_staging(staging))]
        if target.sql.written:
            steps.append(TransactionStep("stage", target.sql.create_written()))
        try:
            values = target.transact(steps)
        except JdbcError as error:
            if error.step != "newest" or error.sqlstate not in target.sql.dialect.no_table_states:
                raise
            self._create_ledger(target)
            values = target.transact(steps)
        newest = values.get("newest")
        return None if newest is None else int(newest)

    def _commit_steps(self, target: JdbcTarget, staging: str, batch: int, count: int) -> list[TransactionStep]:
        plan, sql = self._context.sink_plan, target.sql
        steps = []
        if self._has_ledger:
            steps.append(TransactionStep("claim", target.ledger.insert_batch(batch, count)))
            # A run that has written later batches has removed the row of this one.
            steps.append(TransactionStep("later", target.ledger.select_newest(), expect=batch))
        steps.append(TransactionStep("count", sql.count_rows(staging), expect=count))
        if sql.keys:
            steps.append(TransactionStep("keys", sql.count_null_keys(staging), expect=0))
        if plan.overwrite:
            steps.append(TransactionStep("empty", sql.delete_rows()))
        if plan.deletes:
            # Without deletions, the upsert itself fails for a key that it has twice.
            steps.append(TransactionStep("repeated", sql.count_repeated_keys(staging), expect=0))
            steps.append(TransactionStep("delete", sql.delete_from(staging)))
        if sql.written:
            steps.append(TransactionStep("delete", sql.retract(staging)))
        steps.append(TransactionStep("move", sql.insert_from(staging)))
        if sql.written:
            steps.append(TransactionStep("keys written", f"DELETE FROM {sql.written}"))
            steps.append(TransactionStep("keys written", sql.remember_keys(staging)))
        if self._has_ledger:
            steps.append(TransactionStep("prune", target.ledger.delete_older(batch)))
        return [*steps, target.drop_table(staging)]

    def _create_ledger(self, target: JdbcTarget) -> None:
        try:
            target.transact([TransactionStep("ledger", target.ledger.create_ledger())])
        except JdbcError as error:
            # Another job may have created the ledger at the same time.
            if error.sqlstate not in target.sql.dialect.table_exists_states:
                raise

    def _sweep(self, target: JdbcTarget) -> None:
        """Drop the staging tables of the job, after all transactions that use them have ended."""
        for schema, name in target.database.list_tables(self._prefix):
            table = f"{quote(schema)}.{quote(name)}" if schema else quote(name)
            try:
                target.transact([target.drop_table(table)])
            except JdbcError as error:
                # The transaction that this one has waited for has dropped the table.
                if error.step != "drop" or error.sqlstate not in target.sql.dialect.no_table_states:
                    raise
        self._has_swept = True

    @property
    def _prefix(self) -> str:
        return f"jetsql_{self._context.writer_id.replace('-', '')}_"

    def _target(self, table: TableFacts) -> JdbcTarget:
        return open_target(self._context.spark, table, self._context.sink_plan, self._context.writer_id)

    def _explain_error(self, target: JdbcTarget, error: JdbcError, batch: int) -> StatementError:
        dialect, value = target.sql.dialect, error.unexpected_value
        if error.step == "claim" and error.condition == "DUPLICATE_KEY":
            return _delivery_interrupted(f"another run of the job wrote batch {batch} at the same time")
        if error.step == "later" and value is not None:
            return _delivery_interrupted(f"another run of the job has written batch {value} already")
        if error.step == "count" and value is not None:
            return _delivery_interrupted(
                f"the staging table has {value} rows, which is not the row count of batch {batch}"
            )
        if error.step == "count" and error.sqlstate in dialect.no_table_states:
            return _delivery_interrupted("another run of the job has dropped the staging table")
        if error.step == "keys" and value is not None:
            return _key_missing(self._sink, batch, value)
        if error.step == "repeated" and value is not None:
            return _key_repeated(self._sink, batch)
        if error.step == "move" and error.sqlstate == dialect.repeated_key_state:
            return _key_repeated(self._sink, batch)
        reported = target.explain_error(error)
        if error.condition == "DUPLICATE_KEY" and self._context.sink_plan.upsert:
            reported.hint = "The rows conflict with another unique index than that of 'key.columns'."
        return reported


class JdbcAppend(UntrackedSink, BatchWriter):
    """A sink that appends batches at least once with Spark's JDBC writer, which commits each partition separately."""

    def write(self, rows: DataFrame, batch: int) -> int | None:
        database = Database(self._context.spark, self._context.catalog.require_sink_table(self._sink).options)
        dialect = find_dialect(database.driver)
        return append_rows(rows, database, database.table, {} if dialect is None else dialect.writer_options)


def append_rows(rows: DataFrame, database: Database, table: str, defaults: dict[str, str]) -> int:
    """Append rows to a table of the database, all partitions in parallel, and return the row count.

    Raises StatementError for errors of the database.
    defaults: options for Spark's writer, which the table's options override.
    """
    observation = Observation()
    options = {**defaults, **database.writer_options(table)}
    writer = rows.observe(observation, sf.count(sf.lit(1)).alias("rows")).write.format("jdbc").options(**options)
    try:
        writer.mode("append").save()
    except (PySparkException, Exception) as error:  # errors of Spark and Py4J have no other common base class
        reported = database.explain_write_error(error)
        if reported is None:
            raise
        raise reported from error
    return int(observation.get["rows"])


def _find_refused(target: JdbcTarget, staging: str, rows: DataFrame, most: int) -> list[RefusedRow]:
    """Return the rows without a key, those that the types of a table refuse, and those that its constraints refuse."""
    database, sql = target.database, target.sql
    has_keys = reduce(and_, (sf.col(quoted_name(key)).isNotNull() for key in sql.keys), sf.lit(True))
    reason = f"A key column is NULL: {', '.join(sql.keys)}."
    without = rows.where(~has_keys).select(ROW_NUMBER).limit(most).collect()
    found = [(int(number), _NO_VALUE, reason) for (number,) in without]
    if len(found) < most:
        found += database.stage_rows(rows.where(has_keys), staging, sql.dialect.writer_options, most - len(found))
    if len(found) < most:
        if sql.dialect.unnamed_index:
            target.transact([TransactionStep("index", f"CREATE INDEX ON {staging} ({quote(ROW_NUMBER)})")])
        numbers = f"SELECT {quote(ROW_NUMBER)} FROM {staging} ORDER BY 1"
        setup = (*sql.dialect.session_setup, *sql.dialect.immediate_constraints)
        found += database.try_insert(setup, numbers, sql.insert_range(staging, ROW_NUMBER), most - len(found))
    return [RefusedRow(*each) for each in found]


def _delivery_interrupted(reason: str) -> StatementError:
    message = f"The batch was not written: {reason}."
    return StatementError("DELIVERY_INTERRUPTED", message, hint="JetSQL retries the batch.")


def _table_locked(database: Database, error: JdbcError) -> StatementError:
    message = (
        f"Another transaction in {database.server} has locked a table that the job needs: {to_sentence(error.message)}"
    )
    return StatementError(
        "EXTERNAL_SYSTEM_ERROR",
        database.redact(message),
        hint="Wait until that transaction has ended, or end its session in the database.",
        where=database.server,
    )


def _older_checkpoint(table: str, newest: int, batch: int) -> StatementError:
    return StatementError(
        "SINK_CHANGED",
        f"{table} already has batch {newest} of this job, and the job's checkpoint is at batch {batch}, so the"
        " checkpoint is an older copy. Nothing was written.",
        hint="Restore the newest checkpoint, or run DROP JOB and CREATE JOB.",
        where=table,
    )


def _key_missing(sink: Sink, batch: int, count: int) -> StatementError:
    keys = ", ".join(sink.key_columns)
    return StatementError(
        "SINK_REFUSED_ROWS",
        f"Batch {batch} has rows ({count}) with NULL in a key column of {sink.table} ({keys}), which cannot update a"
        " row. Nothing of the batch was written.",
        hint="Exclude these rows with WHERE, or replace NULL with coalesce.",
        where=sink.system or sink.table,
    )


def _key_repeated(sink: Sink, batch: int) -> StatementError:
    keys = ", ".join(sink.key_columns)
    return StatementError(
        "DUPLICATE_KEY",
        f"Two rows of batch {batch} have the same key ({keys}), and {sink.table} can keep only one. Nothing of the"
        " batch was written.",
        hint="Group the query by the key columns, so that it returns one row for each key. The database compares keys"
        " by the types of its columns, so group by lower(key) for citext, by rtrim(key) for char(n), and by"
        " round(key, 2) for numeric(10, 2).",
        where=sink.system or sink.table,
    )
