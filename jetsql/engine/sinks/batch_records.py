"""One small file for each batch of a job, with what has to be known when the batch is replayed.

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
    """A record of one batch, by its number."""

    batch: int


Record = TypeVar("Record", bound=BatchRecord)


@dataclass(frozen=True)
class BatchRecords(ABC, Generic[Record]):
    """The records of one job, files in one folder."""

    folder: str
    files: FileSystem

    def read(self, batch: int) -> Record | None:
        """Return the record of a batch, or None.

        Raises StatementError CHECKPOINT_DAMAGED when it is truncated or was changed.
        """
        path = self.path(batch)
        text = self.files.read_if_there(path)
        if text is None:
            return None
        try:
            return self._parse(json.loads(text))
        except (ValueError, TypeError, KeyError) as error:
            raise StatementError(
                "CHECKPOINT_DAMAGED",
                f"The job's checkpoint is damaged: {path} is cut off or was changed, so it can't be told which rows of"
                f" batch {batch} are in the table.",
                hint=RESTORE,
                where=path,
            ) from error

    def find_newest(self) -> int | None:
        """Return the newest batch that has a record, or None."""
        names = (name for name in self.files.list_names(self.folder) if name.endswith(".json"))
        return max((int(name.removesuffix(".json")) for name in names), default=None)

    def write(self, record: Record) -> None:
        """Write a record and delete an old one."""
        self.files.write(self.path(record.batch), json.dumps(asdict(record)))
        self.files.delete(self.path(record.batch - _KEPT_RECORDS))

    def path(self, batch: int) -> str:
        """Return the file of a batch's record."""
        return f"{self.folder}/{batch:09d}.json"

    @abstractmethod
    def _parse(self, fields: dict[str, Any]) -> Record:
        """Return the record in a file. Raises ValueError, TypeError or KeyError for anything else."""
