"""Find topics of a job that were deleted and created again, before their offsets skip messages of the new topic.

| moment | topics | request |
|---|---|---|
| the start of a run | all | one for each table |
| before a batch is written | those that the job reads | none: Spark has described them for this batch |
| when a trigger found no rows | those that the job reads | none, as well |
| every few seconds | all | one for each sink, and for a source without a trigger since the last time |

The checkpoint has the ids, see `topic_positions`. The user accepts a new topic with the option `acceptedTopics`.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pyspark.sql import SparkSession

from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.engine.checkpoints.topic_positions import (
    read_topic_ids,
    topics_before,
    topics_with_offsets,
    write_topic_ids,
)
from jetsql.engine.errors.kafka_errors import KafkaOperation
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.catalog import Catalog, TableFacts
from jetsql.engine.session.kafka_topics import KafkaTopic, TopicReader
from jetsql.errors import StatementError
from jetsql.jobs.checkpoint_files.log_entries import Progress
from jetsql.jobs.checkpoint_files.topic_ids import Ids, TopicIds
from jetsql.jobs.model.job import Job
from jetsql.jobs.planning.option_rules import ACCEPTED_TOPICS
from jetsql.jobs.planning.sink_traits import traits_of
from jetsql.language.tokens import quoted_name

Positions = Callable[[int], Collection[str]]
"""Returns the topics of a source, by its number, whose messages the job has begun to read."""

_LOG: Final = logging.getLogger(__name__)
_BATCH_AGE_MILLIS: Final = 1_000
_INTERVAL_AGE_MILLIS: Final = 5_000


@dataclass(frozen=True)
class ReplacedTopic:
    """A topic that was deleted and created again."""

    name: str
    """The topic's name."""
    servers: str
    """The addresses of its cluster."""
    before: str
    """The id that the job knows."""
    now: str
    """The id of the new topic."""
    source: int | None = None
    """The number of the source in the query; None for a topic that the job writes."""
    table: str = ""
    """The qualified name of the table."""

    def describe(self) -> str:
        """Return what happened, as a sentence."""
        written = f", which {self.table} writes," if self.source is None else ""
        return (
            f"The topic {self.name} of Kafka {self.servers}{written} was deleted and created again: its id was"
            f" {self.before}, and is {self.now}."
        )


