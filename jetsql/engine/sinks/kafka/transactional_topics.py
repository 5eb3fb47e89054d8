"""Exactly-once writes to Kafka topics: each part of a batch is one transaction, which also stores the batch's number.

Spark's Kafka sink has no transactions. Each part has its own transactional producer and a consumer group of the same
name, whose offset is the newest committed batch: one transaction commits the part's messages and this offset. When a
batch is replayed, its committed parts are read but not written. A task that writes a part first opens its producer
again, and from then on the broker rejects commits of the previous producer. So several attempts at a part may run
concurrently.

Exactly once applies to readers with isolation.level=read_committed, as long as a replayed batch is split into the same
parts (see `partition_manifest` and `PartitionManifest.java`) and the groups still exist: brokers delete the offsets of
groups without members after offsets.retention.minutes (7 days by default).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from time import monotonic
from typing import Any, Final
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from jetsql import failpoints
from jetsql.engine.errors.kafka_errors import KafkaFailure, KafkaOperation, KafkaRequest, explain_failure
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.jvm.throwables import causes, throwable_of
from jetsql.engine.session.catalog import TableFacts
from jetsql.engine.sinks import ComparedWriter, SinkContext, consume_rows
from jetsql.engine.sinks.kafka.message_limits import MessageLimits, refusal_of_message
from jetsql.engine.sinks.kafka.messages import TopicTable, delivery_headers
from jetsql.engine.sinks.kafka.partition_manifest import (
    Part,
    PartitionManifests,
    check_not_expired,
    is_committed,
)
from jetsql.engine.sinks.refused import ROW_NUMBER, RefusedRow, SelectiveWriter
from jetsql.engine.spark.startup import is_lost, is_stopped
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.model.job_options import OWN_GROUPS

_LOG: Final = logging.getLogger(__name__)
_PREFLIGHT_MILLIS: Final = 10_000
_REQUEST_MILLIS: Final = 15_000
_RETENTION_MINUTES: Final = 7 * 24 * 60
_TABLE_SECONDS: Final = 1.0

_DEFAULTS: Final = {
    # Limits the time to write a part, and the time that readers wait for an unfinished part of an ended job.
    "transaction.timeout.ms": "300000",
    # A producer waits this long before it repeats a request: twice in its first transaction, until it has found its
    # coordinators. Kafka's default, 100 ms, delays the first batch of each run by 200 ms.
    "retry.backoff.ms": "20",
}
_CLIENT: Final = "kafka."
_DURABLE: Final = {"acks": "all", "enable.idempotence": "true"}
_TASK_FAILURE: Final = "JetSQL Kafka part: "  # written by `TransactionalPartWriter.java` before a JSON object


@dataclass(frozen=True)
class TransactionalTopic:
    """A sink's topic at its broker, and the operations of exactly-once delivery."""

    java: Any
    """The Java class `TransactionalTopics`."""
    server: str
    """The broker as messages name it."""
    name: str | None
    """The topic's name; None when each row names its topic."""
    conf: Mapping[str, str]
    """The settings of Kafka's clients."""
    ids: str
    """The prefix of the names of this job's transactional ids and consumer groups."""

    def parts(self, messages: DataFrame) -> tuple[Part, ...] | None:
        """Return the parts in the order of the tasks, or None when a replay may split the rows differently."""
        result = self.java.parts(messages._jdf)
        return None if result is None else tuple(Part(**part) for part in json.loads(result))

    def write(
        self,
        messages: DataFrame,
        parts: tuple[Part, ...],
        context: SinkContext,
        batch: int,
        delivery_headers: dict[str, str],
    ) -> int:
        """Write the uncommitted parts of a batch. Return the row count. Raises StatementError for broker errors."""
        names, added = json.dumps([part.name for part in parts]), json.dumps(delivery_headers)
        conf, job, keyed = json.dumps(dict(self.conf)), context.job.name, context.sink_plan.upsert
        try:
            result = self.java.write(messages._jdf, conf, self.ids, job, batch, names, self.name, keyed, added)
        except (PySparkException, Py4JError) as error:
            failure = _find_failure(error)
            if failure is None:
                raise
            raise self.explain(failure) from error
        return int(json.loads(result)["rows"])

    def newest_batches(self, names: list[str]) -> dict[str, int]:
        """Return the newest committed batch of each part by name. Raises StatementError."""
        arguments = (json.dumps(dict(self.conf)), self.ids, json.dumps(names), _REQUEST_MILLIS)
        newest: dict[str, int] = self._parse_result(self.java.newestBatches(*arguments))["newest"]
        return newest

    def largest_batch(self) -> int | None:
        """Return the limit of the topic for a batch of messages in bytes; None if the broker does not report it."""
        if self.name is None:
            return None
        result = json.loads(self.java.largestBatch(json.dumps(dict(self.conf)), self.name, _REQUEST_MILLIS))
        return int(result["bytes"]) if "bytes" in result else None

    def retention_seconds(self) -> float:
        """Return the seconds for which the broker keeps the offsets of a group without members, by default 7 days."""
        result = json.loads(self.java.offsetsRetention(json.dumps(dict(self.conf)), _REQUEST_MILLIS))
        return float(result.get("minutes", _RETENTION_MINUTES)) * 60

    def fence(self, names: list[str]) -> None:
        """Fence all current producers of these parts. Raises StatementError."""
        self._parse_result(self.java.fence(json.dumps(dict(self.conf)), self.ids, json.dumps(names)))

    def delete_groups(self) -> None:
        """Delete the job's consumer groups. Raises StatementError."""
        self._parse_result(self.java.deleteGroups(json.dumps(dict(self.conf)), self.ids, _REQUEST_MILLIS))

    def check_transactions(self) -> None:
        """Open a transaction without rows and abort it. Raises StatementError."""
        self._parse_result(self.java.preflight(json.dumps(dict(self.conf)), self.ids, self.name, _PREFLIGHT_MILLIS))

    def explain(self, failure: KafkaFailure) -> StatementError:
        return explain_failure(
            failure, KafkaRequest(KafkaOperation.WRITE, self.server, self.name or "of a row", self.conf)
        )

    def _parse_result(self, text: str) -> dict[str, Any]:
        result: dict[str, Any] = json.loads(text)
        if "class" in result:
            raise self.explain(KafkaFailure.from_java(result))
        return result


