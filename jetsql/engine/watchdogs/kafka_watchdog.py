"""Detect stalled runs whose Kafka broker is unreachable, and topics that were deleted and created again.

Kafka's clients wait without a log line: Spark's source for three minutes, a task in real-time mode forever. The
watchdog therefore checks the topics of a run that has reported nothing for a while, and reports a problem as
RunBlocked. A run that waits in the driver continues, because a restarting broker is usually back before the source
fails. A batch whose tasks wait is ended, because they occupy the task slots of all jobs and statements; the job tries
it again until the outage ends.

All other runs compare the ids of their topics in each round, see `jetsql.engine.runs.topics.topic_watch`.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from time import monotonic
from typing import Final, Protocol

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jetsql.engine.errors.kafka_errors import KafkaOperation
from jetsql.engine.errors.run_failures import cause_of
from jetsql.engine.session.catalog import Catalog, TableFacts
from jetsql.engine.session.kafka_topics import KafkaTopic, check_topic
from jetsql.engine.spark.startup import is_stopped
from jetsql.errors import StatementError
from jetsql.jobs.lifecycle.runtime import Report, RunBlocked
from jetsql.jobs.model.body_analysis import Analysis
from jetsql.jobs.model.job import Cause, Job, RunId
from jetsql.jobs.planning.sink_traits import traits_of

_LOG: Final = logging.getLogger(__name__)
_INTERVAL_SECONDS: Final = 5.0


class WatchedRun(Protocol):
    """A run that reports whether it is stalled."""

    def is_stalled(self) -> bool:
        """Return whether the run is starting or processing, and has reported nothing since the last call."""

    def end_batch(self, outage: Cause, stalled_seconds: float) -> None:
        """End the run if tasks of its batch have waited for too long. stalled_seconds: the time without progress"""

    def check_topics(self) -> None:
        """End the run if a topic was deleted and created again. Raises StatementError for a broker's error."""


@dataclass
class _Watch:
    """A watched run."""

    run: WatchedRun
    """The run itself."""
    topics: tuple[tuple[str, KafkaOperation], ...]
    """The tables of its topics, with the run's operation on each."""
    report: Report
    """The listener of the run's events."""
    reported: Cause | None = None
    """The cause that was reported last; None when the run is not blocked."""
    stalled_since: float | None = None
    """The monotonic time of the last progress, not earlier than the last round; None when the run is not stalled."""

    def find_stall(self) -> bool:
        """Return whether the run is stalled, and remember since when."""
        if not self.run.is_stalled():
            self.stalled_since = None
        elif self.stalled_since is None:
            self.stalled_since = monotonic() - _INTERVAL_SECONDS
        return self.stalled_since is not None


@dataclass
class _CheckRound:
    """The results of one round of checks."""

    problems: dict[tuple[str, KafkaOperation], Cause | None] = field(default_factory=dict)
    """The problem of each checked table and operation; None without a problem."""
    unreachable: dict[str, Cause] = field(default_factory=dict)
    """The clusters that do not answer, with the cause to report."""


class KafkaWatchdog:
    """The watchdog of one engine's runs. Its thread ends when no run is watched."""

    def __init__(self, spark: SparkSession, catalog: Catalog) -> None:
        self._spark = spark
        self._catalog = catalog
        self._lock = threading.Lock()
        self._watches: dict[RunId, _Watch] = {}
        self._thread: threading.Thread | None = None

    def watch(self, run: WatchedRun, job: Job, report: Report) -> None:
        """Watch a run until `unwatch` if it uses Kafka."""
        topics = job_topics(job.plan.analysis)
        if not topics:
            return
        with self._lock:
            self._watches[RunId(job.id, job.run)] = _Watch(run, topics, report)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="kafka-watchdog", daemon=True)
                self._thread.start()

    def unwatch(self, run: RunId) -> None:
        """Stop watching a run."""
        with self._lock:
            self._watches.pop(run, None)

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(_INTERVAL_SECONDS):
            with self._lock:
                if not self._watches:
                    self._thread = None
                    return
            try:
                self.check_runs()
            except (Py4JError, PySparkException) as error:  # Spark may be stopped concurrently
                _LOG.info("Stalled runs were not checked this time: %s", error)
                if is_stopped(self._spark):
                    return

    def check_runs(self) -> None:
        """Check all watched runs once."""
        with self._lock:
            watches = list(self._watches.items())
        checks = _CheckRound()
        for run, watch in watches:
            self._check_run(run, watch, checks)

    def _check_run(self, run: RunId, watch: _Watch, checks: _CheckRound) -> None:
        blocked_by = self._find_cause(watch, checks) if watch.find_stall() else None
        if blocked_by is None:
            _compare_topics(run, watch)
        with self._lock:
            if self._watches.get(run) is not watch:
                return
        if blocked_by != watch.reported and not (_is_outage(blocked_by) and _is_outage(watch.reported)):
            watch.reported = blocked_by
            watch.report(RunBlocked(run, blocked_by))
        if blocked_by is not None and blocked_by.external_outage and watch.stalled_since is not None:
            watch.run.end_batch(blocked_by, monotonic() - watch.stalled_since)

    def _find_cause(self, watch: _Watch, checks: _CheckRound) -> Cause | None:
        problems = (self._check_topic(name, operation, checks) for name, operation in watch.topics)
        return next((problem for problem in problems if problem is not None), None)

    def _check_topic(self, name: str, operation: KafkaOperation, checks: _CheckRound) -> Cause | None:
        table = self._catalog.table(name)
        if table is None:
            return None  # the run reports that itself
        servers = KafkaTopic.of_table(table).servers
        if servers in checks.unreachable:
            return checks.unreachable[servers]
        if (name, operation) not in checks.problems:
            checks.problems[name, operation] = self._find_topic_problem(table, operation)
        problem = checks.problems[name, operation]
        if problem is not None and problem.external_outage:
            checks.unreachable[servers] = problem
        return problem

    def _find_topic_problem(self, table: TableFacts, operation: KafkaOperation) -> Cause | None:
        try:
            check_topic(self._spark, table, operation)
        except StatementError as error:
            return cause_of(error)
        return None


def _compare_topics(run: RunId, watch: _Watch) -> None:
    try:
        watch.run.check_topics()
    except (StatementError, Py4JError) as error:  # the run waits for its broker, and the next round compares again
        _LOG.info("The topics of run %s were not compared this time: %s", run, error)


def _is_outage(cause: Cause | None) -> bool:
    """Return whether a cause is an outage, which is reported once, regardless of the topic and message."""
    return cause is not None and cause.external_outage


def job_topics(analysis: Analysis) -> tuple[tuple[str, KafkaOperation], ...]:
    """Return the tables of the topics that a job uses, with the job's operation on each."""
    read = [(source.name, KafkaOperation.READ) for source in analysis.sources if source.is_topic]
    written = [(sink.table, KafkaOperation.WRITE) for sink in analysis.sinks if traits_of(sink).is_topic]
    return (*read, *written)
