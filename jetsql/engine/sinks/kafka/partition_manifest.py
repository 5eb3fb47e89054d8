"""The parts that a batch for Kafka is split into: stored before its first row is written, compared on replay.

A replayed batch leaves out the parts that are committed, so it has to be split as it was the first time. Otherwise rows
of a committed part would be written again with another part, and rows of a missing part would be left out.
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
    """One part of a batch, written in one transaction."""

    name: str
    """The part's name, the same in each replay of the batch."""
    reads: str
    """What the part reads, with the offsets."""


@dataclass(frozen=True)
class PartitionManifest(BatchRecord):
    """The parts of one batch, in any order."""

    parts: tuple[Part, ...]
    stored: float
    """When the manifest was stored, seconds since the epoch."""
    format: int = FORMAT

    @property
    def part_names(self) -> list[str]:
        return [part.name for part in self.parts]

    def has_parts(self, parts: tuple[Part, ...]) -> bool:
        return sorted(self.parts) == sorted(parts)


class PartitionManifests(BatchRecords[PartitionManifest]):
    """The manifests of one job. A batch of which nothing was written has none."""

    def _parse(self, fields: dict[str, Any]) -> PartitionManifest:
        return PartitionManifest(**{**fields, "parts": tuple(Part(**part) for part in fields["parts"])})


class CommittedBatches(Protocol):
    """The batch numbers that a broker stores: for each part the newest batch that is committed."""

    @property
    def server(self) -> str:
        """The broker, as messages name it."""

    def newest_batches(self, part_names: list[str]) -> dict[str, int]:
        """Return the newest committed batch by part name, without parts that have none."""

    def retention_seconds(self) -> float:
        """Return how long the broker keeps a batch number that is not renewed, in seconds."""

    def fence(self, part_names: list[str]) -> None:
        """Fence off all attempts under way, so that none of them can commit any of these parts."""


def is_committed(
    manifests: PartitionManifests, committed: CommittedBatches, table: str, batch: int, parts: tuple[Part, ...]
) -> bool:
    """Return whether all parts of a batch are committed. If not, store its parts, so that they can be written.

    Raises StatementError PENDING_BATCH_FAILED when it is not known any more which rows of the batch are missing.
    """
    manifest = manifests.read(batch)
    if manifest is not None and manifest.parts:
        if len(_committed_parts(committed, manifest)) == len(manifest.parts):
            return True
        _check_not_expired(committed, table, manifest)
        if not manifest.has_parts(parts):
            # A commit may have been under way during the look-up: after the fence, it has succeeded or never will.
            committed.fence(manifest.part_names)
            committed_count = len(_committed_parts(committed, manifest))
            if committed_count:
                raise _split_changed(table, batch, committed_count, len(manifest.parts))
    if manifest is None or not manifest.has_parts(parts):
        manifests.write(PartitionManifest(batch, parts, time.time()))
    return False


def _committed_parts(committed: CommittedBatches, manifest: PartitionManifest) -> list[str]:
    """Return the names of the parts that are committed."""
    newest = committed.newest_batches(manifest.part_names)
    return [name for name in manifest.part_names if newest.get(name, -1) >= manifest.batch]


def _check_not_expired(committed: CommittedBatches, table: str, manifest: PartitionManifest) -> None:
    """Raise StatementError when the broker may have deleted the batch numbers of a batch that waited for too long."""
    retention, age = committed.retention_seconds(), time.time() - manifest.stored
    if age <= retention * _EXPIRY_MARGIN:
        return
    raise StatementError(
        "PENDING_BATCH_FAILED",
        f"Batch {manifest.batch} was begun {age / _DAY:.1f} days ago and not finished. Which of its parts are in"
        f" {table} was noted at {committed.server}, which forgets such notes after {retention / _DAY:.1f} days"
        " (offsets.retention.minutes). Nothing was written.",
        hint="DROP JOB and CREATE JOB it again from where you find the topic to be, with 'startingOffsets' of its"
        " source. Raise offsets.retention.minutes of the brokers where jobs are suspended for long.",
        where=table,
    )


def _split_changed(table: str, batch: int, committed_count: int, count: int) -> StatementError:
    return StatementError(
        "PENDING_BATCH_FAILED",
        f"{committed_count} of {count} parts of batch {batch} are in {table}, and now the batch is split into other"
        " parts than when it was begun, so it can't be told which rows are missing. Nothing was written.",
        hint="Undo what was changed under the job since then (its views, tables, settings) and RESUME it.",
        where=table,
    )
