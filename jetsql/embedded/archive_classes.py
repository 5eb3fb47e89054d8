"""Make the archive of Spark's classes, and the first catalogue of new homes, see `jetsql.engine.jvm.class_archive`.

    python -m jetsql.embedded.archive_classes FOLDER

An engine that was started without an archive starts this process some time later, with the lowest priority, and does
not wait for it. The process runs an engine of its own on a temporary home, with typical statements, whose Java writes
the classes that it has loaded when it ends. It takes a minute of one core, or less.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout

from jetsql.embedded import open_engine
from jetsql.engine.jvm.class_archive import MAKER, ClassArchive, find_archive
from jetsql.engine.spark.derby_backup import back_up_derby
from jetsql.errors import EngineError
from jetsql.home.private_files import private_folder
from jetsql.home.storage import METASTORE
from jetsql.installation import python_command
from jetsql.setting_values import NONE
from jetsql.settings.engine_settings import EndpointSettings, load

_DEADLINE_SECONDS: Final = 600.0
_MEMORY: Final = "512m"
_NICENESS: Final = 19


def make_archive(folder: Path) -> ClassArchive:
    """Make the archive for the installed Java, Spark and JetSQL, unless it exists, and return it.

    Raises EngineError CLASSES_NOT_ARCHIVED.
    """
    archive = find_archive(folder)
    if archive is None:
        raise _failed("there is no Java")
    try:
        private_folder(folder)
        with FileLock(archive.lock, timeout=_DEADLINE_SECONDS):  # another process may be making it
            if not archive.is_usable():
                _make(archive)
    except Timeout as error:
        raise _failed(f"another process has {archive.lock}") from error
    except OSError as error:
        raise _failed(f"{error.filename or folder}: {error.strerror}") from error
    archive.failure.unlink(missing_ok=True)
    archive.remove_others()
    return archive


def _make(archive: ClassArchive) -> None:
    """Run an engine whose Java writes the archive at its end. Raises EngineError CLASSES_NOT_ARCHIVED."""
    with tempfile.TemporaryDirectory(prefix=".new-", dir=archive.file.parent) as folder:
        new = Path(folder) / archive.file.name
        command = python_command("-c", f"from {MAKER} import load_classes; load_classes({folder!r}, {str(new)!r})")
        try:
            ended = subprocess.run(
                command, env=_environment(), capture_output=True, text=True, timeout=_DEADLINE_SECONDS, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise _failed(f"it took more than {_DEADLINE_SECONDS:.0f} seconds") from error
        if not new.exists():
            raise _failed(_last_line(ended.stderr) or "this Java writes no archive")
        with open(new, "rb") as written:
            os.fsync(written.fileno())  # Java crashes with an archive that lost its end in a power failure
        shutil.rmtree(archive.catalog, ignore_errors=True)
        os.replace(Path(folder) / METASTORE, archive.catalog)
        os.replace(new, archive.file)


def _environment() -> dict[str, str]:
    """Return the environment without the settings of the user's engines."""
    others = {key: value for key, value in os.environ.items() if not key.startswith(("JETSQL_", "PYSPARK_SUBMIT"))}
    return {**others, "JETSQL_CONFIG": os.devnull}


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else ""


def _failed(reason: str) -> EngineError:
    return EngineError(
        "CLASSES_NOT_ARCHIVED",
        f"Spark's classes were not archived: {reason}.",
        hint="Engines start as before, and take longer.",
    )


def load_classes(folder: str, archive: str) -> None:
    """Run an engine with typical statements, and wait until its Java has written the archive."""
    conf = {"spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -XX:ArchiveClassesAtExit={archive}"}
    conf |= {"spark.driver.memory": _MEMORY, "spark.sql.shuffle.partitions": "2"}
    flags = {"class_archives": NONE}  # Java cannot write an archive while it uses one
    settings = load(home=f"{folder}/home", master="local[2]", conf=conf, flags=flags)
    with open_engine.open(settings=settings) as engine:
        gateway: Any = engine.spark.sparkContext._gateway
        with engine.open_endpoints(EndpointSettings(), open_engine.home_token(settings.home)):
            for text in _statements():
                list(engine.run(text).rows)
        back_up_derby(engine.spark, settings.home / METASTORE, Path(folder))
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


def _statements() -> Iterator[str]:
    yield "CREATE TABLE numbers (id BIGINT) USING json"
    yield "INSERT INTO numbers SELECT id FROM range(100)"
    yield "CREATE TABLE digits (digit BIGINT, n BIGINT, total BIGINT) USING parquet"
    yield "CREATE TABLE parts (id BIGINT, digit BIGINT) USING parquet PARTITIONED BY (digit)"
    counted = "SELECT id % 10, count(*), sum(id) FROM STREAM numbers GROUP BY 1"
    yield f"CREATE JOB digits AS INSERT OVERWRITE digits {counted}"
    yield "CREATE JOB parts AS INSERT INTO parts SELECT id, id % 10 FROM STREAM numbers"
    yield "WAIT FOR JOB digits UNTIL IDLE"
    yield "WAIT FOR JOB parts UNTIL IDLE"
    yield "SELECT count(*), count(DISTINCT id) FROM parts"
    yield "SELECT digit, n, total FROM digits ORDER BY digit"
    yield "SELECT name, status FROM jetsql.jobs"
    for job in ("digits", "parts"):
        yield f"DROP JOB {job}"
    for table in ("numbers", "digits", "parts"):
        yield f"DROP TABLE {table}"


def main(folder: str) -> None:
    """Make the archive in the background, and keep the reason if it cannot be made."""
    os.nice(_NICENESS)
    archive = find_archive(Path(folder))
    if archive is None or not archive.is_missing():
        return
    try:
        make_archive(Path(folder))
    except EngineError as error:
        archive.discard(error.explanation)


if __name__ == "__main__":
    main(sys.argv[1])
