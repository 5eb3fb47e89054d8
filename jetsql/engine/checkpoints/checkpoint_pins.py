"""Keeps a query from running too far ahead while its checkpoint is copied.

Spark deletes what is more than a hundred batches old (`spark.sql.streaming.minBatchesToRetain`). A copy that takes that
many batches would lose files that it has not come to, so a query that is half-way there waits, in its next batch, until
the copy is done. Deleting waits too: a folder is not taken away under a copy.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_AHEAD = 50


class CheckpointPins:
    """The copies that are being made of one engine's checkpoints, by job."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._copied: dict[str, list[int]] = {}

    @contextmanager
    def copying(self, job: str, batch: int) -> Iterator[None]:
        """While this lasts, the job's checkpoint keeps what belongs to the batch."""
        with self._changed:
            self._copied.setdefault(job, []).append(batch)
        try:
            yield
        finally:
            with self._changed:
                self._copied[job].remove(batch)
                if not self._copied[job]:
                    del self._copied[job]
                self._changed.notify_all()

    def before_batch(self, job: str, batch: int, stopping: threading.Event) -> None:
        """Wait while the batch would be too far ahead of a copy. A query that is to stop makes one batch more at most,
        so it need not wait.
        """
        with self._changed:
            while batch - min(self._copied.get(job, [batch])) > _AHEAD and not stopping.is_set():
                self._changed.wait(1.0)

    def before_deleting(self, job: str) -> None:
        """Wait until nobody copies the job's checkpoint."""
        with self._changed:
            self._changed.wait_for(lambda: job not in self._copied)
