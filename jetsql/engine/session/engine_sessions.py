"""The sessions of the engine itself, in which rights of users do not apply, and those of its clients."""

from __future__ import annotations

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java


def open_engine_session(spark: SparkSession) -> SparkSession:
    """Return a new session that may do everything. A session without a user may do nothing when there are users."""
    session = spark.newSession()
    java(spark).common.Principals.setSystem(session._jsparkSession)
    return session


def open_user_session(spark: SparkSession, user: str) -> SparkSession:
    """Return a new session with the rights of a user. user: the key"""
    session = spark.newSession()
    java(spark).common.Principals.set(session._jsparkSession, user)
    return session
