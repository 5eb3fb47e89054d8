"""Kafka topics, exactly once: each part of a batch is one transaction, in which the batch's number is noted as well.

Spark has nothing like it. A part has a transactional producer of its own, and a consumer group of the same name, whose
offset is the newest batch that is in: committed by the very transaction that makes the part's messages visible. When a
batch comes again, the parts that are in are read and not written. Whoever writes a part opens its producer anew first,
and the broker takes no commit any more from who had it before; so it does not matter how many attempts are under way.

That holds for readers with isolation.level=read_committed, and as long as a batch that comes again is split into the
same parts (see `partition_manifest` and `PartitionManifest.java`) and the groups are still there: brokers delete the
offsets of groups without members after offsets.retention.minutes (7 days, if not told otherwise).
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
from jetsql.engine.errors.kafka_errors import PREFIX, At, KafkaFailure, KafkaOperation, refusal
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.catalog import TableFacts
from jetsql.engine.session.startup import is_stopped
from jetsql.engine.sinks import SinkContext, read_all
from jetsql.engine.sinks.kafka.messages import TopicTable, headers
from jetsql.engine.sinks.kafka.part_failures import failure_in
from jetsql.engine.sinks.kafka.partition_manifest import Part, PartitionManifest, is_in
from jetsql.errors import StatementError
from jetsql.failpoints import failpoint
from jetsql.jobs.model.job import Job

_LOG: Final = logging.getLogger(__name__)
_REHEARSAL_MILLIS: Final = 10_000
_QUESTION_MILLIS: Final = 15_000
_RETENTION_MINUTES: Final = 7 * 24 * 60
_ASKED_SECONDS: Final = 1.0

# Bounds the time that writing a part may take, and how long readers wait behind a part of a job that is gone.
_TIMEOUT: Final = {"transaction.timeout.ms": "300000"}
_CLIENT: Final = "kafka."
_DURABLE: Final = {"acks": "all", "enable.idempotence": "true"}


@dataclass(frozen=True)
class PartTopic:
    """A sink's topic at its broker, and what is asked of it. ids: what the names of this job's parts begin with there.
    name: None where each row names its own."""

    java: Any
    server: str
    name: str | None
    conf: Mapping[str, str]
    ids: str

    def parts(self, messages: DataFrame) -> tuple[Part, ...] | None:
        """In the order of the tasks; None when some rows come from what may be split otherwise the next time."""
        told = self.java.parts(messages._jdf)
        return None if told is None else tuple(Part(**part) for part in json.loads(told))

    def write(self, messages: DataFrame, parts: tuple[Part, ...], job: Job, batch: int, headers: dict[str, str]) -> int:
        """Returns the rows of the batch. Raises StatementError for the broker's errors."""
        names, added = json.dumps([part.name for part in parts]), json.dumps(headers)
        conf, keyed = json.dumps(dict(self.conf)), job.plan.upsert
        try:
            told = self.java.write(messages._jdf, conf, self.ids, job.name, batch, names, self.name, keyed, added)
        except (PySparkException, Py4JError) as error:
            failure = failure_in(error)
            if failure is None:
                raise
            raise self.refusal(failure) from error
        return int(json.loads(told)["rows"])

    def newest(self, names: list[str]) -> dict[str, int]:
        """The newest batch that is in, by part. Raises StatementError."""
        asked = (json.dumps(dict(self.conf)), self.ids, json.dumps(names), _QUESTION_MILLIS)
        newest: dict[str, int] = self._answer(self.java.newestBatches(*asked))["newest"]
        return newest

    def retention_seconds(self) -> float:
        """How long the broker keeps the offsets of a group without members. One that doesn't tell has the default."""
        told = json.loads(self.java.offsetsRetention(json.dumps(dict(self.conf)), _QUESTION_MILLIS))
        return float(told.get("minutes", _RETENTION_MINUTES)) * 60

    def fence(self, names: list[str]) -> None:
        """From now on no attempt that is under way can bring a part of these names in. Raises StatementError."""
        self._answer(self.java.fence(json.dumps(dict(self.conf)), self.ids, json.dumps(names)))

    def forget(self) -> None:
        """Delete what is noted of the job. Raises StatementError."""
        self._answer(self.java.deleteGroups(json.dumps(dict(self.conf)), self.ids, _QUESTION_MILLIS))

    def rehearse(self) -> None:
        """Try a transaction without rows and take it back. Raises StatementError."""
        self._answer(self.java.preflight(json.dumps(dict(self.conf)), self.ids, self.name, _REHEARSAL_MILLIS))

    def refusal(self, failure: KafkaFailure) -> StatementError:
        return refusal(failure, At(KafkaOperation.WRITE, self.server, self.name or "that a row names", self.conf))

    def _answer(self, text: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(text)
        if "class" in answer:
            raise self.refusal(KafkaFailure.of(answer))
        return answer


def open_topic(spark: SparkSession, table: TopicTable, job_id: str) -> PartTopic:
    """The topic of a table as a job sees it."""
    options = table.options(in_batches=True)
    given = {key[len(_CLIENT) :]: value for key, value in options.items() if key.lower().startswith(_CLIENT)}
    server = f"Kafka {given.get('bootstrap.servers', '')}"
    return PartTopic(_java(spark), server, options.get("topic"), {**_TIMEOUT, **given, **_DURABLE}, _ids(job_id))


def _java(spark: SparkSession) -> Any:
    java(spark).kafka.KafkaConnector.load(spark._jsparkSession)
    delivery = java(spark).kafka.transactions.TransactionalTopics
    if failpoints.armed():
        delivery.listen(_Steps())
    return delivery


def _ids(job_id: str) -> str:
    return f"{PREFIX}{job_id}-"


def rehearse(spark: SparkSession, table: TableFacts) -> None:
    """Try what a job needs to write a table's topic exactly once. Raises StatementError."""
    open_topic(spark, TopicTable(spark, table.name), f"rehearsal-{uuid4()}").rehearse()


class KafkaTransactions:
    """Writer of one job's batches, each message of which is there once for who reads what is committed."""

    def __init__(self, context: SinkContext) -> None:
        self._context = context
        self._job = context.job
        self._sink = context.job.plan.analysis.sink
        self._streaming = context.job.plan.analysis.streaming
        self._files = context.checkpoints.files
        self._lists = PartitionManifest(context.checkpoints.parts(context.job.id), self._files)
        self._asked: tuple[float, TableFacts | None] = (0.0, None)
        self._staging = f"{context.checkpoints.parts(context.job.id)}/rows"

    def recover(self) -> None:
        self._context.catalog.same(self._sink)

    def encoded(self, rows: DataFrame) -> DataFrame:
        return self._table.whole_messages(rows, self._job)

    def write(self, rows: DataFrame, batch: int) -> int | None:
        table, topic = self._now(), self._topic
        messages, parts = _lasting(topic, rows if self._streaming else self._staged(rows))
        if is_in(self._lists, topic, self._sink.table, batch, parts):
            read_all(rows)
            return None
        failpoint("parts-listed", self._job.name)
        return topic.write(messages, parts, self._job, batch, headers(table, self._job, batch))

    def _now(self) -> TableFacts:
        """The sink's table, asked for once a second: to ask takes as long as much of a small batch, which goes where
        the one before went, whatever has become of the table."""
        asked, table = self._asked
        if table is None or monotonic() - asked > _ASKED_SECONDS:
            table = self._context.catalog.same(self._sink)
            self._asked = (monotonic(), table)
        return table

    @cached_property
    def _table(self) -> TopicTable:
        return TopicTable(self._context.spark, self._sink.table)

    @cached_property
    def _topic(self) -> PartTopic:
        return open_topic(self._context.spark, self._table, self._job.id)

    def holds(self, batch: int) -> bool:
        """A batch of which a part is in has to get in. No attempt at it is under way any more, but a commit may be."""
        listed = self._lists.read(batch)
        self._context.catalog.same(self._sink)
        if listed is None:
            return False
        self._topic.fence(listed.names)
        newest = self._topic.newest(listed.names)
        return any(there >= batch for there in newest.values())

    def discard(self) -> None:
        if self._context.catalog.table(self._sink.table) is None:
            self._context.notice(f"{self._sink.table} is gone, so the job's consumer groups stay at its broker.")
            return
        try:
            self._topic.forget()
        except StatementError as error:
            # They don't matter to anybody any more, and brokers delete what no reader uses.
            self._context.notice(f"The job's consumer groups stay at the broker for a week: {error.message}")

    def close(self) -> None:
        """Let the producers go that were kept between batches, where tasks come to; others go after five minutes."""
        spark = self._context.spark
        if is_stopped(spark):
            return
        try:
            _java(spark).closeProducers(spark._jsparkSession, _ids(self._job.id), spark.sparkContext.defaultParallelism)
        except (PySparkException, Py4JError) as error:  # Spark may be stopped in this very moment
            _LOG.info("The producers of job %s go by themselves: %s", self._job.name, error)

    def _staged(self, messages: DataFrame) -> DataFrame:
        """The rows of a batch job, as they were when it first ran: its tables may have others by now, and parts of what
        it came to then may be in the topic. They go with the job's checkpoint, once its end is stored."""
        if not self._files.exists(f"{self._staging}/_SUCCESS"):
            messages.write.mode("overwrite").parquet(self._staging)
        return messages.sparkSession.read.schema(messages.schema).parquet(self._staging)


def _lasting(topic: PartTopic, messages: DataFrame) -> tuple[DataFrame, tuple[Part, ...]]:
    """Messages that are split into the same parts whenever they come, and these: as they are, or spread by what is in
    them.

    Rows of a topic and of a shuffle are; files may be cut otherwise, where a member has come or a setting is another.
    """
    parts = topic.parts(messages)
    if parts is None:
        count = int(messages.sparkSession.conf.get("spark.sql.shuffle.partitions") or "1")
        messages = messages.repartition(count, sf.coalesce("key", "value"))
        parts = topic.parts(messages)
    assert parts is not None, "rows of a shuffle are split as they were"
    return messages, parts


class _Steps:
    """Takes each step of each part to the failpoints (java.util.function.BiConsumer)."""

    def accept(self, step: str, job: str) -> None:
        failpoint("kafka", job, step=step)

    class Java:
        implements = ("java.util.function.BiConsumer",)
