"""Files wherever Hadoop's FileSystem reaches: every path of a job goes through here, so that checkpoints and tables can
live on a local disk, HDFS or an object store alike.
"""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java


class FileSystem:
    """The file operations that jobs need. Paths are URIs or paths as text; what is not there raises Java's error."""

    def __init__(self, spark: SparkSession) -> None:
        self._java = java(spark).files.Files.of(spark._jsparkSession)

    def exists(self, path: str) -> bool:
        return bool(self._java.exists(path))

    def delete(self, path: str) -> None:
        """Delete a file or a folder with what is in it; nothing there is fine."""
        self._java.delete(path)

    def rename(self, source: str, target: str) -> None:
        """Move a file; the target's folder is made. Raises OSError when the file system would not."""
        if not self._java.rename(source, target):
            raise OSError(f"{source} could not be moved to {target}")

    def touch(self, path: str) -> None:
        """Set a file's time to now: a file source skips what seems much older than the newest."""
        self._java.touch(path)

    def names(self, folder: str) -> list[str]:
        """The names in a folder, sorted; none when it is not there."""
        names: list[str] = json.loads(self._java.names(folder))
        return names

    def modified(self, path: str) -> float:
        """Seconds since the epoch."""
        return float(self._java.modified(path)) / 1000

    def files_below(self, folder: str) -> list[str]:
        """All files below a folder, relative to it, sorted; hidden ones (leading `.` or `_`) left out."""
        names: list[str] = json.loads(self._java.filesBelow(folder))
        return sorted(name for name in names if not any(_hidden(part) for part in name.split("/")))

    def tree(self, folder: str) -> list[str]:
        """All files below a folder, relative to it, whatever their names; none when it is not there."""
        return json.loads(self._java.filesBelow(folder)) if self.exists(folder) else []

    def copy(self, source: str, target: str, names: list[str]) -> int:
        """Copy files, named relative to both folders. Returns their bytes."""
        return int(self._java.copy(source, target, json.dumps(names)))

    def newest(self, folder: str) -> int | None:
        """The greatest number that is a file's name, as in Spark's logs; None without one, or without the folder."""
        number = self._java.newest(folder)
        return None if number is None else int(number)

    def read_if_there(self, path: str) -> str | None:
        """The text of a file that may be missing."""
        text = self._java.readIfThere(path)
        return None if text is None else str(text)

    def read(self, path: str) -> str:
        return str(self._java.read(path))

    def write(self, path: str, text: str) -> None:
        """Write a whole file: it is there with all of `text`, or as it was before. Raises OSError."""
        if not self._java.write(path, text):
            raise OSError(f"{path} could not be written")

    def qualified(self, path: str) -> str:
        """The path with scheme and authority, as Spark's catalogue writes locations."""
        return str(self._java.qualified(path))


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
