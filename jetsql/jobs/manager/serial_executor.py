"""The one thread that changes jobs: operations come through a queue, timers are part of waiting for the next one.

Nothing else in a process writes, so no step ever sees half of another. An operation may not block on the engine.
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
    return EngineError("ENGINE_NOT_STARTED", "The engine is closed.")


@dataclass(frozen=True)
class _Operation:
    work: Callable[[], Any]
    result: Future[Any]

    def run(self) -> None:
        try:
            self.result.set_result(self.work())
        except BaseException as error:  # the error belongs to who waits for the result; the thread goes on
            self.result.set_exception(error)


@dataclass(frozen=True)
class _Timer:
    """at: seconds since the epoch. latest: of the clock that nobody sets."""

    at: float
    latest: float
    work: Callable[[], Any]

    def left(self, now: float) -> float:
        """Seconds, whichever clock comes there first: one that was set back by an hour must not hold it up so long."""
        return max(0.0, min(self.at - now, self.latest - monotonic()))


class SerialExecutor:
    """Runs operations one after another. clock: seconds since the epoch, for the timers."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._queue: SimpleQueue[_Operation | None] = SimpleQueue()
        self._timers: list[_Timer] = []
        self._lock = Lock()
        self._ended = False
        self._thread = Thread(target=self._loop, name="jetsql-jobs", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Run the operation on the thread; its result or error is in the future.

        After the end: EngineError ENGINE_NOT_STARTED.
        """
        result: Future[T] = Future()
        with self._lock:
            if self._ended:
                result.set_exception(closed_error())
            else:
                self._queue.put(_Operation(work, result))
        return result

    def call_at(self, time: float, work: Callable[[], Any]) -> None:
        """Run the operation when the time (seconds since the epoch) has come. On the thread itself only."""
        self._timers.append(_Timer(time, monotonic() + time - self._clock(), work))

    def drop_timers(self) -> None:
        """On the thread itself only."""
        self._timers.clear()

    def close(self) -> None:
        """End the thread when everything asked so far is done."""
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
