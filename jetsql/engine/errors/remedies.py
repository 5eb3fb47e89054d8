"""What an error of Spark, Java or a file system means for a job, and what a person can do about it: one table.

Such errors name a method or a temporary file and seldom what is wrong. They are recognised by Spark's condition, by the
operating system's words, or by where in Spark they were raised: a checkpoint that can't be read has a dozen different
errors, and only their place is the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from jetsql.engine.errors.kafka_errors import of_run
from jetsql.errors import SQLSTATES
from jetsql.jobs.model.job import Cause


@dataclass(frozen=True)
class Scene:
    """Where a run works, for errors that don't say where they happened. sink: the table or system that it writes; the
    folders: of the sink (empty without one), of the checkpoint, and for Spark's temporary files."""

    sink: str
    sink_folder: str
    checkpoint: str
    temporary: str


@dataclass(frozen=True)
class Trace:
    """All that an error says of itself. messages: of each exception, the outermost first. frames: the methods it went
    through, as text. innermost: the class of the innermost exception."""

    messages: tuple[str, ...]
    frames: str
    innermost: str


RESTORE: Final = (
    "Put back what is missing from a backup and RESUME JOB. Without one, DROP JOB and CREATE JOB make it anew: from a"
    " snapshot with the option 'initialSnapshotName', else from the beginning, so empty its table first."
)
_READ_HINT: Final = (
    "Put a whole file there and RESUME JOB, or leave out what can't be read: ALTER JOB ... OPTIONS"
    " ('spark.sql.files.ignoreCorruptFiles' = 'true') RESUME."
)
GONE_HINT: Final = (
    "Put the file back and RESUME JOB, or go on without its rows: ALTER JOB ... OPTIONS"
    " ('spark.sql.files.ignoreMissingFiles' = 'true') RESUME."
)

_NOT_LOST: Final = "Nothing is lost: a live job goes on with its next restart or with RESUME JOB."

# A URI or path as Hadoop writes it, spaces and all: a word behind a space belongs to it when it goes on with another
# folder.
_PATH: Final = re.compile(
    r"(?:\b[a-z][a-z0-9+.-]*:|(?<!\S)(?=/[^\s/]+/))/+[^\s'\",;|\])]*(?: [^\s'\",;:|\])/]+/[^\s'\",;|\])]*)*"
)
_FULL: Final = re.compile(r"No space left on device|Disk quota exceeded|File too large|not enough space on", re.I)
_NOT_USABLE: Final = re.compile(
    r"Permission denied|Read-only file system|Operation not permitted|is not a dir|not a directory|Mkdirs failed"
    r"|Input/output error|Stale file handle",
    re.I,
)
_JSON_PLACE: Final = re.compile(r"\s*at \[Source: .*?line: \d+(, column: \d+)?\]")

DAMAGED: Final = (
    "STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
    "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
    "STATE_STORE_BASE_CHECKPOINT_ID_MISMATCH",
    "STATE_STORE_ROW_CHECKSUM_VERIFICATION_FAILED",
    "STATE_STORE_UNEXPECTED_EMPTY_FILE_IN_ROCKSDB_ZIP",
    "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED",
    "BATCH_METADATA_NOT_FOUND",
    "MALFORMED_LOG_FILE",
)
_CHECKPOINT_FRAMES: Final = re.compile(
    r"streaming\.checkpointing\.|streaming\.state\.|FileStreamSourceLog|StreamMetadata\$"
)
# Classes of errors that come of what a file holds or that it is not there; others may be of a network that comes back.
_DAMAGE_CLASSES: Final = (
    "java.lang.IllegalStateException",
    "java.lang.IllegalArgumentException",
    "java.lang.AssertionError",
    "java.lang.NumberFormatException",
    "java.io.FileNotFoundException",
    "java.io.EOFException",
    "java.nio.file.NoSuchFileException",
    "org.apache.hadoop.fs.ChecksumException",
    "org.apache.spark.SparkException",
    "org.rocksdb.RocksDBException",
    "com.fasterxml.jackson.",
    "org.json4s.",
    "scala.MatchError",
)
_WHILE_WRITING: Final = re.compile(r"HDFSMetadataLog\.(write|add)|createAtomic|\.commit\(|RocksDB\.commit")


