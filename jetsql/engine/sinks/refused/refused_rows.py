"""Rows that an external system refuses, written to a separate table.

When a sink refuses a batch, the search of the sink finds the refused rows. Before anything is written, the decision is
stored in the job's folder: all rows of the batch, and the numbers of the refused ones. Then the sink gets the other
rows, and the table of the refused rows gets these. Both have their own record of the batch. The decision stays until
the next batch. So a batch that is repeated after a crash has the same decision and the same rows, also when the sink
would take a refused row by now.

A sink that refuses rows of a stored decision has none of them: another program has changed the system since. Then the
search begins again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StringType, StructField, StructType

from jetsql.engine.checkpoints.checkpoint_reader import plan_id, read_entry
from jetsql.engine.sinks import BatchWriter, SinkContext, WrappingSink, consume_rows, stored_rows
from jetsql.engine.sinks.batch_records import BatchRecord, BatchRecords
from jetsql.engine.sinks.refused import ROW_NUMBER, RefusedRow, SelectiveWriter
from jetsql.engine.sinks.refused.refused_rows_table import RefusedRowsTable, find_refused_rows_table
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint

_REFUSED: Final = StructType(
    [
        StructField(ROW_NUMBER, LongType(), False),
        StructField("sqlstate", StringType(), False),
        StructField("message", StringType(), False),
    ]
)


@dataclass(frozen=True)
class Decision(BatchRecord):
    """The rows of a batch that its sink refuses."""

    plan: str
    """The plan of the batch: another plan of a batch with this number has another one."""
    rows: str
    """The folder with all rows of the batch."""
    refused: tuple[RefusedRow, ...]


class Decisions(BatchRecords[Decision]):
    """The decisions for one sink. There is only that of the newest batch, if the sink has refused rows of it."""

    def _parse(self, fields: dict[str, Any]) -> Decision:
        return Decision(**{**fields, "refused": tuple(RefusedRow(**each) for each in fields["refused"])})


def with_refused_rows(context: SinkContext, writer: BatchWriter) -> BatchWriter:
    """Return a sink that writes refused rows to their table.

    Return `writer` for a job that stops at them, and for a sink that takes all rows that it can convert.
    """
    table = find_refused_rows_table(context)
    if table is None or not isinstance(writer, SelectiveWriter):
        return writer
    return RefusedRowsSink(context, writer, RefusedRowsTable(context, table, "refused"))


class RefusedRowsSink(WrappingSink):
    """A sink that writes the refused rows of each batch to their own table, after the other rows."""

    _writer: SelectiveWriter

    def __init__(self, context: SinkContext, writer: SelectiveWriter, table: RefusedRowsTable) -> None:
        super().__init__(writer)
        self._context = context
        self._job = context.job
        self._table = table
        self._folder = context.checkpoints.refused_rows_folder(context.job.id, context.number)
        self._decisions = Decisions(self._folder, context.checkpoints.files)
        self._may_have_files = True  # in the folder, of an earlier batch or an earlier attempt

    def recover(self) -> None:
        self._table.recover()
        super().recover()

    def encode_rows(self, rows: DataFrame) -> DataFrame:
        return rows  # not encoded: the table gets the rows as the query returns them

    def write(self, rows: DataFrame, batch: int) -> int | None:
        decision = self._decisions.read(batch) if self._may_have_files else None
        if decision is not None and decision.plan == self._read_plan(batch):
            consume_rows(rows)
            return self._write_again(rows, decision)
        self._delete_files()
        with stored_rows(rows) as stored:
            try:
                return super().write(self._writer.encode_rows(stored), batch)
            except StatementError as error:
                refusal = self._check_refusal(error)
            folder = self._store(stored, batch)
        undecided = Decision(batch, self._read_plan(batch), folder, ())
        return self._write_decided(rows, self._decide(rows, undecided, refusal))

    def has_batch(self, batch: int) -> bool:
        # As for late rows: the rows for the table come after those of the sink.
        return super().has_batch(batch) or self._table.has_batch(batch)

    def discard(self) -> None:
        self._table.discard()
        super().discard()

    def _write_again(self, rows: DataFrame, decision: Decision) -> int | None:
        try:
            return self._write_decided(rows, decision)
        except StatementError as error:
            refusal = self._check_refusal(error)
        return self._write_decided(rows, self._decide(rows, decision, refusal))

    def _write_decided(self, rows: DataFrame, decision: Decision) -> int | None:
        """Write the two parts of a batch. rows: the rows of the query, which are not read."""
        batch, spark = decision.batch, rows.sparkSession
        numbered = self._read_stored(rows, decision)
        refused = spark.createDataFrame(
            [(each.row, each.sqlstate, each.message) for each in decision.refused], _REFUSED
        ).hint("broadcast")
        accepted = numbered.join(refused, ROW_NUMBER, "left_anti").select(*_numbers(rows)).toDF(*rows.columns)
        written = super().write(self._writer.encode_rows(accepted), batch)
        failpoint("accepted-written", self._job.name)
        found = numbered.join(refused, ROW_NUMBER).sort(ROW_NUMBER)
        self._table.write(
            found.select("sqlstate", "message", _row_json(rows).alias("row")), len(decision.refused), batch
        )
        failpoint("refused-written", self._job.name)
        return written

    def _decide(self, rows: DataFrame, decision: Decision, refusal: StatementError) -> Decision:
        """Find the refused rows of a batch, and store the decision. Raises the refusal if no row is the reason.

        Raises StatementError SINK_REFUSED_ROWS for more rows than the job permits.
        """
        numbered = self._read_stored(rows, decision).toDF(*rows.columns, ROW_NUMBER)
        found = self._writer.find_refused(numbered, decision.batch, self._table.most + 1)
        if not found:
            raise refusal
        if len(found) > self._table.most:
            raise self._table.too_many(decision.batch, found[0].message)
        self._context.check_leader()
        decided = Decision(decision.batch, decision.plan, decision.rows, found)
        self._decisions.write(decided)
        failpoint("refusals-decided", self._job.name)
        return decided

    def _store(self, rows: DataFrame, batch: int) -> str:
        """Store the rows of a batch with their numbers, and return their folder."""
        checkpoints = self._context.checkpoints
        leader = f"-{number}" if (number := checkpoints.leadership.number) else ""
        folder = f"{self._folder}/{batch:09d}{leader}-run{self._job.run}"
        self._may_have_files = True
        numbered = rows.toDF(*_numbers(rows)).withColumn(ROW_NUMBER, sf.monotonically_increasing_id())
        numbered.write.mode("overwrite").parquet(folder)
        failpoint("refused-batch-stored", self._job.name)
        return folder

    def _delete_files(self) -> None:
        """Delete the decision and the rows of an earlier batch, which is committed, or of another plan."""
        newest = self._decisions.find_newest() if self._may_have_files else None
        if newest is not None:
            self._context.checkpoints.delete(self._decisions.path(newest))  # first: without it, the rows mean nothing
        if self._may_have_files:
            self._context.checkpoints.delete(self._folder)
        self._may_have_files = False

    def _check_refusal(self, error: StatementError) -> StatementError:
        """Return the error of a sink that has refused rows. Raises any other error again."""
        if not self._writer.is_refusal(error):
            raise error
        return error

    def _read_stored(self, rows: DataFrame, decision: Decision) -> DataFrame:
        """Return the stored rows of a batch with their numbers."""
        renamed = StructType(
            [StructField(name, field.dataType) for name, field in zip(_numbers(rows), rows.schema, strict=True)]
        )
        return rows.sparkSession.read.schema(renamed.add(ROW_NUMBER, LongType())).parquet(decision.rows)

    def _read_plan(self, batch: int) -> str:
        checkpoints, job = self._context.checkpoints, self._job
        checkpoint = checkpoints.spark_checkpoint(job.id, job.version.checkpoint)
        return plan_id(read_entry(checkpoints.files, checkpoint, batch))


def _numbers(rows: DataFrame) -> list[str]:
    """Return a name for each column that every format of files takes."""
    return [f"c{number}" for number in range(len(rows.columns))]


def _row_json(rows: DataFrame) -> Any:
    columns = (sf.col(number).alias(name) for number, name in zip(_numbers(rows), rows.columns, strict=True))
    return sf.to_json(sf.struct(*columns), {"ignoreNullFields": "false"})
