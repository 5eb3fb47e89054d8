"""The warm-up of a standby: it runs queries without keeping their results, so that its first batches are fast.

A new JVM loads its classes and interprets its code during the first batches, which then take seconds. So a standby
first runs a small query with state, and then the query of each job over the newest rows of its sources. It reads what
the job reads. It writes only to a temporary folder, and nothing that other programs can see. It analyses the queries of
the jobs many times, because the JVM compiles only code that has run often: the start of a job waits for its analysis.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import inf
from threading import Event, Thread
from time import monotonic
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.engine.jvm.java_classes import enable, java
from jetsql.engine.runs.analysis import ResolvedBody, resolve_with_plan
from jetsql.engine.runs.run_context import batch_rows, query_rows
from jetsql.engine.runs.start_checks import check_sources
from jetsql.engine.session.catalog import Catalog
from jetsql.engine.session.engine_sessions import open_engine_session
from jetsql.engine.session.job_sessions import JobSessions
from jetsql.engine.sinks import SinkContext, SinkWriter, consume_rows
from jetsql.engine.sinks.file_sizing import BatchFiles
from jetsql.engine.sinks.sink_kinds import check_sinks, choose_sink
from jetsql.engine.spark.startup import is_stopped
from jetsql.errors import JetSQLError
from jetsql.jobs.model.body_analysis import OutputMode
from jetsql.jobs.model.job import Job
from jetsql.jobs.model.job_options import Trigger
from jetsql.jobs.model.leadership import Leadership
from jetsql.jobs.planning.sink_traits import traits_of

_LOG: Final = logging.getLogger(__name__)
_MOST_SECONDS: Final = 30.0
_BATCHES: Final = 20
_MOST_JOBS: Final = 20
_ANALYSES: Final = 100  # of the jobs that are warmed up for the first time, together
_LIST_SECONDS: Final = 5.0
_PATIENCE_SECONDS: Final = 120.0
_CHECK_SECONDS: Final = 0.5
_IDLE: Final = "Waiting for data to arrive"  # of Spark's MicroBatchExecution
_SMALL_ROWS: Final = 50
_SMALL_FILE_BYTES: Final = 256 * 1024
_FAILURES: Final = (JetSQLError, PySparkException, Py4JError, OSError)


@dataclass(frozen=True)
class _Due:
    """The time of the next warm-up of a job, which is repeated until there are rows."""

    time: float = 0.0
    """A time of the monotonic clock."""
    pause: float = 30.0
    """The seconds until the warm-up after the next one without rows."""

    def after(self, has_rows: bool) -> _Due:
        return _Due(inf) if has_rows else _Due(monotonic() + self.pause, 2 * self.pause)


class WarmUp:
    """The warm-up of one standby, on a thread of its own."""

    def __init__(self, spark: SparkSession, shared_folder: str, jobs: Callable[[], Sequence[Job]]) -> None:
        """Create it. shared_folder: a folder for files, if executors on other machines need them.

        jobs: returns the live jobs of the leader; raises EngineError.
        """
        self._spark = spark
        self._shared_folder = shared_folder
        self._jobs = jobs
        self._stop = Event()
        self._due: dict[tuple[str, int], _Due] = {}
        self._is_warm = Event()
        self._has_rehearsed = Event()
        self._began = monotonic()

    @property
    def is_warm(self) -> bool:
        """Return whether the queries of all jobs have run that were live when it read them last, seconds ago."""
        return self._is_warm.is_set()

    @property
    def has_rehearsed(self) -> bool:
        """Return whether it has run the queries of all jobs once, or has ended, or has tried to for two minutes."""
        return self._has_rehearsed.is_set() or monotonic() - self._began > _PATIENCE_SECONDS

    @contextmanager
    def running(self) -> Iterator[None]:
        """Rehearse within the block, also jobs that are created meanwhile. Its end does not wait for the thread."""
        Thread(target=self._run, name="warm-up", daemon=True).start()
        try:
            yield
        finally:
            self._stop.set()

    def _run(self) -> None:
        try:
            enable(self._spark)
            with self._folder() as folder:
                self._run_in(folder)
        except _FAILURES as error:
            if not self._stop.is_set():
                _LOG.warning("The warm-up failed: %s", error)
        finally:
            self._has_rehearsed.set()

    def _run_in(self, folder: str) -> None:
        files = FileSystem(self._spark)
        checkpoints = Checkpoints(files.qualify(folder), files, Leadership())
        sessions = JobSessions(self._spark, checkpoints.root)
        self._warm_up("a small query", partial(_small_query, sessions, self._spark), f"{folder}/small")
        while not self._stop.is_set():
            jobs = self._due_jobs()
            if any(self._due[_version(job)] == _Due() for job in jobs):
                self._is_warm.clear()
            for job in jobs:
                due = self._due[_version(job)]
                analyses = _ANALYSES // len(jobs) if due == _Due() else 0
                prepare = partial(self._prepare, JobQuery(job, sessions, checkpoints), analyses)
                has_rows = self._warm_up(f"job {job.name}", prepare, f"{folder}/{job.id}")
                self._due[_version(job)] = due.after(has_rows)
            self._is_warm.set()
            self._has_rehearsed.set()
            self._stop.wait(_LIST_SECONDS)

    def _prepare(self, query: JobQuery, analyses: int) -> DataStreamWriter | None:
        """Analyse a query that often before it is prepared, unless this engine leads meanwhile."""
        for _ in range(analyses):
            if self._stop.is_set():
                return None
            query.analyse()
        return query.prepare()

    def _due_jobs(self) -> list[Job]:
        """Return the jobs that were not run yet with rows; only the first ones of many, to limit the time."""
        jobs = [job for job in self._jobs() if _can_run(job)][:_MOST_JOBS]
        self._due = {_version(job): self._due.get(_version(job), _Due()) for job in jobs}
        return [job for job in jobs if self._due[_version(job)].time <= monotonic()]

    @contextmanager
    def _folder(self) -> Iterator[str]:
        """Return the folder of checkpoints, which executors on other machines reach if there are any."""
        context, files = self._spark.sparkContext, FileSystem(self._spark)
        local = context.getConf().get("spark.local.dir", tempfile.gettempdir()) or tempfile.gettempdir()
        folder = f"{local}/warm-up" if str(context.master).startswith("local") else self._shared_folder
        files.delete(folder)
        try:
            yield folder
        finally:
            if not is_stopped(self._spark):
                files.delete(folder)

    def _warm_up(self, name: str, prepare: Callable[[], DataStreamWriter | None], checkpoint: str) -> bool:
        """Run some batches of a query, and return whether it has read rows. An error only means that it stays slow."""
        if self._stop.is_set():
            return False
        began = monotonic()
        try:
            writer = prepare()
            if writer is None or self._stop.is_set():
                return writer is None
            query = writer.option("checkpointLocation", checkpoint).start()
            batches = self._wait(query)
            query.stop()
        except _FAILURES as error:
            _LOG.info("The warm-up of %s failed: %s", name, error)
            return False
        _LOG.info("Rehearsed %s: %d batches in %.1f s", name, batches, monotonic() - began)
        return batches > 0

    def _wait(self, query: StreamingQuery) -> int:
        """Wait until a query has run enough batches or all rows, or for too long, and return the number of batches."""
        until = monotonic() + _MOST_SECONDS
        batches = 0
        while batches < _BATCHES and monotonic() < until and query.isActive and not self._stop.wait(_CHECK_SECONDS):
            is_idle = query.status["message"] == _IDLE
            progress = query.lastProgress
            batches = 0 if progress is None else int(progress["batchId"]) + 1
            if is_idle:
                break
        return batches


def _small_query(sessions: JobSessions, spark: SparkSession) -> DataStreamWriter:
    """Return a query that counts rows by groups, in as many batches as the time allows."""
    session = open_engine_session(spark)
    for key, value in sessions.defaults().items():
        session.conf.set(key, value)
    rows = session.readStream.format("rate-micro-batch").option("rowsPerBatch", _SMALL_ROWS).load()
    counts = rows.groupBy((sf.col("value") % 7).alias("key")).agg(sf.count("*"), sf.max("timestamp"))
    return counts.writeStream.outputMode("update").foreachBatch(lambda batch, number: consume_rows(batch))


class JobQuery:
    """The query of a job over the newest rows of its sources."""

    def __init__(self, job: Job, sessions: JobSessions, checkpoints: Checkpoints) -> None:
        """Create it. checkpoints: the temporary ones."""
        self._job = job
        self._sessions = sessions
        self._session = sessions.open_for_job(job)
        self._catalog = Catalog(self._session)
        self._checkpoints = checkpoints

    def analyse(self) -> None:
        """Analyse the query as a start of the job does, in a new session. Raises as `resolve_body`."""
        resolve_with_plan(self._job.body, self._sessions.open_for_job(self._job), self._job.plan)

    def prepare(self) -> DataStreamWriter | None:
        """Return the query, not started; None for sources without newest rows.

        Raises StatementError when an external system is not reachable, and as `resolve_body`.
        """
        job, session = self._job, self._session
        check_sources(session, self._catalog, job.plan)
        check_sinks(session, self._catalog, job.plan)
        resolved = resolve_with_plan(job.body, session, job.plan)
        query = java(session).stream.NewestRows.of(resolved.query)
        if query is None:
            return None
        if resolved.unchecked_by_spark:
            session.conf.set("spark.sql.streaming.unsupportedOperationCheck", "false")
        writer = choose_sink(self._sink_context())
        rows = query_rows(session, query, resolved, writer)
        mode = (job.plan.output_mode or OutputMode.APPEND).value
        return rows.writeStream.outputMode(mode).foreachBatch(partial(self._write, resolved, writer))

    def _write(self, resolved: ResolvedBody, writer: SinkWriter, rows: DataFrame, batch: int) -> None:
        """Write a batch to the temporary folder, or to nothing."""
        sinks = self._job.plan.sinks
        is_file_table = len(sinks) == 1 and traits_of(sinks[0].sink).has_rows_in_folder
        table = self._catalog.table(sinks[0].sink.table) if is_file_table else None
        with batch_rows(rows, resolved, writer) as complete:
            if table is None:
                consume_rows(complete)
            else:
                files = BatchFiles(_SMALL_FILE_BYTES, sinks[0].has_state)
                files.write(complete, table, f"{self._checkpoints.root}/{self._job.id}-rows")

    def _sink_context(self) -> SinkContext:
        return SinkContext(
            job=self._job,
            sink_plan=self._job.plan.sinks[0],
            spark=self._session,
            catalog=self._catalog,
            checkpoints=self._checkpoints,
            single_file_bytes=_SMALL_FILE_BYTES,
            old_versions_seconds=0.0,
            notice=lambda message: None,
        )


def _version(job: Job) -> tuple[str, int]:
    return job.id, job.version.checkpoint


def _can_run(job: Job) -> bool:
    return job.plan.analysis.streaming and job.plan.options.trigger is not Trigger.REAL_TIME