def open_topic(spark: SparkSession, table: TopicTable, job_id: str) -> TransactionalTopic:
    """Return the topic of a table for a job."""
    options = table.writer_options(in_batches=True)
    client_options = {key[len(_CLIENT) :]: value for key, value in options.items() if key.lower().startswith(_CLIENT)}
    server = f"Kafka {client_options.get('bootstrap.servers', '')}"
    return TransactionalTopic(
        _java(spark), server, options.get("topic"), {**_DEFAULTS, **client_options, **_DURABLE}, _id_prefix(job_id)
    )


def _java(spark: SparkSession) -> Any:
    java(spark).kafka.KafkaConnector.load(spark._jsparkSession)
    delivery = java(spark).kafka.transactions.TransactionalTopics
    if failpoints.armed():
        delivery.listen(_FailpointListener())
    return delivery


def _id_prefix(job_id: str) -> str:
    return f"{OWN_GROUPS}{job_id}-"


def check_transactions(spark: SparkSession, table: TableFacts) -> None:
    """Check that a job can write a table's topic exactly once. Raises StatementError."""
    open_topic(spark, TopicTable(spark, table.name), f"preflight-{uuid4()}").check_transactions()


class RefusedMessages(StatementError):
    """A batch with messages that the topic refuses, of which nothing is written."""


