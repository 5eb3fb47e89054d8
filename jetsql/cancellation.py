"""Breaking off a statement from another thread than the one that runs it.

A statement waits in many places: for a job's status, for Spark, for a reader of its rows. Handing a token through all
of them would put it into every signature, so the thread that runs a statement carries it, as a context variable; where
one waits, one says how to be woken and asks whether to go on. A thread that carries none has `NEVER`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Final

from jetsql.errors import StatementError


class Cancellation:
    """The token of one statement."""

    def __init__(self) -> None:
        self._requested = False
        self._reason = "The statement was cancelled."
        self._callbacks: list[Callable[[], None]] = []
        self._lock = Lock()

    @property
    def is_requested(self) -> bool:
        return self._requested

    def cancel(self, reason: str = "") -> None:
        """Wake the statement wherever it waits; again is fine. words: why, where the client did not ask for it."""
        with self._lock:
            self._requested = True
            self._reason = reason or self._reason
            callbacks = list(self._callbacks)
        with ExitStack() as all_of_them:  # also when one of them fails
            for callback in callbacks:
                all_of_them.callback(callback)

    def check(self) -> None:
        """Raise StatementError STATEMENT_CANCELLED when it was asked for."""
        if self._requested:
            raise StatementError("STATEMENT_CANCELLED", self._reason)

    @contextmanager
    def on_cancel(self, callback: Callable[[], None]) -> Iterator[None]:
        """While this lasts, `cancel` calls `callback`, on its own thread. Raises as `check` when it comes too late."""
        with self._lock:
            self._callbacks.append(callback)
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._callbacks.remove(callback)


NEVER: Final = Cancellation()
"""What a statement has that nobody can cancel."""

_current: ContextVar[Cancellation] = ContextVar("cancellation", default=NEVER)


def current() -> Cancellation:
    """Return the token of the statement that this thread runs."""
    return _current.get()


@contextmanager
def cancellable(cancellation: Cancellation) -> Iterator[None]:
    """What this thread does within can be broken off."""
    before = _current.set(cancellation)
    try:
        yield
    finally:
        _current.reset(before)
