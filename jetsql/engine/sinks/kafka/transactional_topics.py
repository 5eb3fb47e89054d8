"""Kafka topics, exactly once: each part of a batch is one transaction, which also stores the batch's number.

Spark has nothing like it. A part has a transactional producer of its own, and a consumer group of the same name, whose
offset is the newest batch that is committed: the transaction that makes the part's messages visible commits it, too.
When a batch is replayed, the committed parts are read and not written. A task that writes a part first opens its
producer again, and then the broker accepts no commit from the producer before; so any number of attempts may be under
way.

This holds for readers with isolation.level=read_committed, as long as a replayed batch is split into the same parts
(see `partition_manifest` and `PartitionManifest.java`) and the groups still exist: brokers delete the offsets of groups
without members after offsets.retention.minutes (7 days by default).
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
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from jetsql import failpoints
from jetsql.engine.errors.kafka_errors import PREFIX, KafkaFailure, KafkaOperation, KafkaRequest, explain_failure
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.jvm.throwables import causes, throwable_of
from jetsql.engine.session.catalog import TableFacts
from jetsql.engine.session.startup import is_stopped
from jetsql.engine.sinks import SinkContext, consume_rows
from jetsql.engine.sinks.kafka.messages import TopicTable, delivery_headers
from jetsql.engine.sinks.kafka.partition_manifest import Part, PartitionManifests, is_committed
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.model.job import Job

_LOG: Final = logging.getLogger(__name__)
_REHEARSAL_MILLIS: Final = 10_000
_QUESTION_MILLIS: Final = 15_000
_RETENTION_MINUTES: Final = 7 * 24 * 60
_TABLE_SECONDS: Final = 1.0

# Limits how long writing a part may take, and how long readers wait for a part of a job that is gone.
_TIMEOUT: Final = {"transaction.timeout.ms": "300000"}
_CLIENT: Final = "kafka."
_DURABLE: Final = {"acks": "all", "enable.idempotence": "true"}
_IN_A_TASK: Final = "JetSQL Kafka part: "  # by `TransactionalPartWriter.java`, before a JSON object


@dataclass(frozen=True)
class TransactionalTopic:
    """A sink's topic at its broker, and the operations of exactly-once delivery."""

    java: Any
    server: str
    name: str | None
    """None where each row names its own topic."""
    conf: Mapping[str, str]
    ids: str
    """The prefix of the names of this job's transactional ids and consumer groups."""

    def parts(self, messages: DataFrame) -> tuple[Part, ...] | None:
        """Return the parts in the order of the tasks, or None when a replay may split some rows otherwise."""
        result = self.java.parts(messages._jdf)
        return None if result is None else tuple(Part(**part) for part in json.loads(result))

    def write(
        self, messages: DataFrame, parts: tuple[Part, ...], job: Job, batch: int, delivery_headers: dict[str, str]
    ) -> int:
        """Write a batch and return its row count. Raises StatementError for the broker's errors."""
        names, added = json.dumps([part.name for part in parts]), json.dumps(delivery_headers)
        conf, keyed = json.dumps(dict(self.conf)), job.plan.upsert
        try:
            result = self.java.write(messages._jdf, conf, self.ids, job.name, batch, names, self.name, keyed, added)
        except (PySparkException, Py4JError) as error:
            failure = _failure_in(error)
            if failure is None:
                raise
            raise self.explain(failure) from error
        return int(json.loads(result)["rows"])

    def newest_batches(self, names: list[str]) -> dict[str, int]:
        """Return the newest committed batch by part. Raises StatementError."""
        arguments = (json.dumps(dict(self.conf)), self.ids, json.dumps(names), _QUESTION_MILLIS)
        newest: dict[str, int] = self._parse_answer(self.java.newestBatches(*arguments))["newest"]
        return newest

    def retention_seconds(self) -> float:
        """Return how long the broker keeps offsets of a group without members, by default 7 days."""
        result = json.loads(self.java.offsetsRetention(json.dumps(dict(self.conf)), _QUESTION_MILLIS))
        return float(result.get("minutes", _RETENTION_MINUTES)) * 60

    def fence(self, names: list[str]) -> None:
        """Fence off all attempts under way at these parts. Raises StatementError."""
        self._parse_answer(self.java.fence(json.dumps(dict(self.conf)), self.ids, json.dumps(names)))

    def delete_groups(self) -> None:
        """Delete the job's consumer groups. Raises StatementError."""
        self._parse_answer(self.java.deleteGroups(json.dumps(dict(self.conf)), self.ids, _QUESTION_MILLIS))

    def check_transactions(self) -> None:
        """Try a transaction without rows and roll it back. Raises StatementError."""
        self._parse_answer(self.java.preflight(json.dumps(dict(self.conf)), self.ids, self.name, _REHEARSAL_MILLIS))

    def explain(self, failure: KafkaFailure) -> StatementError:
        return explain_failure(
            failure, KafkaRequest(KafkaOperation.WRITE, self.server, self.name or "that a row names", self.conf)
        )

    def _parse_answer(self, text: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(text)
        if "class" in answer:
            raise self.explain(KafkaFailure.from_java(answer))
        return answer


def open_topic(spark: SparkSession, table: TopicTable, job_id: str) -> TransactionalTopic:
    """Return the topic of a table for a job."""
    options = table.writer_options(in_batches=True)
    client_options = {key[len(_CLIENT) :]: value for key, value in options.items() if key.lower().startswith(_CLIENT)}
    server = f"Kafka {client_options.get('bootstrap.servers', '')}"
    return TransactionalTopic(
        _java(spark), server, options.get("topic"), {**_TIMEOUT, **client_options, **_DURABLE}, _id_prefix(job_id)
    )


def _java(spark: SparkSession) -> Any:
    java(spark).kafka.KafkaConnector.load(spark._jsparkSession)
    delivery = java(spark).kafka.transactions.TransactionalTopics
    if failpoints.armed():
        delivery.listen(_FailpointListener())
    return delivery


def _id_prefix(job_id: str) -> str:
    return f"{PREFIX}{job_id}-"


def check_transactions(spark: SparkSession, table: TableFacts) -> None:
    """Check that a job could write a table's topic exactly once. Raises StatementError."""
    open_topic(spark, TopicTable(spark, table.name), f"rehearsal-{uuid4()}").check_transactions()


class KafkaTransactions:
    """Writes one job's batches so that readers of committed messages see each message once."""

    def __init__(self, context: SinkContext) -> None:
        self._context = context
        self._job = context.job
        self._sink = context.job.plan.analysis.sink
        self._streaming = context.job.plan.analysis.streaming
        self._files = context.checkpoints.files
        self._manifests = PartitionManifests(context.checkpoints.parts_folder(context.job.id), self._files)
        self._cached_table: tuple[float, TableFacts | None] = (0.0, None)
        self._staging = f"{context.checkpoints.parts_folder(context.job.id)}/rows"

    def recover(self) -> None:
        self._context.catalog.require_sink_table(self._sink)

    def encode_rows(self, rows: DataFrame) -> DataFrame:
        return self._table.encode_all_columns(rows, self._job)

    def write(self, rows: DataFrame, batch: int) -> int | None:
        table, topic = self._current_table(), self._topic
        messages, parts = _split_stably(topic, rows if self._streaming else self._stage_once(rows))
        if is_committed(self._manifests, topic, self._sink.table, batch, parts):
            consume_rows(rows)
            return None
        failpoint("parts-listed", self._job.name)
        return topic.write(messages, parts, self._job, batch, delivery_headers(table, self._job, batch))

    def _current_table(self) -> TableFacts:
        """Return the sink's table, read from the catalogue at most once a second.

        The look-up takes as long as much of a small batch, which has the same target as the batch before.
        """
        read_at, table = self._cached_table
        if table is None or monotonic() - read_at > _TABLE_SECONDS:
            table = self._context.catalog.require_sink_table(self._sink)
            self._cached_table = (monotonic(), table)
        return table

    @cached_property
    def _table(self) -> TopicTable:
        return TopicTable(self._context.spark, self._sink.table)

    @cached_property
    def _topic(self) -> TransactionalTopic:
        return open_topic(self._context.spark, self._table, self._job.id)

    def has_batch(self, batch: int) -> bool:
        """Return whether a part of the batch is committed, so that the whole batch has to be.

        No attempt at the batch is under way any more, but a commit may be: so its parts are fenced first.
        """
        manifest = self._manifests.read(batch)
        self._context.catalog.require_sink_table(self._sink)
        if manifest is None:
            return False
        self._topic.fence(manifest.part_names)
        newest = self._topic.newest_batches(manifest.part_names)
        return any(there >= batch for there in newest.values())

    def discard(self) -> None:
        if self._context.catalog.table(self._sink.table) is None:
            self._context.notice(f"{self._sink.table} is gone, so the job's consumer groups stay at its broker.")
            return
        try:
            self._topic.delete_groups()
        except StatementError as error:
            # They don't matter to anybody any more, and brokers delete what no reader uses.
            self._context.notice(f"The job's consumer groups stay at the broker for a week: {error.message}")

    def close(self) -> None:
        """Close the idle producers on the executors that tasks of this reach; others close after five minutes."""
        spark = self._context.spark
        if is_stopped(spark):
            return
        try:
            _java(spark).closeProducers(
                spark._jsparkSession, _id_prefix(self._job.id), spark.sparkContext.defaultParallelism
            )
        except (PySparkException, Py4JError) as error:  # Spark may be stopped concurrently
            _LOG.info("The producers of job %s go by themselves: %s", self._job.name, error)

    def _stage_once(self, messages: DataFrame) -> DataFrame:
        """Return the rows of a batch job as its first run saw them.

        Its tables may have other rows by now, and parts of the first result may be in the topic. The staged rows are
        deleted with the job's checkpoint, after its end is stored.
        """
        if not self._files.exists(f"{self._staging}/_SUCCESS"):
            messages.write.mode("overwrite").parquet(self._staging)
        return messages.sparkSession.read.schema(messages.schema).parquet(self._staging)


def _split_stably(topic: TransactionalTopic, messages: DataFrame) -> tuple[DataFrame, tuple[Part, ...]]:
    """Return the messages and their parts, repartitioned if a replay might split them otherwise.

    Rows of a topic and of a shuffle are split the same way in each replay. Files are not, after an executor has joined
    or a setting has changed.
    """
    parts = topic.parts(messages)
    if parts is None:
        count = int(messages.sparkSession.conf.get("spark.sql.shuffle.partitions") or "1")
        messages = messages.repartition(count, sf.coalesce("key", "value"))
        parts = topic.parts(messages)
    assert parts is not None, "rows of a shuffle are split as they were"
    return messages, parts


def _failure_in(error: BaseException) -> KafkaFailure | None:
    """Return how a task failed that wrote a part, or None when an error is of something else."""
    for throwable in causes(throwable_of(error)):
        _, found, text = str(throwable.getMessage()).partition(_IN_A_TASK)
        if found:
            report, _ = json.JSONDecoder().raw_decode(text)
            return KafkaFailure.from_java(report)
    return None


class _FailpointListener:
    """Passes each step of each part to the failpoints (java.util.function.BiConsumer)."""

    def accept(self, step: str, job: str) -> None:
        failpoint("kafka", job, step=step)

    class Java:
        implements = ("java.util.function.BiConsumer",)
