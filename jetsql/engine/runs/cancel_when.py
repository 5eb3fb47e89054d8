"""Spark's work for an update that has been given up: it is ended, or it could wait for members for ever."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.errors import StatementError

_GROUP = "spark.jobGroup.id"


@contextmanager
def ended_when(unwanted: Future[None], spark: SparkSession, group: str) -> Iterator[None]:
    """End what this thread has Spark do as soon as `unwanted` is done. group: a name for that, never used before.

    Raises StatementError SNAPSHOT_FAILED then, in place of what Spark makes of it.
    """
    context = spark.sparkContext
    context.setLocalProperty(_GROUP, group)
    unwanted.add_done_callback(lambda _: java(spark).stream.CancelledJobGroups.cancel(spark._jsparkSession, group))
    try:
        yield
    except Exception as error:
        if unwanted.done():
            raise StatementError("SNAPSHOT_FAILED", "The copy of the state was given up.") from error
        raise
    finally:
        context.setLocalProperty(_GROUP, None)  # type: ignore[arg-type]
