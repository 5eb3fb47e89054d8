"""Explain errors of Spark, Java and file systems: one table of their conditions, messages and hints.

These errors name a method or a temporary file, and seldom the problem. They are identified by Spark's condition, by the
operating system's message, or by the stack trace: an unreadable checkpoint has a dozen different errors, which share
only the methods that raised them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from jetsql.engine.errors.kafka_errors import explain_run_failure
from jetsql.engine.errors.network_errors import explain_lost_connection
from jetsql.engine.errors.object_store_errors import explain_object_store_error
from jetsql.engine.errors.table_source_errors import explain_source_change
from jetsql.jobs.checkpoint_files.checkpoint_damages import Damage
from jetsql.jobs.model.job import Cause


@dataclass(frozen=True)
class RunPaths:
    """The places that a run writes to, for errors that name none."""

    sink: str
    """The table or system that the run writes."""
    sink_folder: str
    """The folder of the sink; empty without one."""
    checkpoint: str
    """The folder of the checkpoint."""
    temporary: str
    """The folder for Spark's temporary files."""
    find_damage: Callable[[], Damage | None] = lambda: None
    """Searches the checkpoint for a damaged file."""


@dataclass(frozen=True)
class Trace:
    """The report of a Java error and its causes."""

    messages: tuple[str, ...]
    """The message of each exception, the outermost first."""
    frames: str
    """The methods in the stack traces, one on each line."""
    classes: tuple[str, ...]
    """The class of each exception, the outermost first."""

    @property
    def innermost(self) -> str:
        """Return the class of the innermost exception; empty without one."""
        return self.classes[-1] if self.classes else ""


RESTORE: Final = (
    "Restore the missing files from a backup and RESUME JOB. Without a backup, DROP JOB and CREATE JOB: from a snapshot"
    " with the option 'initialSnapshotName', or from the beginning after you have emptied its table."
)
_READ_HINT: Final = (
    "Replace the file with a complete one and RESUME JOB, or skip unreadable files: ALTER JOB ... OPTIONS"
    " ('spark.sql.files.ignoreCorruptFiles' = 'true') RESUME."
)
GONE_HINT: Final = (
    "Put the file back and RESUME JOB, or continue without its rows: ALTER JOB ... OPTIONS"
    " ('spark.sql.files.ignoreMissingFiles' = 'true') RESUME."
)

_NOTHING_LOST: Final = "Nothing is lost: a live job continues with its next restart or with RESUME JOB."

# A URI or path as Hadoop writes it, which may have spaces: a word after a space is part of it if a slash follows.
_PATH: Final = re.compile(
    r"(?:\b[a-z][a-z0-9+.-]*:|(?<!\S)(?=/[^\s/]+/))/+[^\s'\",;|\])]*(?: [^\s'\",;:|\])/]+/[^\s'\",;|\])]*)*"
)
_STACK_OVERFLOW: Final = "java.lang.StackOverflowError"
_FULL: Final = re.compile(r"No space left on device|Disk quota exceeded|File too large|not enough space on", re.I)
_DISK_FULL: Final = "JETSQL.DISK_FULL"  # CountedPieces.java's error for rows that are missing on the disk
_NOT_USABLE: Final = re.compile(
    r"Permission denied|Read-only file system|Operation not permitted|is not a dir|not a directory|Mkdirs failed"
    r"|Input/output error|Stale file handle",
    re.I,
)
_JSON_PLACE: Final = re.compile(r"(?<!\s)\s*at \[Source: .{0,1000}?line: \d+(, column: \d+)?\]")

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
# The classes of errors for missing or damaged files. Errors of other classes may come from a network that recovers.
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
_WRITING_FRAMES: Final = re.compile(r"HDFSMetadataLog\.(write|add)|createAtomic|\.commit\(|RocksDB\.commit")


