"""The statements of resources that run now, within the limits of their user.

A statement beyond the limit of its user waits. At other endpoints it is refused, and the client sends it again; here
there is no client that could.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Final

from jetsql.errors import EngineError
from jetsql.jobs.access.user_limits import UserLimits
from jetsql.request import Cancellation, cancellable

_STOPS: Final = "The engine is stopping."


class StatementTurns:
    """The turns of statements. Any thread can take one."""

    def __init__(self, limits: UserLimits) -> None:
        self._limits = limits
        self._running: set[Cancellation] = set()
        self._is_over = False
        self._changed = Condition()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until the caller may run a further statement, and limit its time inside the context.

        Raises EngineError ENGINE_NOT_STARTED instead of the error of a statement when the engine stops.
        """
        cancellation = Cancellation()
        with self._changed:
            while not self._is_over and self._limits.are_reached(len(self._running)):
                self._changed.wait()
            if self._is_over:
                raise EngineError("ENGINE_NOT_STARTED", _STOPS)
            self._running.add(cancellation)
        try:
            with self._limits.limited_time(cancellation), cancellable(cancellation):
                yield
        except Exception as error:  # of Spark as well
            if self._is_over:
                raise EngineError("ENGINE_NOT_STARTED", _STOPS) from error
            raise
        finally:
            with self._changed:
                self._running.discard(cancellation)
                self._changed.notify()

    def end(self) -> None:
        """Cancel the statements that run, and refuse further ones."""
        with self._changed:
            self._is_over = True
            running = tuple(self._running)
            self._changed.notify_all()
        for cancellation in running:
            cancellation.end_with_engine()
