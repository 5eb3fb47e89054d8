"""Archives of Spark's loaded classes (AppCDS, JEP 350), which take half of Java's work out of a start.

Java maps the archive into memory instead of loading, verifying and linking some twenty thousand classes. An archive is
good for one Java, one Spark and one JetSQL: its name is a digest of the three. Java checks the jars, too, and ignores
an archive that does not fit them. `MAKER` makes archives.

An archive is code that the engine runs. So it is used only if no other user can have written it.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

import pyspark

from jetsql.engine.jvm.spark_version import spark_home
from jetsql.home.private_files import is_of_user_or_root, is_writable_by_others, write_private
from jetsql.installation import find_java, python_command
from jetsql.version import VERSION

_LOG: Final = logging.getLogger(__name__)
MAKER: Final = "jetsql.embedded.archive_classes"
"""The module that makes archives, with an engine of its own."""
_DELAY_SECONDS: Final = 30.0
"""An engine's first half minute is its busiest one."""
_SUFFIX: Final = ".jsa"
_KEPT: Final = 2
"""The number of archives that a folder keeps, each of some 240 MB: two environments may take turns."""


@dataclass(frozen=True)
class ClassArchive:
    """The archive for the installed Java, Spark and JetSQL, which may not have been made yet."""

    file: Path

    @property
    def failure(self) -> Path:
        """The file with the reason why the archive could not be made. While it exists, no engine tries again."""
        return self.file.with_suffix(".failed")

    @property
    def catalog(self) -> Path:
        """The folder of the catalogue that was made with the archive, see `jetsql.engine.spark.first_catalog`."""
        return self.file.with_suffix(".catalog")

    @property
    def lock(self) -> Path:
        """The file that is locked while a process makes the archive."""
        return self.file.with_suffix(".lock")

    @property
    def java_options(self) -> tuple[str, ...]:
        """Return the options with which Java uses the archive; none if there is no archive that is safe to use."""
        if not self.is_usable():
            return ()
        with suppress(OSError):  # a folder that cannot be written
            os.utime(self.file)  # the archives that were used last are kept
        # A log that users read should have no line about an archive that Java ignores.
        return (f"-XX:SharedArchiveFile={self.file}", "-Xlog:cds=off", "-Xlog:class+path=off")

    def exists(self) -> bool:
        """Return whether the archive exists, as far as this user can see."""
        return os.path.exists(self.file)  # unlike a path's own method, it raises nothing

    def is_usable(self) -> bool:
        """Return whether this user can read the archive, and only this user or root can have written it."""
        try:
            return os.access(self.file, os.R_OK) and all(_is_private(path) for path in (self.file, self.file.parent))
        except OSError:
            return False

    def has_catalog(self) -> bool:
        """Return whether the catalogue exists, and only this user or root can have written it."""
        try:
            return all(_is_private(path) for path in (self.catalog, self.catalog.parent))
        except OSError:
            return False

    def is_missing(self) -> bool:
        """Return whether the archive should be made: it does not exist, and making it has not failed."""
        return not self.exists() and not os.path.exists(self.failure)

    def discard(self, reason: str) -> None:
        """Delete the archive, and keep the reason, so that it is not made again."""
        with suppress(OSError):
            write_private(self.failure, f"{reason}\n")
            self.file.unlink(missing_ok=True)

    def remove_others(self) -> None:
        """Remove the archives of the folder that were not used for the longest time, and what belongs to them."""
        others = [file for file in self.file.parent.glob(f"*{_SUFFIX}") if file != self.file]
        others.sort(key=_used, reverse=True)
        for file in others[_KEPT - 1 :]:
            for each in (file, ClassArchive(file).failure, ClassArchive(file).lock):
                with suppress(OSError):
                    each.unlink()
            shutil.rmtree(ClassArchive(file).catalog, ignore_errors=True)


def find_archive(folder: Path) -> ClassArchive | None:
    """Return the archive for the installed Java, Spark and JetSQL; None without a Java."""
    found = find_java()
    if found is None:
        return None
    java = Path(found).resolve()
    spark = spark_home()
    digest = sha256(f"{VERSION}\n{_describe_java(java)}\n{spark}\n".encode())
    for jar in sorted((spark / "jars").glob("*.jar")):
        facts = jar.stat()
        digest.update(f"{jar.name} {facts.st_size} {facts.st_mtime_ns}\n".encode())
    return ClassArchive(folder / f"spark-{pyspark.__version__}-{digest.hexdigest()[:16]}{_SUFFIX}")


def archive_options(folder: Path | None) -> tuple[str, ...]:
    """Return the options with which Java uses the archive of a folder; none without one."""
    archive = None if folder is None else find_archive(folder)
    return () if archive is None else archive.java_options


def archive_later(folder: Path | None) -> threading.Timer | None:
    """Make a missing archive in the background, and return the timer that starts it; None if there is nothing to do."""
    archive = None if folder is None else find_archive(folder)
    if archive is None or not archive.is_missing():
        return None
    timer = threading.Timer(_DELAY_SECONDS, _start_process, (archive.file.parent,))
    timer.daemon = True
    timer.start()
    return timer


def _start_process(folder: Path) -> None:
    _LOG.info("Archiving Spark's classes in %s for faster starts, with low priority", folder)
    try:
        subprocess.Popen(
            python_command("-m", MAKER, str(folder)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # it may outlive the engine
        )
    except OSError:
        _LOG.exception("The process that archives Spark's classes did not start")


def _describe_java(java: Path) -> str:
    """Return the path of a Java with its version, which starting it would take longer to find."""
    release = java.parents[1] / "release"
    version = release.read_text(encoding="utf-8") if release.exists() else java.stat().st_mtime_ns
    return f"{java}\n{version}"


def _is_private(path: Path) -> bool:
    facts = path.stat()
    return is_of_user_or_root(facts) and not is_writable_by_others(facts)


def _used(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0
