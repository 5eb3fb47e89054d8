"""Members that join and leave a real cluster: Spark's own master and members, and an engine that uses them.

The stories share a cluster and an engine. Each first starts the members that it needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jetsql.client.dbapi import Error
from tests.support.engines.cluster_engine import ROWS, ClusterEngine
from tests.support.servers.kafka import Kafka, Message
from tools.cluster import Cluster, cluster, wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

TASK_ROWS = 210_000_000  # of a task that runs for some seconds
OFF = "'autoScaling' = 'false'"
NONE = "'processingGuarantee' = 'none'"
PROTECTED = "'splitBrainProtectionEnabled' = 'true'"
CONF = (
    "spark.executor.memory=512m"
    # How soon a member counts as lost that does not say anything; Spark's own is two minutes.
    " spark.network.timeout=15s spark.network.timeoutInterval=1s"
)


class Engine(ClusterEngine):
    """An engine whose executors are the members of a standalone cluster."""

    def __init__(self, home: Path, spark: Cluster) -> None:
        super().__init__(home, {"JETSQL_MASTER": spark.url, "JETSQL_CONF": CONF})
        self.spark = spark

    def drain(self, member: int) -> dict[str, Any]:
        """Let the executor of a member leave as planned, wait until it is gone, and return its row."""
        process, before = self.spark.members[member], self.members()
        self.spark.drain(process)
        wait_until(lambda: len(self.members()) < len(before), "no executor leaves")
        [id_] = set(before) - set(self.members())
        wait_until(lambda: id_ in self.members("GONE"), f"executor {id_} is not gone")
        self.spark.kill(process)
        [row] = [row for row in self.sql("SHOW MEMBERS") if row["id"] == id_]
        return row

    def have(self, count: int, cores: int = 1) -> None:
        """Let so many members be there, the newest of them with so many cores where one is missing."""
        while len(self.spark.members) > count:
            self.spark.kill(self.spark.members[-1])
        while len(self.spark.members) < count:
            self.spark.join(cores)
        wait_until(lambda: len(self.members()) == count, f"there are {self.members()} and not {count} members")


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as cluster_:
        yield cluster_


@pytest.fixture(scope="module")
def engine(spark: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Yield an engine that starts without members."""
    result = Engine(tmp_path_factory.mktemp("home"), spark)
    result.start()
    try:
        result.sql(f"CREATE TABLE numbers USING `rate-micro-batch` OPTIONS ('rowsPerBatch' = '{ROWS}')")
        yield result
    finally:
        result.stop()


def test_each_cell_of_the_table(engine: Engine) -> None:
    engine.have(0)
    created = engine.keep("kept")
    assert created["status"] == "NOT_RUNNING" and "Waiting for an executor" in created["message"]
    engine.have(1)
    engine.wait_run("kept", 1)
    engine.keep("restarted", NONE)
    engine.keep("stays", OFF)
    engine.keep("stays_at_least", OFF, "'processingGuarantee' = 'atLeastOnce'")
    engine.keep("stays_new", OFF, NONE)
    engine.wait_for_batches("kept", "stays")

    engine.have(2)
    for job in ("kept", "restarted"):
        engine.wait_run(job, 2)
    engine.wait_for_batches("kept", "stays")
    assert [engine.runs(job) for job in ("stays", "stays_at_least", "stays_new")] == [1, 1, 1]
    wait_until(lambda: all(row["completed_tasks"] for row in engine.executors()), "a member has run no task")

    engine.spark.kill(engine.spark.members[0])
    for job in ("kept", "restarted"):
        engine.wait_run(job, 3)
    for job, status in (("stays", "SUSPENDED"), ("stays_at_least", "SUSPENDED"), ("stays_new", "FAILED")):
        engine.wait_status(job, status)
        assert "Member 0 is lost" in engine.messages(job)
    assert len(engine.members()) == len(engine.members("GONE")) == 1
    assert engine.sql("RESUME JOB stays")[0]["status"] == "RUNNING"
    engine.wait_for_batches("kept", "stays")
    for job in ("kept", "stays"):
        engine.check_once(job, job)
    titles = [title for title in engine.titles("kept") if title in ("members joined", "member lost")]
    assert titles == ["members joined", "members joined", "member lost"]
    engine.drop("kept", "restarted", "stays", "stays_at_least")


