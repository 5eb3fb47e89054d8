"""The same stream from topic to topic or files, as a job and written by hand with PySpark; each runs in one call.

By hand, the stream is a typical PySpark program: the schema, `from_json`, the query, `to_json`; with the connector's
defaults or with the client settings of a table USING kafka.
"""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.contents import Contents, contents
from benchmarks.engines import Bench, confs_by_hand

if TYPE_CHECKING:
    from tests.support.servers.kafka import Kafka

PARTITIONS: Final = 2
COLUMNS: Final = "id BIGINT, user STRING, amount DOUBLE, at BIGINT"
# The settings of a table USING kafka for jobs in batches (`ConnectorOptions.java`).
_READING: Final = {
    "kafka.isolation.level": "read_committed",
    "kafka.max.poll.records": "10000",
    "kafka.max.partition.fetch.bytes": "8388608",
    "kafka.receive.buffer.bytes": "1048576",
    "kafka.fetch.max.wait.ms": "5",
}
_WRITING: Final = {"kafka.linger.ms": "20", "kafka.batch.size": "262144", "kafka.compression.type": "lz4"}


@dataclass(frozen=True)
class Query:
    """The query of a stream."""

    name: str
    """The name in the output."""
    text: str
    """The SELECT statement, with the placeholder `source`."""
    columns: str
    """The columns of the sink."""
    keyed: bool = False
    """True if rows update the rows with the same `user` in the sink."""

    @property
    def names(self) -> list[str]:
        return [column.split()[0] for column in self.columns.split(", ")]


PROJECTION: Final = Query(
    "filter and projection",
    "SELECT id, upper(user) AS user, amount * 2 AS amount, at FROM {source} WHERE amount >= 50",
    COLUMNS,
)
EVERY_ROW: Final = Query(
    "projection", "SELECT id, upper(user) AS user, amount * 2 AS amount, at FROM {source}", COLUMNS
)
COUNTS: Final = Query(
    "a count per user and minute",
    "SELECT concat(user, ' ', CAST(window.start AS STRING)) AS user, count(*) AS n FROM {source}\n"
    "GROUP BY window(timestamp_millis(at DIV 1000000), '1 minute'), user",
    "user STRING, n BIGINT",
    keyed=True,
)


@dataclass(frozen=True)
class Way:
    """One variant of a stream."""

    name: str
    """The name in the output."""
    job: str | None = None
    """The OPTIONS of the job; None for a stream by hand."""
    settings: bool = False
    """True if a stream by hand has the client settings of a table USING kafka."""


EXACTLY_ONCE: Final = Way("job, exactly once", "'processingGuarantee' = 'exactlyOnce'")
AT_LEAST_ONCE: Final = Way("job, at least once", "'processingGuarantee' = 'atLeastOnce'")
BY_HAND: Final = Way("by hand, defaults")
SAME_SETTINGS: Final = Way("by hand, same settings", settings=True)


@dataclass(frozen=True)
class Drained:
    """One run over all rows of a topic."""

    busy: float
    """The seconds of its batches."""
    whole: float
    """The seconds from the statement, or from `start()`, to the end of the stream."""
    cpu: float
    """The processor seconds of both processes of the engine."""
    written: Contents
    """The written rows; for a keyed query, the newest of each key."""


