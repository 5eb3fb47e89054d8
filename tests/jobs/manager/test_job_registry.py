"""Waiting for a job's state in the registry."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from jetsql.jobs.manager.job_registry import JobRegistry, JobView
from tests.support.engines.jobs_world import World, world


@pytest.fixture
def view(tmp_path: Path) -> Iterator[JobView]:
    w: World
    with world(tmp_path) as w:
        yield JobView(w.job(w.make("j")))


@pytest.mark.parametrize("seconds", [0.9, 60.0])
def test_a_change_ends_the_wait_also_in_the_last_second(view: JobView, seconds: float) -> None:
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


def test_a_wait_returns_the_unchanged_view_when_the_time_is_up(view: JobView) -> None:
    registry = JobRegistry(lambda job_id: None)
    registry.put(view)
    assert registry.wait(view, lambda current: False, 0.0) == view
    assert not registry.has_waiters(view.job.id)


def test_the_last_message_is_that_of_the_newest_history_row(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        job_id = w.make("j")
        messages = []
        for statement in ("SUSPEND JOB j", "RESUME JOB j"):
            w.sql(statement)
            shown = w.manager.registry.get(job_id)
            assert shown is not None
            messages.append(shown.stats.last_message)
            assert shown.stats.last_message == w.manager.store.history(job_id)[-1].message
        assert len(set(messages)) == 2
