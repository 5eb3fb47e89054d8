"""Show the progress of a streaming job as the offsets of a consumer group, for Kafka's own tools.

The option `kafka.commit.group` of the job names the group. The job itself reads with the offsets in its checkpoint, and
never with those of the group. The group gets the offsets after the newest batch that is committed in the checkpoint,
so it is never ahead of the job.

A thread of the run sets the offsets. No batch waits for it, and no error of a broker ends the run.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.engine.checkpoints.topic_positions import read_next_offsets
from jetsql.engine.errors.run_failures import cause_of
from jetsql.engine.runs.topics.topic_watch import kafka_sources
from jetsql.engine.session.catalog import Catalog, TableFacts
from jetsql.engine.session.consumer_groups import GroupOffsets, Offsets
from jetsql.engine.session.kafka_topics import KafkaTopic
from jetsql.engine.spark.startup import is_lost, is_stopped
from jetsql.jobs.lifecycle.runtime import GroupNotice, Report
from jetsql.jobs.lifecycle.step_context import describe_cause
from jetsql.jobs.model.job import Job

_LOG: Final = logging.getLogger(__name__)
_PAUSE_SECONDS: Final = 1.0
"""The least time between two requests to a broker."""
_FIRST_RETRY_SECONDS: Final = 5.0
_LONGEST_RETRY_SECONDS: Final = 60.0
_REFRESH_SECONDS: Final = 3600.0
"""The time after which unchanged offsets are set again: a broker deletes those of a group that sets none for days."""


class CommitGroup:
    """The consumer group of one run. Threads of the run call it."""

    def __init__(
        self, spark: SparkSession, checkpoints: Checkpoints, job: Job, sources: Mapping[int, TableFacts], report: Report
    ) -> None:
        """Create it without a thread. sources: the Kafka tables that the job reads, by the number of the source"""
        group = job.plan.options.commit_group
        assert group is not None, "only a job with the option has a group"
        self._spark = spark
        self._job = job
        self._report = report
        self._sources = sources
        checkpoint = checkpoints.spark_checkpoint(job.id, job.version.checkpoint)
        self._read = partial(read_next_offsets, checkpoints.files, checkpoint, tuple(sources))
        self._clusters = {table.name: GroupOffsets(spark, table, group) for table in sources.values()}
        self._current: dict[str, Offsets] = {}
        """The offsets that the broker has stored, by table."""
        self._reported: set[tuple[str, str]] = set()
        self._is_due = threading.Event()
        self._is_closing = threading.Event()
        self._is_abandoned = False
        self._thread = threading.Thread(target=self._run, name=f"group-{job.run_id}", daemon=True)

    def start(self) -> None:
        """Begin to set offsets: first those that the checkpoint has already."""
        self._thread.start()

    def note_progress(self) -> None:
        """Let the group follow, after a batch was committed or a trigger found no rows. Returns immediately."""
        self._is_due.set()

    def close(self, seconds: float) -> None:
        """Set the newest offsets, and end. Several threads can call it. seconds: the time to wait for the broker"""
        self._is_closing.set()
        self._is_due.set()
        if self._thread.ident is None:
            return
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._is_abandoned = True
            for cluster in self._clusters.values():
                cluster.close()

    def _run(self) -> None:
        retry_seconds = _FIRST_RETRY_SECONDS
        while True:
            self._is_due.clear()
            is_last = self._is_closing.is_set()  # after `clear`: `close` sets both in the other order
            is_done = self._set_all()
            if is_last or self._is_abandoned:
                break
            if is_done:
                retry_seconds = _FIRST_RETRY_SECONDS
                self._is_closing.wait(_PAUSE_SECONDS)
                if not self._is_due.wait(_REFRESH_SECONDS):
                    self._current.clear()
            else:
                self._is_closing.wait(retry_seconds)
                retry_seconds = min(2 * retry_seconds, _LONGEST_RETRY_SECONDS)
        for cluster in self._clusters.values():
            with suppress(Py4JError, ConnectionError):  # Spark's process may have ended
                cluster.close()

    def _set_all(self) -> bool:
        """Return whether the group has the newest offsets in all clusters."""
        try:
            offsets = self._offsets_by_table()
        except Exception as error:  # of the file system; the run reports what is wrong with the checkpoint
            self._note("the checkpoint", error, is_reported=False)
            return False
        return all([self._set(table, of_table) for table, of_table in offsets.items()])

    def _offsets_by_table(self) -> dict[str, Offsets]:
        """Return the offsets of the checkpoint by table. Of sources with one topic, the one that is behind counts."""
        positions = [
            (self._sources[number], topic, partition, offset)
            for number, topics in self._read().items()
            for topic, partitions in topics.items()
            for partition, offset in partitions.items()
        ]
        lowest: dict[tuple[str, str, str], int] = {}
        for table, topic, partition, offset in positions:
            key = KafkaTopic.of_table(table).servers, topic, partition
            lowest[key] = min(offset, lowest.get(key, offset))
        found: dict[str, dict[str, dict[str, int]]] = {}
        for table, topic, partition, _ in positions:
            offsets = found.setdefault(table.name, {}).setdefault(topic, {})
            offsets[partition] = lowest[KafkaTopic.of_table(table).servers, topic, partition]
        return dict(found)

    def _set(self, table: str, offsets: Offsets) -> bool:
        """Set the offsets of a table's topics, and return whether the group has them."""
        if self._current.get(table) == offsets:
            return True
        try:
            self._clusters[table].set(offsets)
        except Exception as error:  # of any kind: the job continues without the group
            self._current.pop(table, None)
            self._note(table, error, is_reported=True)
            return False
        self._current[table] = offsets
        return True

    def _note(self, subject: str, error: Exception, is_reported: bool) -> None:
        """Log an error, and report its kind once: the details of a timeout differ each time."""
        if is_lost(error) or is_stopped(self._spark):
            self._is_abandoned = True
            return
        cause, group = cause_of(error), self._job.plan.options.commit_group
        text = f"The consumer group {group} does not follow the job, which continues. {describe_cause(cause)}"
        kind = cause.condition, cause.hint
        if self._is_abandoned or not is_reported or kind in self._reported:
            _LOG.info("Job %s, %s: %s", self._job.id, subject, text)
            return
        self._reported.add(kind)
        _LOG.warning("Job %s, %s: %s", self._job.id, subject, text)
        self._report(GroupNotice(self._job.run_id, text))


def find_commit_group(
    spark: SparkSession, catalog: Catalog, checkpoints: Checkpoints, job: Job, report: Report
) -> CommitGroup | None:
    """Return the consumer group of a new run, or None for a job without the option."""
    if job.plan.options.commit_group is None:
        return None
    return CommitGroup(spark, checkpoints, job, kafka_sources(catalog, job), report)
