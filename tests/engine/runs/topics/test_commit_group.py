"""The consumer group of a run, without Spark and without a broker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from py4j.protocol import Py4JNetworkError

from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.engine.runs.topics import commit_group
from jetsql.engine.runs.topics.commit_group import CommitGroup
from jetsql.engine.session.catalog import TableFacts
from jetsql.errors import RetryableError, StatementError
from jetsql.jobs.lifecycle.runtime import GroupNotice, RuntimeEvent
from jetsql.jobs.model.body_analysis import Replay, Source
from jetsql.jobs.model.job import Job, Version
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.planner import make_plan
from tests.conftest import until
from tests.support.engines.in_memory_runtime import analysis
from tests.support.engines.jobs_harness import body, option

Topics = dict[str, dict[str, int]]
REFUSED = StatementError("EXTERNAL_SYSTEM_ERROR", "No.", hint="Allow READ on the group.")
AWAY = RetryableError("EXTERNAL_SYSTEM_UNAVAILABLE", "No answer.", hint="Check that it runs.")


@dataclass
class Broker:
    """A broker that stores the offsets of one group, and a checkpoint with the offsets of a job."""

    committed: dict[int, Topics] = field(default_factory=dict)  # in the checkpoint, by source
    requests: list[tuple[str, Topics]] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)  # of the next requests, in turn
    notices: list[str] = field(default_factory=list)
    is_hanging: bool = False
    closed: threading.Event = field(default_factory=threading.Event)

    def group_offsets(self, spark: object, table: TableFacts, group: str) -> Any:
        def set_offsets(offsets: Topics) -> None:
            assert group == "shown"
            self.requests.append((table.name, {topic: dict(each) for topic, each in offsets.items()}))
            if self.is_hanging:
                self.closed.wait(60)
                raise AWAY
            if self.errors:
                raise self.errors.pop(0)

        return SimpleNamespace(set=set_offsets, close=self.closed.set)

    def read(self, files: object, checkpoint: str, sources: tuple[int, ...]) -> dict[int, Topics]:
        return {number: self.committed[number] for number in sources if number in self.committed}

    def report(self, event: RuntimeEvent) -> None:
        assert isinstance(event, GroupNotice)
        self.notices.append(event.message)


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    kafka = Broker()
    for name, value in {
        "GroupOffsets": kafka.group_offsets,
        "read_next_offsets": kafka.read,
        "is_stopped": lambda spark: False,
        "_PAUSE_SECONDS": 0.0,
        "_FIRST_RETRY_SECONDS": 0.01,
    }.items():
        monkeypatch.setattr(commit_group, name, value)
    return kafka


def table(name: str, servers: str = "b:9") -> TableFacts:
    options = {"kafka.bootstrap.servers": servers, "topic": name}
    return TableFacts(name, "kafka", "", 1, (), (), options, False, False)


def group_of_job(broker: Broker, *tables: TableFacts) -> CommitGroup:
    """Return the group of a job that reads these tables."""
    sources = tuple(Source(each.name, "kafka", "", Replay.YES, created=1) for each in tables)
    found, text = replace(analysis(), sources=sources), body()
    plan = make_plan(found, parse_options([option("kafka.commit.group", "shown")]), text.verb, None)
    job = Job("1", "j", Version("", text, plan), 0.0, run=1)
    checkpoints = cast(Checkpoints, SimpleNamespace(files=None, spark_checkpoint=lambda job, number: "c"))
    return CommitGroup(cast(Any, None), checkpoints, job, dict(enumerate(tables)), broker.report)


@contextmanager
def running(broker: Broker, *tables: TableFacts) -> Iterator[CommitGroup]:
    """Run the group of a job, and close it at the end."""
    group = group_of_job(broker, *tables)
    group.start()
    yield group
    group.close(10.0)


def shown(broker: Broker, expected: Topics) -> Callable[[], bool]:
    return lambda: bool(broker.requests) and broker.requests[-1][1] == expected


def test_group_follows_the_checkpoint_and_not_the_reports(broker: Broker) -> None:
    broker.committed = {0: {"orders": {"0": 3}}}
    with running(broker, table("orders")) as group:
        until(shown(broker, {"orders": {"0": 3}}))
        for _ in range(3):
            group.note_progress()
        broker.committed = {0: {"orders": {"0": 5, "1": 1}}}
        group.note_progress()
        until(shown(broker, {"orders": {"0": 5, "1": 1}}))
        broker.committed = {0: {"orders": {"0": 7, "1": 1}}}  # reported by nothing but the end of the run
    assert [each["orders"]["0"] for _, each in broker.requests] == [3, 5, 7]
    assert broker.notices == [] and broker.closed.is_set()


def test_a_job_without_batches_sets_no_offsets(broker: Broker) -> None:
    with running(broker, table("orders")) as group:
        group.note_progress()
    assert broker.requests == []


def test_source_that_is_behind_counts(broker: Broker) -> None:
    both = table("orders"), replace(table("again"), options=table("orders").options)
    broker.committed = {
        0: {"orders": {"0": 5, "1": 2}},
        1: {"orders": {"0": 4, "1": 3}},
        2: {"orders": {"0": 1}},  # of another cluster
    }
    with running(broker, *both, table("elsewhere", "c:9")):
        pass
    nearer = {"orders": {"0": 4, "1": 2}}
    assert broker.requests == [("orders", nearer), ("again", nearer), ("elsewhere", {"orders": {"0": 1}})]


def test_errors_are_reported_once_and_requests_repeated(broker: Broker) -> None:
    broker.committed = {0: {"orders": {"0": 3}}}
    broker.errors = [REFUSED, AWAY, REFUSED, RetryableError("EXTERNAL_SYSTEM_UNAVAILABLE", "Not yet.", hint=AWAY.hint)]
    with running(broker, table("orders")):
        until(lambda: len(broker.requests) == 5)
    follows = "The consumer group shown does not follow the job, which continues."
    assert broker.notices == [f"{follows} No. Allow READ on the group.", f"{follows} No answer. Check that it runs."]
    assert len(broker.requests) == 5


def test_one_cluster_does_not_wait_for_another(broker: Broker) -> None:
    broker.committed = {0: {"orders": {"0": 3}}, 1: {"returns": {"0": 4}}}
    broker.errors = [REFUSED]
    with running(broker, table("orders", "away:9"), table("returns")):
        until(lambda: len(broker.requests) == 3)
    assert [name for name, _ in broker.requests] == ["orders", "returns", "orders"]


def test_hanging_broker_does_not_hold_up_the_end(broker: Broker) -> None:
    broker.committed, broker.is_hanging = {0: {"orders": {"0": 3}}}, True
    with running(broker, table("orders")) as group:
        until(lambda: len(broker.requests) == 1)
        group.close(0.05)
        assert broker.closed.is_set()
    assert broker.notices == []


def test_refused_last_request_is_reported(broker: Broker) -> None:
    broker.errors = [REFUSED]
    with running(broker, table("orders")):
        broker.committed = {0: {"orders": {"0": 3}}}
    assert len(broker.notices) == 1


def test_group_ends_with_the_process_of_spark(broker: Broker) -> None:
    broker.committed, broker.errors = {0: {"orders": {"0": 3}}}, [Py4JNetworkError("no answer")]
    with running(broker, table("orders")):
        until(lambda: broker.closed.is_set())
    assert broker.notices == [] and len(broker.requests) == 1


def test_unchanged_offsets_are_set_again_at_times(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_group, "_REFRESH_SECONDS", 0.01)
    broker.committed = {0: {"orders": {"0": 3}}}
    with running(broker, table("orders")):
        until(lambda: len(broker.requests) > 2)


def test_group_of_a_run_that_did_not_start(broker: Broker) -> None:
    broker.committed = {0: {"orders": {"0": 3}}}
    group_of_job(broker, table("orders")).close(10.0)
    assert broker.requests == []
