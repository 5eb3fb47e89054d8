"""The sessions of the engine itself, in which rights of users do not apply."""

from __future__ import annotations

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java


def open_engine_session(spark: SparkSession) -> SparkSession:
    """Return a new session that may do everything. A session without a user may do nothing when there are users."""
    session = spark.newSession()
    java(spark).rights.Principals.setSystem(session._jsparkSession)
    return session
