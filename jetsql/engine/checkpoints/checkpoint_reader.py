"""Read the offsets of a query's batches in its Spark checkpoint, and complete its log of offsets."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from hashlib import sha256

from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.errors import StatementError
from jetsql.jobs.checkpoint_files.log_entries import read_log, read_progress


@dataclass(frozen=True)
class OffsetLogEntry:
    """One batch's entry of Spark's offset log."""

    sources: tuple[object, ...]
    """The offset of each source as parsed JSON; None for a source without rows or with another format."""
    confs: dict[str, str]
    """The settings that Spark pinned for the query."""
    millis: int
    """The time of the batch, milliseconds since the epoch."""

    @classmethod
    def parse(cls, text: str) -> OffsetLogEntry:
        """Parse the text of an entry. Raises StatementError SNAPSHOT_FAILED for an unknown version of the log."""
        version, metadata, *sources = text.splitlines()
        if version != "v1":
            raise StatementError("SNAPSHOT_FAILED", f"JetSQL cannot read version {version} of Spark's offset log.")
        facts = json.loads(metadata)
        return cls(tuple(map(_parse_offset, sources)), facts.get("conf", {}), facts.get("batchTimestampMs", 0))


def _parse_offset(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:  # each source chooses the format of its offsets
        return None


def read_offsets(files: FileSystem, checkpoint: str, batch: int) -> OffsetLogEntry:
    """Return a batch's entry of the offset log. Raises Java's error when it is missing."""
    return OffsetLogEntry.parse(read_entry(files, checkpoint, batch))


def read_entry(files: FileSystem, checkpoint: str, batch: int) -> str:
    """Return the text of a batch's entry of the offset log. Raises Java's error when it is missing."""
    return files.read(f"{checkpoint}/offsets/{batch}")


def plan_id(entry: str) -> str:
    """Return an id of the plan of a batch, which another plan of a batch with this number does not have.

    entry: the text of its entry of the offset log
    """
    return sha256(entry.encode()).hexdigest()[:16]


def read_source_range(files: FileSystem, checkpoint: str, batch: int, source: int) -> tuple[object, object]:
    """Return the offsets at which a batch starts and ends in one source; None for an unknown offset.

    The first batch starts at the initial offset that the source has stored.
    source: the number of the source in the query.
    """
    end = read_offsets(files, checkpoint, batch).sources[source]
    before = files.read_if_there(f"{checkpoint}/offsets/{batch - 1}") if batch else None
    start = OffsetLogEntry.parse(before).sources[source] if before is not None else None
    return read_initial_offset(files, checkpoint, source) if start is None else start, end


def read_file_range(files: FileSystem, checkpoint: str, batch: int, source: int) -> tuple[int, int]:
    """Return the newest entries of a file source's log before and in a batch; -1 for none.

    source: the number of the source in the query.
    """
    end = read_offsets(files, checkpoint, batch).sources[source]
    before = read_offsets(files, checkpoint, batch - 1).sources[source] if batch else None
    return _log_offset(before), _log_offset(end)


def _log_offset(offset: object) -> int:
    return int(offset["logOffset"]) if isinstance(offset, dict) else -1


def read_initial_offset(files: FileSystem, checkpoint: str, source: int) -> object:
    """Return the offset that a source has stored before its first batch; None without one.

    A source of files stores the list of its files there, a line for each.
    """
    text = files.read_if_there(f"{checkpoint}/sources/{source}/0")
    if text is None:
        return None
    first = json.loads(text[text.index("{") :].splitlines()[0])
    return None if isinstance(first.get("path"), str) else first


def fill_offset_gap(files: FileSystem, checkpoint: str) -> None:
    """Add the missing entry before the newest one to an offset log with gaps.

    Asynchronous progress tracking does not write an entry for each batch. Every other query needs the entry before the
    newest one, because the newest batch starts at its offsets. The last entry that was written has the same offsets.
    """
    log = read_log(files, f"{checkpoint}/offsets")
    written = sorted(log.numbers)[:-1]
    if log.newest is not None and written and written[-1] < log.newest - 1:
        files.write(log.path(log.newest - 1), files.read(log.path(written[-1])))


def plan_result(files: FileSystem, checkpoint: str) -> None:
    """Plan a batch without new rows: in output mode complete, it writes the result of the state.

    Spark runs no batch before a source has new rows. checkpoint: a copy whose newest batch is committed
    """
    newest = read_progress(files, checkpoint).committed
    assert newest is not None, "a copy has a committed batch"
    version, metadata, *offsets = files.read(f"{checkpoint}/offsets/{newest}").splitlines()
    committed = json.loads(files.read(f"{checkpoint}/commits/{newest}").splitlines()[1])
    planned = json.loads(metadata)
    # The commit of a batch has the watermark of the next one. With an older one, removed state would be missed.
    planned["batchWatermarkMs"] = max(planned.get("batchWatermarkMs", 0), committed.get("nextBatchWatermarkMs", 0))
    planned["batchTimestampMs"] = int(time.time() * 1000)
    files.write(f"{checkpoint}/offsets/{newest + 1}", "\n".join((version, json.dumps(planned), *offsets)))
