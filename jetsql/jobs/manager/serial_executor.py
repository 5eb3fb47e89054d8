"""The writer thread, which alone changes jobs: operations come from a queue, and timers run between them.

No other thread of the process writes, so steps never interleave. An operation must not block on the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any, TypeVar

from jetsql.errors import EngineError

T = TypeVar("T")


def closed_error() -> EngineError:
    """Return the error for calls on a closed engine."""
    return EngineError("ENGINE_NOT_STARTED", "The engine is closed.")


@dataclass(frozen=True)
class _Operation:
    work: Callable[[], Any]
    result: Future[Any]

    def run(self) -> None:
        try:
            self.result.set_result(self.work())
        except BaseException as error:  # raised for the caller that waits for the result; the thread continues
            self.result.set_exception(error)


@dataclass(frozen=True)
class _Timer:
    at: float  # seconds since the epoch
    latest: float  # the same time on the monotonic clock
    work: Callable[[], Any]

    def left(self, now: float) -> float:
        """Return the remaining seconds of the clock that is ahead: setting a clock back must not delay the timer."""
        return max(0.0, min(self.at - now, self.latest - monotonic()))


class SerialExecutor:
    """A thread that runs operations one after another, and timers."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Create the executor. clock: returns seconds since the epoch, for the timers."""
        self._clock = clock
        self._queue: SimpleQueue[_Operation | None] = SimpleQueue()
        self._timers: list[_Timer] = []
        self._lock = Lock()
        self._ended = False
        self._thread = Thread(target=self._loop, name="jetsql-jobs", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Run the operation on the thread; the future has its result or error.

        After `close` the error is EngineError ENGINE_NOT_STARTED.
        """
        result: Future[T] = Future()
        with self._lock:
            if self._ended:
                result.set_exception(closed_error())
            else:
                self._queue.put(_Operation(work, result))
        return result

    def call_at(self, time: float, work: Callable[[], Any]) -> None:
        """Run the operation at a time (seconds since the epoch). Only operations can call this."""
        self._timers.append(_Timer(time, monotonic() + time - self._clock(), work))

    def drop_timers(self) -> None:
        """Cancel all timers. Only operations can call this."""
        self._timers.clear()

    def close(self) -> None:
        """End the thread after all submitted operations are done."""
        with self._lock:
            self._ended = True
            self._queue.put(None)
        self._thread.join()

    def _loop(self) -> None:
        while True:
            try:
                operation = self._queue.get(timeout=self._seconds_left())
            except Empty:
                self._run_due()
                continue
            if operation is None:
                return
            operation.run()
            self._run_due()

    def _seconds_left(self) -> float | None:
        now = self._clock()
        return min((timer.left(now) for timer in self._timers), default=None)

    def _run_due(self) -> None:
        now = self._clock()
        due = sorted((timer for timer in self._timers if not timer.left(now)), key=lambda timer: timer.at)
        for timer in due:
            self._timers.remove(timer)
            _Operation(timer.work, Future()).run()
