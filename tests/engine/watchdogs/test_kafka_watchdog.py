"""The report about a stalled run whose broker is unreachable, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from jetsql.engine.errors.kafka_errors import KafkaFailure, KafkaOperation, KafkaRequest, explain_failure
from jetsql.engine.session.catalog import TableFacts
from jetsql.engine.watchdogs import kafka_watchdog
from jetsql.engine.watchdogs.kafka_watchdog import KafkaWatchdog
from jetsql.errors import StatementError
from jetsql.jobs.lifecycle.runtime import RunBlocked
from jetsql.jobs.model.body_analysis import Replay, SinkKind, Source
from jetsql.jobs.model.job import Cause, Job, RunId, Version
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.planner import make_plan
from tests.support.engines.in_memory_runtime import analysis
from tests.support.engines.jobs_harness import body

AWAY, NO_TOPIC = "TimeoutException", "UnknownTopicOrPartitionException"


@dataclass
class Topics:
    """The catalogue, and what the brokers answer. wrong: the error of asking for a topic, by table. keepers: who asks,
    until the test ends."""

    wrong: dict[str, str]
    asked: list[tuple[str, KafkaOperation]]
    keepers: list[KafkaWatchdog] = field(default_factory=list)

    def table(self, name: str) -> TableFacts | None:
        options = {"kafka.bootstrap.servers": name.partition("_")[0], "topic": name}
        return TableFacts(name, "kafka", "", 1, (), (), options, False, False)

    def ask(self, spark: object, table: TableFacts, operation: KafkaOperation) -> None:
        self.asked.append((table.name, operation))
        if table.name in self.wrong:
            failure = KafkaFailure(self.wrong[table.name], "No.", "connect")
            raise explain_failure(failure, KafkaRequest(operation, "Kafka x", table.name))


@dataclass
class WatchedRun:
    stuck: bool = True
    compared: int = 0
    wrong: StatementError | None = None
    ended: list[tuple[str, float]] = field(default_factory=list)

    def is_stalled(self) -> bool:
        return self.stuck

    def end_batch(self, outage: Cause, stalled_seconds: float) -> None:
        self.ended.append((outage.condition, stalled_seconds))

    def check_topics(self) -> None:
        self.compared += 1
        if self.wrong is not None:
            raise self.wrong


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> Iterator[Topics]:
    topics = Topics({}, [])
    monkeypatch.setattr(kafka_watchdog, "check_topic", topics.ask)
    yield topics
    for keeper in topics.keepers:
        for number in range(1, 4):
            keeper.unwatch(RunId(str(number), 1))


def job(number: int, source: str, sink: str) -> Job:
    found, statement_body = analysis(), body()
    sources = (Source(source, "kafka", "", Replay.YES, created=1),)
    found = replace(found, sources=sources, sinks=(replace(found.sink, table=sink, kind=SinkKind.KAFKA),))
    version = Version("", statement_body, make_plan(found, parse_options(()), statement_body.verb, None))
    return Job(str(number), "j", version, 0.0, run=1)


def watching(topics: Topics, *jobs: Job) -> tuple[KafkaWatchdog, list[WatchedRun], list[Any]]:
    """Return the watchdog, the runs that it watches, and the reports about them."""
    keeper, reports = KafkaWatchdog(None, topics), []  # type: ignore[arg-type, var-annotated]
    topics.keepers.append(keeper)
    runs = [WatchedRun() for _ in jobs]
    for run, each in zip(runs, jobs, strict=True):
        keeper.watch(run, each, reports.append)
    return keeper, runs, reports


def test_stalled_run_reports_its_cause_once_and_its_end(topics: Topics) -> None:
    keeper, _, reports = watching(topics, job(1, "a_in", "a_out"))
    keeper.check_runs()
    assert reports == [] and topics.asked == [("a_in", KafkaOperation.READ), ("a_out", KafkaOperation.WRITE)]
    topics.wrong["a_out"] = NO_TOPIC
    keeper.check_runs()
    keeper.check_runs()
    [hindered] = reports
    assert isinstance(hindered, RunBlocked) and hindered.cause is not None
    assert hindered.cause.message == "Kafka x has no topic a_out." and not hindered.cause.external_outage
    topics.wrong.clear()
    keeper.check_runs()
    assert reports[1:] == [RunBlocked(RunId("1", 1), None)]


def test_progressing_run_is_not_checked(topics: Topics) -> None:
    keeper, [run], reports = watching(topics, job(1, "a_in", "a_out"))
    topics.wrong["a_in"] = AWAY
    keeper.check_runs()
    topics.wrong = {"a_out": AWAY}
    keeper.check_runs()
    run.stuck = False
    keeper.check_runs()
    assert [event.cause is not None and event.cause.external_outage for event in reports] == [True, False]
    assert [name for name, _ in topics.asked] == ["a_in", "a_in", "a_out"]
    run.stuck = True
    keeper.unwatch(RunId("1", 1))
    keeper.check_runs()
    assert len(reports) == 2


def test_unreachable_cluster_is_checked_once_for_all_runs(topics: Topics) -> None:
    keeper, _, reports = watching(topics, job(1, "a_in", "b_out"), job(2, "b_in", "a_out"), job(3, "b_in", "b_out"))
    topics.wrong["a_in"] = AWAY
    keeper.check_runs()
    assert [event.run.job for event in reports] == ["1", "2"]
    assert topics.asked == [
        ("a_in", KafkaOperation.READ),
        ("b_in", KafkaOperation.READ),
        ("b_out", KafkaOperation.WRITE),
    ]


def test_runs_compare_topics_unless_their_broker_is_unreachable(topics: Topics) -> None:
    keeper, runs, reports = watching(topics, job(1, "a_in", "a_out"), job(2, "b_in", "b_out"), job(3, "b_in", "b_out"))
    topics.wrong["a_in"] = AWAY
    runs[1].stuck = False
    runs[1].wrong = StatementError("SOURCE_NOT_READY", "No.")  # the run reports that itself
    keeper.check_runs()
    assert [run.compared for run in runs] == [0, 1, 1]
    assert [event.run.job for event in reports] == ["1"]


def test_batch_is_cancelled_only_in_an_outage(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([100.0, 100.0, 106.0, 200.0, 201.0])
    monkeypatch.setattr(kafka_watchdog, "monotonic", lambda: next(times))
    keeper, [run], _ = watching(topics, job(1, "a_in", "a_out"))
    topics.wrong["a_out"] = NO_TOPIC
    keeper.check_runs()
    assert run.ended == []
    topics.wrong["a_out"] = AWAY
    keeper.check_runs()
    keeper.check_runs()
    run.stuck = False
    keeper.check_runs()
    run.stuck = True
    keeper.check_runs()
    # Before the first round that finds a run stalled, it had progress at some time since the round before.
    unavailable = "JETSQL.EXTERNAL_SYSTEM_UNAVAILABLE"
    assert run.ended == [(unavailable, 5.0), (unavailable, 11.0), (unavailable, 6.0)]
