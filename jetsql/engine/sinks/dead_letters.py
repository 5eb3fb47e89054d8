"""Dead letters: messages of a Kafka table, and lines of JSON and CSV files, that do not fit the columns of the table.

A job whose source has the option `'on.error' = 'table:NAME'` skips these messages or lines. Before the job writes a
batch, it writes the batch's dead letters to that table, staged and moved under separate manifests, so each is written
exactly once. To find them, the job reads the batch's range of offsets, or its files, a second time: its own query could
only collect all of them on the driver.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from pyspark.sql import DataFrame, SparkSession

from jetsql.engine.checkpoints.checkpoint_reader import read_file_range, read_source_range
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.catalog import Catalog, TableFacts
from jetsql.engine.sinks import BatchWriter, SinkContext, SinkWriter, StreamWriter, WrappingSink
from jetsql.engine.sinks.side_tables import SideTable, create_side_table
from jetsql.failpoints import failpoint
from jetsql.jobs.model.body_analysis import FILE_FORMATS, Source
from jetsql.jobs.model.job import Plan

_MESSAGE_COLUMNS: Final = {
    "topic": "STRING",
    "partition": "INT",
    "offset": "BIGINT",
    "timestamp": "TIMESTAMP",
    "key": "BINARY",
    "value": "BINARY",
    "reason": "STRING",
}
_LINE_COLUMNS: Final = {"file": "STRING", "line": "BIGINT", "value": "BINARY", "reason": "STRING"}
_FORMATS: Final = ("kafka", *FILE_FORMATS)
_TABLE_PREFIX: Final = "table:"
_EARLIEST: Final = -2  # the value of Spark's connector

Offsets = dict[str, dict[str, int]]


@dataclass(frozen=True)
class DeadLetterTable:
    """The table for the dead letters of one source of a job."""

    number: int
    """The number of the source in the query."""
    source: str
    """The qualified name of the source's table."""
    table: str
    """The qualified name of the table for the dead letters."""
    is_topic: bool
    """The source reads messages of a topic, not lines of files."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Return the columns of the table for the dead letters, with their types."""
        return _MESSAGE_COLUMNS if self.is_topic else _LINE_COLUMNS


def find_dead_letter_tables(catalog: Catalog, plan: Plan) -> tuple[DeadLetterTable, ...]:
    """Return the dead-letter tables of a plan's sources; a batch job has none."""
    if not plan.analysis.streaming:
        return ()
    tables = ((n, source, find_dead_letter_table(catalog, source)) for n, source in enumerate(plan.analysis.sources))
    return tuple(
        DeadLetterTable(n, source.name, table, source.format == "kafka") for n, source, table in tables if table
    )


def find_dead_letter_table(catalog: Catalog, source: Source) -> str:
    """Return the qualified name of a source's dead-letter table; empty when it has none."""
    table = catalog.table(source.name) if source.format in _FORMATS and source.created else None
    option = table.option("on.error") if table is not None else ""
    if not option.lower().startswith(_TABLE_PREFIX):
        return ""
    parts = [part.strip().strip("`") for part in option[len(_TABLE_PREFIX) :].split(".")]
    schema = parts[-2] if len(parts) > 1 else source.name.split(".")[1]
    return f"spark_catalog.{schema}.{parts[-1]}"


def create_dead_letter_tables(spark: SparkSession, catalog: Catalog, plan: Plan) -> None:
    """Create the missing dead-letter tables of a plan.

    Raises StatementError UNSUPPORTED_SINK for an existing table with other columns or another format.
    """
    for target in find_dead_letter_tables(catalog, plan):
        create_side_table(spark, catalog, target.table, target.columns, f"dead-letter table of {target.source}")


def with_dead_letters(context: SinkContext, writer: SinkWriter) -> SinkWriter:
    """Return a sink that writes dead letters before each batch, or `writer` for a job without dead-letter tables."""
    sources = _sources(context)
    if not sources:
        return writer
    assert not isinstance(writer, StreamWriter), "dead letters are written before each batch"
    return DeadLetterSink(writer, sources, context.job.name)


