"""Cancellation of a statement from another thread than the one that runs it.

A statement waits in many places: for a job's status, for Spark, for a client that reads its rows. A token as an
argument would appear in every signature, so the thread that runs a statement carries it in a context variable. Code
that waits registers a callback with `on_cancel` and calls `check`. A thread without a statement has `NEVER`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Final

from jetsql.errors import StatementError


class Cancellation:
    """The cancellation token of one statement."""

    def __init__(self) -> None:
        self._requested = False
        self._reason = "The statement was cancelled."
        self._callbacks: list[Callable[[], None]] = []
        self._lock = Lock()

    @property
    def is_requested(self) -> bool:
        return self._requested

    def cancel(self, reason: str = "") -> None:
        """Wake the statement where it waits; further calls have no effect.

        reason: the error message, when the client did not request the cancellation.
        """
        with self._lock:
            self._requested = True
            self._reason = reason or self._reason
            callbacks = list(self._callbacks)
        with ExitStack() as stack:  # runs every callback, even if one raises
            for callback in callbacks:
                stack.callback(callback)

    def check(self) -> None:
        """Raise StatementError STATEMENT_CANCELLED when the cancellation was requested."""
        if self._requested:
            raise StatementError("STATEMENT_CANCELLED", self._reason)

    @contextmanager
    def on_cancel(self, callback: Callable[[], None]) -> Iterator[None]:
        """Call `callback` on the thread of `cancel` if the statement is cancelled inside the context.

        Raises as `check` when it is cancelled already.
        """
        with self._lock:
            self._callbacks.append(callback)
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._callbacks.remove(callback)


NEVER: Final = Cancellation()
"""The token of statements that cannot be cancelled."""

_current: ContextVar[Cancellation] = ContextVar("cancellation", default=NEVER)


def current() -> Cancellation:
    """Return the token of the statement that this thread runs."""
    return _current.get()


@contextmanager
def cancellable(cancellation: Cancellation) -> Iterator[None]:
    """Make `cancellation` the token of this thread inside the context."""
    before = _current.set(cancellation)
    try:
        yield
    finally:
        _current.reset(before)
