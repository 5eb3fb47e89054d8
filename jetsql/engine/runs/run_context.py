"""The parts that all runs of jobs share: interface, needed objects, the rows of a batch, the event of their end."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol
from urllib.parse import unquote

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from jetsql.engine.checkpoints.checkpoint_check import find_damage
from jetsql.engine.checkpoints.checkpoint_copies import CheckpointPins
from jetsql.engine.checkpoints.job_lease import JobLease
from jetsql.engine.checkpoints.write_gate import WriteGate
from jetsql.engine.errors.remedies import RunPaths
from jetsql.engine.errors.table_source_errors import explain_removed_file
from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.runs.analysis import ResolvedBody
from jetsql.engine.runs.topics.commit_group import CommitGroup
from jetsql.engine.runs.topics.topic_watch import TopicWatch
from jetsql.engine.sinks import SinkWriter, consume_rows, stored_rows
from jetsql.engine.watchdogs.external_systems import ExternalSystems
from jetsql.engine.watchdogs.resource_reports import Activity
from jetsql.jobs.checkpoint_files.log_entries import Progress
from jetsql.jobs.lifecycle.runtime import Report, RestartRequested, RunFailed
from jetsql.jobs.model.job import Cause, Job, RunId


class Run(Protocol):
    """A run that can be stopped."""

    def start(self) -> None:
        """Start the run and return when it runs. Raises the error that prevents the start."""

    def stop(self, deadline_seconds: float) -> bool:
        """Block until the run has ended. Return whether it ended at a batch boundary."""

    def watch(self, wait: int) -> None:
        """Report with each trigger whether it began after this call, see `JobRuntime.watch`."""

    @property
    def activity(self) -> Activity:
        """Return what the run does now, without Spark."""


@dataclass(frozen=True)
class RunContext:
    """The objects that a run needs."""

    job: Job
    """The job that is run."""
    session: SparkSession
    """The session of the run."""
    body: ResolvedBody
    """The resolved query."""
    writer: SinkWriter
    """The sink."""
    checkpoint: str
    """The folder of Spark's checkpoint, a URI."""
    report: Report
    """The listener of the run's events."""
    pins: CheckpointPins
    """The batches of checkpoints that are being copied."""
    gate: WriteGate
    """The gate through which the sink writes."""
    lease: JobLease
    """The lease that the run checks before each batch."""
    progress: Progress
    """The newest batches of the checkpoint before the run."""
    topics: TopicWatch
    """The Kafka topics that a streaming run reads and writes."""
    group: CommitGroup | None
    """The consumer group that shows the offsets of the run; None for a job without the option."""
    systems: ExternalSystems
    """The systems whose outage can be the reason of an error."""
    sink_rows: dict[int, dict[str, int]]
    """The rows that each of several sinks has written, by batch, until the batch is reported."""

    @property
    def id(self) -> RunId:
        return RunId(self.job.id, self.job.run)

    @property
    def paths(self) -> RunPaths:
        sinks = self.job.plan.analysis.sinks
        temporary = self.session.sparkContext.getConf().get("spark.local.dir", tempfile.gettempdir())
        names = ", ".join(dict.fromkeys(sink.system or sink.table for sink in sinks))
        folder = sinks[0].location if len(sinks) == 1 else ""
        find = partial(find_damage, FileSystem(self.session), self.checkpoint, self.job)
        return RunPaths(names, folder, self.checkpoint, str(temporary), find)

    def rows(self) -> DataFrame:
        """Return the rows of the query, see `query_rows`."""
        return query_rows(self.session, self.body.query, self.body, self.writer)


def query_rows(session: SparkSession, query: Any, body: ResolvedBody, writer: SinkWriter) -> DataFrame:
    """Return the rows of a query, in the format of the sink unless `batch_rows` has to complete them.

    query: that of the body, or one with other sources.
    """
    rows = DataFrame(java(session).catalog.Sessions.dataset(session._jsparkSession, query), session)
    return rows if body.batch_part is not None else writer.encode_rows(rows)


@contextmanager
def batch_rows(rows: DataFrame, body: ResolvedBody, writer: SinkWriter) -> Iterator[DataFrame]:
    """Return a batch's rows for the sink within the block. rows: those that `query_rows` returned for the batch"""
    part = body.batch_part
    if part is None:
        yield rows
        return
    if not part.isReadOften():
        yield writer.encode_rows(DataFrame(part.apply(rows._jdf), rows.sparkSession))
        return
    with stored_rows(rows) as stored:
        consume_rows(stored)
        yield writer.encode_rows(DataFrame(part.apply(stored._jdf), rows.sparkSession))


def tag_thread(context: SparkContext, job: Job | None) -> None:
    """Assign the Spark jobs of this thread and its children to a job: its scheduler pool and its name in the log.

    job: None removes the assignment.
    """
    context.setLocalProperty("spark.scheduler.pool", None if job is None else job.id)  # type: ignore[arg-type]
    context.setLocalProperty("mdc.job", None if job is None else job.name)  # type: ignore[arg-type]


def end_event(context: RunContext, cause: Cause) -> RunFailed | RestartRequested:
    """Return the event for the end of a run. When a side table was replaced, the run restarts with its new rows."""
    is_gone = cause.condition == "FAILED_READ_FILE.FILE_NOT_EXIST"
    missing = is_gone and any(_is_within(cause.where, location) for location in context.body.static_locations)
    if missing or cause.condition == "JETSQL.SIDE_TABLE_REPLACED":
        return RestartRequested(context.id, cause.message)
    tables = (source.location for source in context.job.plan.analysis.sources if source.identity)
    if is_gone and any(_is_within(cause.where, location) for location in tables):
        return RunFailed(context.id, explain_removed_file(cause))
    return RunFailed(context.id, context.systems.judge(cause, context.job.plan.analysis))


def _is_within(file: str, folder: str) -> bool:
    """Return whether a file is in a folder. file: an encoded URL. folder: a plain Hadoop path."""
    return _path(unquote(file)).startswith(f"{_path(folder)}/")


def _path(url: str) -> str:
    """Return the path of a URL with one slash or with three after its scheme."""
    return url.partition(":")[2].strip("/")