def test_planned_departure_restarts_nothing(engine: Engine) -> None:
    engine.have(2)
    engine.keep("flows")
    engine.keep("flows_off", OFF)
    engine.count("sums")
    engine.count("sums_off", OFF)
    scaling, fixed = ("flows", "sums"), ("flows_off", "sums_off")
    jobs = (*scaling, *fixed)
    engine.wait_for_batches(*jobs)

    for member in (1, 0):
        gone = engine.drain(member)
        assert gone["reason"].startswith("It left as planned. Executor decommission: worker decommissioned")
        engine.wait_for_batches(*jobs)
        engine.have(2)
        for job in jobs:
            engine.wait_newest(job, "members replaced")
        engine.wait_for_batches(*jobs)
    assert [engine.runs(job) for job in jobs] == [1] * len(jobs)
    assert all(engine.titles(job)[-4:] == ["member leaving", "members replaced"] * 2 for job in jobs)

    engine.spark.kill(engine.spark.members[0])
    for job in scaling:
        engine.wait_run(job, 2)
    for job in fixed:
        engine.wait_status(job, "SUSPENDED")
    engine.wait_for_batches(*scaling)
    for job in ("flows", "flows_off"):
        engine.check_once(job, job)
    for job in ("sums", "sums_off"):
        engine.check_totals(job, job)
    engine.drop("flows", "flows_off", "sums", "sums_off")


