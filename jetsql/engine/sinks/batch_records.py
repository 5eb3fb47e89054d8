"""Records of a job's batches, one small file for each batch, which are needed when the batch is replayed.

Only the newest batch can be replayed; a few older files are kept for diagnosis.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

from jetsql.engine.errors.remedies import RESTORE
from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.errors import StatementError

FORMAT = 1
_KEPT_RECORDS = 10


@dataclass(frozen=True)
class BatchRecord:
    """The record of one batch."""

    batch: int
    """The number of the batch."""


Record = TypeVar("Record", bound=BatchRecord)


@dataclass(frozen=True)
class BatchRecords(ABC, Generic[Record]):
    """The records of one job, files in one folder."""

    folder: str
    """The folder of the records, a URI."""
    files: FileSystem
    """The file system of the folder."""

    def read(self, batch: int) -> Record | None:
        """Return the record of a batch, or None when it has none.

        Raises StatementError CHECKPOINT_DAMAGED when the file is truncated or was changed.
        """
        path = self.path(batch)
        text = self.files.read_if_there(path)
        if text is None:
            return None
        try:
            return self._parse(json.loads(text))
        except (ValueError, TypeError, KeyError) as error:
            raise damaged_record(path, "is truncated or was changed", batch) from error

    def find_newest(self) -> int | None:
        """Return the newest batch with a record, or None."""
        names = (name for name in self.files.list_names(self.folder) if name.endswith(".json"))
        return max((int(name.removesuffix(".json")) for name in names), default=None)

    def write(self, record: Record) -> None:
        """Write a record and delete the oldest one."""
        self.files.write(self.path(record.batch), json.dumps(asdict(record)))
        self.files.delete(self.path(record.batch - _KEPT_RECORDS))

    def create(self, record: Record) -> Record:
        """Write the record of a new batch, and return it; return the record of another writer that was faster.

        That writer is another leader, and one of the two was paused.
        """
        if not self.files.create(self.path(record.batch), json.dumps(asdict(record))):
            written = self.read(record.batch)
            assert written is not None, "another writer has created it"
            return written
        self.files.delete(self.path(record.batch - _KEPT_RECORDS))
        return record

    def path(self, batch: int) -> str:
        """Return the file of a batch's record."""
        return f"{self.folder}/{batch:09d}.json"

    @abstractmethod
    def _parse(self, fields: dict[str, Any]) -> Record:
        """Return the record from a file's JSON. Raises ValueError, TypeError or KeyError for a damaged record."""


def damaged_record(path: str, problem: str, batch: int) -> StatementError:
    """Return the error for a damaged record of a batch. problem: the predicate to the path"""
    return StatementError(
        "CHECKPOINT_DAMAGED",
        f"The job's checkpoint is damaged: {path} {problem}, so JetSQL cannot determine which rows of batch {batch} are"
        " in the table.",
        hint=RESTORE,
        where=path,
    )
