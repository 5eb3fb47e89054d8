"""Notice the end of Spark: of its process, and of its application, which the cluster can end while the process runs on.

Without its application, the process refuses every statement, and nothing starts the application again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.spark.startup import is_lost, kill_process, wait_for_process


@dataclass(frozen=True)
class SparkEnd:
    """The end of Spark's process."""

    exit_code: int
    """The exit code; negative for a signal."""
    reason: str | None = None
    """The reason of the end of the application, in Spark's sentences; empty if Spark gives none. The process was killed
    then. None if only the process has ended."""


class _ApplicationListener:
    """The listener for the end of the application, in a form that Java can call (java.util.function.Consumer)."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.reason: str | None = None

    def accept(self, reason: str) -> None:
        self.reason = reason
        kill_process(self._spark)

    class Java:
        implements = ("java.util.function.Consumer",)


def watch_spark(spark: SparkSession) -> Callable[[], SparkEnd]:
    """Kill Spark's process when its application ends before `unwatch_spark`.

    Returns a function that blocks until the process has ended.
    """
    listener = _ApplicationListener(spark)
    with _unless_lost():
        java(spark).watchdog.ApplicationEnd.watch(spark._jsparkSession, listener)
    return lambda: SparkEnd(wait_for_process(spark), listener.reason)


def unwatch_spark(spark: SparkSession) -> None:
    """Let the engine stop Spark: the end of the application is no event any more."""
    with _unless_lost():
        java(spark).watchdog.ApplicationEnd.unwatch()


def is_ending(spark: SparkSession) -> bool:
    """Return whether the process or the watched application ends, so that errors of Spark are only consequences."""
    ends: Any = True
    with _unless_lost():
        ends = java(spark).watchdog.ApplicationEnd.isEnding()
    return bool(ends)


@contextmanager
def _unless_lost() -> Iterator[None]:
    """End the context without an error if Spark's process does not answer any more."""
    try:
        yield
    except (Py4JError, ConnectionError) as error:
        if not is_lost(error):
            raise
