"""The current users of snapshots: statements that write one, and new jobs that still have to copy one.

The manager's writer thread passes the outcome of a snapshot to the statement that writes it when it is stored. Later,
another statement can have changed job and snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from jetsql.errors import StatementError
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.job import Job, Snapshot, SnapshotRequest, Status, name_key
from jetsql.language.statement import Name


@dataclass
class PendingSnapshot:
    """A snapshot of a job that does not run, while it is written."""

    outcome: Snapshot | str | None = None  # the snapshot, or the error message; None until it is known


class SnapshotNames:
    """The names of snapshots that are being written."""

    def __init__(self) -> None:
        self._names: dict[str, PendingSnapshot] = {}
        self._lock = Lock()

    @contextmanager
    def reserve(self, name: Name) -> Iterator[PendingSnapshot]:
        """Prevent other statements from writing a snapshot with this name inside the context.

        Raises StatementError SNAPSHOT_ALREADY_EXISTS.
        """
        key = name_key(name.text)
        with self._lock:
            if key in self._names:
                raise being_written_error(name)
            pending = self._names[key] = PendingSnapshot()
        try:
            yield pending
        finally:
            with self._lock:
                del self._names[key]

    def finish(self, request: SnapshotRequest, outcome: Snapshot | str) -> None:
        """Set the outcome of a snapshot for the statement that writes it."""
        with self._lock:
            pending = self._names.get(name_key(request.name))
            if pending is not None:
                pending.outcome = outcome


def being_written_error(name: Name) -> StatementError:
    """Return the error for a name that another statement is writing a snapshot with."""
    message = f"A snapshot named {name} is being written by another statement."
    return StatementError("SNAPSHOT_ALREADY_EXISTS", message, place=name.place, hint="Use another name.")


def find_starting_job(snapshot_id: str, live: Iterable[JobView]) -> Job | None:
    """Return a live job that starts from the snapshot and can still have to copy it, or None."""
    users = (
        view.job for view in live if view.job.source_snapshot_id == snapshot_id and view.job.version.checkpoint == 0
    )
    return next((job for job in users if not job.version.first_trigger_done and job.status is not Status.RUNNING), None)


def check_unused(snapshot: Snapshot, live: Iterable[JobView], sees: Callable[[Job], bool]) -> None:
    """Raise StatementError WRONG_STATUS while a new job still has to copy the snapshot.

    sees: whether the caller has a right on a job; the message does not name others.
    """
    job = find_starting_job(snapshot.id, live)
    if job is not None:
        shown = f"job {job.name}" if sees(job) else "a job of another user"
        message = f"The snapshot {snapshot.name} is in use: {shown} is starting from it."
        raise StatementError("WRONG_STATUS", message, hint="Try again when the job runs.")
