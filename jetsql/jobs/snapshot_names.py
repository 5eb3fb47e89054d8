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
                message = f"A snapshot named {name} is being written by another statement."
                raise StatementError("SNAPSHOT_ALREADY_EXISTS", message, place=name.place, hint="Use another name.")
            self._names.add(key)
        try:
            yield
        finally:
            with self._lock:
                self._names.discard(key)


def still_needed(snapshot: Snapshot, live: Iterable[View]) -> Job | None:
    """A job that starts from the snapshot and has not got its copy yet."""
    starting = (view.job for view in live if view.job.origin == snapshot.id and not view.job.established)
    return next((job for job in starting if job.status is not Status.RUNNING), None)
