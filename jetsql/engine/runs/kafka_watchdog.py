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
from jetsql.engine.session.kafka_topics import Topic, ask_topic
from jetsql.engine.session.startup import is_stopped
from jetsql.errors import StatementError
from jetsql.jobs.lifecycle.engine_api import Report, RunBlocked
from jetsql.jobs.model.job import Analysis, Cause, Job, RunId, SinkKind

_LOG: Final = logging.getLogger(__name__)
_PAUSE_SECONDS: Final = 5.0


class Watched(Protocol):
    """A run that can be asked how it goes."""

    def stalled(self) -> bool:
        """Whether it is starting or at work, and has told of nothing since this was asked the last time."""


@dataclass
class _Case:
    """A run that is watched. topics: its tables, and what it does with each. told: what was last said of it."""

    run: Watched
    topics: tuple[tuple[str, KafkaOperation], ...]
    report: Report
    told: Cause | None = None


@dataclass
class _Asked:
    """What one round has found out. away: clusters that don't answer, with the words for it."""

    answers: dict[tuple[str, KafkaOperation], Cause | None] = field(default_factory=dict)
    away: dict[str, Cause] = field(default_factory=dict)


class KafkaWatchdog:
    """Watches the runs of one engine, on a thread that lives as long as there are any."""

    def __init__(self, spark: SparkSession, catalog: Catalog) -> None:
        self._spark = spark
        self._catalog = catalog
        self._lock = threading.Lock()
        self._cases: dict[RunId, _Case] = {}
        self._thread: threading.Thread | None = None

    def watch(self, run: Watched, job: Job, report: Report) -> None:
        """Watch a run until it is forgotten; one that has nothing to do with Kafka is none of ours."""
        topics = _topics(job.plan.analysis)
        if not topics:
            return
        with self._lock:
            self._cases[RunId(job.id, job.run)] = _Case(run, topics, report)
            if self._thread is None:
                self._thread = threading.Thread(target=self._keep, name="kafka-vigil", daemon=True)
                self._thread.start()

    def forget(self, run: RunId) -> None:
        with self._lock:
            self._cases.pop(run, None)

    def _keep(self) -> None:
        pause = threading.Event()
        while not pause.wait(_PAUSE_SECONDS):
            with self._lock:
                if not self._cases:
                    self._thread = None
                    return
            try:
                self.look()
            except (Py4JError, PySparkException) as error:  # Spark may be stopped in this very moment
                _LOG.info("Runs were not looked after this time: %s", error)
                if is_stopped(self._spark):
                    return

    def look(self) -> None:
        """Look after all runs once."""
        with self._lock:
            cases = list(self._cases.items())
        asked = _Asked()
        for run, case in cases:
            self._look(run, case, asked)

    def _look(self, run: RunId, case: _Case, asked: _Asked) -> None:
        hindered = self._reason(case, asked) if case.run.stalled() else None
        if hindered == case.told or (_is_away(hindered) and _is_away(case.told)):
            return
        case.told = hindered
        with self._lock:
            watched = self._cases.get(run) is case
        if watched:
            case.report(RunBlocked(run, hindered))

    def _reason(self, case: _Case, asked: _Asked) -> Cause | None:
        answers = (self._ask(name, doing, asked) for name, doing in case.topics)
        return next((answer for answer in answers if answer is not None), None)

    def _ask(self, name: str, doing: KafkaOperation, asked: _Asked) -> Cause | None:
        table = self._catalog.table(name)
        if table is None:
            return None  # the run will say so itself
        servers = Topic.of(table).servers
        if servers in asked.away:
            return asked.away[servers]
        if (name, doing) not in asked.answers:
            asked.answers[name, doing] = self._answer(table, doing)
        answer = asked.answers[name, doing]
        if answer is not None and answer.external_outage:
            asked.away[servers] = answer
        return answer

    def _answer(self, table: TableFacts, doing: KafkaOperation) -> Cause | None:
        try:
            ask_topic(self._spark, table, doing)
        except StatementError as error:
            return cause_of(error)
        return None


def _is_away(cause: Cause | None) -> bool:
    """Whichever of its topics was asked for, and however the client says so: that is told once."""
    return cause is not None and cause.external_outage


def _topics(analysis: Analysis) -> tuple[tuple[str, KafkaOperation], ...]:
    read = [
        (source.name, KafkaOperation.READ) for source in analysis.sources if source.format == "kafka" and source.created
    ]
    written = [(analysis.sink.table, KafkaOperation.WRITE)] if analysis.sink.kind is SinkKind.KAFKA else []
    return (*read, *written)
