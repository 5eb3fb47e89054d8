"""Files wherever Hadoop's FileSystem reaches: every path of a job goes through here, so that checkpoints and tables can
live on a local disk, HDFS or an object store alike.
"""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import SparkSession


class FileSystem:
    """The file operations that jobs need. Paths are URIs or paths as text; what is not there raises Java's error."""

    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Any = spark.sparkContext._jvm
        self._conf = spark.sparkContext._jsc.hadoopConfiguration()

    def exists(self, path: str) -> bool:
        return bool(self._of(path).exists(self._path(path)))

    def make_folder(self, path: str) -> None:
        self._of(path).mkdirs(self._path(path))

    def delete(self, path: str) -> None:
        """Delete a file or a folder with what is in it; nothing there is fine."""
        self._of(path).delete(self._path(path), True)

    def rename(self, source: str, target: str) -> None:
        """Move a file; the target's folder is made. Raises OSError when the file system would not."""
        target_path = self._path(target)
        files = self._of(target)
        files.mkdirs(target_path.getParent())
        if not files.rename(self._path(source), target_path):
            raise OSError(f"{source} could not be moved to {target}")

    def touch(self, path: str) -> None:
        """Set a file's time to now: a file source skips what seems much older than the newest."""
        self._of(path).setTimes(self._path(path), int(time.time() * 1000), -1)

    def names(self, folder: str) -> list[str]:
        """The names in a folder, sorted; none when it is not there."""
        if not self.exists(folder):
            return []
        return sorted(status.getPath().getName() for status in self._of(folder).listStatus(self._path(folder)))

    def modified(self, path: str) -> float:
        """Seconds since the epoch."""
        return float(self._of(path).getFileStatus(self._path(path)).getModificationTime()) / 1000

    def files_below(self, folder: str) -> list[str]:
        """All files below a folder, relative to it, sorted; hidden ones (leading `.` or `_`) left out."""
        root = self._of(folder).makeQualified(self._path(folder))
        start = len(root.toUri().getPath().rstrip("/")) + 1
        found = []
        each = self._of(folder).listFiles(root, True)
        while each.hasNext():
            name = each.next().getPath().toUri().getPath()[start:]
            if not any(_hidden(part) for part in name.split("/")):
                found.append(name)
        return sorted(found)

    def read(self, path: str) -> str:
        stream = self._of(path).open(self._path(path))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, path: str, text: str) -> None:
        """Write a whole file: it is there with all of `text`, or as it was before."""
        draft = f"{path}.draft"
        stream = self._of(path).create(self._path(draft), True)
        try:
            stream.write(text.encode())
            stream.hsync()
        finally:
            stream.close()
        if self.exists(path):
            self.delete(path)
        self.rename(draft, path)

    def qualified(self, path: str) -> str:
        """The path with scheme and authority, as Spark's catalogue writes locations."""
        return str(self._of(path).makeQualified(self._path(path)).toString())

    def _of(self, path: str) -> Any:
        return self._path(path).getFileSystem(self._conf)

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
