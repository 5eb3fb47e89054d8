"""The same stream from topic to topic, or into files, as a job and written by hand with PySpark; each in one call.

By hand is what somebody writes who knows Spark: the schema, `from_json`, the query, `to_json`; once with the
connector's defaults and once with the settings of clients that a table USING kafka brings along.
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

import psutil

from benchmarks.contents import Contents, contents
from benchmarks.engines import Bench, confs_by_hand

if TYPE_CHECKING:
    from tests.support.kafka import Kafka

PARTITIONS: Final = 2
COLUMNS: Final = "id BIGINT, user STRING, amount DOUBLE, at BIGINT"
# As a table USING kafka sets them for jobs in batches (`ConnectorOptions.java`).
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
    """What is done with the rows. columns: of the sink. keyed: rows that are updated by the sink's column `user`."""

    name: str
    text: str
    columns: str
    keyed: bool = False

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
    """One way to run a stream. job: its OPTIONS; None: by hand. settings: whether by hand has those of our tables."""

    name: str
    job: str | None = None
    settings: bool = False


EXACTLY_ONCE: Final = Way("job, exactly once", "'processingGuarantee' = 'exactlyOnce'")
AT_LEAST_ONCE: Final = Way("job, at least once", "'processingGuarantee' = 'atLeastOnce'")
BY_HAND: Final = Way("by hand, defaults")
SAME_SETTINGS: Final = Way("by hand, same settings", settings=True)


@dataclass(frozen=True)
class Drained:
    """One run over all that was there."""

    busy: float
    """Seconds of its batches."""
    whole: float
    """Seconds from the statement, or from `start()`, to its end."""
    cpu: float
    """Processor seconds of the engine's process, all of its threads."""
    written: Contents
    """The rows that it wrote; of a keyed query, the newest of each key."""


class Streams:
    """Runs streams on one engine and one broker."""

    def __init__(self, bench: Bench, kafka: Kafka) -> None:
        self._bench = bench
        self.kafka = kafka
        self._hand: Any = bench.engine.spark.newSession()
        for key, value in confs_by_hand(bench).items():
            self._hand.conf.set(key, value)
        self._process = psutil.Process(bench.engine.spark.sparkContext._gateway.proc.pid)  # type: ignore[union-attr]
        self._numbers = itertools.count(1)
        self._ids = 0
        self.sources: list[str] = []

    def next_id(self, count: int) -> int:
        """The first of so many ids that no row has."""
        self._ids += count
        return self._ids - count

    def source(self, name: str) -> str:
        """A new topic of that name, with a table over it; the name."""
        self.kafka.topic(name, PARTITIONS)
        options = self.kafka.options(name, value_format="json")
        self._bench.run(f"CREATE TABLE {name} ({COLUMNS}) {options}")
        self.sources.append(name)
        return name

    def fill(self, topic: str, rows: int) -> None:
        """Messages as `kafka_clients.message` makes them; a minute of event time has 60,000 of them."""
        value = (
            "concat('{\"id\":', id, ',\"user\":\"customer-north-', lpad(id % 1000, 4, '0'), '\",\"amount\":', id % 500,"
            " '.25,\"at\":', 1700000000000000000 + id * 1000000, '}') AS value"
        )
        written = self._hand.range(0, rows, 1, PARTITIONS).selectExpr(value).write.format("kafka")
        written.options(**self._servers(), topic=topic, **_WRITING).save()

    def drain(self, way: Way, query: Query, source: str, into_files: bool = False) -> Drained:
        """Run a stream over all that is in a topic. The topic, table or folder that it writes is gone afterwards."""
        name = f"sink{next(self._numbers)}"
        self._bench.engine.spark.sparkContext._jvm.System.gc()  # type: ignore[union-attr]
        with self._sink(name, query, into_files and way.job is not None, topic=not into_files):
            cpu, began = self._cpu(), time.perf_counter()
            if way.job is not None:
                busy = self._drain_by_job(way.job, query, source, name)
            else:
                busy = self._drain_by_hand(way, query, source, name, into_files)
            whole, used = time.perf_counter() - began, self._cpu() - cpu
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
        """While it lasts, a job takes every row of a topic to the topic of its name."""
        with self._sink(name, EVERY_ROW, files=False, topic=True):
            self._bench.run(self._create(name, options, EVERY_ROW, source))
            yield
            self._bench.run(f"DROP JOB {name}")

    @contextmanager
    def flowing_by_hand(
        self, name: str, trigger: dict[str, str], options: dict[str, str], source: str
    ) -> Iterator[None]:
        """As `flowing_job`, by hand with the connector's defaults."""
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

    def _cpu(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def _written(self, name: str, way: Way, query: Query, into_files: bool) -> Contents:
        if into_files and way.job is not None:
            return contents(self._bench.engine.spark.table(name))
        if into_files:
            return contents(self._hand.read.parquet(str(self._folder(name))))
        options = {**self._servers(), **_READING, "subscribe": name}
        messages = self._hand.read.format("kafka").options(**options).load()
        parsed = messages.selectExpr("key", "offset", f"from_json(CAST(value AS STRING), '{query.columns}') AS row")
        if query.keyed:  # how often a key is updated depends on the batches; messages of one key share a partition
            parsed.createOrReplaceTempView("updates")
            parsed = self._hand.sql("SELECT max_by(row, offset) AS row FROM updates GROUP BY key")
        return contents(parsed.select("row.*"))
