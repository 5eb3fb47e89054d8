"""The queue of resources: one worker for each at a time, and growing pauses."""

from __future__ import annotations

from threading import Thread

import pytest

from jetsql.job_resources import work_queue
from jetsql.job_resources.resource import ResourceKey, ResourceKind
from jetsql.job_resources.work_queue import WorkQueue

A, B = (ResourceKey(ResourceKind.JOB, "streams", name) for name in "ab")


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    moment = [1000.0]
    monkeypatch.setattr(work_queue, "monotonic", lambda: moment[0])
    return moment


def test_key_at_work_waits_for_its_worker(now: list[float]) -> None:
    queue = WorkQueue()
    queue.add(A)
    assert queue.take() == A
    queue.add(A)
    queue.add(B)
    assert queue.take() == B
    queue.done(A)
    assert queue.take() == A


def test_key_is_taken_once_at_its_earliest_time(now: list[float]) -> None:
    queue = WorkQueue()
    queue.add(A, 30.0)
    queue.add(A, 5.0)
    queue.add(A, 60.0)
    queue.add(B, 10.0)
    now[0] += 20.0
    assert [queue.take(), queue.take()] == [A, B]
    queue.done(A)
    queue.done(B)
    now[0] += 100.0
    queue.add(B)
    assert queue.take() == B


def test_pauses_after_failures_grow_to_a_limit(now: list[float]) -> None:
    queue = WorkQueue()
    pauses = []
    for _ in range(14):
        queue.retry(A)
        pauses.append(queue._due[A] - now[0])
        now[0] = queue._due[A]
        assert queue.take() == A
        queue.done(A)
    assert 2.0 <= pauses[0] <= 2.4 and 4.0 <= pauses[1] <= 4.8
    assert all(300.0 <= each <= 360.0 for each in pauses[-4:])
    queue.forget_failures(A)
    queue.retry(A)
    assert queue._due[A] - now[0] <= 2.4


def test_closed_queue_ends_its_workers() -> None:
    queue = WorkQueue()
    taken: list[object] = []
    worker = Thread(target=lambda: taken.append(queue.take()))
    worker.start()
    queue.close()
    worker.join(10)
    assert taken == [None]