class TopicWatch:
    """The topics of a job whose streaming runs use one checkpoint. Threads of the run and of the watchdog call it."""

    def __init__(self, spark: SparkSession, catalog: Catalog, checkpoints: Checkpoints, job: Job) -> None:
        self._spark = spark
        self._job = job
        self._files = checkpoints.files
        self._checkpoint = checkpoints.spark_checkpoint(job.id, job.version.checkpoint)
        self._progress: Callable[[], Progress] = partial(checkpoints.read_progress, job)
        self._sources = kafka_sources(catalog, job)
        self._sinks = _kafka_sinks(catalog, job)
        self._sink_readers = [TopicReader(spark, table, KafkaOperation.WRITE) for table in self._sinks]
        self._lock = threading.Lock()
        self._known = TopicIds()
        self._compared_batch: int | None = None
        """The batch that was planned with offsets of the known topics; the one before has only their messages."""
        self._first_batch: int | None = None
        """The newest committed batch at the start."""
        self._is_new = not job.version.first_trigger_done and job.rollback_version is None
        """True if an error before the first commit of this run ends the job."""

    def check_start(self) -> None:
        """Compare all topics before a run. Raises StatementError SOURCE_CHANGED, SINK_CHANGED, CHECKPOINT_DAMAGED."""
        replaced = self.find_replaced()
        if replaced:
            raise self.explain(replaced)

    def find_replaced(self) -> tuple[ReplacedTopic, ...]:
        """Return the topics that were replaced since the checkpoint was written, and store the ids of new topics.

        Topics whose broker does not answer are left out: the run waits for it, and compares them then.
        Raises StatementError CHECKPOINT_DAMAGED.
        """
        if not self._sources and not self._sinks:
            return ()
        with self._lock:
            self._known = read_topic_ids(self._files, self._checkpoint)
            self._first_batch = self._compared_batch = self._progress().committed
        sinks = [_read_once(self._spark, table, KafkaOperation.WRITE, self._job) for table in self._sinks]
        return (*self.find_replaced_sources(), *self._compare_sinks(sinks))

    def find_replaced_sources(self) -> tuple[ReplacedTopic, ...]:
        """Return the topics that the job reads and that were replaced, without those whose broker does not answer."""
        sources = {
            number: _read_once(self._spark, table, KafkaOperation.READ, self._job)
            for number, table in self._sources.items()
        }
        positions = partial(topics_with_offsets, self._files, self._checkpoint, self._progress())
        return tuple(self._compare_sources(sources, positions))

    def check_batch(self, query: Any, batch: int) -> None:
        """Compare the topics of a planned batch before it is written. Raises StatementError SOURCE_CHANGED."""
        if self._sources:
            ids = java(self._spark).kafka.topics.QueryTopics.freshIds(query, True, _BATCH_AGE_MILLIS)
            self._check_sources(ids, partial(topics_before, self._files, self._checkpoint, batch))
            self._compared_batch = batch

    def check_idle(self, query: Any, next_batch: int) -> None:
        """Compare the topics of the newest trigger, without a request. Raises StatementError SOURCE_CHANGED."""
        if self._sources:
            self._check_sources(java(self._spark).kafka.topics.QueryTopics.ids(query), self._positions)
            self._compared_batch = next_batch
            self._is_new = False

    def check_interval(self, query: Any, next_batch: int) -> None:
        """Compare all topics of a run. Raises StatementError SOURCE_CHANGED, SINK_CHANGED; an error of Kafka."""
        if self._sources:
            ids = java(self._spark).kafka.topics.QueryTopics.freshIds(query, False, _INTERVAL_AGE_MILLIS)
            self._check_sources(ids, self._positions)
            self._compared_batch = next_batch
        replaced = self._compare_sinks([reader.read_ids() for reader in self._sink_readers])
        if replaced:
            raise self.explain(replaced)

    def accept(self, replaced: Collection[ReplacedTopic]) -> None:
        """Store the ids of new topics, after the job has forgotten its offsets of the old ones."""
        with self._lock:
            known = self._known
            for topic in replaced:
                ids, number = {topic.name: topic.now}, topic.source
                known = known.with_sink(topic.table, ids) if number is None else known.with_source(number, ids)
            write_topic_ids(self._files, self._checkpoint, known)
            self._known = known

    def close(self) -> None:
        """Close the connections to the brokers."""
        for reader in self._sink_readers:
            reader.close()

    def explain(self, replaced: Collection[ReplacedTopic]) -> StatementError:
        """Return the error to raise for replaced topics."""
        committed = self._progress().committed
        reads = any(topic.source is not None for topic in replaced)
        sentences = [topic.describe() for topic in replaced]
        if reads:
            sentences += ["The job's offsets are those of the old topic.", *self._describe_batches(committed)]
        if any(topic.source is None for topic in replaced):
            sentences.append(
                "The rows that the job wrote before are gone with the old topic; batches since then are in the new one."
            )
        return StatementError(
            "SOURCE_CHANGED" if reads else "SINK_CHANGED",
            " ".join(sentences),
            hint=remedy(self._job, replaced, self._is_new and committed == self._first_batch),
            where=", ".join(topic.name for topic in replaced),
        )

    def _describe_batches(self, committed: int | None) -> Iterator[str]:
        """Name the batches that can have messages of the new topic, as a sentence; none if there is none."""
        compared = self._compared_batch
        if committed is None or compared is None or committed < compared:
            return
        batch = f"batch {committed}" if committed == compared else f"one of the batches {compared} to {committed}"
        yield f"If it was replaced while {batch} ran, this batch has messages of the new topic after the old offsets."

    def _check_sources(self, text: str, positions: Positions) -> None:
        replaced = self._compare_sources({int(number): ids for number, ids in json.loads(text).items()}, positions)
        if replaced:
            raise self.explain(replaced)

    def _positions(self, source: int) -> Collection[str]:
        return topics_with_offsets(self._files, self._checkpoint, self._progress(), source)

    def _compare_sources(self, found: Mapping[int, Ids], positions: Positions) -> list[ReplacedTopic]:
        """Return the topics with other ids whose messages the job has begun to read, and learn all other ids."""
        replaced = []
        with self._lock:
            known = self._known
            for number, ids in found.items():
                if number not in self._sources:
                    continue
                changed = _changed(self._known.sources.get(number, {}), ids)
                continued = {name for name in changed if name in positions(number)}
                known = known.with_source(number, {name: ids[name] for name in ids.keys() - continued})
                table = self._sources[number]
                replaced += [_replaced(table, name, changed[name], ids[name], number) for name in sorted(continued)]
            self._learn(known)
        return replaced

    def _compare_sinks(self, found: Sequence[Ids]) -> list[ReplacedTopic]:
        """Return the topics with other ids, and learn those of new topics."""
        replaced = []
        with self._lock:
            known = self._known
            for table, ids in zip(self._sinks, found, strict=True):
                changed = _changed(self._known.sinks.get(table.name, {}), ids)
                known = known.with_sink(table.name, {name: ids[name] for name in ids.keys() - changed})
                replaced += [_replaced(table, name, changed[name], ids[name]) for name in sorted(changed)]
            self._learn(known)
        return replaced

    def _learn(self, known: TopicIds) -> None:
        if known != self._known:
            write_topic_ids(self._files, self._checkpoint, known)
            self._known = known


