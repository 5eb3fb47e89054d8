"""Checks of a Spark checkpoint, of a job or in a snapshot, with the reader that the engine uses at each start."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from jetsql.check.findings import Finding, Severity
from jetsql.jobs.checkpoint_files.checkpoint_damages import (
    Damage,
    ExpectedCheckpoint,
    find_damages,
    find_deep_damages,
    find_leftover_damages,
)
from jetsql.jobs.checkpoint_files.log_entries import Progress, read_progress
from jetsql.jobs.checkpoint_files.stored_files import LocalFiles

_FILES: Final = LocalFiles()


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint to check."""

    folder: Path
    owner: str  # its job or snapshot, such as `job orders`
    remedy: str  # the remedy when it is damaged, a sentence
    expected: ExpectedCheckpoint  # what it must contain

    def describe(self, damage: Damage) -> str:
        """Return the damage as a clause, with the path in the checkpoint."""
        path = Path(damage.path)
        return f"{path.name if path == self.folder else path.relative_to(self.folder)} {damage.problem}"


def check_checkpoint(checkpoint: Checkpoint) -> Iterator[Finding]:
    """Return the problems of a checkpoint, and notes about an uncommitted batch and files that no start needs."""
    if not checkpoint.folder.is_dir():
        message = f"The checkpoint of {checkpoint.owner} is missing, and with it the progress of its sources."
        yield Finding(Severity.ERROR, message, str(checkpoint.folder), checkpoint.remedy)
        return
    given = (_FILES, str(checkpoint.folder), checkpoint.expected)
    for damage in chain(find_damages(*given), find_deep_damages(*given)):
        message = f"The checkpoint of {checkpoint.owner} is damaged: {checkpoint.describe(damage)}."
        yield Finding(Severity.ERROR, message, damage.path, checkpoint.remedy)
    for damage in find_leftover_damages(*given):
        message = f"A file that {checkpoint.owner} does not need any more: {checkpoint.describe(damage)}."
        yield Finding(Severity.NOTE, message, damage.path)
    yield from _pending_note(checkpoint)


def progress_of(folder: Path) -> Progress:
    """Return the newest batches of a checkpoint."""
    return read_progress(_FILES, str(folder))


def _pending_note(checkpoint: Checkpoint) -> Iterator[Finding]:
    progress = progress_of(checkpoint.folder)
    planned = progress.planned
    if planned is not None and planned == (-1 if progress.committed is None else progress.committed) + 1:
        message = f"Batch {planned} of {checkpoint.owner} is planned but not committed; the next start repeats it."
        yield Finding(Severity.NOTE, message, f"{checkpoint.folder}/offsets/{planned}")