def test_executor_that_is_killed_while_it_leaves_is_no_loss(engine: Engine) -> None:
    engine.have(2)
    engine.keep("continues")
    engine.count("continues_off", OFF)
    engine.wait_for_batches("continues", "continues_off")
    long = f"SELECT sum(id % 7) AS total FROM range(0, {2 * TASK_ROWS}, 1, 2)"
    with ThreadPoolExecutor(1) as beside:
        answer = beside.submit(engine.other, long)
        wait_until(lambda: all(row["active_tasks"] for row in engine.executors()), "not all executors are busy")
        doomed = engine.spark.members[0]
        engine.spark.drain(doomed)
        wait_until(lambda: engine.members("LEAVING"), "no executor leaves")
        engine.spark.kill(doomed)
        assert answer.result() == [{"total": sum(n % 7 for n in range(7)) * (2 * TASK_ROWS // 7)}]
    assert engine.executors("GONE")[-1]["reason"].startswith("It left as planned.")
    engine.wait_for_batches("continues", "continues_off")
    assert [engine.runs(job) for job in ("continues", "continues_off")] == [1, 1]
    engine.check_once("continues", "continues")
    engine.check_totals("continues_off", "continues_off")
    engine.drop("continues", "continues_off")


def test_last_executor_leaves_and_jobs_wait(engine: Engine) -> None:
    engine.have(1)
    engine.keep("waits_on", OFF)
    engine.wait_for_batches("waits_on")
    engine.drain(0)
    engine.wait_status("waits_on", "NOT_RUNNING")
    assert "No executor is left: the job waits for one" in engine.messages("waits_on")
    engine.have(1)
    engine.wait_run("waits_on", 2)
    engine.wait_for_batches("waits_on")
    engine.check_once("waits_on", "waits_on")
    engine.drop("waits_on")


def test_repartitioning_over_more_cores_survives_a_crash(engine: Engine) -> None:
    engine.have(1)
    engine.count("totals")
    engine.count("busiest", behind="ORDER BY numbers DESC, digit LIMIT 5")
    engine.count("by_hand", OFF)
    engine.keep("first", OFF, query="SELECT value FROM STREAM numbers LIMIT 1000000")
    engine.wait_for_batches("totals", "busiest", "by_hand", "first")
    engine.have(2, cores=3)
    for job in ("totals", "busiest"):
        engine.wait_title(job, "state rescaled")
    assert [engine.runs(job) for job in ("by_hand", "first")] == [1, 1]
    assert "repartitioned into 4 partitions" in engine.messages("totals")
    engine.sql("RESTART JOB first")
    assert "cannot be repartitioned" in engine.messages("first")
    engine.wait_for_batches("totals", "busiest", "by_hand", "first")

    engine.stop()
    engine.start(JETSQL_FAILPOINT="state-repartitioned:by_hand")
    engine.have(2)
    engine.wait_run("by_hand", 2)
    with pytest.raises(Error):
        engine.sql("RESTART JOB by_hand")
    engine.start()
    engine.have(2)
    engine.wait_run("by_hand", 3)
    assert "state rescaled" not in engine.titles("by_hand")
    engine.sql("RESTART JOB by_hand")
    engine.wait_title("by_hand", "state rescaled")
    engine.wait_for_batches("totals", "by_hand")
    for job in ("totals", "by_hand"):
        engine.check_totals(job, job)
    engine.check_once("first", "first")
    engine.drop("totals", "by_hand", "busiest", "first")


def test_repartitioning_without_members(engine: Engine) -> None:
    engine.have(1)
    engine.count("alone", OFF)
    engine.count("waited_for", OFF)
    engine.wait_for_batches("alone", "waited_for")
    engine.have(2, cores=3)
    for member in engine.spark.members:
        engine.spark.suspend(member)
    with ThreadPoolExecutor(2) as beside:
        restarts = [beside.submit(engine.other, f"RESTART JOB {job}") for job in ("alone", "waited_for")]
        for job in ("alone", "waited_for"):
            engine.wait_title(job, "stopped")
        assert engine.sql("SUSPEND JOB waited_for")[0]["status"] == "SUSPENDED"
        engine.have(0)
        engine.wait_status("alone", "NOT_RUNNING")
        [restarted] = restarts[0].result()
        assert "Waiting for an executor" in restarted["message"]
    assert "No executor is left to repartition the state" in engine.messages("alone")
    engine.have(1)
    engine.sql("RESUME JOB waited_for")
    engine.wait_for_batches("alone", "waited_for")
    for job in ("alone", "waited_for"):
        engine.check_totals(job, job)
    engine.drop("alone", "waited_for")


def test_a_quorum(engine: Engine) -> None:
    engine.have(1)
    engine.keep("safe", PROTECTED)
    assert engine.runs("safe") == 1
    engine.have(2)
    engine.wait_run("safe", 2)
    assert "needs 2 members from now on" in engine.messages("safe")
    engine.wait_for_batches("safe")
    engine.have(1)
    engine.wait_status("safe", "NOT_RUNNING")
    words = "1 is available and the job needs 2 (splitBrainProtectionEnabled), so 1 is missing"
    assert words in engine.messages("safe")
    engine.have(2)
    engine.wait_run("safe", 3)
    engine.have(1)
    engine.wait_status("safe", "NOT_RUNNING")
    engine.sql("SUSPEND JOB safe")
    [altered] = engine.sql("ALTER JOB safe OPTIONS ('restartAttempts' = '5') RESUME")
    assert altered["status"] == "RUNNING"
    engine.wait_for_batches("safe")
    engine.check_once("safe", "safe")
    engine.drop("safe")


def test_whole_cluster_is_lost_and_returns(engine: Engine) -> None:
    engine.have(2)
    engine.keep("patient")
    engine.wait_for_batches("patient")
    engine.have(0)
    engine.wait_status("patient", "NOT_RUNNING")
    assert "Waiting for an executor: none is available" in engine.messages("patient")
    before = int(engine.history("patient")[-1]["run"])
    engine.have(1)
    engine.wait_run("patient", before + 1)
    engine.wait_for_batches("patient")
    engine.check_once("patient", "patient")
    engine.drop("patient")


def test_jobs_continue_without_the_master_and_with_its_successor(engine: Engine) -> None:
    engine.have(1)
    engine.keep("steady")
    engine.spark.kill_master()
    engine.wait_for_batches("steady")
    assert engine.runs("steady") == 1
    engine.spark.start_master()
    engine.have(2)
    engine.wait_run("steady", 2)
    engine.wait_for_batches("steady")
    engine.check_once("steady", "steady")
    engine.drop("steady")


def test_unreachable_member_writes_nothing_twice(engine: Engine) -> None:
    engine.have(2)
    engine.keep("careful")
    engine.count("summed")
    engine.wait_for_batches("careful", "summed")
    lost = engine.spark.members[0]
    engine.spark.suspend(lost)
    wait_until(lambda: len(engine.members()) == 1, "the member that does not answer is not found")
    engine.wait_for_batches("careful", "summed")
    engine.spark.resume(lost)
    engine.wait_for_batches("careful", "summed")
    engine.check_once("careful", "careful")
    engine.check_totals("summed", "summed")
    engine.drop("careful", "summed")


def test_real_time_mode_on_members(engine: Engine, kafka: Kafka) -> None:
    """Run a job in real time: it waits for a core for each task, and ends at a boundary on any members."""
    topics = [kafka.topic(f"t.members.{name}", 2) for name in ("in", "out")]
    engine.have(0)
    for table, topic in zip(("came", "gone"), topics, strict=True):
        engine.sql(f"CREATE TABLE {table} {kafka.options(topic)}")
    options = "'trigger' = 'realTime', 'snapshotIntervalMillis' = '60000'"
    body = "INSERT INTO gone (value) SELECT value FROM STREAM came"
    [created] = engine.sql(f"CREATE JOB at_once OPTIONS ({options}) AS {body}")
    assert created["status"] == "NOT_RUNNING" and "Waiting for an executor" in created["message"]
    engine.have(1)
    wait_until(lambda: "The engine has 1." in engine.messages("at_once"), "nothing is said of the missing core")
    engine.have(2)
    engine.wait_status("at_once", "RUNNING")
    _send(kafka, topics, range(50))
    run = engine.runs("at_once")
    engine.have(3)
    engine.wait_run("at_once", run + 1)
    _send(kafka, topics, range(50, 100))
    [suspended] = engine.sql("SUSPEND JOB at_once")
    assert "The running batch was finished first" in suspended["message"]
    assert _numbers(kafka, topics[1]) == Counter(range(100))
    engine.drop("at_once")


def _send(kafka: Kafka, topics: list[str], numbers: range) -> None:
    """Send numbers to the first topic, and wait until they are in the second."""
    kafka.send(topics[0], [Message(None, str(n).encode(), partition=n % 2) for n in numbers])
    wait_until(lambda: set(numbers) <= set(_numbers(kafka, topics[1])), f"not all of {numbers} have come")


def _numbers(kafka: Kafka, topic: str) -> Counter[int]:
    return Counter(int(message.value or b"") for message in kafka.read(topic))