def explain_cause(cause: Cause, trace: Trace, paths: RunPaths | None) -> Cause:
    """Return the cause with JetSQL's condition, message and hint if a table of this module has the error.

    The cause names the file, folder or system of the error if it is known.
    """
    if _overflows_stack(trace):
        return _too_complex(cause)
    known = explain_run_failure(cause, trace.classes, trace.messages) or explain_source_change(cause, trace.messages)
    if known is not None:
        return known
    store = explain_object_store_error(cause, trace.messages, trace.frames, trace.innermost)
    if store is not None:
        return store
    lost = explain_lost_connection(cause, trace.classes, trace.messages)
    if lost is not None:
        return lost
    text = "\n".join(trace.messages)
    where = cause.where or _find_path(trace.messages)
    if _FULL.search(text) or cause.condition == _DISK_FULL:
        return _full(cause, _find_folder(trace, paths) or where)
    if _NOT_USABLE.search(text):
        return _not_usable(cause, where or _find_folder(trace, paths))
    is_damage = cause.condition.startswith(DAMAGED) or _is_damage(trace)
    if is_damage or _reads_checkpoint(trace):
        damage = paths.find_damage() if paths is not None else None
        if damage is not None:
            return _damaged(cause, damage.path, f": {damage.path} {damage.problem}.")
    if is_damage:
        return _damaged(cause, where or (paths.checkpoint if paths is not None else ""))
    if cause.condition.startswith("FAILED_READ_FILE"):
        return _not_readable(cause, where)
    return replace(cause, where=where)


def _overflows_stack(trace: Trace) -> bool:
    """Return whether Spark's recursion through the tree of a statement has no room, in the driver or in a task.

    A regular expression overflows the stack over a long value, however short the statement is.
    """
    text = "\n".join((*trace.messages, trace.frames))
    return (trace.innermost == _STACK_OVERFLOW or _STACK_OVERFLOW in text) and "java.util.regex." not in text


def _too_complex(cause: Cause) -> Cause:
    message = "The statement, including its views, is nested too deep, or has a chain of too many operators."
    hint = (
        "Compute parts of it in a WITH clause, a view or a table, use IN or concat_ws(...) in place of a chain, or"
        " several statements."
    )
    return replace(cause.explained("STATEMENT_TOO_COMPLEX", message, cause.where, hint), retryable=False)


def _find_path(messages: tuple[str, ...]) -> str:
    """Return the file or folder that the innermost message with a path names; empty without one."""
    matches = (_PATH.search(message) for message in reversed(messages))
    path = next((match.group().rstrip(".:") for match in matches if match and not match.group().startswith("http")), "")
    folder, _, name = path.rpartition("/")
    return folder if name.startswith(".") and name.endswith(".tmp") else path


def _full(cause: Cause, where: str) -> Cause:
    target = f" for {where}" if where else ""
    message = f"There is no space left{target}: {cause.message}"
    return cause.explained("DISK_FULL", message, where, f"Free some disk space. {_NOTHING_LOST}")


def _not_usable(cause: Cause, where: str) -> Cause:
    message = f"{where or 'A file or folder'} cannot be used: {cause.message}"
    hint = f"Give the engine's user read and write permission. {_NOTHING_LOST}"
    return cause.explained("STORAGE_NOT_USABLE", message, where, hint)


def _damaged(cause: Cause, where: str, words: str = "") -> Cause:
    """Return the cause for an unreadable checkpoint, which only the user can repair. words: by default Spark's."""
    if not words:
        detail = _JSON_PLACE.sub("", cause.message)
        words = f"{f' at {where}' if where and where not in detail else ''}: {detail}"
    message = f"The job's checkpoint is damaged{words}"
    return replace(cause.explained("CHECKPOINT_DAMAGED", message, where, RESTORE), retryable=False)


def _not_readable(cause: Cause, where: str) -> Cause:
    gone = cause.condition.endswith("FILE_NOT_EXIST")
    named = bool(where) and where in cause.message
    message = cause.message if named else f"{where or 'A file'} cannot be read: {cause.message}"
    return replace(cause, message=message, where=where, hint=GONE_HINT if gone else _READ_HINT)


def _is_damage(trace: Trace) -> bool:
    return trace.innermost.startswith(_DAMAGE_CLASSES) and _reads_checkpoint(trace)


def _reads_checkpoint(trace: Trace) -> bool:
    return _CHECKPOINT_FRAMES.search(trace.frames) is not None and _WRITING_FRAMES.search(trace.frames) is None


def _find_folder(trace: Trace, paths: RunPaths | None) -> str:
    """Return the folder that the failed operation used, as its stack trace shows; empty if unknown."""
    if paths is None:
        return ""
    if "streaming.checkpointing." in trace.frames or "dev.jetsql.files.Files" in trace.frames:
        return paths.checkpoint
    if "streaming.state." in trace.frames:
        return f"{paths.checkpoint} or {paths.temporary}"
    if "FileFormatDataWriter" in trace.frames or "FileFormatWriter" in trace.frames:
        return paths.sink_folder or paths.sink
    return paths.temporary if "shuffle" in trace.frames or "DiskStore" in trace.frames else ""
