"""JDBC tables: each batch is one transaction, in which its number goes into a ledger beside the table.

Spark's JDBC writer commits partition by partition, so a death would leave half a batch. Here it fills a staging table,
in parallel; then one transaction on one connection moves the rows, adds (job, batch) to the ledger and drops the
staging table. A replayed batch whose number is there is read and not written. The ledger's key makes a second run that
commits the same batch at the same time fail instead of doubling it, and the rows are counted before they move, because
a task whose success got lost on its way has put its rows into the staging table twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sf

from jetsql.engine.jdbc.jdbc_databases import Database, JdbcError, Step
from jetsql.engine.jdbc.jdbc_dialects import LEDGER_TABLE, LedgerSql, TargetSql, dialect_of, quoted, sibling
from jetsql.engine.session.catalog import TableFacts
from jetsql.engine.sinks import SinkContext, read_all
from jetsql.engine.sinks.spark_sinks import WithoutRecord
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.model.job import Guarantee, Plan, Sink


@dataclass(frozen=True)
class Target:
    """A sink's table in its database, and the statements about it."""

    database: Database
    sql: TargetSql
    ledger: LedgerSql

    def transact(self, steps: list[Step], keep: bool = True) -> dict[str, str | None]:
        """Carry out all steps or none; the value of each by its name. Raises DatabaseError."""
        first = [Step("begin", text) for text in self.sql.dialect.first]
        values = self.database.transact([*first, *steps], keep)
        return dict(zip((step.name for step in (*first, *steps)), values, strict=True))

    def beside(self, name: str) -> str:
        """A table of ours in the target's schema, as SQL names it."""
        return sibling(self.sql.table, name)

    def drop(self, tables: list[str]) -> list[Step]:
        return [Step("drop", f"DROP TABLE {table}") for table in tables]


def open_target(spark: SparkSession, table: TableFacts, plan: Plan, job_id: str) -> Target:
    """Raises StatementError UNSUPPORTED_SINK for a database that is not known to hold a batch in one transaction."""
    database = Database(spark, table.options)
    dialect = dialect_of(database.driver)
    if dialect is None:
        raise StatementError("UNSUPPORTED_SINK", f"JetSQL has no transactions for {database.server}.")
    keys = plan.analysis.sink.key_columns if plan.upsert else ()
    sql = TargetSql(dialect, database.table, table.columns, keys)
    return Target(database, sql, LedgerSql(sibling(database.table, LEDGER_TABLE), job_id))


def needs_transactions(plan: Plan) -> bool:
    """Whether rows go through a staging table; else Spark's writer appends them to the table itself."""
    return plan.upsert or plan.overwrite or plan.guarantee is Guarantee.EXACTLY_ONCE


