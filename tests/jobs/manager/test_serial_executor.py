"""The serial executor of the jobs: operations and timers are executed one after another."""

from __future__ import annotations

from threading import Event

from jetsql.jobs.manager.serial_executor import SerialExecutor


def test_timers_ignore_a_clock_set_back() -> None:
    now = [5_000.0]
    writer = SerialExecutor(lambda: now[0])
    due = Event()

    def begin() -> None:
        writer.call_at(now[0] + 0.01, due.set)
        now[0] -= 3_600.0

    writer.start()
    try:
        writer.submit(begin).result(20)
        assert due.wait(20)
    finally:
        writer.close()
