"""Several sinks of one job: the rows of a batch are stored once, and each branch writes its own part of them.

Each sink has its own record of the written batches, under its own id (`SinkContext.writer_id`). After a crash the batch
is repeated for all sinks, and those that have it skip it. The branches must then see the same rows as before, or a row
could come into two tables or into none: tables that the source is joined with may have changed, and `rand()` returns
other values. So the first attempt stores the rows in the job's folder, and a repeated batch reads them there.

The batch's entry in Spark's offset log names the folder: another plan of a batch with this number has another entry.
The entry's time is the current time in all branches, also of a repeated batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pyspark.sql import DataFrame

from jetsql.engine.checkpoints.checkpoint_reader import OffsetLogEntry, plan_id, read_entry
from jetsql.engine.sinks import BatchWriter, SinkContext, consume_rows
from jetsql.failpoints import failpoint

_COMPLETE: Final = "_SUCCESS"


def branch_contexts(context: SinkContext) -> tuple[SinkContext, ...]:
    """Return the context of each sink of a job."""
    return tuple(
        replace(context, sink_plan=sink_plan, number=number, query=None)
        for number, sink_plan in enumerate(context.job.plan.sinks)
    )


@dataclass(frozen=True)
class BranchRun:
    """The branches of a run."""

    parts: Sequence[Any]
    """The BatchPart of each branch."""
    rows: dict[int, dict[str, int]]
    """The rows that were written to each table, by batch."""


class BranchedSink(BatchWriter):
    """The sinks of one job, which write one after the other."""

    def __init__(self, context: SinkContext, writers: Sequence[BatchWriter], run: BranchRun | None) -> None:
        """Create the sink. run: None for a sink that writes no batch."""
        self._context = context
        self._files = context.checkpoints.files
        self._folder = context.checkpoints.rows_folder(context.job.id)
        self._writers = writers
        self._run = run

    def recover(self) -> None:
        for writer in self._writers:
            writer.recover()

    def write(self, rows: DataFrame, batch: int) -> int | None:
        run = self._run
        assert run is not None, "the sink of a run has its branches"
        entry = self._read_entry(batch)
        stored = self._store(rows, f"{batch:09d}-{plan_id(entry)}")
        millis = OffsetLogEntry.parse(entry).millis
        counts = []
        for part, writer in zip(run.parts, self._writers, strict=True):
            selected = DataFrame(part.applyAt(stored._jdf, millis), stored.sparkSession)
            counts.append(writer.write(writer.encode_rows(selected), batch))
            failpoint("branch-written", self._context.job.name)
        self._files.delete(self._folder)
        written = Counter[str]()
        for sink, count in zip(self._context.job.plan.analysis.sinks, counts, strict=True):
            if count is not None:
                written[sink.table] += count
        run.rows[batch] = dict(written)
        return None if None in counts else sum(written.values())

    def has_batch(self, batch: int) -> bool:
        """Return whether any sink has the batch: then the other sinks have to get it too."""
        return any([writer.has_batch(batch) for writer in self._writers])  # a list, because each fences its producers

    def discard(self) -> None:
        for writer in self._writers:
            writer.discard()

    def close(self) -> None:
        for writer in self._writers:
            writer.close()

    def _read_entry(self, batch: int) -> str:
        job, checkpoints = self._context.job, self._context.checkpoints
        return read_entry(self._files, checkpoints.spark_checkpoint(job.id, job.version.checkpoint), batch)

    def _store(self, rows: DataFrame, name: str) -> DataFrame:
        """Return the rows of a batch as its first attempt has read them. name: the name of their folder"""
        folder = f"{self._folder}/{name}"
        renamed = rows.toDF(*(f"c{number}" for number in range(len(rows.columns))))
        if self._files.exists(f"{folder}/{_COMPLETE}"):
            consume_rows(rows)
        else:
            self._files.delete(self._folder)
            renamed.write.mode("overwrite").option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "true").parquet(
                folder
            )
            failpoint("rows-stored", self._context.job.name)
        return rows.sparkSession.read.schema(renamed.schema).parquet(folder)
