"""Start Spark for unit tests of SQL files, and open a session with a catalogue of its own for each test."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.jvm.launch import SparkStart
from jetsql.engine.spark.startup import is_stopped, start_spark

WAREHOUSE: Final = "warehouse"
"""The folder of the tables, which have no rows in files."""

_MEMORY: Final = "1g"
_CONFS: Final = {
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    # Each query runs for a few rows: the compiler of its code would take most of the time.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
    "spark.ui.retainedJobs": "1",
    "spark.ui.retainedStages": "1",
    "spark.ui.retainedTasks": "1",
    "spark.cleaner.referenceTracking": "false",
    # A run is too short for the optimizing compiler, which takes a third of the processor time.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}
# The state of a test is small, and its files belong to the test alone.
STATE_CONFS: Final = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.pollingDelay": "0ms",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
MEMORY_STATE: Final = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "1",
}
"""The settings for state that Spark keeps in the memory of Java, and not in RocksDB."""

COVERAGE_CONFS: Final = {
    "spark.jetsql.test.coverage": "true",
    # Otherwise Spark runs filters over the rows of a batch while it plans them.
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
}
"""The settings for jobs whose coverage is noted, see `Coverage.java`."""


def start_memory_spark(folder: Path, cores: int, class_archives: Path) -> SparkSession:
    """Start Spark with its catalogue in memory. folder: an empty one for its log and temporary files.

    class_archives: the folder of the archives of Spark's classes. Raises EngineError ENGINE_NOT_STARTED.
    """
    warehouse = folder / WAREHOUSE
    warehouse.mkdir()
    start = SparkStart(
        folder, warehouse.as_uri(), f"local[{cores}]", _MEMORY, _CONFS, class_archives=class_archives, owns_process=True
    )
    logging.getLogger("py4j").setLevel(logging.ERROR)
    return start_spark(start)


def coverage_sites(spark: SparkSession) -> list[dict[str, Any]]:
    """Return what the rows of jobs have reached since the last call, see `Coverage.java`."""
    coverage = java(spark).testing.Coverage
    sites: list[dict[str, Any]] = json.loads(coverage.sites())
    coverage.clear()
    return sites


@contextmanager
def open_session(spark: SparkSession, folder: Path) -> Iterator[SparkSession]:
    """Open a session with a catalogue of its own within the block. folder: for the catalogue's files"""
    context: Any = spark.sparkContext
    classes = java(spark).testing.TestSessions
    confs = _CONFS | {"spark.sql.warehouse.dir": (folder / WAREHOUSE).as_uri()}
    session = SparkSession(context, classes.open(context._jsc.sc(), json.dumps(confs)))
    try:
        yield session
    finally:
        if not is_stopped(spark):
            classes.close(session._jsparkSession)
