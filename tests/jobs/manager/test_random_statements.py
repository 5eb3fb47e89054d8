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
from tests.support.engines.jobs_world import World, world
from tests.support.hypothesis_profiles import examples
from tests.support.random_statements import STATEMENTS, Told, faults, storm

BODY = "INSERT INTO out SELECT * FROM STREAM src"
FAULTS = {
    "FAIL": Cause("the disk is full", "DISK", batch=1),
    "HOPELESS": Cause("1/0", "DIVIDE_BY_ZERO", batch=1, retryable=False),
}
JOBS = st.sampled_from(["a", "b"])


def written(statement: str, job: str) -> str:
    return statement.format(job=job, body=BODY, options="'snapshotIntervalMillis' = '7'")


TEXTS = st.builds(written, st.sampled_from(STATEMENTS), JOBS) | st.builds(
    lambda fault, job: f"{fault} {job}", st.sampled_from(sorted(FAULTS)), JOBS
)


def play(w: World, text: str) -> Sequence[Sequence[object]]:
    """A statement, or something that happens to the run that a job has at this moment."""
    fault, _, name = text.partition(" ")
    if fault not in FAULTS:
        return w.sql(text).rows
    for view in w.manager.registry.live():
        run = w.engine.runs.get(view.job.id)
        if view.job.name == name and run is not None and run.alive:
            w.engine.fail(view.job.id, FAULTS[fault])
    return ()


@settings(max_examples=examples(30), suppress_health_check=list(HealthCheck), print_blob=True)
@given(st.lists(st.lists(TEXTS, min_size=3, max_size=10), min_size=2, max_size=4))
def test_statements_at_the_same_time_report_statuses_that_their_jobs_had_meanwhile(scripts: list[list[str]]) -> None:
    with tempfile.TemporaryDirectory() as folder, world(Path(folder)) as w:
        w.sql(written(STATEMENTS[0], "a"))
        told = storm(lambda text: play(w, text), w.store, scripts, 60.0)
        assert w.manager.workers.wait_all(20.0)
        w.make("last")  # after it, no event of a run is pending
        assert settled(w)
        assert faults(w.store, told) == []
        for job in w.store.live_jobs():
            assert w.manager.view(job).job.status is job.status
        kept = {snapshot.id for snapshot in w.store.snapshots()}
        assert kept <= set(w.engine.snapshots)


def test_a_status_of_before_or_after_the_statement_is_seen(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        job_id = w.make("a")
        w.sql("SUSPEND JOB a")
        after = len(w.store.history(job_id))
        w.sql("RESUME JOB a")
        w.wait_status(job_id, Status.RUNNING)
        later = len(w.store.history(job_id))
        assert faults(w.store, [Told("SUSPEND JOB a", job_id, "SUSPENDED", 2, after)]) == []
        for status, before in (("FAILED", 0), ("SUSPENDED", later)):
            [fault] = faults(w.store, [Told("RESUME JOB a", job_id, status, before, later)])
            assert fault.startswith(f"'RESUME JOB a' reported {status}, and the job only was [")


def settled(w: World) -> bool:
    """Wait until every live job is stable: it runs, or waits for the user."""
    rest = (Status.RUNNING, Status.SUSPENDED, Status.FAILED, Status.COMPLETED)
    views = [
        w.manager.registry.wait(view, lambda now: now.job.status in rest, 20.0) for view in w.manager.registry.live()
    ]
    return all(view.job.status in rest for view in views)


@pytest.fixture(autouse=True)
def nothing_is_lost(caplog: pytest.LogCaptureFixture) -> object:
    """An event that could not be applied is told in the log, and must never be."""
    caplog.set_level(logging.ERROR, "jetsql")
    yield
    assert not [record for record in caplog.records if "lost" in record.getMessage()]


def test_nobody_says_anything_after_the_end(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.make("a")
    with pytest.raises(EngineError):
        w.sql("SUSPEND JOB a")
