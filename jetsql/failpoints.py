"""Places where a death hurts, by name, and the one table of them.

`JETSQL_FAILPOINT=staged` kills the process there as `kill -9` would; `staged:orders@2` the second time that the job
named orders comes by. Several, parted by commas: who comes to an armed place stops there for good, and when all have
come the process dies. So one death finds many jobs each at its own worst moment, which saves starting Spark for each.

Not armed, a failpoint is one comparison. `benchmarks.faults` comes to every place in the table.
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

# Where each is. `storing-` and `stored-` go on with the title of the history row: before its transaction, and after it
# but before its actions. `kafka-` goes on with the step of a part, as `TransactionalPartWriter.java` tells it.
POINTS: Final[dict[str, str]] = {
    "store-made": "a new home: the store's tables are made, not committed",
    "store-copied": "a store of an older version: it is copied, not changed",
    "store-migrated": "a store of an older version: it is changed, not committed",
    "storing-submitted": "CREATE JOB: before the job's row is committed",
    "stored-submitted": "CREATE JOB: the row is committed, nothing is started",
    "storing-first-trigger": "the first batch is in, that it is has not been stored",
    "stored-continued": "start of the engine: a job's new run is stored and not started",
    "run-starting": "start of a run: the sink is recovered, Spark's query not started",
    "run-started": "start of a run: Spark's query has started, nobody knows yet",
    "staged": "file table: the batch is staged, without a manifest",
    "manifest-written": "file table: the manifest is written, no file has moved",
    "file-moved": "file table: between two renames",
    "files-moved": "file table: all files have moved, new partitions are not known",
    "result-staged": "INSERT OVERWRITE: the new result is written beside the table",
    "table-moved": "INSERT OVERWRITE: the table shows the new result",
    "jdbc-prepared": "JDBC: the staging table is made and empty",
    "jdbc-staged": "JDBC: before the transaction",
    "jdbc-committed": "JDBC: after the transaction",
    "dead-letters-written": "Kafka: the dead letters of the batch are in their table, its rows are not in the sink",
    "parts-listed": "Kafka: the list of the batch's parts is stored, nothing is written",
    "kafka-open": "Kafka: before a part's producer is opened",
    "kafka-opened": "Kafka: a part's producer is open, which batches are in has not been asked",
    "kafka-begin": "Kafka: before a part's transaction",
    "kafka-begun": "Kafka: a part's transaction is begun, nothing is sent",
    "kafka-sent": "Kafka: a part's messages are sent, the batch's number is not",
    "kafka-marked": "Kafka: messages and number of a part are sent, not committed",
    "kafka-committed": "Kafka: a part is committed",
    "sink-written": "the batch is in the sink and not in Spark's commit log",
    "storing-completed": "a job that ends by itself: everything is in, its end is not stored",
    "stored-completed": "a job that ends by itself: its end is stored, its files are there",
    "stored-suspend-requested": "SUSPEND: stored, the run has not been told",
    "storing-suspended": "SUSPEND: the run has ended, that it has is not stored",
    "stored-resumed": "RESUME: stored, nothing is started",
    "stored-restart-requested": "RESTART: stored, the run has not been told",
    "storing-restarted": "RESTART: the run has ended, the new one is not stored",
    "stored-restarted": "RESTART: the new run is stored and not started",
    "storing-options-changed": "ALTER JOB: before the new options are stored",
    "stored-options-changed": "ALTER JOB: the new options are stored",
    "stored-drop-with-snapshot-requested": "DROP WITH SNAPSHOT: stored, the run has not been told",
    "stored-writing-snapshot": "snapshot of a suspended job: nothing is copied",
    "state-half-copied": "snapshot or update: half of the state's files are copied",
    "state-copied": "snapshot or update: the copy is whole, nobody has opened it",
    "storing-snapshot": "snapshot: the copy is whole, its row is not stored",
    "stored-snapshot": "snapshot: its row is stored, one that it replaces is there",
    "pending-finished": "snapshot or update: a batch that was pending is committed, nothing is copied",
    "stored-update-requested": "job update: stored, the old version's run has not been told",
    "storing-old-version-stopped": "job update: the old version's run has ended, that it has is not stored",
    "stored-old-version-stopped": "job update: the old version has ended, nothing is copied",
    "state-repartitioning": "job update: the copy is whole, its state not yet spread over other partitions",
    "state-repartitioned": "job update: the copy's state is spread over other partitions",
    "update-prepared": "job update: the new version's checkpoint is ready, that it is has not been stored",
    "stored-updated": "job update: the new version is stored and not started",
    "storing-update-committed": "job update: the new version has committed, that it has is not stored",
    "stored-update-committed": "job update: the new version is stored for good, the old checkpoint is there",
    "stored-update-rolled-back": "job update: it is undone, the old version is not started",
    "stored-drop-requested": "DROP: stored, the run has not been told",
    "storing-dropped": "DROP: the run has ended, the job's end is not stored",
    "stored-dropped": "DROP: the job's end is stored, the sink is not recovered",
    "sink-recovered": "DROP: the sink is recovered, staged rows are there",
    "staging-discarded": "DROP: staged rows are deleted, the checkpoint is there",
    "storing-cleaned-up": "DROP: the checkpoint is deleted, that it is has not been stored",
}


class UnknownFailpoint(ValueError):
    """The variable names a place that is not in the table."""


@dataclass(frozen=True)
class FailPoint:
    """An armed failpoint. job: as the user named it, empty for any. times: how often it is to be passed, from 1."""

    name: str
    job: str = ""
    times: int = 1

    @classmethod
    def parse(cls, text: str) -> FailPoint:
        """Raise UnknownFailpoint."""
        place, _, times = text.strip().partition("@")
        name, _, job = place.partition(":")
        if name not in POINTS or not (times or "1").isdigit() or times == "0":
            raise UnknownFailpoint(f"{VARIABLE}: there is no failpoint {text.strip()!r}.")
        return cls(name, job, int(times or "1"))

    def __str__(self) -> str:
        return f"{self.name}{':' if self.job else ''}{self.job}"


class _ArmedPoints:
    """The armed places that have not been come to; with the last one the process dies."""

    def __init__(self, places: list[FailPoint]) -> None:
        self._left = {(place.name, place.job): place.times for place in places}
        self._lock = threading.Lock()

    def reach(self, name: str, job: str) -> None:
        with self._lock:
            if not self._is_due(name, job):
                return
            sys.stderr.write(f"failpoint {name}:{job}\n")
            sys.stderr.flush()
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)
        threading.Event().wait()

    def left(self) -> list[str]:
        with self._lock:
            return [name for name, _ in self._left]

    def _is_due(self, name: str, job: str) -> bool:
        place = (name, job) if (name, job) in self._left else (name, "")
        if place not in self._left:
            return False
        self._left[place] -= 1
        if self._left[place]:
            return False
        del self._left[place]
        return True


def _armed(text: str) -> _ArmedPoints | None:
    return _ArmedPoints([FailPoint.parse(place) for place in text.split(",")]) if text else None


def check_armed() -> None:
    """Raise EngineError ENGINE_NOT_STARTED when the environment names a failpoint that is not there."""
    if _unknown is not None:
        raise EngineError("ENGINE_NOT_STARTED", str(_unknown), hint=f"There are: {', '.join(POINTS)}.")


def armed() -> bool:
    """Return whether there is a place to die at."""
    return _armed_points is not None


def left() -> list[str]:
    """Return the names of the armed places that nobody has come to yet."""
    return [] if _armed_points is None else _armed_points.left()


_armed_points: _ArmedPoints | None = None
_unknown: UnknownFailpoint | None = None
try:
    _armed_points = _armed(os.environ.get(VARIABLE, ""))
except UnknownFailpoint as error:
    _unknown = error


def failpoint(name: str, job: str = "", step: str = "") -> None:
    """Die here, if this is an armed place and its time has come.

    job: the name of the job that passes by. step: the title of its history row, which is then part of the place's name.
    """
    if _armed_points is None:
        return
    _armed_points.reach(f"{name}-{step.replace(' ', '-')}" if step else name, job)
