"""The table for the rows that a sink refuses."""

from __future__ import annotations

import json
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from jetsql.engine.checkpoints.checkpoint_reader import read_offsets, read_source_range
from jetsql.engine.session.catalog import Catalog, TableFacts
from jetsql.engine.sinks import SinkContext
from jetsql.engine.sinks.side_tables import SideTable, create_side_table
from jetsql.errors import StatementError
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


def create_refused_rows_table(spark: SparkSession, catalog: Catalog, plan: Plan) -> None:
    """Create the missing table for the rows that the sinks of a plan refuse. Raises as `create_side_table`."""
    if plan.refused_rows_table:
        create_side_table(spark, catalog, plan.refused_rows_table, _COLUMNS, "table for rows that the sink refuses")


def find_refused_rows_table(context: SinkContext) -> TableFacts | None:
    """Return the table for the refused rows of a job, or None for a job that stops at them."""
    name = context.job.plan.refused_rows_table
    return context.catalog.table(name) if name else None


class RefusedRowsTable:
    """The writer of a sink's refused rows."""

    def __init__(self, context: SinkContext, table: TableFacts, part: str) -> None:
        """Create it. part: which of the refused rows it writes, unique for the sink"""
        suffix = f"-{context.number}" if context.number else ""
        self._context = context
        self._job = context.job
        self._table = SideTable(context, table, f"{part}-rows{suffix}", f"{part}{suffix}")
        self._has_noticed = False

    def recover(self) -> None:
        self._table.recover()

    def has_batch(self, batch: int) -> bool:
        return self._table.has_batch(batch)

    def discard(self) -> None:
        self._table.discard()

    @property
    def most(self) -> int:
        """Return the most rows of a batch."""
        return self._job.plan.options.refused_rows_most

    def write(self, rows: DataFrame, count: int, batch: int) -> None:
        """Write the refused rows of a batch. rows: they have the columns `sqlstate`, `message` and `row`."""
        sink = self._context.sink_plan.sink.table
        values = {
            "job": sf.lit(self._job.name),
            "batch": sf.lit(batch).cast("bigint"),
            "sink": sf.lit(sink),
            "sqlstate": sf.col("sqlstate"),
            "message": sf.col("message"),
            "sources": sf.lit(self._read_sources(batch)),
            "row": sf.col("row"),
        }
        self._table.write(rows.select(*(value.alias(name) for name, value in values.items())), batch)
        if not self._has_noticed:
            self._has_noticed = True
            self._context.notice(
                f"{sink} has refused {counted(count, 'row')} of batch {batch}, in {self._job.plan.refused_rows_table}"
                " now. Refused rows of later batches of this run are there as well."
            )

    def too_many(self, batch: int, first_error: str) -> StatementError:
        """Return the error of a batch with more refused rows than the job permits."""
        table, most = self._context.sink_plan.sink.table, counted(self.most, "row")
        return StatementError(
            "SINK_REFUSED_ROWS",
            f"{table} refuses more than {most} of batch {batch}, which is the limit 'sink.on.error.most'. Nothing of"
            f" the batch was written. The first error: {first_error}",
            hint="Correct the table or the query, or raise 'sink.on.error.most' of the job. Then resume it.",
            where=table,
        )

    def _read_sources(self, batch: int) -> str:
        """Return the offsets of each source at which a batch begins and ends, as JSON."""
        checkpoints = self._context.checkpoints
        files, sources = checkpoints.files, self._job.plan.analysis.sources
        checkpoint = checkpoints.spark_checkpoint(self._job.id, self._job.version.checkpoint)
        known = len(read_offsets(files, checkpoint, batch).sources)
        ranges = []
        for number, source in enumerate(sources[:known]):
            start, end = read_source_range(files, checkpoint, batch, number)
            ranges.append({"source": source.name, "start": start, "end": end})
        return json.dumps(ranges)