class Streams:
    """The streams of one engine and one broker."""

    def __init__(self, bench: Bench, kafka: Kafka) -> None:
        self._bench = bench
        self.kafka = kafka
        self._hand: Any = bench.engine.spark.newSession()
        for key, value in confs_by_hand(bench).items():
            self._hand.conf.set(key, value)
        self._numbers = itertools.count(1)
        self._ids = 0
        self.sources: list[str] = []

    def next_id(self, count: int) -> int:
        """Reserve unused ids and return the first. count: the number of ids."""
        self._ids += count
        return self._ids - count

    def source(self, name: str) -> str:
        """Create a topic and a table with the same name, and return the name."""
        self.kafka.topic(name, PARTITIONS)
        options = self.kafka.options(name, value_format="json")
        self._bench.run(f"CREATE TABLE {name} ({COLUMNS}) {options}")
        self.sources.append(name)
        return name

    def fill(self, topic: str, rows: int) -> None:
        """Write messages in the format of `kafka_clients.message`, 60,000 for each minute of event time."""
        value = (
            "concat('{\"id\":', id, ',\"user\":\"customer-north-', lpad(id % 1000, 4, '0'), '\",\"amount\":', id % 500,"
            " '.25,\"at\":', 1700000000000000000 + id * 1000000, '}') AS value"
        )
        written = self._hand.range(0, rows, 1, PARTITIONS).selectExpr(value).write.format("kafka")
        written.options(**self._servers(), topic=topic, **_WRITING).save()

    def drain(self, way: Way, query: Query, source: str, into_files: bool = False) -> Drained:
        """Run a stream over all rows of a topic, and delete its topic, table or folder afterwards."""
        name = f"sink{next(self._numbers)}"
        self._bench.engine.spark.sparkContext._jvm.System.gc()  # type: ignore[union-attr]
        with self._sink(name, query, into_files and way.job is not None, topic=not into_files):
            cpu, began = self._bench.processor_seconds(), time.perf_counter()
            if way.job is not None:
                busy = self._drain_by_job(way.job, query, source, name)
            else:
                busy = self._drain_by_hand(way, query, source, name, into_files)
            whole, used = time.perf_counter() - began, self._bench.processor_seconds() - cpu
            return Drained(busy, whole, used, self._written(name, way, query, into_files))

    @contextmanager
    def _sink(self, name: str, query: Query, files: bool, topic: bool) -> Iterator[None]:
        if topic:
            self.kafka.topic(name, PARTITIONS)
            key = {"key_columns": "user"} if query.keyed else {}
            options = self.kafka.options(name, value_format="json", **key)
            self._bench.run(f"CREATE TABLE {name} ({query.columns}) {options}")
        elif files:
            self._bench.run(f"CREATE TABLE {name} ({query.columns}) USING parquet")
        try:
            yield
        finally:
            if topic or files:
                self._bench.run(f"DROP TABLE {name}")
            if topic:
                self.kafka.delete_topic(name)
            for folder in (self._folder(name), self._checkpoint(name)):
                shutil.rmtree(folder, ignore_errors=True)

    def _drain_by_job(self, options: str, query: Query, source: str, name: str) -> float:
        run = self._bench.run
        options = f"'trigger' = 'availableNow', 'storeMetricsAfterJobCompletion' = 'true', {options}"
        run(self._create(name, options, query, source))
        run(f"WAIT FOR JOB {name} UNTIL COMPLETED")
        [(millis,)] = run(f"SELECT sum(trigger_ms) FROM jetsql.metrics WHERE job = '{name}'")
        return float(millis) / 1000

    @staticmethod
    def _create(name: str, options: str, query: Query, source: str) -> str:
        verb = "SINK INTO" if query.keyed else "INSERT INTO"
        return f"CREATE JOB {name} OPTIONS ({options}) AS {verb} {name} {query.text.format(source=f'STREAM {source}')}"

    def _drain_by_hand(self, way: Way, query: Query, source: str, name: str, into_files: bool) -> float:
        rows = self._by_hand(way, query, source)
        if into_files:
            writer = rows.writeStream.format("parquet").option("path", str(self._folder(name)))
        else:
            writer = self._into_topic(rows, way, query, name)
        running = writer.option("checkpointLocation", str(self._checkpoint(name))).trigger(availableNow=True).start()
        running.awaitTermination()
        return float(sum(each.durationMs["triggerExecution"] for each in running.recentProgress)) / 1000

    def _by_hand(self, way: Way, query: Query, source: str) -> Any:
        options = {"subscribe": source, "startingOffsets": "earliest", **(_READING if way.settings else {})}
        messages = self._hand.readStream.format("kafka").options(**self._servers(), **options).load()
        parsed = messages.selectExpr(f"from_json(CAST(value AS STRING), '{COLUMNS}') AS row").select("row.*")
        parsed.createOrReplaceTempView("source")
        return self._hand.sql(query.text.format(source="source"))

    def _into_topic(self, rows: Any, way: Way, query: Query, topic: str) -> Any:
        key = ["user AS key"] if query.keyed else []
        messages = rows.selectExpr(*key, f"to_json(struct({', '.join(query.names)})) AS value")
        writer = messages.writeStream.format("kafka").options(**self._servers(), topic=topic)
        writer = writer.options(**(_WRITING if way.settings else {}))
        return writer.outputMode("update" if query.keyed else "append")

    @contextmanager
    def flowing_job(self, name: str, options: str, source: str) -> Iterator[None]:
        """Run a job that copies every row of a topic to a topic with the job's name, during the context."""
        with self._sink(name, EVERY_ROW, files=False, topic=True):
            self._bench.run(self._create(name, options, EVERY_ROW, source))
            yield
            self._bench.run(f"DROP JOB {name}")

    @contextmanager
    def flowing_by_hand(
        self, name: str, trigger: dict[str, str], options: dict[str, str], source: str
    ) -> Iterator[None]:
        """Run the stream of `flowing_job` by hand with the connector's defaults, during the context."""
        with self._sink(name, EVERY_ROW, files=False, topic=True):
            writer = self._into_topic(self._by_hand(BY_HAND, EVERY_ROW, source), BY_HAND, EVERY_ROW, name)
            writer = writer.option("checkpointLocation", str(self._checkpoint(name))).options(**options)
            running = writer.outputMode("update").trigger(**trigger).start()
            yield
            running.stop()
            if running.exception() is not None:
                raise running.exception()

    def _servers(self) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self.kafka.servers}

    def _folder(self, name: str) -> Path:
        return self._bench.folder / "by-hand" / name

    def _checkpoint(self, name: str) -> Path:
        return self._bench.folder / "checkpoints" / name

    def _written(self, name: str, way: Way, query: Query, into_files: bool) -> Contents:
        if into_files and way.job is not None:
            return contents(self._bench.engine.spark.table(name))
        if into_files:
            return contents(self._hand.read.parquet(str(self._folder(name))))
        options = {**self._servers(), **_READING, "subscribe": name}
        messages = self._hand.read.format("kafka").options(**options).load()
        parsed = messages.selectExpr("key", "offset", f"from_json(CAST(value AS STRING), '{query.columns}') AS row")
        if query.keyed:  # the number of updates of a key depends on the batches; messages of a key share a partition
            parsed.createOrReplaceTempView("updates")
            parsed = self._hand.sql("SELECT max_by(row, offset) AS row FROM updates GROUP BY key")
        return contents(parsed.select("row.*"))
