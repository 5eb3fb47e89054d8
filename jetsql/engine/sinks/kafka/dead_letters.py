"""Dead letters: messages of a Kafka table that don't fit its columns, kept in a table of their own.

A job whose source says `'on.error' = 'table:NAME'` leaves such messages out of its rows. Before each batch is written,
the messages of the batch that don't fit go into that table, staged and moved under manifests of their own, so each is
there once, whatever dies. They are found by reading the batch's range of offsets a second time: within the job's own
query they could only be brought to the driver, all of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.catalog import Catalog, TableFacts
from jetsql.engine.sinks import BatchWriter, SinkContext, SinkWriter, StreamWriter, encoded
from jetsql.engine.sinks.file_tables import StagedFiles
from jetsql.engine.sinks.manifests import Manifests
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
_WAY: Final = "table:"
_EARLIEST: Final = -2  # as Spark's connector writes it

Offsets = dict[str, dict[str, int]]


@dataclass(frozen=True)
class LetterBox:
    """number: which of the job's sources. source: its table. table: where its dead letters go, qualified."""

    number: int
    source: str
    table: str


def boxes(catalog: Catalog, plan: Plan) -> tuple[LetterBox, ...]:
    """Those of a plan's sources; a batch job has none."""
    if not plan.analysis.streaming:
        return ()
    found = ((n, source, letter_table(catalog, source)) for n, source in enumerate(plan.analysis.sources))
    return tuple(LetterBox(n, source.name, table) for n, source, table in found if table)


def letter_table(catalog: Catalog, source: Source) -> str:
    """Where a source's dead letters go, qualified; empty when it has none."""
    table = catalog.table(source.name) if source.format == "kafka" and source.created else None
    way = table.option("on.error") if table is not None else ""
    if not way.lower().startswith(_WAY):
        return ""
    parts = [part.strip().strip("`") for part in way[len(_WAY) :].split(".")]
    schema = parts[-2] if len(parts) > 1 else source.name.split(".")[1]
    return f"spark_catalog.{schema}.{parts[-1]}"


def make_boxes(spark: SparkSession, catalog: Catalog, plan: Plan) -> None:
    """Make the tables that are not there. Raises StatementError UNSUPPORTED_SINK for one that can't take letters."""
    for box in boxes(catalog, plan):
        table = catalog.table(box.table)
        if table is None:
            columns = ", ".join(f"`{name}` {kind}" for name, kind in _COLUMNS.items())
            spark.sql(f"CREATE TABLE IF NOT EXISTS {_quoted(box.table)} ({columns}) USING parquet")
        elif set(table.columns) != set(_COLUMNS) or table.provider not in ("parquet", "orc"):
            wanted = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
            raise StatementError(
                "UNSUPPORTED_SINK",
                f"{box.table}, where messages of {box.source} go that can't be read, has other columns than these.",
                hint=f"Name a table that is not there yet, or one USING parquet with ({wanted}).",
            )


def with_letters(context: SinkContext, writer: SinkWriter) -> SinkWriter:
    """The writer, with one for each of the job's letter boxes in front of it."""
    found = [(box, context.catalog.table(box.table)) for box in boxes(context.catalog, context.job.plan)]
    letters = tuple(Letters(context, box, table) for box, table in found if table is not None)
    if not letters:
        return writer
    assert not isinstance(writer, StreamWriter), "dead letters go before each batch"
    return DeadLetters(writer, letters, context.job.name)


class LetterFiles(StagedFiles):
    """Batches of dead letters in their table."""

    def __init__(self, context: SinkContext, box: LetterBox, table: TableFacts) -> None:
        job = context.job
        sink = Sink(table.name, SinkKind.FILES, table.provider, table.location, table.created, table.columns)
        analysis = replace(job.plan.analysis, sink=sink, stateful=False)
        super().__init__(replace(context, job=replace(job, plan=replace(job.plan, analysis=analysis))))
        self._job = f"{job.id}-{box.number}"
        folder = f"{context.checkpoints.folder(job.id)}/letters-{box.number}"
        self._manifests = Manifests(folder, context.checkpoints.files)


class Letters:
    """The dead letters of one source of a job."""

    def __init__(self, context: SinkContext, box: LetterBox, table: TableFacts) -> None:
        self._context = context
        self._box = box
        self.files = LetterFiles(context, box, table)

    def write(self, batch: int) -> None:
        start, end = self._offsets(batch)
        if start == end:
            return
        rows = self._rows(start, end)
        if self._context.job.plan.guarantee is Guarantee.NONE:
            rows.write.insertInto(_quoted(self._box.table))  # its batches are counted from 0 again at each start
        else:
            self.files.write(rows, batch)

    def _rows(self, start: Offsets, end: Offsets) -> DataFrame:
        spark = self._context.spark
        _, schema, name = self._box.source.split(".", 2)
        assigned = {topic: sorted(map(int, partitions)) for topic, partitions in end.items()}
        begin = {
            topic: {number: start.get(topic, {}).get(number, _EARLIEST) for number in partitions}
            for topic, partitions in end.items()
        }
        texts = (json.dumps(value) for value in (assigned, begin, end))
        return DataFrame(java(spark).kafka.KafkaTable.deadLetters(spark._jsparkSession, schema, name, *texts), spark)

    def _offsets(self, batch: int) -> tuple[Offsets, Offsets]:
        """Where the batch begins and ends, as Spark's checkpoint has it."""
        job, files = self._context.job, self._context.checkpoints.files
        checkpoint = self._context.checkpoints.spark(job.id, job.checkpoint)
        end = _of_log(files.read(f"{checkpoint}/offsets/{batch}"), self._box.number)
        before = files.read_if_there(f"{checkpoint}/offsets/{batch - 1}") if batch else None
        start = _of_log(before, self._box.number) if before is not None else {}
        if not start:
            first = files.read_if_there(f"{checkpoint}/sources/{self._box.number}/0")
            start = json.loads(first[first.index("{") :]) if first is not None else {}
        return start, end


def _of_log(text: str, number: int) -> Offsets:
    """A source's offsets in an entry of Spark's offset log: a line with the version, one with facts, one a source."""
    line = text.splitlines()[2 + number]
    offsets: Offsets = {} if line == "-" else json.loads(line)
    return offsets


def _quoted(table: str) -> str:
    return ".".join(quoted_name(part) for part in table.split("."))


class DeadLetters:
    """Writer of a job's batches that writes the dead letters of each first. job: its name."""

    def __init__(self, writer: BatchWriter, letters: tuple[Letters, ...], job: str) -> None:
        self._writer = writer
        self._job = job
        self._letters = letters

    def recover(self) -> None:
        for each in self._letters:
            each.files.recover()
        self._writer.recover()

    def encoded(self, rows: DataFrame) -> DataFrame:
        return encoded(rows, self._writer)

    def write(self, rows: DataFrame, batch: int) -> int | None:
        for each in self._letters:
            each.write(batch)
        failpoint("letters-written", self._job)
        return self._writer.write(rows, batch)

    def holds(self, batch: int) -> bool:
        return self._writer.holds(batch)

    def discard(self) -> None:
        for each in self._letters:
            each.files.discard()
        self._writer.discard()

    def close(self) -> None:
        self._writer.close()
