"""The audit of statements in Spark: which objects they use, and those of Thrift and Spark Connect as a whole."""

from __future__ import annotations

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java

_FLUSH_MILLIS = 10_000


def connect(spark: SparkSession, is_on: bool, is_required: bool) -> None:
    """Let Java note the objects of statements, and report the statements of Spark's endpoints.

    is_required: whether a statement is refused that cannot be recorded before it runs.
    """
    java(spark).endpoints.StatementAudit.connect(spark._jsparkSession, is_on, is_required)


def flush(spark: SparkSession) -> None:
    """Wait until the statements that have ended so far are reported."""
    java(spark).endpoints.StatementAudit.flush(spark._jsparkSession, _FLUSH_MILLIS)
