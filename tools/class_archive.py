"""The archive of Spark's classes for tests, see `jetsql.engine.jvm.class_archive`.

    python -m tools.class_archive

makes a missing archive in the prefix of the Python that has PySpark, which takes half a minute, and downloads the
packages that tests need, once, and not by tests in parallel. Java ignores an archive that does not fit, so nothing
depends on it.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Final

import pyspark

from jetsql.embedded.archive_classes import make_archive
from jetsql.engine.jdbc.jdbc_dialects import POSTGRESQL
from jetsql.engine.jvm.class_archive import archive_options, find_archive
from tools.java.packages import SHORT_LIVED, connector_uris, fetch

FOLDER: Final = Path(sys.prefix) / "classes"


def java_options() -> str:
    """Return the Java options for Spark's processes in tests: the driver, executors, master and workers."""
    return " ".join((*SHORT_LIVED, *archive_options(FOLDER)))


def environment() -> dict[str, str]:
    """Return the variables that make child processes start Spark with these options, unless an engine has its own."""
    confs = [f"spark.{each}.defaultJavaOptions={java_options()}" for each in ("driver", "executor")]
    arguments = [argument for conf in confs for argument in ("--conf", conf)]
    return {
        "JETSQL_CLASS_ARCHIVES": "none",  # the engines of tests make no archive
        "PYSPARK_SUBMIT_ARGS": shlex.join([*arguments, "pyspark-shell"]),
        "SPARK_DAEMON_JAVA_OPTS": java_options(),
    }


def main() -> None:
    """Make a missing archive and download packages. Raises EngineError, BuildError."""
    archive = find_archive(FOLDER)
    if archive is not None and archive.is_usable():
        return
    sys.stderr.write("Archiving Spark's classes (once), which halves its start time in tests ...\n")
    make_archive(FOLDER)
    spark = ".".join(pyspark.__version__.split(".")[:2])
    fetch(*connector_uris(spark), f"ivy://{POSTGRESQL.package}")


if __name__ == "__main__":
    main()
