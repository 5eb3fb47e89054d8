"""Alerts on a real manager: a firing is stored with its event, once, and reaches a receiver on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from time import monotonic, sleep, time
from typing import Any

import pytest

from jetsql.errors import EngineError
from jetsql.jobs.lifecycle.runtime import BatchCommitted, RowsChecked
from jetsql.jobs.model.job import Cause, RuleCount, Status
from jetsql.jobs.store.job_store import _NO_NAMES, Store
from jetsql.jobs.store.metrics import BatchMetrics, Metrics
from tests.support.engines.in_memory_runtime import InMemoryRuntime
from tests.support.engines.jobs_harness import QUICK, JobsHarness, run_manager
from tests.support.servers.webhook import Webhook, run_webhook

FATAL = Cause("The disk is full.", "JETSQL.DISK", retryable=False)


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    with run_webhook() as server:
        yield server


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    with run_manager(tmp_path) as harness:
        yield harness


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def alert(webhook: Webhook, condition: str, job: str = "j", options: str = "'every' = '0 seconds'") -> str:
    return f"CREATE ALERT a ON JOB {job} {condition} CALL '{webhook.url}' OPTIONS ({options})"


def rows(jobs: JobsHarness) -> list[dict[str, Any]]:
    """Return the rows of `jetsql.alerts`."""
    from jetsql.jobs.statements.alerts.show_alerts import MESSAGE_COLUMNS
    from jetsql.jobs.statements.system_tables import rows as relation

    names = [column.name for column in MESSAGE_COLUMNS]
    return [dict(zip(names, row, strict=True)) for row in relation(jobs.manager, "alerts")]


def wait_for(reached: Callable[[], bool]) -> None:
    until = monotonic() + 20
    while not reached():
        assert monotonic() < until
        sleep(0.01)


def wait_delivered(jobs: JobsHarness, count: int) -> list[dict[str, Any]]:
    wait_for(lambda: [row["delivery"] for row in rows(jobs)] == ["DELIVERED"] * count)
    return rows(jobs)


def test_failure_of_a_job_reaches_the_webhook(jobs: JobsHarness, webhook: Webhook) -> None:
    job_id = jobs.make(options={"suspendOnFailure": "true"})
    jobs.sql(alert(webhook, "STATUS SUSPENDED, FAILED"))
    began = monotonic()
    jobs.runtime.fail(job_id, FATAL)
    [request] = webhook.wait(1)
    assert monotonic() - began < 5
    assert (request.type, request.data["alert"], request.data["job"]) == ("job.alert.firing", "a", "j")
    assert (request.data["job_id"], request.data["status"]) == (job_id, "SUSPENDED")
    assert "disk is full" in request.data["message"]
    [row] = wait_delivered(jobs, 1)
    assert (row["id"], row["state"], row["attempts"], row["error"]) == (request.id, "FIRING", 1, None)
    jobs.sql("RESUME JOB j")
    _, resolved = webhook.wait(2)
    assert (resolved.type, resolved.data["alert"]) == ("job.alert.resolved", "a")
    assert resolved.id != request.id


def test_new_alert_fires_for_a_job_that_meets_its_condition(jobs: JobsHarness, webhook: Webhook) -> None:
    jobs.make()
    jobs.sql("SUSPEND JOB j")
    jobs.sql(alert(webhook, "STATUS SUSPENDED", job="ALL"))
    [request] = webhook.wait(1)
    assert request.data["job"] == "j"
    assert jobs.row("SHOW ALERTS")["firing"] == "j"


def test_dropped_job_is_no_failure(jobs: JobsHarness, webhook: Webhook) -> None:
    jobs.make()
    jobs.sql(alert(webhook, "STATUS FAILED"))
    jobs.sql("DROP JOB j")
    assert rows(jobs) == []


def test_new_job_with_the_name_ends_the_alert(jobs: JobsHarness, webhook: Webhook) -> None:
    job_id = jobs.make(options={"suspendOnFailure": "false"})
    jobs.sql(alert(webhook, "STATUS FAILED"))
    jobs.runtime.fail(job_id, FATAL)
    jobs.wait_status(job_id, Status.FAILED)
    webhook.wait(1)
    new_id = jobs.make()
    _, resolved = webhook.wait(2)
    assert (resolved.type, resolved.data["job_id"]) == ("job.alert.resolved", new_id)


def test_time_without_a_commit_fires_by_the_timer(tmp_path: Path, webhook: Webhook) -> None:
    with run_manager(tmp_path) as jobs:
        job_id = jobs.make()
        jobs.sql(alert(webhook, "NO COMMIT FOR 1 SECOND"))
        [firing] = webhook.wait(1)
        assert firing.data["message"] == "Job j has committed no batch for 1 second."
        jobs.runtime.commit(job_id)
        _, resolved = webhook.wait(2)
        assert resolved.type == "job.alert.resolved"
        webhook.wait(3)


def test_violations_fire_for_each_batch_once(jobs: JobsHarness, webhook: Webhook) -> None:
    job_id = jobs.make()
    jobs.sql(alert(webhook, "EXPECTATION > 2"))
    count = RuleCount("positive", "a > 0", "WARN")

    def check(batch: int, violations: int) -> None:
        nonlocal count
        count = count.add(batch, 10, violations)
        jobs.runtime.report(job_id, RowsChecked(jobs.runtime.run_id(job_id), (count,)))

    for batch, violations in enumerate((0, 2, 3, 4, 1, 9)):
        check(batch, violations)
    requests = webhook.wait(3)
    assert [each.type.rpartition(".")[2] for each in requests] == ["firing", "resolved", "firing"]
    assert requests[0].data["message"] == "Job j: 3 rows of batch 2 violate the rule positive."


def test_messages_are_limited_and_count_what_was_suppressed(tmp_path: Path, webhook: Webhook) -> None:
    clock = Clock()
    with run_manager(tmp_path, clock=clock) as jobs:
        jobs.make()
        jobs.sql(alert(webhook, "STATUS SUSPENDED", options="'every' = '15 minutes'"))
        for _ in range(3):
            jobs.sql("SUSPEND JOB j")
            jobs.sql("RESUME JOB j")
        assert [row["state"] for row in rows(jobs)] == ["FIRING", "RESOLVED"]
        clock.now += 901
        jobs.sql("SUSPEND JOB j")
        *_, newest = webhook.wait(3)
        assert newest.data["suppressed"] == 2


def test_engine_continues_with_undelivered_messages(tmp_path: Path, webhook: Webhook) -> None:
    webhook.statuses = [503] * 100
    with run_manager(tmp_path) as jobs:
        jobs.make()
        jobs.sql(alert(webhook, "STATUS SUSPENDED"))
        jobs.sql("SUSPEND JOB j")
        [first, *_] = webhook.wait(1)
        wait_for(lambda: rows(jobs)[0]["attempts"] >= 1)
        assert "503" in rows(jobs)[0]["error"]
    webhook.statuses = []
    before = len(webhook.requests)
    with run_manager(tmp_path) as jobs:
        again = webhook.wait(before + 1)[-1]
        assert (again.id, again.body) == (first.id, first.body)
        wait_delivered(jobs, 1)
        jobs.sql("RESUME JOB j")
        wait_delivered(jobs, 2)
    assert len({request.id for request in webhook.requests}) == 2


def test_restart_of_the_engine_doubles_no_firing(tmp_path: Path, webhook: Webhook) -> None:
    with run_manager(tmp_path) as jobs:
        jobs.make()
        jobs.sql(alert(webhook, "STATUS SUSPENDED"))
        jobs.sql("SUSPEND JOB j")
        wait_delivered(jobs, 1)
    for _ in range(2):
        with run_manager(tmp_path) as jobs:
            assert [row["state"] for row in rows(jobs)] == ["FIRING"]
            assert jobs.row("SHOW ALERTS")["firing"] == "j"
    assert len(webhook.requests) == 1


def test_hanging_receiver_delays_no_statement(jobs: JobsHarness, webhook: Webhook) -> None:
    webhook.before_answer = lambda: sleep(3)
    jobs.make()
    jobs.sql(alert(webhook, "STATUS SUSPENDED"))
    began = monotonic()
    for _ in range(5):
        jobs.sql("SUSPEND JOB j")
        jobs.sql("RESUME JOB j")
    assert monotonic() - began < 2
    webhook.before_answer = lambda: None


def test_disabled_and_dropped_alerts_send_nothing(jobs: JobsHarness, webhook: Webhook) -> None:
    jobs.make()
    jobs.sql(alert(webhook, "STATUS SUSPENDED"))
    jobs.sql("ALTER ALERT a DISABLE")
    jobs.sql("SUSPEND JOB j")
    assert rows(jobs) == []
    jobs.sql("ALTER ALERT a ENABLE")
    wait_delivered(jobs, 1)
    jobs.sql("DROP ALERT a")
    jobs.sql("RESUME JOB j")
    assert len(rows(jobs)) == 1


def test_job_without_alerts_is_not_watched(jobs: JobsHarness, webhook: Webhook) -> None:
    jobs.make()
    jobs.make("other", body=replace_table("out2"))
    jobs.sql(alert(webhook, "STATUS SUSPENDED"))
    jobs.sql("SUSPEND JOB other")
    assert rows(jobs) == []


def replace_table(table: str) -> object:
    from tests.support.engines.jobs_harness import body

    return replace(body(table=table))


def test_end_of_a_job_ends_its_violations(jobs: JobsHarness, webhook: Webhook) -> None:
    job_id = jobs.make()
    jobs.sql(alert(webhook, "EXPECTATION"))
    count = RuleCount("positive", "a > 0", "WARN").add(0, 10, 3)
    jobs.runtime.report(job_id, RowsChecked(jobs.runtime.run_id(job_id), (count,)))
    webhook.wait(1)
    jobs.sql("DROP JOB j")
    _, resolved = webhook.wait(2)
    assert resolved.type == "job.alert.resolved"
    assert jobs.store.alerts().states == {}


def test_lag_is_that_of_the_newest_batch(jobs: JobsHarness, webhook: Webhook) -> None:
    job_id = jobs.make()
    jobs.sql(alert(webhook, "LAG > 10 ROWS"))

    def commit(batch: int, lag: int) -> None:
        run = jobs.runtime.run_id(job_id)
        metrics = BatchMetrics(run.run, batch, 0.0, lag={"src": lag, "other": 1}, lag_seconds={"src": 5.0})
        jobs.runtime.report(job_id, BatchCommitted(run, batch, 0.0, 1, 1.0, metrics=metrics))

    for batch, lag in enumerate((9, 10, 50)):
        commit(batch, lag)
    [firing] = webhook.wait(1)
    assert firing.data["message"] == "Job j lags by 11 rows; the limit is 10 rows."
    jobs.runtime.idle(job_id)
    assert webhook.wait(2)[1].type == "job.alert.resolved"


def test_resumed_job_keeps_its_time_after_a_restart(tmp_path: Path, webhook: Webhook) -> None:
    """Resume a job that was suspended for long: the next engine does not count the time before that."""
    clock, metrics = Clock(), Metrics()
    with run_manager(tmp_path, clock=clock, metrics=metrics) as jobs:
        jobs.make()
        jobs.sql("SUSPEND JOB j")
        clock.now += 3600
        jobs.sql("RESUME JOB j")
        jobs.sql(alert(webhook, "NO COMMIT FOR 10 MINUTES"))
    clock.now += 300
    with run_manager(tmp_path, clock=clock, metrics=metrics) as jobs:
        assert rows(jobs) == []
    clock.now += 301  # while no engine runs: the end of one is an event, too
    silent = InMemoryRuntime(quiet=True)  # a batch of the new run would end what fires
    with run_manager(tmp_path, silent, clock=clock, metrics=metrics) as jobs:
        assert [row["state"] for row in rows(jobs)] == ["FIRING"]


def test_store_that_fails_keeps_no_firing_back(tmp_path: Path, webhook: Webhook) -> None:
    store = FailingAlerts(tmp_path / "jetsql.db")
    with run_manager(tmp_path, store=store) as jobs:
        job_id = jobs.make()
        jobs.sql(alert(webhook, "EXPECTATION"))
        store.failures = 2
        count = RuleCount("positive", "a > 0", "WARN").add(0, 10, 3)
        jobs.runtime.report(job_id, RowsChecked(jobs.runtime.run_id(job_id), (count,)))
        webhook.wait(1)
        wait_delivered(jobs, 1)
        assert store.failures == 0


def test_earlier_attempt_does_not_overwrite_a_later_one(tmp_path: Path, webhook: Webhook) -> None:
    """Refuse the result of the first attempt, which the manager stores again after the second one has delivered."""
    store = FailingAlerts(tmp_path / "jetsql.db")
    with run_manager(tmp_path, settings=replace(QUICK, store_retry_seconds=2.0), store=store) as jobs:
        job_id = jobs.make()
        webhook.statuses.append(500)
        jobs.sql(alert(webhook, "STATUS SUSPENDED"))

        def fail_once() -> None:
            store.failures = int(len(webhook.requests) == 1)

        webhook.before_answer = fail_once
        jobs.sql("SUSPEND JOB j")
        jobs.wait_status(job_id, Status.SUSPENDED)
        webhook.wait(2)
        [row] = wait_delivered(jobs, 1)
        retried = Event()
        jobs.manager.alerts._call_at(time() + 2.0, retried.set)
        assert retried.wait(20) and store.failures == 0
        assert rows(jobs) == [row] and row["attempts"] == 2


class FailingAlerts(Store):
    """A store whose next writes about alerts fail as on a full disk."""

    failures = 0

    def _change(self, changes: Sequence[Any], names: Any = _NO_NAMES) -> None:
        if self.failures > 0 and any("alert_" in str(change) for change in changes):
            self.failures -= 1
            raise EngineError("HOME_NOT_USABLE", "The store cannot be used: database or disk is full.")
        super()._change(changes, names)
