"""A gate through which the sinks of one engine write, which a backup closes for a moment.

While the gate is closed, no sink changes its table, so the files of all tables and checkpoints are those of one moment.
A backup only lists them meanwhile, and copies them afterwards: files of tables and checkpoints do not change, and the
sinks keep the ones that they would delete.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from jetsql import request
from jetsql.errors import EngineError


class WriteGate:
    """The gate of one engine, open unless a backup has closed it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._writers = Counter[str]()
        self._is_closed = False
        self._is_copying = False

    @property
    def is_copying(self) -> bool:
        """Return whether a backup copies files, which sinks must not delete."""
        return self._is_copying

    @contextmanager
    def writing(self, job: str) -> Iterator[None]:
        """Keep the gate open inside the context; wait while it is closed. job: the name of the job that writes."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_closed)
            self._writers[job] += 1
        try:
            yield
        finally:
            with self._changed:
                self._writers[job] -= 1
                self._writers += Counter()  # without those that do not write any more
                self._changed.notify_all()

    @contextmanager
    def copying(self) -> Iterator[None]:
        """Keep the files of replaced table versions inside the context, in which the gate is closed for a moment."""
        self._is_copying = True
        try:
            yield
        finally:
            self._is_copying = False

    @contextmanager
    def closed(self, seconds: float) -> Iterator[None]:
        """Close the gate inside the context, after the writes that have begun have ended.

        Raises EngineError BACKUP_FAILED when they take longer than `seconds`, and StatementError STATEMENT_CANCELLED.
        The gate is open again then.
        """
        try:
            self._close(seconds)
            yield
        finally:
            with self._changed:
                self._is_closed = False
                self._changed.notify_all()

    def _close(self, seconds: float) -> None:
        token = request.current().cancellation
        with token.on_cancel(self._wake), self._changed:
            self._is_closed = True
            ended = self._changed.wait_for(lambda: token.is_requested or not self._writers, seconds)
            token.check()
            if not ended:
                names = ", ".join(sorted(self._writers))
                raise EngineError(
                    "BACKUP_FAILED",
                    f"The running batches of these jobs did not end within {seconds:g} s: {names}.",
                    hint="Try again when their batches are shorter, or SUSPEND these jobs during the backup.",
                )

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
