"""Says of runs that get nowhere whether a Kafka broker is the reason.

Kafka's clients wait: Spark's source asks for three minutes and a task of real-time mode for ever, both without a word,
and a broker that is restarted is back before that. So the topics of a run that has told nothing for a while are asked
for here, and what is the matter with them is told as the job's, which goes on running.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from typing import Final, Protocol

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jetsql.engine.errors.kafka_errors import KafkaOperation
from jetsql.engine.errors.run_failures import cause_of
from jetsql.engine.session.catalog import Catalog, TableFacts
from jetsql.engine.session.kafka_topics import KafkaTopic, ask_topic
from jetsql.engine.session.startup import is_stopped
from jetsql.errors import StatementError
from jetsql.jobs.lifecycle.engine_api import Report, RunBlocked
from jetsql.jobs.model.job import Analysis, Cause, Job, RunId, SinkKind

_LOG: Final = logging.getLogger(__name__)
_INTERVAL_SECONDS: Final = 5.0


class WatchedRun(Protocol):
    """A run that can be asked how it goes."""

    def is_stalled(self) -> bool:
        """Whether it is starting or at work, and has told of nothing since this was asked the last time."""


@dataclass
class _Watch:
    """A run that is watched. topics: its tables, and what it does with each. told: what was last said of it."""

    run: WatchedRun
    topics: tuple[tuple[str, KafkaOperation], ...]
    report: Report
    reported: Cause | None = None


@dataclass
class _CheckRound:
    """What one round has found out. away: clusters that don't answer, with the words for it."""

    answers: dict[tuple[str, KafkaOperation], Cause | None] = field(default_factory=dict)
    away: dict[str, Cause] = field(default_factory=dict)


class KafkaWatchdog:
    """Watches the runs of one engine, on a thread that lives as long as there are any."""

    def __init__(self, spark: SparkSession, catalog: Catalog) -> None:
        self._spark = spark
        self._catalog = catalog
        self._lock = threading.Lock()
        self._watches: dict[RunId, _Watch] = {}
        self._thread: threading.Thread | None = None

    def watch(self, run: WatchedRun, job: Job, report: Report) -> None:
        """Watch a run until it is forgotten; one that has nothing to do with Kafka is none of ours."""
        topics = _topics(job.plan.analysis)
        if not topics:
            return
        with self._lock:
            self._watches[RunId(job.id, job.run)] = _Watch(run, topics, report)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="kafka-watchdog", daemon=True)
                self._thread.start()

    def unwatch(self, run: RunId) -> None:
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
            except (Py4JError, PySparkException) as error:  # Spark may be stopped in this very moment
                _LOG.info("Runs were not looked after this time: %s", error)
                if is_stopped(self._spark):
                    return

    def check_runs(self) -> None:
        """Look after all runs once."""
        with self._lock:
            watches = list(self._watches.items())
        checks = _CheckRound()
        for run, watch in watches:
            self._check_run(run, watch, checks)

    def _check_run(self, run: RunId, watch: _Watch, checks: _CheckRound) -> None:
        blocked_by = self._find_cause(watch, checks) if watch.run.is_stalled() else None
        if blocked_by == watch.reported or (_is_outage(blocked_by) and _is_outage(watch.reported)):
            return
        watch.reported = blocked_by
        with self._lock:
            watched = self._watches.get(run) is watch
        if watched:
            watch.report(RunBlocked(run, blocked_by))

    def _find_cause(self, watch: _Watch, checks: _CheckRound) -> Cause | None:
        answers = (self._check_topic(name, operation, checks) for name, operation in watch.topics)
        return next((answer for answer in answers if answer is not None), None)

    def _check_topic(self, name: str, operation: KafkaOperation, checks: _CheckRound) -> Cause | None:
        table = self._catalog.table(name)
        if table is None:
            return None  # the run will say so itself
        servers = KafkaTopic.of_table(table).servers
        if servers in checks.away:
            return checks.away[servers]
        if (name, operation) not in checks.answers:
            checks.answers[name, operation] = self._find_topic_problem(table, operation)
        answer = checks.answers[name, operation]
        if answer is not None and answer.away:
            checks.away[servers] = answer
        return answer

    def _find_topic_problem(self, table: TableFacts, operation: KafkaOperation) -> Cause | None:
        try:
            ask_topic(self._spark, table, operation)
        except StatementError as error:
            return cause_of(error)
        return None


def _is_outage(cause: Cause | None) -> bool:
    """Whichever of its topics was asked for, and however the client says so: that is told once."""
    return cause is not None and cause.away


def _topics(analysis: Analysis) -> tuple[tuple[str, KafkaOperation], ...]:
    read = [
        (source.name, KafkaOperation.READ) for source in analysis.sources if source.format == "kafka" and source.created
    ]
    written = [(analysis.sink.table, KafkaOperation.WRITE)] if analysis.sink.kind is SinkKind.KAFKA else []
    return (*read, *written)
