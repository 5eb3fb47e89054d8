"""Waiting for a job's state in the registry."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from jetsql.jobs.manager.job_registry import JobRegistry, JobView
from tests.support.engines.jobs_harness import JobsHarness, run_manager


@pytest.fixture
def view(tmp_path: Path) -> Iterator[JobView]:
    jobs: JobsHarness
    with run_manager(tmp_path) as jobs:
        yield JobView(jobs.job(jobs.make("j")))


@pytest.mark.parametrize("seconds", [0.9, 60.0])
def test_change_in_the_last_second_ends_the_wait(view: JobView, seconds: float) -> None:
    registry = JobRegistry(lambda job_id: None)
    registry.put(view)
    changed = replace(view, stats=replace(view.stats, stop_message="stopped"))
    threads = [Thread(target=registry.put, args=(changed,))]

    def reached(current: JobView) -> bool:
        if threads:  # the first call, under the registry's lock: the other thread can only change it during the wait
            threads.pop().start()
        return current.stats.stop_message == "stopped"

    assert registry.wait(view, reached, seconds) == changed
    assert not registry.has_waiters(view.job.id)


def test_wait_returns_the_unchanged_view_after_its_timeout(view: JobView) -> None:
    registry = JobRegistry(lambda job_id: None)
    registry.put(view)
    assert registry.wait(view, lambda current: False, 0.0) == view
    assert not registry.has_waiters(view.job.id)


def test_the_last_message_is_that_of_the_newest_history_row(tmp_path: Path) -> None:
    with run_manager(tmp_path) as jobs:
        job_id = jobs.make("j")
        messages = []
        for statement in ("SUSPEND JOB j", "RESUME JOB j"):
            jobs.sql(statement)
            shown = jobs.manager.registry.get(job_id)
            assert shown is not None
            messages.append(shown.stats.last_message)
            assert shown.stats.last_message == jobs.manager.store.history(job_id)[-1].message
        assert len(set(messages)) == 2