class KafkaTransactions(ComparedWriter, SelectiveWriter):
    """The writer of one job's batches to a topic. Readers of committed messages see each message once."""

    def __init__(self, context: SinkContext) -> None:
        self._context = context
        self._job = context.job
        self._sink = context.sink_plan.sink
        self._streaming = context.job.plan.analysis.streaming
        self._files = context.checkpoints.files
        parts_folder = context.checkpoints.parts_folder(context.job.id, context.number)
        self._manifests = PartitionManifests(parts_folder, self._files)
        self._cached_limit: tuple[float, int | None] = (0.0, None)
        self._cached_table: tuple[float, TableFacts | None] = (0.0, None)
        self._staging = f"{parts_folder}/rows"

    def recover(self) -> None:
        self._current_table()

    def encode_rows(self, rows: DataFrame) -> DataFrame:
        return self._table.encode_all_columns(rows, self._context.sink_plan.upsert)

    def write(self, rows: DataFrame, batch: int) -> int | None:
        table, topic = self._current_table(), self._topic
        if self._job.plan.refused_rows_table and self._manifests.read(batch) is None:
            self._check_messages(rows, table, batch)
        messages, parts = _split_stably(topic, rows if self._streaming else self._stage_once(rows))
        if is_committed(self._manifests, topic, self._sink.table, batch, parts):
            consume_rows(rows)
            return None
        failpoint("parts-listed", self._job.name)
        self._context.check_leader()
        return topic.write(messages, parts, self._context, batch, delivery_headers(table, self._job, batch))

    def is_refusal(self, error: StatementError) -> bool:
        return isinstance(error, RefusedMessages)

    def find_refused(self, rows: DataFrame, batch: int, most: int) -> tuple[RefusedRow, ...]:
        keyed = self._context.sink_plan.upsert
        messages = self._table.encode_numbered(rows, keyed, ROW_NUMBER)
        refused = messages.select(ROW_NUMBER, self._refusal(self._current_table(), batch).alias("refusal"))
        found = refused.where("refusal IS NOT NULL").select(ROW_NUMBER, "refusal.*").limit(most).collect()
        return tuple(RefusedRow(int(number), str(sqlstate), str(message)) for number, sqlstate, message in found)

    def _check_messages(self, messages: DataFrame, table: TableFacts, batch: int) -> None:
        """Raise RefusedMessages for messages that the topic refuses."""
        refused = messages.select(self._refusal(table, batch).alias("refusal")).where("refusal IS NOT NULL").first()
        if refused is not None:
            message = f"{self._sink.table} refuses a row of batch {batch}: {refused[0].message}"
            raise RefusedMessages("SINK_REFUSED_ROWS", message, where=self._topic.server)

    def _refusal(self, table: TableFacts, batch: int) -> Column:
        limits = MessageLimits(self._topic.conf, self._largest_batch())
        added = delivery_headers(table, self._job, batch)
        return refusal_of_message(limits, self._context.sink_plan.upsert, self._topic.name is not None, added)

    def _largest_batch(self) -> int | None:
        """Return the limit of the topic, which is requested at most once a second."""
        read_at, largest = self._cached_limit
        if monotonic() - read_at > _TABLE_SECONDS:
            largest = self._topic.largest_batch()
            self._cached_limit = (monotonic(), largest)
        return largest

    def _current_table(self) -> TableFacts:
        """Return the sink's table, read from the catalogue at most once a second.

        Reading it for each batch would slow down small batches.
        """
        read_at, table = self._cached_table
        if table is None or monotonic() - read_at > _TABLE_SECONDS:
            table = self._context.catalog.require_sink_table(self._sink)
            self._cached_table = (monotonic(), table)
        return table

    @cached_property
    def _table(self) -> TopicTable:
        return TopicTable(self._context.spark, self._sink.table, self._sink.columns)

    @cached_property
    def _topic(self) -> TransactionalTopic:
        return open_topic(self._context.spark, self._table, self._context.writer_id)

    def has_batch(self, batch: int) -> bool:
        """Return whether a part of the batch is committed, so that the whole batch has to be committed.

        No task writes the batch any more, but a commit may be in progress, so the parts are fenced first.
        Raises StatementError PENDING_BATCH_FAILED when the broker may have deleted the numbers of committed parts.
        """
        manifest = self._manifests.read(batch)
        self._context.catalog.require_sink_table(self._sink)
        if manifest is None or not manifest.parts:
            return False
        self._topic.fence(manifest.part_names)
        newest = self._topic.newest_batches(manifest.part_names)
        if any(number >= batch for number in newest.values()):
            return True
        check_not_expired(self._topic, self._sink.table, manifest)
        return False

    def is_ahead(self, batch: int) -> bool:
        """Ask the broker for the newest batches of the parts of the newest batch in the checkpoint."""
        number = self._manifests.find_newest()
        manifest = None if number is None else self._manifests.read(number)
        if manifest is None:
            return False
        return any(newest >= batch for newest in self._topic.newest_batches(manifest.part_names).values())

    def discard(self) -> None:
        if self._context.catalog.table(self._sink.table) is None:
            self._context.notice(
                f"The broker keeps the job's consumer groups, because {self._sink.table} does not exist any more."
            )
            return
        try:
            self._topic.delete_groups()
        except StatementError as error:
            # Brokers delete unused groups themselves.
            self._context.notice(f"The broker keeps the job's consumer groups for a week: {error.message}")

    def close(self) -> None:
        """Close the job's idle producers on the executors that a Spark job reaches; others close after five minutes."""
        spark = self._context.spark
        if is_stopped(spark):
            return
        try:
            _java(spark).closeProducers(
                spark._jsparkSession, _id_prefix(self._context.writer_id), spark.sparkContext.defaultParallelism
            )
        except (PySparkException, Py4JError) as error:
            if is_lost(error) or is_stopped(spark):  # by another thread, and the producers end with it
                return
            _LOG.info(
                "The producers of job %s were not closed; idle ones close automatically: %s", self._job.name, error
            )

    def _stage_once(self, messages: DataFrame) -> DataFrame:
        """Return the rows that the first run of a batch job has read.

        Its tables may have changed since, and parts of the first result may be in the topic. The staged rows are
        deleted with the job's checkpoint, after its end is stored.
        """
        if not self._files.exists(f"{self._staging}/_SUCCESS"):
            messages.write.mode("overwrite").parquet(self._staging)
        return messages.sparkSession.read.schema(messages.schema).parquet(self._staging)


