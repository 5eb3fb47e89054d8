"""Random statements from several threads on the in-memory engine, with runs that fail in between."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jetsql.errors import EngineError
from jetsql.jobs.model.job import Cause, Status
from tests.support.engines.jobs_harness import JobsHarness, run_manager
from tests.support.hypothesis_profiles import examples
from tests.support.random_statements import STATEMENTS, ReportedStatus, faults, run_scripts

BODY = "INSERT INTO out SELECT * FROM STREAM src"
FAULTS = {
    "FAIL": Cause("the disk is full", "DISK", batch=1),
    "FATAL_ERROR": Cause("1/0", "DIVIDE_BY_ZERO", batch=1, retryable=False),
}
JOBS = st.sampled_from(["a", "b"])


def written(statement: str, job: str) -> str:
    return statement.format(job=job, body=BODY, options="'snapshotIntervalMillis' = '7'")


TEXTS = st.builds(written, st.sampled_from(STATEMENTS), JOBS) | st.builds(
    lambda fault, job: f"{fault} {job}", st.sampled_from(sorted(FAULTS)), JOBS
)


def run(jobs: JobsHarness, text: str) -> Sequence[Sequence[object]]:
    """Run a statement, or let something happen to the run that a job has at this moment."""
    fault, _, name = text.partition(" ")
    if fault not in FAULTS:
        return jobs.sql(text).rows
    for view in jobs.manager.registry.live():
        current = jobs.runtime.runs.get(view.job.id)
        if view.job.name == name and current is not None and current.alive:
            jobs.runtime.fail(view.job.id, FAULTS[fault])
    return ()


@settings(max_examples=examples(30), suppress_health_check=list(HealthCheck), print_blob=True)
@given(st.lists(st.lists(TEXTS, min_size=3, max_size=10), min_size=2, max_size=4))
def test_concurrent_statements_report_statuses_of_their_jobs(scripts: list[list[str]]) -> None:
    with tempfile.TemporaryDirectory() as folder, run_manager(Path(folder)) as jobs:
        jobs.sql(written(STATEMENTS[0], "a"))
        reports = run_scripts(lambda text: run(jobs, text), jobs.store, scripts, 60.0)
        assert jobs.manager.workers.wait_all(20.0)
        jobs.make("last")  # after it, no event of a run is pending
        assert settled(jobs)
        assert faults(jobs.store, reports) == []
        for job in jobs.store.live_jobs():
            assert jobs.manager.view(job).job.status is job.status
        kept = {snapshot.id for snapshot in jobs.store.snapshots()}
        assert kept <= set(jobs.runtime.snapshots)


def test_statuses_outside_the_statement_are_detected(tmp_path: Path) -> None:
    with run_manager(tmp_path) as jobs:
        job_id = jobs.make("a")
        jobs.sql("SUSPEND JOB a")
        after = len(jobs.store.history(job_id))
        jobs.sql("RESUME JOB a")
        jobs.wait_status(job_id, Status.RUNNING)
        later = len(jobs.store.history(job_id))
        assert faults(jobs.store, [ReportedStatus("SUSPEND JOB a", job_id, "SUSPENDED", 2, after)]) == []
        for status, before in (("FAILED", 0), ("SUSPENDED", later)):
            [fault] = faults(jobs.store, [ReportedStatus("RESUME JOB a", job_id, status, before, later)])
            assert fault.startswith(f"'RESUME JOB a' reported {status}, and the job only was [")


def settled(jobs: JobsHarness) -> bool:
    """Wait until every live job is stable: it runs, or waits for the user."""
    rest = (Status.RUNNING, Status.SUSPENDED, Status.FAILED, Status.COMPLETED)
    views = [
        jobs.manager.registry.wait(view, lambda now: now.job.status in rest, 20.0)
        for view in jobs.manager.registry.live()
    ]
    return all(view.job.status in rest for view in views)


@pytest.fixture(autouse=True)
def nothing_is_lost(caplog: pytest.LogCaptureFixture) -> object:
    """Fail if the log has an event that could not be applied."""
    caplog.set_level(logging.ERROR, "jetsql")
    yield
    assert not [record for record in caplog.records if "lost" in record.getMessage()]


def test_statements_after_close_are_refused(tmp_path: Path) -> None:
    with run_manager(tmp_path) as jobs:
        jobs.make("a")
    with pytest.raises(EngineError):
        jobs.sql("SUSPEND JOB a")
