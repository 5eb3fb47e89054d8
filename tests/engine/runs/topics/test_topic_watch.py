"""The comparison of topics with those that a job knows, without Spark and without a broker."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from jetsql.engine.checkpoints.checkpoint_folders import Checkpoints
from jetsql.engine.runs.topics import topic_watch
from jetsql.engine.runs.topics.topic_acceptance import drop_pending_batch
from jetsql.engine.runs.topics.topic_watch import TopicWatch
from jetsql.engine.session.catalog import TableFacts
from jetsql.engine.sinks.job_sinks import JobSinks
from jetsql.errors import RetryableError, StatementError
from jetsql.jobs.checkpoint_files.log_entries import Progress
from jetsql.jobs.model.body_analysis import Replay, SinkKind, Source
from jetsql.jobs.model.job import Job, Version
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.planner import make_plan
from jetsql.language.statement import TableKind
from tests.support.engines.in_memory_runtime import analysis
from tests.support.engines.jobs_harness import body
from tests.support.golden_reports import raises

A, B, C = (letter * 22 for letter in "ABC")


@dataclass
class Cluster:
    """A broker, and a checkpoint with batch 7 committed, whose offsets name the topics in `offsets`."""

    ids: dict[str, str]
    offsets: dict[str, Any] = field(default_factory=lambda: {"orders": {"0": 3}})
    files: dict[str, str] = field(default_factory=dict)
    committed: int | None = 7
    of_query: dict[str, dict[str, str]] = field(default_factory=dict)
    is_away: bool = False

    def entry(self) -> str:
        return f"v1\n{{}}\n{json.dumps(self.offsets)}"

    def read_if_there(self, path: str) -> str | None:
        return self.entry() if "/offsets/" in path else self.files.get(path.rpartition("/")[2])

    def read_checked(self, path: str) -> bytes:
        name = path.rpartition("/")[2]
        if name not in self.files:
            raise FileNotFoundError(path)
        return self.files[name].encode()

    def read(self, path: str) -> str:
        return self.entry()

    def write(self, path: str, text: str) -> None:
        self.files[path.rpartition("/")[2]] = text

    def spark_checkpoint(self, job: str, number: int) -> str:
        return "c"

    def read_progress(self, job: Job) -> Progress:
        return Progress(self.committed, self.committed)

    def table(self, name: str) -> TableFacts:
        topic = "orders" if name == "in" else "sums"
        return TableFacts(
            name, "kafka", "", 1, (), (), {"kafka.bootstrap.servers": "b:9", "topic": topic}, False, False
        )

    def reader(self, spark: object, table: TableFacts, operation: object) -> Any:
        def read_ids() -> dict[str, str]:
            if self.is_away:
                raise RetryableError("EXTERNAL_SYSTEM_UNAVAILABLE", "No answer.")
            return {name: id for name, id in self.ids.items() if name == table.option("topic")}

        return SimpleNamespace(read_ids=read_ids, close=lambda: None)

    def java(self, spark: object) -> Any:
        def ids(*arguments: object) -> str:
            return json.dumps(self.of_query)

        topics = SimpleNamespace(QueryTopics=SimpleNamespace(ids=ids, freshIds=ids))
        return SimpleNamespace(kafka=SimpleNamespace(topics=topics))


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    kafka = Cluster({"orders": A, "sums": B})
    monkeypatch.setattr(topic_watch, "TopicReader", kafka.reader)
    monkeypatch.setattr(topic_watch, "java", kafka.java)
    return kafka


def job(**version: Any) -> Job:
    found, statement_body = analysis(), body()
    sources = (Source("in", "kafka", "", Replay.YES, created=1),)
    found = replace(
        found, streaming=True, sources=sources, sinks=(replace(found.sink, table="out", kind=SinkKind.KAFKA),)
    )
    plan = make_plan(found, parse_options(()), statement_body.verb, None)
    return Job("1", "j", Version("", statement_body, plan, **{"first_trigger_done": True, **version}), 0.0, run=1)


def watch(cluster: Cluster, of: Job | None = None) -> TopicWatch:
    return TopicWatch(cast(Any, None), cast(Any, cluster), cast(Checkpoints, WithFiles(cluster)), of or job())


class WithFiles:
    """The checkpoints of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.files = cluster
        self.spark_checkpoint, self.read_progress = cluster.spark_checkpoint, cluster.read_progress


def error_of(check: Callable[[], None]) -> StatementError:
    with pytest.raises(StatementError) as error:
        check()
    return error.value


def stored(cluster: Cluster) -> Any:
    return json.loads(cluster.files["topics.json"])


