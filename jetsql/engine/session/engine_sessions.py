"""The sessions of the engine itself, in which rights of users do not apply, and those of users."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.errors import StatementError
from jetsql.jobs.access.access_records import Right
from jetsql.jobs.model.table_names import split_table


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


def as_user(session: SparkSession, user: str) -> SparkSession:
    """Return the session if it is that of a user or there are no users, otherwise a copy of it for the user.

    A copy has the settings, the schema and the temporary views of the session. Only the engine and admins get copies
    for other users. Raises StatementError NOT_ALLOWED.
    """
    before = user_of(session)
    if java(session).rights.Rights.current() is None or before == user:
        return session
    if before is None or is_restricted(session, before):
        raise StatementError("NOT_ALLOWED", "The session is not that of the user who sends the statement.")
    return SparkSession(session.sparkContext, java(session).common.Principals.copyFor(session._jsparkSession, user))


def is_restricted(spark: SparkSession, user: str) -> bool:
    """Return whether the rights of a user are checked: there are users, and this one is no admin."""
    return bool(java(spark).rights.Rights.restrict(user))


def user_of(session: SparkSession) -> str | None:
    """Return the user of a session; None for a session that no endpoint has opened."""
    user: str | None = java(session).common.Principals.of(session._jsparkSession)
    return user


def is_allowed(spark: SparkSession, user: str | None, right: Right, table: str) -> bool:
    """Return whether a user has a right on a table, or CREATE on its schema. table: qualified"""
    return bool(java(spark).rights.Rights.allow(user, right.value, json.dumps(split_table(table))))
