"""Into which parts a batch for Kafka is split: stored before its first row is written, compared when it comes again.

A part that is in is left out of a repeated batch, so the batch has to be split as it was the first time: else rows of
a part that is in would be written with another one, and rows of a part that is not would be left out.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Final, Protocol

from jetsql.engine.sinks.batch_records import FORMAT, BatchRecord, BatchRecords
from jetsql.errors import StatementError

_EXPIRY_MARGIN: Final = 0.9
_DAY: Final = 86400


@dataclass(frozen=True, order=True)
class Part:
    """name: the same whenever the batch comes again. reads: what it reads, with the offsets."""

    name: str
    reads: str


@dataclass(frozen=True)
class PartList(BatchRecord):
    """The parts of one batch, in any order. stored: seconds since the epoch."""

    parts: tuple[Part, ...]
    stored: float
    format: int = FORMAT

    @property
    def names(self) -> list[str]:
        return [part.name for part in self.parts]

    def same(self, parts: tuple[Part, ...]) -> bool:
        return sorted(self.parts) == sorted(parts)


class PartitionManifest(BatchRecords[PartList]):
    """The lists of one job. A batch of which nothing was written has none."""

    def _of(self, fields: dict[str, Any]) -> PartList:
        return PartList(**{**fields, "parts": tuple(Part(**part) for part in fields["parts"])})


class Notes(Protocol):
    """What is noted at a broker: for each part the newest batch that is in."""

    @property
    def server(self) -> str:
        """The broker in words."""

    def newest(self, names: list[str]) -> dict[str, int]:
        """By the names of those of which any batch is in."""

    def retention_seconds(self) -> float:
        """How long notes are kept that nobody renews."""

    def fence(self, names: list[str]) -> None:
        """Let no attempt that is under way bring in any of these parts."""


def is_in(lists: PartitionManifest, notes: Notes, table: str, batch: int, parts: tuple[Part, ...]) -> bool:
    """Whether a batch is in as a whole; if not, its parts are stored when this returns, so they can be written.

    Raises StatementError PENDING_BATCH_FAILED for a batch of which it can't be told any more what is missing.
    """
    listed = lists.read(batch)
    if listed is not None and listed.parts:
        if len(_there(notes, listed)) == len(listed.parts):
            return True
        _check_kept(notes, table, listed)
        if not listed.same(parts):
            # A commit may have been under way when it was asked: now it has come in, or never will.
            notes.fence(listed.names)
            there = len(_there(notes, listed))
            if there:
                raise _other_parts(table, batch, there, len(listed.parts))
    if listed is None or not listed.same(parts):
        lists.write(PartList(batch, parts, time.time()))
    return False


def _there(notes: Notes, listed: PartList) -> list[str]:
    """The names of the parts that are in."""
    newest = notes.newest(listed.names)
    return [name for name in listed.names if newest.get(name, -1) >= listed.batch]


def _check_kept(notes: Notes, table: str, listed: PartList) -> None:
    """The notes of a batch that has waited for too long may be gone."""
    kept, age = notes.retention_seconds(), time.time() - listed.stored
    if age <= kept * _EXPIRY_MARGIN:
        return
    raise StatementError(
        "PENDING_BATCH_FAILED",
        f"Batch {listed.batch} was begun {age / _DAY:.1f} days ago and not finished. Which of its parts are in {table}"
        f" was noted at {notes.server}, which forgets such notes after {kept / _DAY:.1f} days"
        " (offsets.retention.minutes). Nothing was written.",
        hint="DROP JOB and CREATE JOB it again from where you find the topic to be, with 'startingOffsets' of its"
        " source. Raise offsets.retention.minutes of the brokers where jobs are suspended for long.",
        where=table,
    )


def _other_parts(table: str, batch: int, there: int, count: int) -> StatementError:
    return StatementError(
        "PENDING_BATCH_FAILED",
        f"{there} of {count} parts of batch {batch} are in {table}, and now the batch is split into other parts than"
        " when it was begun, so it can't be told which rows are missing. Nothing was written.",
        hint="Undo what was changed under the job since then (its views, tables, settings) and RESUME it.",
        where=table,
    )
