"""Files in any of Hadoop's file systems.

Every path of a job is accessed here, so that checkpoints and tables may be on a local disk, HDFS or an object store.
"""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java


class FileSystem:
    """The file operations that jobs need.

    Paths are URIs or paths as text. A missing file raises Java's error, if the method does not say otherwise.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._java = java(spark).files.Files.of(spark._jsparkSession)

    def exists(self, path: str) -> bool:
        return bool(self._java.exists(path))

    def delete(self, path: str) -> None:
        """Delete a file, or a folder with its content, if it exists."""
        self._java.delete(path)

    def rename(self, source: str, target: str) -> None:
        """Move a file and create the target's folder. Raises OSError when the file system refuses."""
        if not self._java.rename(source, target):
            raise OSError(f"{source} could not be moved to {target}")

    def touch(self, path: str) -> None:
        """Set a file's modification time to now. A file source skips files that seem much older than its newest."""
        self._java.touch(path)

    def list_names(self, folder: str) -> list[str]:
        """Return the names in a folder, sorted; empty when there is no such folder."""
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
        """Return all files below a folder, relative to it, hidden ones too; empty when there is no such folder."""
        return json.loads(self._java.filesBelow(folder)) if self.exists(folder) else []

    def copy(self, source: str, target: str, names: list[str]) -> int:
        """Copy files, named relative to both folders, and return their size in bytes."""
        return int(self._java.copy(source, target, json.dumps(names)))

    def find_newest_entry(self, folder: str) -> int | None:
        """Return the greatest number that is a file's name, as in Spark's logs, or None."""
        number = self._java.newest(folder)
        return None if number is None else int(number)

    def read_if_there(self, path: str) -> str | None:
        """Return the text of a file, or None when it is missing."""
        text = self._java.readIfThere(path)
        return None if text is None else str(text)

    def read(self, path: str) -> str:
        return str(self._java.read(path))

    def write(self, path: str, text: str) -> None:
        """Write a file atomically: it has all of `text`, or is as it was before. Raises OSError."""
        if not self._java.write(path, text):
            raise OSError(f"{path} could not be written")

    def qualify(self, path: str) -> str:
        """Return the path with scheme and authority, as Spark's catalogue writes locations."""
        return str(self._java.qualified(path))


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
