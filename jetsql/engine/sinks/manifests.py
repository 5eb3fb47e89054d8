"""Manifests: which staged files of a batch become which files of the table, written before the first of them moves."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from jetsql.engine.filesystem import FileSystem
from jetsql.engine.remedies import RESTORE
from jetsql.errors import StatementError

FORMAT = 1
_KEPT = 10


@dataclass(frozen=True)
class Move:
    """One file: `source` below the staging folder, `target` below the table's folder."""

    source: str
    target: str


@dataclass(frozen=True)
class Manifest:
    """A batch that is staged whole. location: the table's folder. staging: where its files wait."""

    batch: int
    location: str
    staging: str
    rows: int
    moves: tuple[Move, ...]
    format: int = FORMAT

    @property
    def partitions(self) -> list[str]:
        """The partitions it touches, as paths; none for a table without."""
        return sorted({move.target.rpartition("/")[0] for move in self.moves} - {""})


@dataclass(frozen=True)
class Manifests:
    """The manifests of one job. Only the newest batch can be replayed; a few older ones are kept for people."""

    folder: str
    files: FileSystem

    def read(self, batch: int) -> Manifest | None:
        """None when there is none. Raises StatementError CHECKPOINT_DAMAGED when it is cut off or was changed."""
        path = self.path(batch)
        text = self.files.read_if_there(path)
        if text is None:
            return None
        try:
            fields = json.loads(text)
            return Manifest(**{**fields, "moves": tuple(Move(**move) for move in fields["moves"])})
        except (ValueError, TypeError, KeyError) as error:
            raise StatementError(
                "CHECKPOINT_DAMAGED",
                f"The job's checkpoint is damaged: {path} is cut off or was changed, so it can't be told which rows of"
                f" batch {batch} are in the table.",
                hint=RESTORE,
                where=path,
            ) from error

    def newest(self) -> int | None:
        """The newest batch that has a manifest; None when none has."""
        batches = self._batches()
        return batches[-1] if batches else None

    def write(self, manifest: Manifest) -> None:
        self.files.write(self.path(manifest.batch), json.dumps(asdict(manifest)))
        for batch in self._batches()[:-_KEPT]:
            self.files.delete(self.path(batch))

    def _batches(self) -> list[int]:
        return sorted(
            int(name.removesuffix(".json")) for name in self.files.names(self.folder) if name.endswith(".json")
        )

    def path(self, batch: int) -> str:
        return f"{self.folder}/{batch:09d}.json"