def remedy(job: Job, replaced: Collection[ReplacedTopic], has_ended: bool) -> str:
    """Return both ways to continue, as sentences: with the new topics, and from the beginning.

    has_ended: whether the error ends the job.
    """
    ids = ", ".join(topic.now for topic in replaced)
    option = f"OPTIONS ('{ACCEPTED_TOPICS}' = '{ids}')"
    effects = []
    if any(topic.source is not None for topic in replaced):
        effects.append("read the new topic from its first message and keep the job's state")
    if any(topic.source is None for topic in replaced):
        whole = job.plan.retracts
        effects.append("write the whole result into the new topic" if whole else "write only further rows into the new")
    goal = " and ".join(effects)
    if has_ended:
        return f"To {goal}, run CREATE JOB again with {option}."
    kind = "JOB" if job.version.table_kind is None else job.version.table_kind.value
    return (
        f"To {goal}, run ALTER JOB {quoted_name(job.name)} {option} RESUME. To begin again, without state, run"
        f" DROP {kind} and CREATE {kind}."
    )


def _changed(known: Ids, ids: Ids) -> dict[str, str]:
    """Return the known ids of the topics that have another id now."""
    return {name: known[name] for name, now in ids.items() if known.get(name, now) != now}


def _replaced(table: TableFacts, name: str, before: str, now: str, source: int | None = None) -> ReplacedTopic:
    return ReplacedTopic(name, KafkaTopic.of_table(table).servers, before, now, source, table.name)


def kafka_sources(catalog: Catalog, job: Job) -> dict[int, TableFacts]:
    """Return the Kafka tables that a streaming job reads as streams, by the number of the source."""
    analysis = job.plan.analysis
    tables = (
        (number, catalog.table(source.name))
        for number, source in enumerate(analysis.sources)
        if analysis.streaming and source.is_topic
    )
    return {number: table for number, table in tables if table is not None}


def _kafka_sinks(catalog: Catalog, job: Job) -> list[TableFacts]:
    """Return the Kafka tables that a streaming job writes, without those whose rows name their topics."""
    analysis = job.plan.analysis
    names = {sink.table for sink in analysis.sinks if analysis.streaming and traits_of(sink).is_topic}
    tables = map(catalog.table, sorted(names))
    return [table for table in tables if table is not None and table.option("topic")]


def _read_once(spark: SparkSession, table: TableFacts, operation: KafkaOperation, job: Job) -> Ids:
    reader = TopicReader(spark, table, operation)
    try:
        return reader.read_ids()
    except StatementError as error:
        _LOG.info("The topics of job %s are compared later: %s", job.name, error.message)
        return {}
    finally:
        reader.close()