def explained(cause: Cause, trace: Trace, scene: Scene | None) -> Cause:
    """The cause in our words, as far as the error is one of those known here; it always says where it happened, if
    that can be told."""
    broker = of_run(cause, trace.innermost, trace.messages)
    if broker is not None:
        return broker
    everything = "\n".join(trace.messages)
    where = cause.where or _path_in(trace.messages)
    if _FULL.search(everything):
        return _full(cause, _place(trace, scene) or where)
    if _NOT_USABLE.search(everything):
        return _not_usable(cause, where or _place(trace, scene))
    if cause.condition.startswith(DAMAGED) or _reads_checkpoint(trace):
        return _damaged(cause, where or (scene.checkpoint if scene is not None else ""))
    if cause.condition.startswith("FAILED_READ_FILE"):
        return _not_readable(cause, where)
    return replace(cause, where=where)


def _path_in(messages: tuple[str, ...]) -> str:
    """The innermost file or folder that an error names."""
    found = (_PATH.search(message) for message in reversed(messages))
    path = next((path.group().rstrip(".:") for path in found if path and not path.group().startswith("http")), "")
    folder, _, name = path.rpartition("/")
    return folder if name.startswith(".") and name.endswith(".tmp") else path


def _full(cause: Cause, place: str) -> Cause:
    at = f" for {place}" if place else ""
    message = f"There is no space left{at}: {cause.message}"
    return _known(cause, "DISK_FULL", message, place, f"Free some space there. {_NOT_LOST}")


def _not_usable(cause: Cause, where: str) -> Cause:
    message = f"{where or 'A file or folder'} can't be used: {cause.message}"
    hint = f"Let the engine's user read and write there. {_NOT_LOST}"
    return _known(cause, "STORAGE_NOT_USABLE", message, where, hint)


def _damaged(cause: Cause, where: str) -> Cause:
    """A checkpoint that can't be read as it is: nobody but a person can help."""
    what = _JSON_PLACE.sub("", cause.message)
    at = f" at {where}" if where and where not in what else ""
    message = f"The job's checkpoint is damaged{at}: {what}"
    return replace(_known(cause, "CHECKPOINT_DAMAGED", message, where, RESTORE), heals=False)


def _known(cause: Cause, condition: str, message: str, where: str, hint: str) -> Cause:
    """One of JetSQL's conditions instead of Spark's."""
    return replace(
        cause,
        condition=f"JETSQL.{condition}",
        sqlstate=SQLSTATES[condition],
        heals=True,
        message=message,
        where=where,
        hint=hint,
    )


def _not_readable(cause: Cause, where: str) -> Cause:
    gone = cause.condition.endswith("FILE_NOT_EXIST")
    named = bool(where) and where in cause.message
    message = cause.message if named else f"{where or 'A file'} can't be read: {cause.message}"
    return replace(cause, message=message, where=where, hint=GONE_HINT if gone else _READ_HINT)


def _reads_checkpoint(trace: Trace) -> bool:
    return (
        trace.innermost.startswith(_DAMAGE_CLASSES)
        and _CHECKPOINT_FRAMES.search(trace.frames) is not None
        and _WHILE_WRITING.search(trace.frames) is None
    )


def _place(trace: Trace, scene: Scene | None) -> str:
    """Which of the run's folders an error came from, by the methods that it went through."""
    if scene is None:
        return ""
    if "streaming.checkpointing." in trace.frames or "dev.jetsql.files.Files" in trace.frames:
        return scene.checkpoint
    if "streaming.state." in trace.frames:
        return f"{scene.checkpoint} or {scene.temporary}"
    if "FileFormatDataWriter" in trace.frames or "FileFormatWriter" in trace.frames:
        return scene.sink_folder or scene.sink
    return scene.temporary if "shuffle" in trace.frames or "DiskStore" in trace.frames else ""
