"""Fail points for crash tests, and the table of them.

`JETSQL_FAILPOINT=staged` kills the process at that point as `kill -9` would; `staged:orders@2` does so when the job
named orders reaches the point for the second time. Several points are separated by commas: a thread that reaches one
stops there, and the process is killed when all points are reached. So one crash tests many jobs, each at its own point,
and Spark is not started for each. With `JETSQL_FAILPOINT_ACTION=pause`, the process and Spark's are stopped by SIGSTOP
instead, and continue at their points when they get SIGCONT.

A fail point that is not armed costs one comparison. `benchmarks.faults` covers every point in the table but those of
Delta and Iceberg, which `tests/stories/test_lakehouse_crashes.py` covers, those of backups (`tests/backup`), and that
of alerts (`tests/stories/test_alerts.py`).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from dataclasses import dataclass
from typing import Final

from jetsql.errors import EngineError

VARIABLE: Final = "JETSQL_FAILPOINT"
_PAUSES: Final = os.environ.get(f"{VARIABLE}_ACTION") == "pause"

# Name -> location. A name with `storing-` or `stored-` ends with the event of a history row: the point is before the
# row's transaction, or after it and before the actions. A name with `kafka-` ends with a step of
# `TransactionalPartWriter.java`.
POINTS: Final[dict[str, str]] = {
    "store-made": "a new home: the store's tables are created, not committed",
    "store-copied": "a store of an older version: it is copied, not migrated",
    "store-migrated": "a store of an older version: it is migrated, not committed",
    "table-created": "CREATE JOB with a new table: the table is created, the job's row is not",
    "storing-submitted": "CREATE JOB: before the job's row is committed",
    "stored-submitted": "CREATE JOB: the row is committed, nothing is started",
    "storing-first-trigger": "the first batch is committed, the event is not stored",
    "stored-continued": "start of the engine: a job's new run is stored and not started",
    "run-starting": "start of a run: the sink is recovered, Spark's query not started",
    "run-started": "start of a run: Spark's query has started, the start is not reported",
    "rows-stored": "several tables: the batch's rows are stored, and in no table",
    "branch-written": "several tables: the batch is in one table, not in the next one",
    "staged": "file table: the batch is staged, without a manifest",
    "manifest-written": "file table: the manifest is written, no file has moved",
    "file-moved": "file table: between two renames",
    "files-moved": "file table: all files have moved, new partitions are not in the catalogue",
    "result-staged": "INSERT OVERWRITE: the new result is written next to the table",
    "table-moved": "INSERT OVERWRITE: the table has the new result",
    "jdbc-prepared": "JDBC: the staging table is created and empty",
    "jdbc-staged": "JDBC: before the transaction",
    "jdbc-committed": "JDBC: after the transaction",
    "dead-letters-written": "Kafka: the dead letters of the batch are in their table, its rows are not in the sink",
    "converted-written": "refused rows: the rows that can be converted are in the sink",
    "unconverted-written": "refused rows: those that cannot be converted are in their table",
    "refused-batch-stored": "refused rows: the rows of the batch are stored, no decision is",
    "refusals-decided": "refused rows: the decision for the batch is stored, nothing is written",
    "accepted-written": "refused rows: the other rows of the batch are in the sink",
    "refused-written": "refused rows: they are in their table",
    "parts-listed": "Kafka: the list of the batch's partitions is stored, nothing is written",
    "kafka-open": "Kafka: before a partition's producer is opened",
    "kafka-opened": "Kafka: a partition's producer is open, the committed batches are not read",
    "kafka-begin": "Kafka: before a partition's transaction",
    "kafka-begun": "Kafka: a partition's transaction is begun, nothing is sent",
    "kafka-sent": "Kafka: a partition's messages are sent, the batch number is not",
    "kafka-marked": "Kafka: messages and batch number of a partition are sent, not committed",
    "kafka-committed": "Kafka: a partition is committed",
    "lake-batch-checked": "Delta and Iceberg: the table does not have the batch, nothing is written",
    "lake-committed": "Delta and Iceberg: the batch and its note are committed",
    "result-stored": "Kafka with deletions: the batch's result is stored in the job's folder, nothing is written",
    "violations-written": "rules: rows that violate one are in their table, those of the batch in the sink",
    "violations-counted": "rules: the counts of the batch are stored, its rows in the sink",
    "late-rows-written": "late rows: those of the batch are in their table, its rows in the sink",
    "backup-half-copied": "backup: some files are copied, there is no manifest",
    "backup-written": "backup: it is complete, and does not have its name",
    "restore-half-copied": "restore: half of the files are copied",
    "restore-copied": "restore: all files are copied, the home is not usable yet",
    "sink-written": "the batch is in the sink and not in Spark's commit log",
    "alert-sent": "alert: the receiver has the message, its delivery is not stored",
    "storing-completed": "a job that completes: everything is committed, its end is not stored",
    "stored-completed": "a job that completes: its end is stored, its files are not deleted",
    "stored-suspend-requested": "SUSPEND: stored, the stop of the run is not requested",
    "storing-suspended": "SUSPEND: the run has ended, its end is not stored",
    "stored-resumed": "RESUME: stored, nothing is started",
    "stored-restart-requested": "RESTART: stored, the stop of the run is not requested",
    "storing-restarted": "RESTART: the run has ended, the new one is not stored",
    "stored-restarted": "RESTART: the new run is stored and not started",
    "storing-options-changed": "ALTER JOB: before the new options are stored",
    "stored-options-changed": "ALTER JOB: the new options are stored",
    "stored-drop-with-snapshot-requested": "DROP WITH SNAPSHOT: stored, the stop of the run is not requested",
    "stored-writing-snapshot": "snapshot of a suspended job: nothing is copied",
    "state-half-copied": "snapshot or update: half of the state's files are copied",
    "state-copied": "snapshot or update: the copy is complete, not yet verified",
    "storing-snapshot": "snapshot: the copy is complete, its row is not stored",
    "stored-snapshot": "snapshot: its row is stored, the files of a replaced snapshot are not deleted",
    "pending-finished": "snapshot or update: a pending batch is committed, nothing is copied",
    "stored-update-requested": "job update: stored, the stop of the old version's run is not requested",
    "storing-old-version-stopped": "job update: the old version's run has ended, its end is not stored",
    "stored-old-version-stopped": "job update: the old version has ended, nothing is copied",
    "state-repartitioning": "job update: the copy is complete, its state is not repartitioned",
    "state-repartitioned": "job update: the copy's state is repartitioned",
    "update-prepared": "job update: the new version's checkpoint is ready, the event is not stored",
    "stored-updated": "job update: the new version is stored and not started",
    "storing-update-committed": "job update: the new version has committed, the event is not stored",
    "stored-update-committed": "job update: the commit is stored, the old checkpoint is not deleted",
    "stored-update-rolled-back": "job update: it is rolled back, the old version is not started",
    "stored-drop-requested": "DROP: stored, the stop of the run is not requested",
    "storing-dropped": "DROP: the run has ended, the job's end is not stored",
    "stored-dropped": "DROP: the job's end is stored, the sink is not recovered",
    "sink-recovered": "DROP: the sink is recovered, staged rows are not deleted",
    "staging-discarded": "DROP: staged rows are deleted, the checkpoint is not deleted",
    "storing-cleaned-up": "DROP: the checkpoint is deleted, the event is not stored",
}


class UnknownFailpoint(ValueError):
    """The name of a fail point that is not in the table."""


@dataclass(frozen=True)
class FailPoint:
    """An armed fail point."""

    name: str
    job: str = ""  # the job's name; empty for any job
    times: int = 1  # the visit at which the process is killed, from 1

    @classmethod
    def parse(cls, text: str) -> FailPoint:
        """Return the fail point of a text `name:job@times`. Raises UnknownFailpoint."""
        point, _, times = text.strip().partition("@")
        name, _, job = point.partition(":")
        if name not in POINTS or not (times or "1").isdigit() or times == "0":
            raise UnknownFailpoint(f"{VARIABLE}: there is no failpoint {text.strip()!r}.")
        return cls(name, job, int(times or "1"))

    def __str__(self) -> str:
        return f"{self.name}{':' if self.job else ''}{self.job}"


class _ArmedPoints:
    """The armed fail points that are not reached; reaching the last one kills or pauses the process."""

    def __init__(self, points: list[FailPoint]) -> None:
        self._left = {(point.name, point.job): point.times for point in points}
        self._lock = threading.Lock()
        self._paused = threading.Event()

    def reach(self, name: str, job: str) -> None:
        with self._lock:
            if not self._is_due(name, job):
                return
            sys.stderr.write(f"failpoint {name}:{job}\n")
            sys.stderr.flush()
            if not self._left and not _PAUSES:
                os.kill(os.getpid(), signal.SIGKILL)
            if not self._left:
                _pause()
                self._paused.set()
        self._paused.wait()

    def left(self) -> list[str]:
        with self._lock:
            return [name for name, _ in self._left]

    def _is_due(self, name: str, job: str) -> bool:
        key = (name, job) if (name, job) in self._left else (name, "")
        if key not in self._left:
            return False
        self._left[key] -= 1
        if self._left[key]:
            return False
        del self._left[key]
        return True


def _pause() -> None:
    """Stop Spark's process and then this one; return when this one continues."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        child.suspend()
    os.kill(os.getpid(), signal.SIGSTOP)


def _parse_armed(text: str) -> _ArmedPoints | None:
    return _ArmedPoints([FailPoint.parse(point) for point in text.split(",")]) if text else None


def check_armed() -> None:
    """Raise EngineError ENGINE_NOT_STARTED when the environment names an unknown fail point."""
    if _unknown is not None:
        raise EngineError("ENGINE_NOT_STARTED", str(_unknown), hint=f"Fail points: {', '.join(POINTS)}.")


def armed() -> bool:
    """Return whether any fail point was armed."""
    return _armed_points is not None


def left() -> list[str]:
    """Return the names of the armed fail points that are not reached."""
    return [] if _armed_points is None else _armed_points.left()


_armed_points: _ArmedPoints | None = None
_unknown: UnknownFailpoint | None = None
try:
    _armed_points = _parse_armed(os.environ.get(VARIABLE, ""))
except UnknownFailpoint as error:
    _unknown = error


def failpoint(name: str, job: str = "", step: str = "") -> None:
    """Kill or pause the process if this fail point is armed and due.

    job: the name of the job that reaches it. step: the event of a history row, appended to the point's name.
    """
    if _armed_points is None:
        return
    _armed_points.reach(f"{name}-{step.replace(' ', '-')}" if step else name, job)
