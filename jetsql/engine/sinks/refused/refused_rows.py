"""Rows that a sink refuses, written to a separate table: the option `'sink.on.error' = 'table:NAME'`.

When a sink refuses a batch, the search of the sink finds the refused rows. Before anything is written, the decision is
stored in the job's folder: all rows of the batch, and the numbers of the refused ones. Then the sink gets the other
rows, and the table of the refused rows gets these. Both have their own record of the batch. The decision stays until
the next batch. So a batch that is repeated after a crash has the same decision and the same rows, also when the sink
would take a refused row by now.

A sink that refuses rows of a stored decision has none of them: another program has changed the system since. Then the
search begins again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StringType, StructField, StructType

from jetsql.engine.checkpoints.checkpoint_reader import read_offsets, read_source_range
from jetsql.engine.session.catalog import Catalog
from jetsql.engine.sinks import BatchWriter, SinkContext, WrappingSink, consume_rows, stored_rows
from jetsql.engine.sinks.batch_records import BatchRecord, BatchRecords
from jetsql.engine.sinks.refused import ROW_NUMBER, RefusedRow, SelectiveWriter
from jetsql.engine.sinks.side_tables import SideTable, create_side_table
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.model.job import Plan
from jetsql.output.counts import counted

_COLUMNS: Final = {
    "job": "STRING",
    "batch": "BIGINT",
    "sink": "STRING",
    "sqlstate": "STRING",
    "message": "STRING",
    "sources": "STRING",
    "row": "STRING",
}
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


def create_refused_rows_table(spark: SparkSession, catalog: Catalog, plan: Plan) -> None:
    """Create the missing table for the rows that the sinks of a plan refuse. Raises as `create_side_table`."""
    if plan.refused_rows_table:
        create_side_table(spark, catalog, plan.refused_rows_table, _COLUMNS, "table for rows that the sink refuses")


def with_refused_rows(context: SinkContext, writer: BatchWriter) -> BatchWriter:
    """Return a sink that writes refused rows to their table, or `writer` for a job that stops at them."""
    name = context.job.plan.refused_rows_table
    table = context.catalog.table(name) if name else None
    if table is None:
        return writer
    assert isinstance(writer, SelectiveWriter), "the planner has refused other sinks"
    suffix = f"-{context.number}" if context.number else ""
    return RefusedRowsSink(context, writer, SideTable(context, table, f"refusals{suffix}", f"refused{suffix}"))


class RefusedRowsSink(WrappingSink):
    """A sink that writes the refused rows of each batch to their own table, after the other rows."""

    _writer: SelectiveWriter

    def __init__(self, context: SinkContext, writer: SelectiveWriter, table: SideTable) -> None:
        super().__init__(writer)
        self._context = context
        self._job = context.job
        self._table = table
        self._folder = context.checkpoints.refused_rows_folder(context.job.id, context.number)
        self._decisions = Decisions(self._folder, context.checkpoints.files)
        self._has_noticed = False
        self._may_have_files = True  # of an earlier batch, in the folder

    def recover(self) -> None:
        self._table.recover()
        super().recover()

    def encode_rows(self, rows: DataFrame) -> DataFrame:
        return self._writer.accept_rows(rows)  # not encoded: the table gets the rows as the query returns them

    def write(self, rows: DataFrame, batch: int) -> int | None:
        plan = self._read_plan(batch)
        decision = self._decisions.read(batch)
        if decision is not None and decision.plan == plan:
            consume_rows(rows)
            return self._write_again(rows, decision)
        self._delete_files()
        with stored_rows(rows) as stored:
            try:
                return super().write(self._writer.encode_rows(stored), batch)
            except StatementError as error:
                refusal = self._check_refusal(error)
            folder = self._store(stored, batch)
        return self._write_decided(rows, self._decide(rows, Decision(batch, plan, folder, ()), refusal))

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
        batch, spark, sink = decision.batch, rows.sparkSession, self._context.sink_plan.sink.table
        numbered = self._read_stored(rows, decision)
        refused = spark.createDataFrame(
            [(each.row, each.sqlstate, each.message) for each in decision.refused], _REFUSED
        ).hint("broadcast")
        accepted = numbered.join(refused, ROW_NUMBER, "left_anti").select(*_numbers(rows)).toDF(*rows.columns)
        written = super().write(self._writer.encode_rows(accepted), batch)
        failpoint("accepted-written", self._job.name)
        found = numbered.join(refused, ROW_NUMBER).sort(ROW_NUMBER)
        values = {
            "job": sf.lit(self._job.name),
            "batch": sf.lit(batch).cast("bigint"),
            "sink": sf.lit(sink),
            "sqlstate": sf.col("sqlstate"),
            "message": sf.col("message"),
            "sources": sf.lit(self._read_sources(batch)),
            "row": _row_json(rows),
        }
        self._table.write(found.select(*(value.alias(name) for name, value in values.items())), batch)
        failpoint("refused-written", self._job.name)
        if not self._has_noticed:
            self._has_noticed = True
            number = counted(len(decision.refused), "row")
            self._context.notice(
                f"{sink} has refused {number} of batch {batch}, in {self._job.plan.refused_rows_table} now. Refused"
                " rows of later batches of this run are there as well."
            )
        return written

    def _decide(self, rows: DataFrame, decision: Decision, refusal: StatementError) -> Decision:
        """Find the refused rows of a batch, and store the decision. Raises the refusal if no row is the reason.

        Raises StatementError SINK_REFUSED_ROWS for more rows than the job permits.
        """
        most = self._job.plan.options.refused_rows_most
        numbered = self._read_stored(rows, decision).toDF(*rows.columns, ROW_NUMBER)
        found = self._writer.find_refused(numbered, decision.batch, most + 1)
        if not found:
            raise refusal
        if len(found) > most:
            raise self._too_many(decision.batch, most, refusal)
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
        entry = self._context.checkpoints.files.read(f"{self._checkpoint}/offsets/{batch}")
        return sha256(entry.encode()).hexdigest()[:16]

    def _read_sources(self, batch: int) -> str:
        """Return the offsets of each source at which a batch begins and ends, as JSON."""
        files, sources = self._context.checkpoints.files, self._job.plan.analysis.sources
        known = len(read_offsets(files, self._checkpoint, batch).sources)
        ranges = []
        for number, source in enumerate(sources[:known]):
            start, end = read_source_range(files, self._checkpoint, batch, number)
            ranges.append({"source": source.name, "start": start, "end": end})
        return json.dumps(ranges)

    @property
    def _checkpoint(self) -> str:
        return self._context.checkpoints.spark_checkpoint(self._job.id, self._job.version.checkpoint)

    def _too_many(self, batch: int, most: int, refusal: StatementError) -> StatementError:
        table = self._context.sink_plan.sink.table
        return StatementError(
            "SINK_REFUSED_ROWS",
            f"{table} refuses more than {most} rows of batch {batch}, which is the limit 'sink.on.error.most'. Nothing"
            f" of the batch was written. The first error: {refusal.message}",
            hint="Correct the table or the query, or raise 'sink.on.error.most' of the job. Then resume it.",
            where=table,
        )


def _numbers(rows: DataFrame) -> list[str]:
    """Return a name for each column that every format of files takes."""
    return [f"c{number}" for number in range(len(rows.columns))]


def _row_json(rows: DataFrame) -> Any:
    columns = (sf.col(number).alias(name) for number, name in zip(_numbers(rows), rows.columns, strict=True))
    return sf.to_json(sf.struct(*columns), {"ignoreNullFields": "false"})
