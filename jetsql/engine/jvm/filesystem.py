"""Files in any of Hadoop's file systems.

All files of jobs are accessed through this module, so checkpoints and tables may be on a local disk, HDFS or an object
store.
"""

from __future__ import annotations

import json
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java, missing_file
from jetsql.engine.jvm.throwables import class_name
from jetsql.jobs.checkpoint_files.stored_files import IS_FOLDER, WRONG_CHECKSUM

_CHECKSUM_ERROR: Final = "org.apache.hadoop.fs.ChecksumException"


class FileSystem:
    """The file operations that jobs need.

    Paths are URIs or plain paths. A missing file raises Java's error unless the method's description says otherwise.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._java = java(spark).files.Files.of(spark._jsparkSession)

    def exists(self, path: str) -> bool:
        return bool(self._java.exists(path))

    def delete(self, path: str) -> None:
        """Delete a file, or a folder with its content, if it exists."""
        self._java.delete(path)

    def is_object_store(self, path: str) -> bool:
        """Return whether a path is in a file system without renames; there, `rename` is for files only."""
        return bool(self._java.isObjectStore(path))

    def rename(self, source: str, target: str) -> None:
        """Move a file or folder, and create the target's parent. Raises OSError when the file system refuses.

        An object store copies a file, and then deletes the source. A crash between leaves both, and a second call
        deletes the source.
        """
        if not self._java.rename(source, target):
            raise OSError(f"cannot move {source} to {target}")

    def touch(self, path: str) -> None:
        """Set a file's modification time to now. A file source skips files that are much older than its newest."""
        self._java.touch(path)

    def list_names(self, folder: str) -> list[str]:
        """Return the names in a folder, sorted; an empty list when the folder does not exist."""
        names: list[str] = json.loads(self._java.names(folder))
        return names

    def read_modification_time(self, path: str) -> float:
        """Return the modification time of a file, seconds since the epoch."""
        return float(self._java.modified(path)) / 1000

    def list_files(self, folder: str) -> list[str]:
        """Return all files below a folder, relative to it and sorted, without hidden ones (leading `.` or `_`)."""
        names: list[str] = json.loads(self._java.filesBelow(folder))
        return sorted(name for name in names if not any(_hidden(part) for part in name.split("/")))

    def list_tree(self, folder: str) -> list[str]:
        """Return all files below a folder, relative to it and with hidden ones; empty when it does not exist."""
        return json.loads(self._java.filesBelow(folder)) if self.exists(folder) else []

    def copy(self, source: str, target: str, names: list[str]) -> int:
        """Copy files between two folders and return their total size in bytes. names: relative to both folders."""
        return int(self._java.copy(source, target, json.dumps(names)))

    def read_if_there(self, path: str) -> str | None:
        """Return the text of a file, or None when it is missing. Raises UnicodeDecodeError."""
        content = self._java.readIfThere(path)
        return None if content is None else bytes(content).decode()

    def read(self, path: str) -> str:
        """Return the text of a file. Raises UnicodeDecodeError."""
        return bytes(self._java.read(path)).decode()

    def read_checked(self, path: str) -> bytes:
        """Return the content of a file after Hadoop's checksums of it are compared, if there are any.

        Raises FileNotFoundError, and ValueError with the problem as a phrase. Other errors are Java's.
        """
        try:
            return bytes(self._java.read(path))
        except Py4JJavaError as error:
            if missing_file(error):
                if self._java.exists(path):
                    raise ValueError(IS_FOLDER) from error
                raise FileNotFoundError(path) from error
            if class_name(error.java_exception) == _CHECKSUM_ERROR:
                raise ValueError(WRONG_CHECKSUM) from error
            raise

    def has_checksums(self, path: str) -> bool:
        """Return whether `read_checked` compares a file with checksums."""
        return bool(self._java.hasChecksums(path))

    def write(self, path: str, text: str) -> None:
        """Write a file atomically: on failure, the file is unchanged. Raises OSError."""
        if not self._java.write(path, text):
            raise OSError(f"cannot write {path}")

    def create(self, path: str, text: str) -> bool:
        """Write a file atomically unless it exists, and return whether it was written; one of two writers succeeds.

        An object store without conditional writes may let both succeed.
        """
        return bool(self._java.create(path, text))

    def qualify(self, path: str) -> str:
        """Return the path with scheme and authority, in the form of locations in Spark's catalogue."""
        return str(self._java.qualified(path))


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
