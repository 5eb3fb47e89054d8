"""Run JetSQL's statements that Spark's clients send: the callbacks of the parser extension in the JVM.

Java calls a function of the engine by its name, see `EngineCallback.java`. There is a callback for the columns of a
statement and another for its rows, so that parsing has no side effect. Each callback runs for the caller of the
statement. A waiting statement is cancelled when Spark interrupts its thread. Errors keep condition, SQLSTATE and
position in every client; an error of Spark is passed back as the same Java object.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from jetsql.engine.errors.kafka_errors import KafkaOperation
from jetsql.engine.jvm.java_classes import java, without_secrets
from jetsql.engine.jvm.throwables import throwable_of
from jetsql.engine.session.catalog import Catalog
from jetsql.engine.session.kafka_topics import check_topic
from jetsql.engine.session.spark_statements import statement_of_group
from jetsql.errors import JetSQLError
from jetsql.jobs.audit.audit_log import collected_objects
from jetsql.jobs.model.job import quoted_text
from jetsql.jobs.planning.options import OPTIONS
from jetsql.language import STATEMENT_FILTER
from jetsql.request import OWNER, Caller, Cancellation, acting_for, cancellable
from jetsql.resultset import Cell, Column, Table

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EngineCallbacks:
    """The functions of the engine that Java calls, which knows them by the names of these fields.

    Java sends the arguments by name, and receives what a function returns as JSON. The comment of the constant in
    `EngineCallback.java` says both.
    """

    describe: Callable[..., tuple[Column, ...] | None]
    """Return the columns of a statement; None for a statement of Spark."""
    execute: Callable[..., Table]
    """Run a statement in a session."""
    bind: Callable[..., str | None]
    """Return a statement with the texts of values in place of its markers; None for a statement of Spark."""
    check_number: Callable[..., None]
    """Check that a statement has as many markers as there are values."""
    rows: Callable[..., list[tuple[Cell, ...]]]
    """Return the rows of a relation."""
    check_topic: Callable[..., None]
    """Check the topic of a table that a statement of Spark is about to read or write."""
    refuse_change: Callable[..., str]
    """Return why a table must not be dropped or renamed, given the verb, the schema, and None for all of its tables."""
    drop_function: Callable[..., None]
    """Drop a function in Python."""
    change_object: Callable[..., None]
    """Note that a table, a schema or a function was created, renamed or dropped, and by whom."""
    find_state: Callable[..., dict[str, Any]]
    """Return where the state of a job is, see `JobState.java`."""
    log_in: Callable[..., dict[str, Any]]
    """Check the token of a client of Spark's endpoints; return its user, or why it is refused."""
    audit_secret: Callable[..., None]
    """Record that a secret was read, or that a job uses a connection."""
    audit_begin: Callable[..., None]
    """Record that a statement of a client of Spark's endpoints begins, or refuse it."""
    audit: Callable[..., None]
    """Record the end of a statement of a client of Spark's endpoints."""


class EngineFunctions:
    """The callbacks in a form that Java can call (`EngineFunctions.java`), and the running statements by number."""

    def __init__(self, spark: SparkSession, callbacks: EngineCallbacks) -> None:
        self._spark = spark
        self._callbacks = callbacks
        self._statements: dict[str, Cancellation] = {}

    def call(self, function: str, number: str | None, session: Any, user: str | None, origin: str, request: str) -> Any:
        """Call a function for the caller of a statement; called from Java. user: of a session with a client"""
        endpoint, address = origin.split(" ", 1)
        caller, record = statement_of_group(endpoint) or (Caller(OWNER, endpoint, address), None)
        if user is not None:
            caller = replace(caller, user=user)
        with self._cancellable(number), acting_for(caller), collected_objects(record) as objects:
            arguments = json.loads(request)
            try:
                response = self._respond(function, session, arguments)
            except JetSQLError as error:
                failed = {"error": _encode_error(error, arguments.get("text", ""))}
                return json.dumps(failed | ({"objects": list(objects)} if objects else {}))
            except Exception as error:  # the boundary to Java, which an exception would cross without its message
                return _encode_other_error(error)
            if function == "execute" and objects:
                response["objects"] = list(objects)
            return None if response is None else json.dumps(response)

    def _respond(self, function: str, session: Any, arguments: dict[str, Any]) -> Any:
        if function == "describe":
            columns = self._callbacks.describe(**arguments)
            return None if columns is None else {"columns": ddl(columns)}
        if function == "execute":
            table = self._callbacks.execute(**arguments, session=SparkSession(self._spark.sparkContext, session))
            return {"columns": ddl(table.columns), "rows": table.rows}
        return getattr(self._callbacks, function)(**arguments)

    @contextmanager
    def _cancellable(self, number: str | None) -> Iterator[None]:
        """Make the statement of this thread cancellable by its number, if it has one, during the context."""
        if number is None:
            yield
            return
        self._statements[number] = Cancellation()
        try:
            with cancellable(self._statements[number]):
                yield
        finally:
            del self._statements[number]

    def cancel(self, number: str) -> None:
        """Cancel a statement if it still runs; called from Java."""
        statement = self._statements.get(number)
        if statement is not None:
            statement.cancel()

    def cancel_all(self) -> None:
        """Cancel all running statements, because the engine stops."""
        for statement in list(self._statements.values()):
            statement.end_with_engine()

    class Java:
        implements = ("dev.jetsql.common.EngineFunctions",)


def connect(spark: SparkSession, callbacks: EngineCallbacks) -> EngineFunctions:
    """Connect the parser extension of this JVM to an engine, and return the functions with the running statements."""
    functions = EngineFunctions(spark, callbacks)
    java(spark).options.TableOptions.setJobOptions(json.dumps([spec.name for spec in OPTIONS]))
    java(spark).sql.EngineConnection.connect(STATEMENT_FILTER, functions)
    return functions


def check_table_topic(spark: SparkSession, table: str, operation: str, options: dict[str, str]) -> None:
    """Check the topic of a table. options: of the statement, in addition to those of the table.

    Raises StatementError as `check_topic` does.
    """
    facts = Catalog(spark).table(table)
    if facts is not None:
        check_topic(spark, replace(facts, options=facts.options | options), KafkaOperation(operation))


def disconnect(spark: SparkSession) -> None:
    """Disconnect the parser extension, so that Spark parses all statements itself again."""
    java(spark).sql.EngineConnection.disconnect()


def ddl(columns: tuple[Column, ...]) -> str:
    """Return the columns in the syntax of CREATE TABLE."""
    return ", ".join(f"`{column.name}` {column.type}{_comment(column)}" for column in columns)


def _comment(column: Column) -> str:
    return f" COMMENT {quoted_text(column.comment)}" if column.comment else ""


def _encode_error(error: JetSQLError, text: str) -> dict[str, Any]:
    span = error.place
    return {
        "message": without_secrets(str(error)),
        "condition": error.condition,
        "sqlstate": error.sqlstate,
        "line": None if span is None else span.line(text),
        "position": None if span is None else span.column(text),
    }


def _encode_other_error(error: Exception) -> Any:
    """Return the Java throwable of an error of Spark, or the JSON of an internal error."""
    throwable = throwable_of(error)
    if throwable is not None:
        return throwable
    log.error("A statement failed with an unexpected error", exc_info=error)
    return json.dumps({"error": _encode_error(JetSQLError("INTERNAL_ERROR", f"{type(error).__name__}: {error}"), "")})
