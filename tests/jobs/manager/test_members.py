"""Members that join and leave under a manager: its jobs and messages. `test_scaling_policy` tests the policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jetsql.errors import EngineError
from jetsql.jobs.model.job import Job, Status
from jetsql.jobs.store.job_store import Store
from tests.jobs.lifecycle.test_scaling_policy import BATCH, COUNTS, CUT, NONE, OFF, PROTECTED
from tests.support.engines.in_memory_runtime import InMemoryRuntime
from tests.support.engines.jobs_harness import QUICK, JobsHarness, run_manager


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[JobsHarness]:
    """Return a world with two members, 1 and 2."""
    with run_manager(tmp_path, InMemoryRuntime(there=frozenset("12"))) as harness:
        yield harness


def test_joining_restarts_the_jobs_and_leaving_does_too(cluster: JobsHarness) -> None:
    job_id = cluster.make()
    cluster.runtime.join("3")
    assert cluster.wait_run(job_id, 2).members == ("1", "2", "3")
    cluster.runtime.leave("1")
    assert cluster.wait_run(job_id, 3).members == ("2", "3")
    messages = [row.message for row in cluster.store.history(job_id) if row.event in ("members joined", "member lost")]
    assert messages[0].startswith("Member 3 is new: the job restarts to use all cores.")
    assert messages[1].startswith("Member 1 is lost: the job restarts on the remaining members.")


def test_joining_members_cause_one_restart_after_the_delay(tmp_path: Path) -> None:
    now = [1000.0]
    settings = replace(QUICK, scale_up_delay_seconds=1000.0)
    with run_manager(tmp_path, InMemoryRuntime(), settings, clock=lambda: now[0]) as jobs:
        job_id = jobs.make()

        def later(seconds: float) -> Job:
            """Set the time after the manager has processed all events; then process the timers that are due."""
            jobs.manager.view_after_pending_events(jobs.job(job_id))
            now[0] += seconds
            for _ in range(2):
                jobs.manager.view_after_pending_events(jobs.job(job_id))
            return jobs.job(job_id)

        later(1000.0)
        jobs.runtime.join("1")
        assert later(900.0).run == 1
        jobs.runtime.join("2", "3")
        assert later(900.0).run == 1 and jobs.job(job_id).status is Status.RUNNING
        later(150.0)
        assert jobs.wait_run(job_id, 2).members == ("1", "2", "3", "driver")
        later(6000.0)
        assert jobs.job(job_id).run == 2


def test_without_auto_scaling_growth_is_ignored_and_loss_suspends(cluster: JobsHarness) -> None:
    job_id = cluster.make(options=OFF)
    cluster.runtime.join("3")
    cluster.runtime.leave("3")
    cluster.runtime.leave("2")
    lost = cluster.wait_status(job_id, Status.SUSPENDED)
    assert lost.run == 1 and lost.cause is not None and lost.cause.condition == "JETSQL.MEMBER_LOST"
    assert "Member 2 is lost" in str(cluster.row("SHOW JOBS")["last_error"])
    assert cluster.reply("RESUME JOB j") == ("RUNNING", "Resumed.")


def test_without_auto_scaling_and_guarantee_a_loss_fails(cluster: JobsHarness) -> None:
    job_id = cluster.make(options={**OFF, **NONE})
    cluster.runtime.leave("2")
    lost = cluster.wait_status(job_id, Status.FAILED)
    assert lost.cause is not None and "the job fails" in lost.cause.message
    assert cluster.manager.workers.wait_for_job(job_id, 20.0)
    assert "discard 1" in cluster.runtime.calls


def test_batch_job_continues_after_member_changes(tmp_path: Path) -> None:
    engine = InMemoryRuntime(analysis=BATCH, quiet=True, there=frozenset("12"))
    with run_manager(tmp_path, engine, replace(QUICK, create_wait_seconds=0.0)) as jobs:
        job_id = jobs.make()
        jobs.wait_status(job_id, Status.RUNNING)
        engine.join("3")
        engine.leave("1")
        assert jobs.manager.view_after_pending_events(jobs.job(job_id)).job.run == 1


def test_below_the_quorum_a_job_waits_and_says_so(cluster: JobsHarness) -> None:
    cluster.runtime.join("3")
    job_id = cluster.make(options=PROTECTED)
    assert cluster.job(job_id).quorum == 2
    cluster.runtime.leave("2", "3")
    waiting = cluster.wait_status(job_id, Status.NOT_RUNNING)
    assert waiting.waiting_for_members
    missing = "1 is available and the job needs 2 (splitBrainProtectionEnabled), so 1 is missing"
    assert missing in str(cluster.row("SHOW JOBS")["last_error"])
    facts = cluster.describe("DESCRIBE JOB j")
    assert missing in str(facts["waits"]) and facts["quorum"] == "2 members; 1 available"
    for text in ("RESUME JOB j", "RESTART JOB j"):
        status, message = cluster.reply(text)
        assert status == "NOT_RUNNING" and missing in str(message)
        assert str(message).startswith("The job cannot start yet. Waiting for executors")
    assert missing in cluster.error_of("WAIT FOR JOB j UNTIL BATCH 9 TIMEOUT 0 SECONDS").message
    cluster.runtime.join("4")
    cluster.wait_run(job_id, waiting.run + 1)
    assert cluster.row("SHOW JOBS")["last_error"] is None


def test_a_waiting_job_can_be_suspended_resumed_replaced_and_dropped(cluster: JobsHarness) -> None:
    job_id = cluster.make(options=PROTECTED)
    cluster.runtime.leave("2")
    cluster.wait_status(job_id, Status.NOT_RUNNING)
    assert cluster.reply("SUSPEND JOB j")[0] == "SUSPENDED"
    status, message = cluster.reply("RESUME JOB j")
    assert status == "NOT_RUNNING" and str(message).startswith("Resumed. Waiting for executors")
    body = "INSERT INTO out SELECT 2 FROM STREAM src"
    options = "OPTIONS ('splitBrainProtectionEnabled'='true')"
    status, message = cluster.reply(f"CREATE OR REPLACE JOB j {options} AS {body}")
    assert status == "NOT_RUNNING" and str(message).startswith("Updated.") and "Waiting for executors" in str(message)
    cluster.runtime.join("5")
    assert cluster.wait_status(job_id, Status.RUNNING).version.statement.endswith(body)
    cluster.runtime.leave("5")
    cluster.wait_status(job_id, Status.NOT_RUNNING)
    assert cluster.reply("DROP JOB j")[0] == "DROPPED"


def test_alter_computes_the_quorum_again(cluster: JobsHarness) -> None:
    job_id = cluster.make(options=PROTECTED)
    cluster.runtime.leave("2")
    cluster.wait_status(job_id, Status.NOT_RUNNING)
    cluster.sql("SUSPEND JOB j")
    assert cluster.reply("ALTER JOB j OPTIONS ('restartAttempts'='1') RESUME")[0] == "RUNNING"
    assert cluster.job(job_id).quorum == 1


def test_a_quorum_grows_with_the_cluster_and_outlives_the_engine(tmp_path: Path) -> None:
    engine = InMemoryRuntime(there=frozenset("12"))
    with run_manager(tmp_path, engine) as jobs:
        job_id = jobs.make(options={**PROTECTED, **OFF})
        engine.join("3", "4")
        assert jobs.manager.view_after_pending_events(jobs.job(job_id)).job.quorum == 3
        assert jobs.titles(job_id).count("quorum raised") == 1
    with run_manager(tmp_path, InMemoryRuntime(there=frozenset("12"))) as jobs:
        assert jobs.wait_status(job_id, Status.NOT_RUNNING).waiting_for_members
        jobs.runtime.join("3")
        assert jobs.wait_status(job_id, Status.RUNNING).members == ("1", "2", "3")


def test_jobs_wait_without_any_member(cluster: JobsHarness) -> None:
    job_id = cluster.make()
    cluster.runtime.leave("1", "2")
    cluster.wait_status(job_id, Status.NOT_RUNNING)
    row = cluster.row("CREATE JOB k AS INSERT INTO out SELECT * FROM STREAM src")
    assert row["status"] == "NOT_RUNNING" and "Created. Waiting for an executor" in str(row["message"])
    cluster.runtime.join("3")
    for each in (job_id, str(row["id"])):
        assert cluster.wait_status(each, Status.RUNNING).members == ("3",)


def test_member_change_is_retried_after_store_errors(tmp_path: Path) -> None:
    store = FailingStore(tmp_path / "jetsql.db")
    with run_manager(tmp_path, InMemoryRuntime(there=frozenset("12")), store=store) as jobs:
        job_id = jobs.make(options=OFF)
        store.failures = 2
        jobs.runtime.leave("2")
        assert jobs.wait_status(job_id, Status.SUSPENDED).cause is not None
        assert store.failures == 0


class FailingStore(Store):
    failures = 0

    def save(self, *arguments: object) -> None:
        if self.failures:
            self.failures -= 1
            raise EngineError("STORAGE_NOT_USABLE", "The disk is full.")
        super().save(*arguments)  # type: ignore[arg-type]


def test_show_members_includes_lost_members(cluster: JobsHarness) -> None:
    cluster.runtime.leave("2")
    shown = cluster.sql("SHOW MEMBERS")
    at_status = [column.name for column in shown.columns].index("status")
    assert [(row[0], row[at_status]) for row in shown.rows] == [("1", "ACTIVE"), ("2", "GONE")]


@pytest.mark.parametrize("options", [{}, OFF, {**OFF, **NONE}], ids=["scaling", "guaranteed", "without guarantee"])
def test_planned_departure_and_replacement_restart_nothing(tmp_path: Path, options: dict[str, str]) -> None:
    engine = InMemoryRuntime(there=frozenset("12"), cores_each=2)
    with run_manager(tmp_path, engine) as jobs:
        job_id = jobs.make(options=options)
        engine.drain("1")
        assert [row[4] for row in jobs.sql("SHOW MEMBERS").rows] == ["LEAVING", "ACTIVE"]
        engine.leave("1")
        engine.join("3")
        left = jobs.manager.view_after_pending_events(jobs.job(job_id)).job
        assert (left.status, left.run, left.members) == (Status.RUNNING, 1, ("2", "3"))
        assert jobs.titles(job_id)[-2:] == ["member leaving", "members replaced"]
        engine.join("4")
        if options:
            assert jobs.manager.view_after_pending_events(jobs.job(job_id)).job.run == 1
        else:
            assert jobs.wait_run(job_id, 2).members == ("2", "3", "4")


def test_member_that_joins_before_another_one_leaves_restarts_nothing(tmp_path: Path) -> None:
    now = [1000.0]
    engine = InMemoryRuntime(there=frozenset("12"), cores_each=2)
    settings = replace(QUICK, scale_up_delay_seconds=1000.0)
    with run_manager(tmp_path, engine, settings, clock=lambda: now[0]) as jobs:
        job_id = jobs.make()
        engine.join("3")
        engine.drain("1")
        jobs.manager.view_after_pending_events(jobs.job(job_id))
        now[0] += 1100.0
        for _ in range(3):
            view = jobs.manager.view_after_pending_events(jobs.job(job_id))
        assert (view.job.run, view.job.members) == (1, ("2", "3"))


def test_restart_rescales_to_the_cores_that_stay(tmp_path: Path) -> None:
    engine = InMemoryRuntime(COUNTS, there=frozenset("123"), cores_each=2)
    with run_manager(tmp_path, engine) as jobs:
        job_id = jobs.make()
        engine.drain("3")
        assert jobs.reply("RESTART JOB j")[0] == "RUNNING"
        assert jobs.job(job_id).version.session_defaults == {"spark.sql.shuffle.partitions": "4"}
        engine.leave("3")
        assert jobs.manager.view_after_pending_events(jobs.job(job_id)).job.run == 2


def test_drained_cluster_waits_for_members(cluster: JobsHarness) -> None:
    job_id = cluster.make(options=OFF)
    cluster.runtime.drain("1", "2")
    row = cluster.row("CREATE JOB k AS INSERT INTO out SELECT * FROM STREAM src")
    assert row["status"] == "NOT_RUNNING" and "Waiting for an executor" in str(row["message"])
    assert cluster.job(job_id).status is Status.RUNNING
    cluster.runtime.leave("1", "2")
    assert cluster.wait_status(job_id, Status.NOT_RUNNING).waiting_for_members
    cluster.runtime.join("3")
    for each in (job_id, str(row["id"])):
        assert cluster.wait_status(each, Status.RUNNING).members == ("3",)


def test_growth_repartitions_the_state(tmp_path: Path) -> None:
    engine = InMemoryRuntime(COUNTS, there=frozenset("1"), cores_each=2)
    with run_manager(tmp_path, engine) as jobs:
        job_id = jobs.make()
        assert jobs.job(job_id).version.session_defaults == CUT
        engine.join("2")
        grown = jobs.wait_run(job_id, 2)
        assert (grown.version.session_defaults, grown.version.checkpoint) == ({"spark.sql.shuffle.partitions": "4"}, 1)
        engine.join("3")
        engine.prepare_errors.append(ValueError("no room"))
        grown = jobs.wait_run(job_id, 3)
        assert (grown.version.session_defaults, grown.members) == (
            {"spark.sql.shuffle.partitions": "4"},
            ("1", "2", "3"),
        )
        assert "state rescaled" in jobs.titles(job_id)
        assert jobs.reply("RESTART JOB j")[0] == "RUNNING"
        assert jobs.job(job_id).version.session_defaults == {"spark.sql.shuffle.partitions": "6"}
        engine.leave("3")
        assert jobs.wait_run(job_id, 5).version.session_defaults == {"spark.sql.shuffle.partitions": "6"}


def test_messages_and_suspend_during_repartitioning(tmp_path: Path) -> None:
    with run_manager(tmp_path, InMemoryRuntime(COUNTS, there=frozenset("1"), cores_each=2)) as jobs:
        job_id = jobs.make()
        jobs.runtime.hangs = True
        with jobs.runtime.gate("prepare_update") as opened:
            jobs.runtime.join("2")
            jobs.runtime.wait_entered("prepare_update")
            opened.set()
            assert jobs.describe("DESCRIBE JOB j")["status"] == "COMPLETING (RESTART)"
            assert jobs.reply("SUSPEND JOB j")[0] == "SUSPENDED"
        assert jobs.job(job_id).version.session_defaults == CUT
        assert "The job was to be restarted; now it will be suspended." in str(jobs.sql("SHOW JOB HISTORY j").rows)


def test_repartitioning_without_members_waits_for_one(tmp_path: Path) -> None:
    engine = InMemoryRuntime(COUNTS, there=frozenset("1"), cores_each=2)
    with run_manager(tmp_path, engine) as jobs:
        job_id = jobs.make()
        engine.hangs = True
        with engine.gate("prepare_update") as opened:
            engine.join("2")
            engine.wait_entered("prepare_update")
            opened.set()
            engine.leave("1", "2")
            jobs.wait_status(job_id, Status.NOT_RUNNING)
        assert jobs.job(job_id).version.session_defaults == CUT
        engine.hangs = False
        engine.join("3")
        jobs.wait_run(job_id, 2)
