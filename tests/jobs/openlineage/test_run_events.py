"""The OpenLineage events of a manager: one START and one end for each run, also over a crash, and no secrets."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import Any

import pytest

from jetsql.errors import EngineError
from jetsql.jobs.lifecycle.runtime import LineageFound, ResourceExhausted, RowsChecked
from jetsql.jobs.model.body_analysis import CapturedSession
from jetsql.jobs.model.job import Cause, RuleCount, Status
from jetsql.jobs.openlineage.job_lineage import ColumnUse, Dataset, JobLineage, Transformation, WrittenDataset
from jetsql.jobs.openlineage.openlineage_settings import OpenLineageSettings
from jetsql.jobs.store.job_store import Store
from tests.support.engines.in_memory_runtime import InMemoryRuntime, analysis
from tests.support.engines.jobs_harness import JobsHarness, run_manager
from tests.support.servers.webhook import Webhook, run_webhook

FATAL = Cause("The disk is full.", "JETSQL.DISK", retryable=False)
RUN = "0199f4a1-0000-7000-8000-000000000001"
SOURCE = Dataset("kafka://broker:9092", "orders", (("id", "bigint"),), "spark_catalog.default.orders", "kafka")
SINK = Dataset("file", "/out", (("id", "bigint"),), "spark_catalog.default.out", "parquet")
USE = ColumnUse(SOURCE, "id", (Transformation("DIRECT", "IDENTITY"),))
LINEAGE = JobLineage((SOURCE,), (WrittenDataset(SINK, {"id": (USE,)}, (USE,)),), {"positive": (USE,)})


def to_file(folder: Path, **settings: Any) -> OpenLineageSettings:
    return OpenLineageSettings(openlineage_file=folder / "events", **settings)


@contextmanager
def managed(folder: Path, **settings: Any) -> Iterator[JobsHarness]:
    with run_manager(folder, openlineage=to_file(folder, **settings)) as jobs:
        yield jobs


def events(folder: Path) -> list[dict[str, Any]]:
    file = folder / "events"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def kinds(folder: Path) -> list[str]:
    return [event["eventType"] for event in events(folder)]


def wait_kinds(folder: Path, *expected: str) -> list[dict[str, Any]]:
    until = monotonic() + 20
    while kinds(folder) != list(expected):
        assert monotonic() < until, kinds(folder)
        sleep(0.01)
    return events(folder)


def test_each_run_has_a_start_and_an_end(tmp_path: Path) -> None:
    with managed(tmp_path) as jobs:
        jobs.make()
        jobs.sql("SUSPEND JOB j")
        jobs.sql("RESUME JOB j")
        jobs.sql("DROP JOB j")
    found = events(tmp_path)
    assert kinds(tmp_path) == ["START", "RUNNING", "ABORT"] * 2
    assert [event["run"]["runId"] for event in found[:3]] == [found[0]["run"]["runId"]] * 3
    assert found[0]["run"]["runId"] != found[3]["run"]["runId"]
    assert sorted(event["eventTime"] for event in found) == [event["eventTime"] for event in found]
    assert {(event["job"]["namespace"], event["job"]["name"]) for event in found} == {("jetsql", "j")}


def test_failed_run_has_its_error_and_the_next_one_starts(tmp_path: Path) -> None:
    with managed(tmp_path) as jobs:
        job_id = jobs.make()
        jobs.runtime.fail(job_id, Cause("The broker is away: https://ann:secret1@broker/x", retryable=True))
        jobs.wait_run(job_id, 2)
        jobs.runtime.fail(job_id, FATAL)
        jobs.wait_status(job_id, Status.SUSPENDED)
    found = events(tmp_path)
    assert [kind for kind in kinds(tmp_path) if kind != "RUNNING"] == ["START", "FAIL", "START", "FAIL"]
    errors = [event["run"]["facets"]["errorMessage"]["message"] for event in found if event["eventType"] == "FAIL"]
    assert errors == ["The broker is away: https://***@broker/x", "The disk is full."]


def test_run_in_danger_ends_with_its_reason(tmp_path: Path) -> None:
    with managed(tmp_path) as jobs:
        job_id = jobs.make()
        jobs.runtime.report(job_id, ResourceExhausted(jobs.runtime.run_id(job_id), FATAL))
        jobs.wait_status(job_id, Status.SUSPENDED)
    assert kinds(tmp_path)[-1] == "FAIL"
    assert "disk is full" in json.dumps(events(tmp_path)[-1]["run"])


def test_completed_run_and_start_that_fails(tmp_path: Path) -> None:
    runtime = InMemoryRuntime(analysis=analysis(streaming=False))
    with run_manager(tmp_path, runtime, openlineage=to_file(tmp_path)) as jobs:
        creating, job = jobs.begin("CREATE JOB j AS INSERT INTO out SELECT * FROM src")
        jobs.runtime.complete(job.id)
        creating.result(20)
        jobs.runtime.start_errors.append(RuntimeError("no disk"))
        jobs.error_of("CREATE JOB k AS INSERT INTO out SELECT * FROM STREAM src")
    assert [kind for kind in kinds(tmp_path) if kind != "RUNNING"] == ["START", "COMPLETE", "START", "FAIL"]
    assert events(tmp_path)[0]["job"]["facets"]["jobType"]["processingType"] == "BATCH"


def test_datasets_columns_and_rules_of_a_run(tmp_path: Path) -> None:
    runtime = InMemoryRuntime(quiet=True)
    with run_manager(tmp_path, runtime, openlineage=to_file(tmp_path, openlineage_running_seconds=0.01)) as jobs:
        creating, job = jobs.begin("CREATE JOB j COMMENT 'copies' AS INSERT INTO out SELECT * FROM STREAM src")
        run = runtime.run_id(job.id)
        runtime.report(job.id, LineageFound(run, LINEAGE))
        count = RuleCount("positive", "id > 0", "DROP ROW").add(0, 10, 3)
        runtime.report(job.id, RowsChecked(run, (count,)))
        runtime.commit(job.id)
        creating.result(20)
        wait_kinds(tmp_path, "START", "RUNNING")
    start, running, _ = events(tmp_path)
    assert start["job"]["facets"]["documentation"]["description"] == "copies"
    assert start["job"]["facets"]["sql"]["query"].startswith("CREATE JOB j COMMENT")
    [source], [sink] = start["inputs"], start["outputs"]
    assert (source["namespace"], source["name"]) == ("kafka://broker:9092", "orders")
    assert source["facets"]["symlinks"]["identifiers"][0]["name"] == "spark_catalog.default.orders"
    assert sink["facets"]["schema"]["fields"] == [{"name": "id", "type": "bigint"}]
    [field] = sink["facets"]["columnLineage"]["fields"]["id"]["inputFields"]
    assert (field["name"], field["field"], field["transformations"][0]["subtype"]) == ("orders", "id", "IDENTITY")
    assert "inputFacets" not in source
    [assertion] = running["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert (assertion["name"], assertion["success"], assertion["column"]) == ("positive", False, "id")
    assert (assertion["actual"], assertion["params"]["rows"]) == ("3", 10)


def test_running_is_sent_at_a_bounded_rate(tmp_path: Path) -> None:
    with managed(tmp_path) as jobs:
        job_id = jobs.make()
        for _ in range(50):
            jobs.runtime.commit(job_id)
    assert kinds(tmp_path).count("RUNNING") == 1


def test_engine_that_stops_ends_its_runs(tmp_path: Path) -> None:
    with managed(tmp_path) as jobs:
        jobs.make()
    assert kinds(tmp_path) == ["START", "RUNNING", "ABORT"]
    with managed(tmp_path):
        pass
    assert kinds(tmp_path) == ["START", "RUNNING", "ABORT"] * 2


def test_next_engine_ends_the_runs_of_a_killed_one(tmp_path: Path) -> None:
    killed, restarted = tmp_path / "killed", tmp_path / "restarted"
    killed.mkdir()
    restarted.mkdir()
    with managed(killed) as jobs:
        running = jobs.make("running")
        failed = jobs.make("failed")
        dropped = jobs.make("dropped")
        jobs.runtime.fail(failed, FATAL)
        jobs.wait_status(failed, Status.SUSPENDED)
        jobs.sql("DROP JOB dropped")
        ids = {event["job"]["name"]: event["run"]["runId"] for event in events(killed)}
        shutil.copy(killed / "jetsql.db", restarted)  # what is left after kill -9
        wal = killed / "jetsql.db-wal"
        if wal.exists():
            shutil.copy(wal, restarted)
    assert len({running, failed, dropped}) == 3
    with managed(restarted) as jobs:
        jobs.wait_run(running, 2)
    found = [(event["job"]["name"], event["eventType"], event["run"]["runId"]) for event in events(restarted)]
    assert ("running", "ABORT", ids["running"]) in found
    assert ("failed", "FAIL", ids["failed"]) in found  # it may have waited for the receiver
    assert ("dropped", "ABORT", ids["dropped"]) in found
    assert [kind for name, kind, _ in found if name == "running"] == ["ABORT", "START", "RUNNING", "ABORT"]


def test_parent_of_the_session_is_in_the_events(tmp_path: Path) -> None:
    session = CapturedSession("spark_catalog", "default", {}, f"airflow/dag.task/{RUN},airflow/dag/{RUN}")
    runtime = InMemoryRuntime(analysis=analysis(session=session))
    with run_manager(tmp_path, runtime, openlineage=to_file(tmp_path)) as jobs:
        jobs.make()
    parent = events(tmp_path)[0]["run"]["facets"]["parent"]
    assert (parent["job"], parent["run"]) == ({"namespace": "airflow", "name": "dag.task"}, {"runId": RUN})
    assert parent["root"]["job"]["name"] == "dag"


def test_events_have_no_secrets(tmp_path: Path) -> None:
    text = (
        "CREATE JOB j OPTIONS ('spark.my.password' = 'hunter2') AS INSERT INTO out SELECT * FROM STREAM src"
        " WITH ('url' = 'jdbc:postgresql://ann:secret1@db/shop?password=secret2', 'sasl.jaas.config' = 'secret3')"
    )
    with managed(tmp_path) as jobs:
        jobs.runtime.refused_confs.clear()
        jobs.sql(text)
    written = (tmp_path / "events").read_text()
    assert "CREATE JOB j" in written
    assert not any(secret in written for secret in ("hunter2", "secret1", "secret2", "secret3"))


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    with run_webhook() as server:
        yield server


def test_hanging_receiver_delays_neither_jobs_nor_the_end(
    tmp_path: Path, webhook: Webhook, caplog: pytest.LogCaptureFixture
) -> None:
    released = Event()
    webhook.before_answer = partial(_wait, released)
    settings = OpenLineageSettings(
        openlineage_url=webhook.url, openlineage_events_most=5, openlineage_running_seconds=1e-6
    )
    with run_manager(tmp_path, openlineage=settings) as jobs:
        job_id = jobs.make()
        webhook.wait(1)
        began = monotonic()
        for _ in range(200):
            jobs.runtime.commit(job_id)
        jobs.sql("WAIT FOR JOB j UNTIL BATCH 200")
        jobs.sql("DROP JOB j")
        assert monotonic() - began < 10
        ending = monotonic()
    assert monotonic() - ending < 10
    released.set()
    dropped = [record for record in caplog.records if "are dropped" in record.message]
    assert len(dropped) == 1


def test_receiver_that_refuses_gets_the_events_later(tmp_path: Path, webhook: Webhook) -> None:
    webhook.statuses = [500, 503, 429]
    with run_manager(tmp_path, openlineage=OpenLineageSettings(openlineage_url=webhook.url)) as jobs:
        jobs.make()
        received = webhook.wait(5, 40)
    kinds = [json.loads(request.body)["eventType"] for request in received]
    assert kinds[:5] == ["START"] * 4 + ["RUNNING"]


def test_namespace_and_owner(tmp_path: Path) -> None:
    with managed(tmp_path, openlineage_namespace="eu-1") as jobs:
        jobs.make()
    [event, *_] = events(tmp_path)
    assert event["job"]["namespace"] == "eu-1"
    assert "ownership" not in event["job"]["facets"]


def test_error_of_an_event_harms_no_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jetsql.jobs.openlineage.run_events.event_document", lambda *_: 1 / 0)
    with managed(tmp_path) as jobs:
        job_id = jobs.make()
        assert jobs.job(job_id).status is Status.RUNNING
    assert events(tmp_path) == []


def test_store_that_is_not_readable_prevents_no_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(store: Store) -> None:
        raise EngineError("STORE_DAMAGED", "The store is damaged.")

    monkeypatch.setattr(Store, "ended_jobs", fail)
    with managed(tmp_path) as jobs:
        jobs.make()
    assert kinds(tmp_path)[0] == "START"


def test_settings_that_are_off_send_nothing(tmp_path: Path) -> None:
    with run_manager(tmp_path, openlineage=replace(to_file(tmp_path), openlineage_file=None)) as jobs:
        jobs.make()
    assert not (tmp_path / "events").exists()


def _wait(released: Event) -> None:
    released.wait(30)