class JdbcTransactions:
    """Writer of one job's batches, each of them visible as a whole."""

    def __init__(self, context: SinkContext) -> None:
        self._context = context
        self._job = context.job
        self._sink = context.job.plan.analysis.sink
        # A job that starts from scratch counts its batches from 0 again, and they are others.
        self._ledgered = context.job.plan.guarantee is Guarantee.EXACTLY_ONCE
        self._swept = False

    def recover(self) -> None:
        self._context.catalog.same(self._sink)

    def write(self, rows: DataFrame, batch: int) -> int | None:
        target = self._target(self._context.catalog.same(self._sink))
        staging = target.beside(f"{self._prefix}{self._job.run}_{batch}")
        try:
            return self._write(target, staging, rows, batch)
        except JdbcError as error:
            raise self._in_words(target.database, error, batch) from error

    def holds(self, batch: int) -> bool:
        if not self._ledgered:
            return False
        target = self._target(self._context.catalog.same(self._sink))
        try:
            newest = target.transact([Step("newest", target.ledger.newest())])["newest"]
        except JdbcError as error:
            if error.state in target.sql.dialect.no_table:
                return False
            raise target.database.refusal(error) from error
        return newest is not None and int(newest) >= batch

    def discard(self) -> None:
        table = self._context.catalog.table(self._sink.table)
        if table is None:
            self._context.notice(f"{self._sink.table} is gone, so the job's rows in its ledger stay.")
            return
        target = self._target(table)
        try:
            self._sweep(target)
            if self._ledgered:
                target.transact([Step("forget", target.ledger.forget())])
        except JdbcError as error:
            if error.step != "forget" or error.state not in target.sql.dialect.no_table:
                raise target.database.refusal(error) from error

    def close(self) -> None:
        """Nothing is kept."""

    def _write(self, target: Target, staging: str, rows: DataFrame, batch: int) -> int | None:
        if not self._swept:
            self._sweep(target)
        newest = self._prepare(target, staging)
        failpoint("jdbc-prepared", self._job.name)
        if newest is not None and newest >= batch:
            target.transact(target.drop([staging]))
            if newest > batch:
                raise _older_checkpoint(self._sink.table, newest, batch)
            read_all(rows)
            return None
        count = stage(rows, target.database, staging, target.sql.dialect.writer)
        failpoint("jdbc-staged", self._job.name)
        target.transact(self._commit(target, staging, batch, count))
        failpoint("jdbc-committed", self._job.name)
        return count

    def _prepare(self, target: Target, staging: str) -> int | None:
        """Make the staging table; the newest batch in the ledger, which is made when it is not there."""
        ledger = [Step("newest", target.ledger.newest())] if self._ledgered else []
        steps = [*ledger, Step("stage", target.sql.make_staging(staging))]
        try:
            values = target.transact(steps)
        except JdbcError as error:
            if error.step != "newest" or error.state not in target.sql.dialect.no_table:
                raise
            self._make_ledger(target)
            values = target.transact(steps)
        newest = values.get("newest")
        return None if newest is None else int(newest)

    def _commit(self, target: Target, staging: str, batch: int, count: int) -> list[Step]:
        plan, sql = self._job.plan, target.sql
        steps = [Step("claim", target.ledger.claim(batch, count))] if self._ledgered else []
        steps.append(Step("count", sql.count(staging), expect=count))
        if sql.keys:
            steps.append(Step("keys", sql.count_without_key(staging), expect=0))
        if plan.overwrite:
            steps.append(Step("empty", sql.empty()))
        steps.append(Step("move", sql.move(staging)))
        if self._ledgered:
            steps.append(Step("prune", target.ledger.prune(batch)))
        return steps + target.drop([staging])

    def _make_ledger(self, target: Target) -> None:
        try:
            target.transact([Step("ledger", target.ledger.make())])
        except JdbcError as error:
            # Another job made it in the same moment.
            if error.state not in target.sql.dialect.table_exists:
                raise

    def _sweep(self, target: Target) -> None:
        """Drop what earlier runs of the job left staged."""
        found = target.database.tables(self._prefix)
        left = [f"{quoted(schema)}.{quoted(name)}" if schema else quoted(name) for schema, name in found]
        if left:
            target.transact(target.drop(left))
        self._swept = True

    @property
    def _prefix(self) -> str:
        return f"jetsql_{self._job.id.replace('-', '')}_"

    def _target(self, table: TableFacts) -> Target:
        return open_target(self._context.spark, table, self._job.plan, self._job.id)

    def _in_words(self, database: Database, error: JdbcError, batch: int) -> StatementError:
        dialect = dialect_of(database.driver)
        if error.step == "count":
            return _interrupted(f"{error.unexpected} rows of batch {batch} were staged and not as many as it has")
        if error.step == "claim" and error.condition == "DUPLICATE_KEY":
            return _interrupted(f"another run of the job wrote batch {batch} at the same time")
        if error.step == "keys":
            return _without_key(self._sink, batch, error.unexpected)
        if dialect is not None and error.step == "move" and error.state == dialect.one_row_twice:
            return _key_twice(self._sink, batch)
        refusal = database.refusal(error)
        if error.condition == "DUPLICATE_KEY" and self._job.plan.upsert:
            refusal.hint = "Another unique index than that of 'key.columns' is in the way."
        return refusal


class JdbcAppend(WithoutRecord):
    """At least once: Spark's JDBC writer appends each batch, partition by partition. A replayed batch comes again."""

    def write(self, rows: DataFrame, batch: int) -> int | None:
        database = Database(self._context.spark, self._context.catalog.same(self._sink).options)
        dialect = dialect_of(database.driver)
        return stage(rows, database, database.table, {} if dialect is None else dialect.writer)


def stage(rows: DataFrame, database: Database, table: str, more: dict[str, str]) -> int:
    """Append rows to a table of the database, all partitions side by side; how many there were.

    more: options for Spark's writer that the table's own may overrule. Raises StatementError for the database's errors.
    """
    counted = Observation()
    options = {**more, **database.spark_options(table)}
    writer = rows.observe(counted, sf.count(sf.lit(1)).alias("rows")).write.format("jdbc").options(**options)
    try:
        writer.mode("append").save()
    except (PySparkException, Exception) as error:  # Spark's and Py4J's errors have no common ancestor below this
        refusal = database.refusal_of_rows(error)
        if refusal is None:
            raise
        raise refusal from error
    return int(counted.get["rows"])


def _interrupted(what: str) -> StatementError:
    return StatementError("DELIVERY_INTERRUPTED", f"The batch was not written: {what}.", hint="It is tried again.")


def _older_checkpoint(table: str, newest: int, batch: int) -> StatementError:
    return StatementError(
        "SINK_CHANGED",
        f"{table} has batch {newest} of this job already, and the job's checkpoint is at batch {batch}, so it is an"
        " older copy. Nothing was written.",
        hint="Bring back the newest checkpoint, or drop the job and create it again.",
        where=table,
    )


def _without_key(sink: Sink, batch: int, count: int | None) -> StatementError:
    keys = ", ".join(sink.key_columns)
    return StatementError(
        "SINK_REFUSED_ROWS",
        f"Batch {batch} has rows ({count}) without a value in a key column of {sink.table} ({keys}), so there is"
        " nothing to update them by. Nothing of the batch was written.",
        hint="Leave such rows out with WHERE, or give them a value with coalesce.",
        where=sink.system or sink.table,
    )


def _key_twice(sink: Sink, batch: int) -> StatementError:
    keys = ", ".join(sink.key_columns)
    return StatementError(
        "DUPLICATE_KEY",
        f"Two rows of batch {batch} have the same key ({keys}), so it can't be told which of them {sink.table} is to"
        " keep. Nothing of the batch was written.",
        hint="Group the query by the key columns, so that it gives one row for each key.",
        where=sink.system or sink.table,
    )
