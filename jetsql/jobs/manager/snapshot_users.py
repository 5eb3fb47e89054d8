"""Who uses snapshots at this moment: statements that write one, and new jobs that have not got their copy of one.

What became of a snapshot is told to the statement that writes it by the manager's writer, in the moment when it is
stored: what can be seen of job and snapshot later may be another statement's doing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from jetsql.errors import StatementError
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.job import Job, Snapshot, SnapshotRequest, Status, name_key
from jetsql.language.statement import Name


@dataclass
class PendingSnapshot:
    """A snapshot of a job that does not run. outcome: what it came to, or why there is none; None until then."""

    outcome: Snapshot | str | None = None


class SnapshotNames:
    """The names of snapshots that are being written."""

    def __init__(self) -> None:
        self._names: dict[str, PendingSnapshot] = {}
        self._lock = Lock()

    @contextmanager
    def reserve(self, name: Name) -> Iterator[PendingSnapshot]:
        """Nobody else writes a snapshot of this name meanwhile. Raises StatementError SNAPSHOT_ALREADY_EXISTS."""
        key = name_key(name.text)
        with self._lock:
            if key in self._names:
                raise being_written_error(name)
            writing = self._names[key] = PendingSnapshot()
        try:
            yield writing
        finally:
            with self._lock:
                del self._names[key]

    def finish(self, export: SnapshotRequest, outcome: Snapshot | str) -> None:
        """Who writes the snapshot hears what became of it."""
        with self._lock:
            writing = self._names.get(name_key(export.name))
            if writing is not None:
                writing.outcome = outcome


def being_written_error(name: Name) -> StatementError:
    message = f"A snapshot named {name} is being written by another statement."
    return StatementError("SNAPSHOT_ALREADY_EXISTS", message, place=name.place, hint="Use another name.")


def find_starting_job(snapshot_id: str, live: Iterable[JobView]) -> Job | None:
    """Return a job that starts from the snapshot and may not have got its copy yet."""
    from_it = (
        view.job for view in live if view.job.source_snapshot_id == snapshot_id and view.job.version.checkpoint == 0
    )
    return next(
        (job for job in from_it if not job.version.first_trigger_done and job.status is not Status.RUNNING), None
    )


def check_unused(snapshot: Snapshot, live: Iterable[JobView]) -> None:
    """Raise StatementError WRONG_STATUS while a new job has not got its copy of the snapshot."""
    job = find_starting_job(snapshot.id, live)
    if job is not None:
        message = f"Job {job.name} is just starting from the snapshot {snapshot.name}."
        raise StatementError("WRONG_STATUS", message, hint="Try again when it runs.")