def _split_stably(topic: TransactionalTopic, messages: DataFrame) -> tuple[DataFrame, tuple[Part, ...]]:
    """Return the messages and their parts, repartitioned if a replay might split them differently.

    Rows of a topic or a shuffle are split in the same way in each replay. Files may be split differently after an
    executor has joined or a setting was changed.
    """
    parts = topic.parts(messages)
    if parts is None:
        count = int(messages.sparkSession.conf.get("spark.sql.shuffle.partitions") or "1")
        messages = messages.repartition(count, sf.coalesce("key", "value"))
        parts = topic.parts(messages)
    assert parts is not None, "rows of a shuffle are split in the same way in each replay"
    return messages, parts


def _find_failure(error: BaseException) -> KafkaFailure | None:
    """Return the failure of a task that wrote a part, or None for another error."""
    for throwable in causes(throwable_of(error)):
        _, marker, text = str(throwable.getMessage()).partition(_TASK_FAILURE)
        if marker:
            report, _ = json.JSONDecoder().raw_decode(text)
            return KafkaFailure.from_java(report)
    return None


class _FailpointListener:
    """A listener that passes each step of each part to the failpoints (java.util.function.BiConsumer)."""

    def accept(self, step: str, job: str) -> None:
        failpoint("kafka", job, step=step)

    class Java:
        implements = ("java.util.function.BiConsumer",)
