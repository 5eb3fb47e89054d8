"""An archive of Spark's loaded classes (AppCDS, JEP 350), which halves the start time of engines in tests.

Java maps the archive instead of loading, verifying and linking some twenty thousand classes.

    python -m tools.class_archive

creates a missing archive in the prefix of the Python that has PySpark, which takes half a minute. Java uses the archive
only with the same jars and the same Java, and otherwise ignores it, so nothing depends on it. The engine that creates
it uses the packages that tests need, so they are downloaded once, and not by tests in parallel.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from jetsql.engine.jdbc.jdbc_dialects import POSTGRESQL
from tools.java.packages import SHORT_LIVED

_ROOT: Final = Path(__file__).parents[1]
ARCHIVE: Final = Path(sys.prefix) / f"spark-{version('pyspark')}.jsa"
_DEADLINE_SECONDS: Final = 300.0


def java_options() -> str:
    """Return the Java options for Spark's processes in tests: the driver, executors, master and workers."""
    # The log that a test reads should have no line about an archive that Java ignores.
    archived = (f"-XX:SharedArchiveFile={ARCHIVE}", "-Xlog:cds=off", "-Xlog:class+path=off") if ARCHIVE.exists() else ()
    return " ".join((*SHORT_LIVED, *archived))


def environment() -> dict[str, str]:
    """Return the variables that make child processes start Spark with these options, unless an engine has its own."""
    confs = [f"spark.{each}.defaultJavaOptions={java_options()}" for each in ("driver", "executor")]
    arguments = [argument for conf in confs for argument in ("--conf", conf)]
    return {"PYSPARK_SUBMIT_ARGS": shlex.join([*arguments, "pyspark-shell"]), "SPARK_DAEMON_JAVA_OPTS": java_options()}


def make() -> None:
    """Run an engine that writes the archive at its end. Raises CalledProcessError, TimeoutExpired."""
    with tempfile.TemporaryDirectory(prefix="jetsql-classes-", dir=ARCHIVE.parent) as folder:
        archive = Path(folder) / ARCHIVE.name
        command = [sys.executable, "-m", "tools.class_archive", str(archive)]
        environ = {**os.environ, "JETSQL_CONFIG": os.devnull, "JETSQL_KAFKA": "true"}
        subprocess.run(command, check=True, timeout=_DEADLINE_SECONDS, env=environ, cwd=_ROOT)
        if archive.exists():  # a Java without an archive of its own classes writes none
            archive.rename(ARCHIVE)


def _load(archive: Path) -> None:
    """Run an engine with typical statements of tests, and wait until Java has ended."""
    import jetsql

    with tempfile.TemporaryDirectory(prefix="jetsql-classes-") as home:
        options = " ".join((*SHORT_LIVED, f"-XX:ArchiveClassesAtExit={archive}"))
        conf = {"spark.driver.extraJavaOptions": options, "spark.jars.packages": POSTGRESQL.package}
        with jetsql.open(home=home, master="local[2]", conf=conf) as engine:
            gateway: Any = engine.spark.sparkContext._gateway
            for text in _statements():
                list(engine.run(text).rows)
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


def main(*arguments: str) -> None:
    if arguments:
        _load(Path(arguments[0]))
    elif not ARCHIVE.exists():
        sys.stderr.write("Archiving Spark's classes (once), which halves its start time in tests ...\n")
        make()


if __name__ == "__main__":
    main(*sys.argv[1:])
