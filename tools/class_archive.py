"""An archive of Spark's classes as Java has them in memory (AppCDS, JEP 350), with which engines of tests start in half
the time: Java maps it, and reads, checks and links some twenty thousand classes no more.

    python -m tools.class_archive

makes it where it is missing, beside the Python that Spark is installed for; that takes half a minute. Java takes it for
the very jars and Java only that it was made with, and goes without it otherwise, so nothing depends on it. The engine
that is run for it has the packages that tests need, so they are fetched by then, and not by tests side by side.
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

_ROOT: Final = Path(__file__).parents[1]
ARCHIVE: Final = Path(sys.prefix) / f"spark-{version('pyspark')}.jsa"
# Engines of tests live too short for the compiler that makes a long life fast, and there is nothing large to collect.
SHORT_LIVED: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_DEADLINE_SECONDS: Final = 300.0


def java_options() -> str:
    """For Spark's processes in tests: the driver, executors, master and workers."""
    # An archive that does not fit is no news for the log that a test reads.
    archived = (f"-XX:SharedArchiveFile={ARCHIVE}", "-Xlog:cds=off", "-Xlog:class+path=off") if ARCHIVE.exists() else ()
    return " ".join((*SHORT_LIVED, *archived))


def environment() -> dict[str, str]:
    """Variables by which whatever starts Spark from here starts it so. Options that an engine itself is given stay."""
    confs = [f"spark.{each}.defaultJavaOptions={java_options()}" for each in ("driver", "executor")]
    words = [word for conf in confs for word in ("--conf", conf)]
    return {"PYSPARK_SUBMIT_ARGS": shlex.join([*words, "pyspark-shell"]), "SPARK_DAEMON_JAVA_OPTS": java_options()}


def make() -> None:
    """Run an engine, and have Java write at its end what it has loaded. Raises CalledProcessError, TimeoutExpired."""
    with tempfile.TemporaryDirectory(prefix="jetsql-classes-", dir=ARCHIVE.parent) as folder:
        made = Path(folder) / ARCHIVE.name
        command = [sys.executable, "-m", "tools.class_archive", str(made)]
        environ = {**os.environ, "JETSQL_CONFIG": os.devnull, "JETSQL_KAFKA": "true"}
        subprocess.run(command, check=True, timeout=_DEADLINE_SECONDS, env=environ, cwd=_ROOT)
        if made.exists():  # a Java without an archive of its own classes can't make one of others
            made.rename(ARCHIVE)


def _load(archive: Path) -> None:
    """Have a life that most engines of tests have, and wait until Java has ended."""
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


def main(*words: str) -> None:
    if words:
        _load(Path(words[0]))
    elif not ARCHIVE.exists():
        sys.stderr.write("Archiving Spark's classes (once), so that tests start it in half the time ...\n")
        make()


if __name__ == "__main__":
    main(*sys.argv[1:])
