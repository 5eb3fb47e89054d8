"""The turns of starts: as many as cores at a time, in the order of the calls, and none waits for one that hangs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Lock

import pytest

from jetsql.jobs.manager.start_turns import StartTurns, start_order
from tests.conftest import until
from tests.support.engines.jobs_harness import run_manager

STARTS = 12


def test_no_more_starts_than_cores_run_together() -> None:
    turns, lock = StartTurns(cores=3, seconds=60), Lock()
    running, most = 0, 0
    all_run = Event()

    def start(number: int) -> None:
        nonlocal running, most
        with turns.turn():
            with lock:
                running += 1
                most = max(most, running)
                if running == 3:
                    all_run.set()
            assert all_run.wait(10)
            with lock:
                running -= 1

    with ThreadPoolExecutor(STARTS) as threads:
        list(threads.map(start, range(STARTS)))
    assert most == 3


def test_turns_come_in_the_order_of_the_calls() -> None:
    turns = StartTurns(cores=1, seconds=60)
    order: list[int] = []

    def start(number: int) -> None:
        with turns.turn():
            order.append(number)

    with ThreadPoolExecutor(STARTS) as threads:
        with turns.turn():
            for number in range(STARTS):
                threads.submit(start, number)
                until(lambda wanted=number + 1: len(turns._waiting) == wanted)  # type: ignore[misc]
    assert order == list(range(STARTS))


def test_start_that_hangs_keeps_no_other_waiting() -> None:
    turns, ended = StartTurns(cores=1, seconds=0.05), Event()

    def start(number: int) -> int:
        with turns.turn():
            assert number or ended.wait(10)
        return number

    with ThreadPoolExecutor(STARTS) as threads:
        hanging = threads.submit(start, 0)
        assert list(threads.map(start, range(1, STARTS))) == list(range(1, STARTS))
        assert not hanging.done()
        ended.set()


def test_failed_start_gives_its_turn_back() -> None:
    turns = StartTurns(cores=1, seconds=60)
    for _ in range(3):
        with pytest.raises(ValueError), turns.turn():
            raise ValueError


def test_jobs_with_short_intervals_start_first(tmp_path: Path) -> None:
    intervals = {"hourly": "3600000", "tick": "500", "default": "10000", "often": "1000"}
    with run_manager(tmp_path) as jobs:
        for name, millis in intervals.items():
            jobs.make(name, options={"snapshotIntervalMillis": millis})
        names = [job.name for job in start_order(jobs.store.live_jobs())]
    assert names == ["tick", "often", "default", "hourly"]
