"""Dead letters: messages of a Kafka table that don't fit its columns, kept in a table of their own.

A job whose source has the option `'on.error' = 'table:NAME'` leaves such messages out of its rows. Before each batch is
written, its messages that don't fit go into that table, staged and moved under manifests of their own, so each is there
once, whatever crashes. They are found by reading the batch's range of offsets a second time: the job's own query could
only collect them, all of them, on the driver.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Final, cast

from pyspark.sql import DataFrame, SparkSession

from jetsql.engine.checkpoints.checkpoint_reader import read_source_range
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.catalog import Catalog, TableFacts
from jetsql.engine.sinks import BatchWriter, SinkContext, SinkWriter, StreamWriter, encode_rows
from jetsql.engine.sinks.file_tables import Manifests, StagedFiles
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.model.job import Guarantee, Plan, Sink, SinkKind, Source, quoted_name

_COLUMNS: Final = {
    "topic": "STRING",
    "partition": "INT",
    "offset": "BIGINT",
    "timestamp": "TIMESTAMP",
    "key": "BINARY",
    "value": "BINARY",
    "reason": "STRING",
}
_TABLE_PREFIX: Final = "table:"
_EARLIEST: Final = -2  # as Spark's connector writes it

Offsets = dict[str, dict[str, int]]


@dataclass(frozen=True)
class DeadLetterTable:
    """The table for the dead letters of one source of a job."""

    number: int
    """The number of the source in the query."""
    source: str
    """The table of the source, qualified."""
    table: str
    """The table for the dead letters, qualified."""


def find_dead_letter_tables(catalog: Catalog, plan: Plan) -> tuple[DeadLetterTable, ...]:
    """Return the dead-letter tables of a plan's sources; a batch job has none."""
    if not plan.analysis.streaming:
        return ()
    found = ((n, source, find_dead_letter_table(catalog, source)) for n, source in enumerate(plan.analysis.sources))
    return tuple(DeadLetterTable(n, source.name, table) for n, source, table in found if table)


def find_dead_letter_table(catalog: Catalog, source: Source) -> str:
    """Return the qualified name of a source's dead-letter table; empty when it has none."""
    table = catalog.table(source.name) if source.format == "kafka" and source.created else None
    option = table.option("on.error") if table is not None else ""
    if not option.lower().startswith(_TABLE_PREFIX):
        return ""
    parts = [part.strip().strip("`") for part in option[len(_TABLE_PREFIX) :].split(".")]
    schema = parts[-2] if len(parts) > 1 else source.name.split(".")[1]
    return f"spark_catalog.{schema}.{parts[-1]}"


def create_dead_letter_tables(spark: SparkSession, catalog: Catalog, plan: Plan) -> None:
    """Create the dead-letter tables that are missing.

    Raises StatementError UNSUPPORTED_SINK for a table that cannot hold dead letters.
    """
    for target in find_dead_letter_tables(catalog, plan):
        table = catalog.table(target.table)
        if table is None:
            columns = ", ".join(f"`{name}` {kind}" for name, kind in _COLUMNS.items())
            spark.sql(f"CREATE TABLE IF NOT EXISTS {_quote(target.table)} ({columns}) USING parquet")
        elif set(table.columns) != set(_COLUMNS) or table.provider not in ("parquet", "orc"):
            wanted = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
            raise StatementError(
                "UNSUPPORTED_SINK",
                f"{target.table}, where messages of {target.source} go that can't be read, has other columns than"
                " these.",
                hint=f"Name a table that is not there yet, or one USING parquet with ({wanted}).",
            )


def with_dead_letters(context: SinkContext, writer: SinkWriter) -> SinkWriter:
    """Return a sink that writes the job's dead letters before each batch, or the writer itself when it has none."""
    found = [
        (target, context.catalog.table(target.table))
        for target in find_dead_letter_tables(context.catalog, context.job.plan)
    ]
    sources = tuple(SourceDeadLetters(context, target, table) for target, table in found if table is not None)
    if not sources:
        return writer
    assert not isinstance(writer, StreamWriter), "dead letters go before each batch"
    return DeadLetterSink(writer, sources, context.job.name)


class DeadLetterFiles(StagedFiles):
    """Writes batches of dead letters into their table, exactly once."""

    def __init__(self, context: SinkContext, target: DeadLetterTable, table: TableFacts) -> None:
        job = context.job
        sink = Sink(table.name, SinkKind.FILES, table.provider, table.location, table.created, table.columns)
        analysis = replace(job.plan.analysis, sink=sink, stateful=False)
        super().__init__(replace(context, job=job.with_plan(replace(job.plan, analysis=analysis))))
        self._job = f"{job.id}-{target.number}"
        folder = f"{context.checkpoints.job_folder(job.id)}/letters-{target.number}"
        self._manifests = Manifests(folder, context.checkpoints.files)


class SourceDeadLetters:
    """Finds and writes the dead letters of one source of a job."""

    def __init__(self, context: SinkContext, target: DeadLetterTable, table: TableFacts) -> None:
        self._context = context
        self._target = target
        self.files = DeadLetterFiles(context, target, table)

    def write(self, batch: int) -> None:
        start, end = self._offsets(batch)
        if start == end:
            return
        rows = self._rows(start, end)
        if self._context.job.plan.guarantee is Guarantee.NONE:
            rows.write.insertInto(_quote(self._target.table))  # its batches are counted from 0 again at each start
        else:
            self.files.write(rows, batch)

    def _rows(self, start: Offsets, end: Offsets) -> DataFrame:
        spark = self._context.spark
        _, schema, name = self._target.source.split(".", 2)
        assigned = {topic: sorted(map(int, partitions)) for topic, partitions in end.items()}
        begin = {
            topic: {number: start.get(topic, {}).get(number, _EARLIEST) for number in partitions}
            for topic, partitions in end.items()
        }
        texts = (json.dumps(value) for value in (assigned, begin, end))
        return DataFrame(java(spark).kafka.KafkaTable.deadLetters(spark._jsparkSession, schema, name, *texts), spark)

    def _offsets(self, batch: int) -> tuple[Offsets, Offsets]:
        """Return where a batch begins and ends, as Spark's checkpoint has it."""
        job, checkpoints = self._context.job, self._context.checkpoints
        checkpoint = checkpoints.spark_checkpoint(job.id, job.version.checkpoint)
        start, end = read_source_range(checkpoints.files, checkpoint, batch, self._target.number)
        return cast("Offsets", start or {}), cast("Offsets", end or {})


def _quote(table: str) -> str:
    return ".".join(quoted_name(part) for part in table.split("."))


class DeadLetterSink:
    """A sink that writes the dead letters of each batch first. job: the job's name, for failpoints."""

    def __init__(self, writer: BatchWriter, sources: tuple[SourceDeadLetters, ...], job: str) -> None:
        self._writer = writer
        self._job = job
        self._sources = sources

    def recover(self) -> None:
        for each in self._sources:
            each.files.recover()
        self._writer.recover()

    def encode_rows(self, rows: DataFrame) -> DataFrame:
        return encode_rows(rows, self._writer)

    def write(self, rows: DataFrame, batch: int) -> int | None:
        for each in self._sources:
            each.write(batch)
        failpoint("dead-letters-written", self._job)
        return self._writer.write(rows, batch)

    def has_batch(self, batch: int) -> bool:
        return self._writer.has_batch(batch)

    def discard(self) -> None:
        for each in self._sources:
            each.files.discard()
        self._writer.discard()

    def close(self) -> None:
        self._writer.close()
