"""Manifests: which staged files of a batch become which files of the table, written before the first of them moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jetsql.engine.sinks.batch_records import FORMAT, BatchRecord, BatchRecords


@dataclass(frozen=True)
class Move:
    """One file: `source` below the staging folder, `target` below the table's folder."""

    source: str
    target: str


@dataclass(frozen=True)
class Manifest(BatchRecord):
    """A batch that is staged whole. location: the table's folder. staging: where its files wait."""

    location: str
    staging: str
    rows: int
    moves: tuple[Move, ...]
    format: int = FORMAT

    @property
    def partitions(self) -> list[str]:
        """The partitions it touches, as paths; none for a table without."""
        return sorted({move.target.rpartition("/")[0] for move in self.moves} - {""})


class Manifests(BatchRecords[Manifest]):
    """The manifests of one job."""

    def _of(self, fields: dict[str, Any]) -> Manifest:
        return Manifest(**{**fields, "moves": tuple(Move(**move) for move in fields["moves"])})
