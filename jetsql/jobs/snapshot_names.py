"""Who uses snapshots at this moment: statements that write one, and new jobs that have not got their copy of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Lock

from jetsql.errors import StatementError
from jetsql.jobs.board import View
from jetsql.jobs.model import Job, Snapshot, Status, name_key
from jetsql.language.statements import Name


class NamesInUse:
    """The names of snapshots that are being written."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._lock = Lock()

    @contextmanager
    def held(self, name: Name) -> Iterator[None]:
        """Nobody else writes a snapshot of this name meanwhile. Raises StatementError SNAPSHOT_ALREADY_EXISTS."""
        key = name_key(name.text)
        with self._lock:
            if key in self._names:
                raise being_written(name)
            self._names.add(key)
        try:
            yield
        finally:
            with self._lock:
                self._names.discard(key)


def being_written(name: Name) -> StatementError:
    message = f"A snapshot named {name} is being written by another statement."
    return StatementError("SNAPSHOT_ALREADY_EXISTS", message, place=name.place, hint="Use another name.")


def still_needed(snapshot: Snapshot, live: Iterable[View]) -> Job | None:
    """A job that starts from the snapshot and may not have got its copy yet."""
    from_it = (view.job for view in live if view.job.origin == snapshot.id and view.job.checkpoint == 0)
    return next((job for job in from_it if not job.established and job.status is not Status.RUNNING), None)
