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
from tests.support.engines.in_memory_engine import InMemoryEngine
from tests.support.engines.jobs_world import QUICK, World, world


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[World]:
    """Return a world with two members, 1 and 2."""
    with world(tmp_path, InMemoryEngine(there=frozenset("12"))) as made:
        yield made


def test_joining_restarts_the_jobs_and_leaving_does_too(cluster: World) -> None:
    made = cluster.make()
    cluster.engine.join("3")
    assert cluster.wait_run(made, 2).members == ("1", "2", "3")
    cluster.engine.leave("1")
    assert cluster.wait_run(made, 3).members == ("2", "3")
    told = [row.message for row in cluster.store.history(made) if row.event in ("members joined", "member lost")]
    assert told[0].startswith("Member 3 is new: the job restarts to use all cores.")
    assert told[1].startswith("Member 1 is lost: the job restarts on the remaining members.")


def test_several_that_join_are_one_restart_after_the_delay_from_the_last(tmp_path: Path) -> None:
    now = [1000.0]
    settings = replace(QUICK, scale_up_delay_seconds=1000.0)
    with world(tmp_path, InMemoryEngine(), settings, clock=lambda: now[0]) as w:
        made = w.make()

        def later(seconds: float) -> Job:
            """All that was told is known before the time goes on; what is due then is done when the writer is asked."""
            w.manager.view_after_pending_events(w.job(made))
            now[0] += seconds
            for _ in range(2):
                w.manager.view_after_pending_events(w.job(made))
            return w.job(made)

        later(1000.0)
        w.engine.join("1")
        assert later(900.0).run == 1
        w.engine.join("2", "3")
        assert later(900.0).run == 1 and w.job(made).status is Status.RUNNING
        later(150.0)
        assert w.wait_run(made, 2).members == ("1", "2", "3", "driver")
        later(6000.0)
        assert w.job(made).run == 2


def test_without_auto_scaling_growth_is_nothing_and_a_loss_suspends(cluster: World) -> None:
    made = cluster.make(options=OFF)
    cluster.engine.join("3")
    cluster.engine.leave("3")
    cluster.engine.leave("2")
    lost = cluster.wait_status(made, Status.SUSPENDED)
    assert lost.run == 1 and lost.cause is not None and lost.cause.condition == "JETSQL.MEMBER_LOST"
    assert "Member 2 is lost" in str(cluster.row("SHOW JOBS")["last_error"])
    assert cluster.said("RESUME JOB j") == ("RUNNING", "Resumed.")


def test_without_auto_scaling_and_guarantee_a_loss_fails(cluster: World) -> None:
    made = cluster.make(options={**OFF, **NONE})
    cluster.engine.leave("2")
    lost = cluster.wait_status(made, Status.FAILED)
    assert lost.cause is not None and "the job fails" in lost.cause.message
    assert cluster.manager.workers.wait_for_job(made, 20.0)
    assert "discard 1" in cluster.engine.calls


def test_a_batch_job_goes_on(tmp_path: Path) -> None:
    engine = InMemoryEngine(analysis=BATCH, quiet=True, there=frozenset("12"))
    with world(tmp_path, engine, replace(QUICK, create_wait_seconds=0.0)) as w:
        made = w.make()
        w.wait_status(made, Status.RUNNING)
        engine.join("3")
        engine.leave("1")
        assert w.manager.view_after_pending_events(w.job(made)).job.run == 1


def test_below_the_quorum_a_job_waits_and_says_so(cluster: World) -> None:
    cluster.engine.join("3")
    made = cluster.make(options=PROTECTED)
    assert cluster.job(made).quorum == 2
    cluster.engine.leave("2", "3")
    waiting = cluster.wait_status(made, Status.NOT_RUNNING)
    assert waiting.waiting_for_members
    missing = "1 is available and the job needs 2 (splitBrainProtectionEnabled), so 1 is missing"
    assert missing in str(cluster.row("SHOW JOBS")["last_error"])
    facts = dict(cluster.sql("DESCRIBE JOB j").rows)
    assert missing in str(facts["waits"]) and facts["quorum"] == "2 members; 1 available"
    for text in ("RESUME JOB j", "RESTART JOB j"):
        status, message = cluster.said(text)
        assert status == "NOT_RUNNING" and missing in str(message)
        assert str(message).startswith("The job cannot start yet. Waiting for executors")
    assert missing in cluster.refused("WAIT FOR JOB j UNTIL BATCH 9 TIMEOUT 0 SECONDS").message
    cluster.engine.join("4")
    cluster.wait_run(made, waiting.run + 1)
    assert cluster.row("SHOW JOBS")["last_error"] is None


def test_a_waiting_job_can_be_suspended_resumed_replaced_and_dropped(cluster: World) -> None:
    made = cluster.make(options=PROTECTED)
    cluster.engine.leave("2")
    cluster.wait_status(made, Status.NOT_RUNNING)
    assert cluster.said("SUSPEND JOB j")[0] == "SUSPENDED"
    status, message = cluster.said("RESUME JOB j")
    assert status == "NOT_RUNNING" and str(message).startswith("Resumed. Waiting for executors")
    body = "INSERT INTO out SELECT 2 FROM STREAM src"
    options = "OPTIONS ('splitBrainProtectionEnabled'='true')"
    status, message = cluster.said(f"CREATE OR REPLACE JOB j {options} AS {body}")
    assert status == "NOT_RUNNING" and str(message).startswith("Updated.") and "Waiting for executors" in str(message)
    cluster.engine.join("5")
    assert cluster.wait_status(made, Status.RUNNING).version.statement.endswith(body)
    cluster.engine.leave("5")
    cluster.wait_status(made, Status.NOT_RUNNING)
    assert cluster.said("DROP JOB j")[0] == "FAILED"


