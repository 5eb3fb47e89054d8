"""The parts into which a batch for Kafka is split: stored before the first row is written, and compared on replay.

A replayed batch skips its committed parts, so it has to be split into the same parts again. Otherwise rows of a
committed part would be written again with another part, and rows of a missing part would be skipped.
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
    """The part's name, which is the same in each replay of the batch."""
    reads: str
    """A description of the part's input, with the offsets."""


@dataclass(frozen=True)
class PartitionManifest(BatchRecord):
    """The parts of one batch, in any order."""

    parts: tuple[Part, ...]
    """The parts of the batch."""
    stored: float
    """The time when the manifest was stored, seconds since the epoch."""
    format: int = FORMAT
    """The version of the manifest's format."""

    @property
    def part_names(self) -> list[str]:
        return [part.name for part in self.parts]

    def has_parts(self, parts: tuple[Part, ...]) -> bool:
        """Return whether the batch has exactly these parts, in any order."""
        return sorted(self.parts) == sorted(parts)


class PartitionManifests(BatchRecords[PartitionManifest]):
    """The manifests of one job. A batch has none before its first row is written."""

    def _parse(self, fields: dict[str, Any]) -> PartitionManifest:
        return PartitionManifest(**{**fields, "parts": tuple(Part(**part) for part in fields["parts"])})


class CommittedBatches(Protocol):
    """The batch numbers that a broker stores: the newest committed batch of each part."""

    @property
    def server(self) -> str:
        """Return the broker as messages name it."""

    def newest_batches(self, part_names: list[str]) -> dict[str, int]:
        """Return the newest committed batch of each part by name, without parts that have none."""

    def retention_seconds(self) -> float:
        """Return the seconds for which the broker keeps a batch number that is not renewed."""

    def fence(self, part_names: list[str]) -> None:
        """Fence all current producers of these parts, so that none of them can commit any more."""


def is_committed(
    manifests: PartitionManifests, committed: CommittedBatches, table: str, batch: int, parts: tuple[Part, ...]
) -> bool:
    """Return whether all parts of a batch are committed. Otherwise, store its parts before they are written.

    Raises StatementError PENDING_BATCH_FAILED when JetSQL can no longer determine which rows of the batch are missing.
    table: the name of the sink's table, for the message.
    """
    manifest = manifests.read(batch)
    if manifest is not None and manifest.parts:
        if len(_committed_parts(committed, manifest)) == len(manifest.parts):
            return True
        check_not_expired(committed, table, manifest)
        if not manifest.has_parts(parts):
            # A commit may have been in progress when the broker was read. After the fence, its outcome is final.
            committed.fence(manifest.part_names)
            committed_count = len(_committed_parts(committed, manifest))
            if committed_count:
                raise _split_changed(table, batch, committed_count, len(manifest.parts))
    if manifest is None or not manifest.has_parts(parts):
        manifests.write(PartitionManifest(batch, parts, time.time()))
    return False


def _committed_parts(committed: CommittedBatches, manifest: PartitionManifest) -> list[str]:
    """Return the names of the committed parts of the manifest's batch."""
    newest = committed.newest_batches(manifest.part_names)
    return [name for name in manifest.part_names if newest.get(name, -1) >= manifest.batch]


def check_not_expired(committed: CommittedBatches, table: str, manifest: PartitionManifest) -> None:
    """Raise StatementError PENDING_BATCH_FAILED when the broker may have deleted the batch numbers of an old batch."""
    retention, age = committed.retention_seconds(), time.time() - manifest.stored
    if age <= retention * _EXPIRY_MARGIN:
        return
    raise StatementError(
        "PENDING_BATCH_FAILED",
        f"Batch {manifest.batch} was begun {age / _DAY:.1f} days ago and not finished. {committed.server} deletes the"
        f" record of the parts that are in {table} after {retention / _DAY:.1f} days (offsets.retention.minutes)."
        " Nothing was written.",
        hint="Run DROP JOB and CREATE JOB, and set 'startingOffsets' of its source to continue after the last message"
        " in the topic. Raise offsets.retention.minutes of the brokers if jobs are suspended for long.",
        where=table,
    )


def _split_changed(table: str, batch: int, committed_count: int, count: int) -> StatementError:
    return StatementError(
        "PENDING_BATCH_FAILED",
        f"{committed_count} of {count} parts of batch {batch} are in {table}, but Spark now splits the batch into other"
        " parts, so JetSQL cannot determine which rows are missing. Nothing was written.",
        hint="Undo the changes to the job's views, tables and settings since the batch was begun, and RESUME JOB.",
        where=table,
    )