def has_dead_letters(context: SinkContext, batch: int) -> bool:
    """Return whether the dead letters of a batch were written, which end where the plan of the batch ends."""
    return any(source.files.has_batch(batch) for source in _sources(context))


def _sources(context: SinkContext) -> tuple[SourceDeadLetters, ...]:
    """Return the dead letters of each source that has a table for them."""
    tables = [
        (target, context.catalog.table(target.table))
        for target in find_dead_letter_tables(context.catalog, context.job.plan)
    ]
    return tuple(SourceDeadLetters(context, target, table) for target, table in tables if table is not None)


class SourceDeadLetters:
    """The dead letters of one source of a job."""

    def __init__(self, context: SinkContext, target: DeadLetterTable, table: TableFacts) -> None:
        self._context = context
        self._target = target
        self.files = SideTable(context, table, f"letters-{target.number}", str(target.number))

    def write(self, batch: int) -> None:
        """Write the dead letters of a batch."""
        dead_letters = self._find_messages(batch) if self._target.is_topic else self._find_lines(batch)
        if dead_letters is not None:
            self.files.write(dead_letters, batch)

    def _find_lines(self, batch: int) -> DataFrame | None:
        """Return the dead letters in the files of a batch; None for a batch without files of the source."""
        number = self._target.number
        start, end = read_file_range(self._context.checkpoints.files, self._checkpoint, batch, number)
        if start == end:
            return None
        spark = self._context.spark
        _, schema, name = self._target.source.split(".", 2)
        log = f"{self._checkpoint}/sources/{number}"
        of = java(spark).records.FileDeadLetters.of
        return DataFrame(of(spark._jsparkSession, schema, name, log, start, end, self._columns), spark)

    def _find_messages(self, batch: int) -> DataFrame | None:
        """Return the dead letters in a batch's range of offsets; None for an empty range.

        Partitions without a start offset begin with the earliest.
        """
        start, end = self._read_offsets(batch)
        if start == end:
            return None
        spark = self._context.spark
        _, schema, name = self._target.source.split(".", 2)
        assigned = {topic: sorted(map(int, partitions)) for topic, partitions in end.items()}
        begin = {
            topic: {number: start.get(topic, {}).get(number, _EARLIEST) for number in partitions}
            for topic, partitions in end.items()
        }
        texts = (json.dumps(value) for value in (assigned, begin, end))
        of = java(spark).kafka.KafkaTable.deadLetters
        return DataFrame(of(spark._jsparkSession, schema, name, self._columns, *texts), spark)

    @property
    def _columns(self) -> str | None:
        """Return the columns of the source that the job knows, as JSON; None for all."""
        columns = self._context.job.plan.analysis.tables.get(self._target.source)
        return None if columns is None else json.dumps(columns)

    @property
    def _checkpoint(self) -> str:
        job = self._context.job
        return self._context.checkpoints.spark_checkpoint(job.id, job.version.checkpoint)

    def _read_offsets(self, batch: int) -> tuple[Offsets, Offsets]:
        """Return the start and end offsets of a batch in Spark's checkpoint."""
        start, end = read_source_range(self._context.checkpoints.files, self._checkpoint, batch, self._target.number)
        return cast("Offsets", start or {}), cast("Offsets", end or {})


class DeadLetterSink(WrappingSink):
    """A sink that writes the dead letters of each batch before its rows. job: the job's name, for failpoints."""

    def __init__(self, writer: BatchWriter, sources: tuple[SourceDeadLetters, ...], job: str) -> None:
        super().__init__(writer)
        self._job = job
        self._sources = sources

    def recover(self) -> None:
        for each in self._sources:
            each.files.recover()
        super().recover()

    def write(self, rows: DataFrame, batch: int) -> int | None:
        for each in self._sources:
            each.write(batch)
        failpoint("dead-letters-written", self._job)
        return super().write(rows, batch)

    def discard(self) -> None:
        for each in self._sources:
            each.files.discard()
        super().discard()