def test_job_of_an_earlier_release_stores_the_ids_at_start(cluster: Cluster) -> None:
    watch(cluster).check_start()
    assert stored(cluster) == {"sources": {"0": {"orders": A}}, "sinks": {"out": {"sums": B}}}
    watch(cluster).check_start()
    cluster.ids["orders"] = C
    error = error_of(watch(cluster).check_start)
    assert error.condition == "JETSQL.SOURCE_CHANGED" and error.where == "orders"
    assert error.message == (
        f"The topic orders of Kafka b:9 was deleted and created again: its id was {A}, and is {C}. The job's offsets"
        " are those of the old topic. If it was replaced while batch 7 ran, this batch has messages of the new topic"
        " after the old offsets."
    )
    assert error.hint == (
        "To read the new topic from its first message and keep the job's state, run ALTER JOB `j` OPTIONS"
        f" ('acceptedTopics' = '{C}') RESUME. To begin again, without state, run DROP JOB and CREATE JOB."
    )
    assert stored(cluster)["sources"] == {"0": {"orders": A}}


def test_a_topic_that_the_job_writes(cluster: Cluster) -> None:
    watch(cluster).check_start()
    cluster.ids["sums"] = C
    error = error_of(watch(cluster).check_start)
    assert error.condition == "JETSQL.SINK_CHANGED" and "The topic sums of Kafka b:9, which out writes" in error.message
    assert "write only further rows into the new" in error.hint and "gone with the old topic" in error.message
    cluster.ids["orders"] = A[:-1] + "x"
    both = error_of(watch(cluster).check_start)
    assert both.condition == "JETSQL.SOURCE_CHANGED" and both.where == "orders, sums"
    assert f"'{A[:-1]}x, {C}'" in both.hint


def test_accepted_topics_are_known_from_then_on(cluster: Cluster) -> None:
    watch(cluster).check_start()
    cluster.ids = {"orders": C, "sums": A}
    topics = watch(cluster)
    topics.accept(topics.find_replaced())
    assert stored(cluster) == {"sources": {"0": {"orders": C}}, "sinks": {"out": {"sums": A}}}
    watch(cluster).check_start()


def test_unreachable_broker_or_missing_ids_allow_a_start(cluster: Cluster) -> None:
    cluster.is_away = True
    watch(cluster).check_start()
    assert cluster.files == {}
    cluster.is_away, cluster.ids = False, {}
    watch(cluster).check_start()
    assert cluster.files == {}


def test_a_topic_without_offsets_may_be_replaced(cluster: Cluster) -> None:
    """Spark reads it from its first message: it was deleted earlier, and the job has continued without it."""
    watch(cluster).check_start()
    cluster.ids["orders"], cluster.offsets = C, {}
    watch(cluster).check_start()
    assert stored(cluster)["sources"] == {"0": {"orders": C}}


def test_a_running_job(cluster: Cluster) -> None:
    topics = watch(cluster)
    topics.check_start()
    cluster.of_query = {"0": {"orders": A, "new": B}}
    topics.check_batch(None, 8)
    assert stored(cluster)["sources"] == {"0": {"orders": A, "new": B}}
    topics.check_idle(None, 8)
    topics.check_interval(None, 8)
    cluster.of_query["0"]["orders"] = C
    for check in (topics.check_idle, topics.check_interval):
        error = error_of(lambda check=check: check(None, 8))  # type: ignore[misc]
        assert error.condition == "JETSQL.SOURCE_CHANGED" and "If it was replaced" not in error.message
    assert error_of(lambda: topics.check_batch(None, 8)).condition == "JETSQL.SOURCE_CHANGED"
    cluster.of_query["0"]["orders"], cluster.ids["sums"] = A, C
    assert error_of(lambda: topics.check_interval(None, 8)).condition == "JETSQL.SINK_CHANGED"


def test_the_batches_since_the_last_comparison_are_named(cluster: Cluster) -> None:
    topics = watch(cluster)
    topics.check_start()
    cluster.of_query = {"0": {"orders": A}}
    topics.check_interval(None, 8)
    cluster.of_query, cluster.committed = {"0": {"orders": C}}, 11
    assert "while one of the batches 8 to 11 ran" in error_of(lambda: topics.check_interval(None, 12)).message


def test_the_remedy_fits_the_job(cluster: Cluster) -> None:
    watch(cluster).check_start()
    cluster.ids["orders"] = C
    table = error_of(watch(cluster, job(table_kind=TableKind.STREAMING_TABLE)).check_start)
    assert table.hint.endswith("run DROP STREAMING TABLE and CREATE STREAMING TABLE.")
    new = error_of(watch(cluster, job(first_trigger_done=False)).check_start)
    assert new.hint.endswith(f"run CREATE JOB again with OPTIONS ('acceptedTopics' = '{C}').")


def test_a_batch_that_is_in_the_sink_is_not_dropped(cluster: Cluster) -> None:
    dropped: list[int] = []
    sinks = SimpleNamespace(
        has_part=lambda job, batch: batch == 8, discard_result=lambda job, batch: dropped.append(batch)
    )
    for kind in (None, TableKind.STREAMING_TABLE):
        with raises(StatementError):
            drop_pending_batch(job(table_kind=kind), cast(JobSinks, sinks), Progress(8, 7))
    drop_pending_batch(job(), cast(JobSinks, sinks), Progress(9, 8))
    assert dropped == [9]