def test_alter_works_the_quorum_out_anew(cluster: World) -> None:
    made = cluster.make(options=PROTECTED)
    cluster.engine.leave("2")
    cluster.wait_status(made, Status.NOT_RUNNING)
    cluster.sql("SUSPEND JOB j")
    assert cluster.said("ALTER JOB j OPTIONS ('restartAttempts'='1') RESUME")[0] == "RUNNING"
    assert cluster.job(made).quorum == 1


def test_a_quorum_grows_with_the_cluster_and_outlives_the_engine(tmp_path: Path) -> None:
    engine = InMemoryEngine(there=frozenset("12"))
    with world(tmp_path, engine) as w:
        made = w.make(options={**PROTECTED, **OFF})
        engine.join("3", "4")
        assert w.manager.view_after_pending_events(w.job(made)).job.quorum == 3
        assert w.titles(made).count("quorum raised") == 1
    with world(tmp_path, InMemoryEngine(there=frozenset("12"))) as w:
        assert w.wait_status(made, Status.NOT_RUNNING).waiting_for_members
        w.engine.join("3")
        assert w.wait_status(made, Status.RUNNING).members == ("1", "2", "3")


def test_with_the_whole_cluster_gone_jobs_wait_and_new_ones_do(cluster: World) -> None:
    made = cluster.make()
    cluster.engine.leave("1", "2")
    cluster.wait_status(made, Status.NOT_RUNNING)
    row = cluster.row("CREATE JOB k AS INSERT INTO out SELECT * FROM STREAM src")
    assert row["status"] == "NOT_RUNNING" and "Created. Waiting for an executor" in str(row["message"])
    cluster.engine.join("3")
    for each in (made, str(row["id"])):
        assert cluster.wait_status(each, Status.RUNNING).members == ("3",)


def test_a_change_that_the_store_does_not_take_is_tried_again(tmp_path: Path) -> None:
    store = FailingStore(tmp_path / "jetsql.db")
    with world(tmp_path, InMemoryEngine(there=frozenset("12")), store=store) as w:
        made = w.make(options=OFF)
        store.failures = 2
        w.engine.leave("2")
        assert w.wait_status(made, Status.SUSPENDED).cause is not None
        assert store.failures == 0


class FailingStore(Store):
    failures = 0

    def save(self, *arguments: object) -> None:  # type: ignore[override]
        if self.failures:
            self.failures -= 1
            raise EngineError("STORAGE_NOT_USABLE", "The disk is full.")
        super().save(*arguments)  # type: ignore[arg-type]


def test_show_members_has_those_that_are_gone(cluster: World) -> None:
    cluster.engine.leave("2")
    shown = cluster.sql("SHOW MEMBERS")
    at_status = [column.name for column in shown.columns].index("status")
    assert [(row[0], row[at_status]) for row in shown.rows] == [("1", "ACTIVE"), ("2", "GONE")]


def test_growth_spreads_the_state_through_a_manager(tmp_path: Path) -> None:
    engine = InMemoryEngine(COUNTS, there=frozenset("1"), cores_each=2)
    with world(tmp_path, engine) as w:
        made = w.make()
        assert w.job(made).version.session_defaults == CUT
        engine.join("2")
        grown = w.wait_run(made, 2)
        assert (grown.version.session_defaults, grown.version.checkpoint) == ({"spark.sql.shuffle.partitions": "4"}, 1)
        engine.join("3")
        engine.prepare_errors.append(ValueError("no room"))
        grown = w.wait_run(made, 3)
        assert (grown.version.session_defaults, grown.members) == (
            {"spark.sql.shuffle.partitions": "4"},
            ("1", "2", "3"),
        )
        assert "state rescaled" in w.titles(made)
        assert w.said("RESTART JOB j")[0] == "RUNNING"
        assert w.job(made).version.session_defaults == {"spark.sql.shuffle.partitions": "6"}
        engine.leave("3")
        assert w.wait_run(made, 5).version.session_defaults == {"spark.sql.shuffle.partitions": "6"}


def test_what_is_said_while_the_state_is_spread_and_a_suspend_meanwhile(tmp_path: Path) -> None:
    with world(tmp_path, InMemoryEngine(COUNTS, there=frozenset("1"), cores_each=2)) as w:
        made = w.make()
        w.engine.hangs = True
        with w.engine.gate("prepare_update") as opened:
            w.engine.join("2")
            w.engine.wait_entered("prepare_update")
            opened.set()
            assert dict(w.sql("DESCRIBE JOB j").rows)["status"] == "COMPLETING (RESTART)"
            assert w.said("SUSPEND JOB j")[0] == "SUSPENDED"
        assert w.job(made).version.session_defaults == CUT
        assert "The job was to be restarted; now it will be suspended." in str(w.sql("SHOW JOB HISTORY j").rows)


def test_a_job_whose_state_nobody_is_left_to_spread_waits_for_a_member(tmp_path: Path) -> None:
    engine = InMemoryEngine(COUNTS, there=frozenset("1"), cores_each=2)
    with world(tmp_path, engine) as w:
        made = w.make()
        engine.hangs = True
        with engine.gate("prepare_update") as opened:
            engine.join("2")
            engine.wait_entered("prepare_update")
            opened.set()
            engine.leave("1", "2")
            w.wait_status(made, Status.NOT_RUNNING)
        assert w.job(made).version.session_defaults == CUT
        engine.hangs = False
        engine.join("3")
        w.wait_run(made, 2)
