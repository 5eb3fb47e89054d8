"""Run JetSQL's statements that Spark's clients send: the callbacks of the parser extension in the JVM.

The extension has a callback for the columns of a statement and another for its rows, so that parsing has no side
effect. Further callbacks return the rows of a relation, check a topic that a Spark statement is about to read or write,
find the jobs that use a table, drop a function in Python, and find the state of a job. Each callback runs for the
caller of the statement. A waiting statement is cancelled when Spark interrupts its thread. Errors keep condition,
SQLSTATE and position in every client; an error of Spark is passed back as the same Java object.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from jetsql.engine.errors.kafka_errors import KafkaOperation
from jetsql.engine.jvm.java_classes import java, without_secrets
from jetsql.engine.jvm.throwables import throwable_of
from jetsql.engine.session.catalog import Catalog
from jetsql.engine.session.kafka_topics import check_topic
from jetsql.engine.session.spark_statements import caller_of_group
from jetsql.errors import JetSQLError
from jetsql.jobs.model.job import quoted_text
from jetsql.jobs.planning.options import OPTIONS
from jetsql.language import STATEMENT_FILTER
from jetsql.language.body.parameter_markers import check_number
from jetsql.request import OWNER, Caller, Cancellation, acting_for, cancellable
from jetsql.resultset import Cell, Column, Table

log = logging.getLogger(__name__)

Describe = Callable[[str], "tuple[Column, ...] | None"]
Execute = Callable[[str, SparkSession], Table]
Relate = Callable[[str], Iterable[tuple[Cell, ...]]]
RefuseChange = Callable[[str, list[str], str | None], str]
"""A function of the verb (`drop`), the parts of a schema and a table, None for all of its tables; it returns an empty
text to allow the change."""
DropFunction = Callable[[str, str, bool], None]
Bind = Callable[[str, "Mapping[str, str] | Sequence[str]"], "str | None"]
FindState = Callable[[str], dict[str, Any]]


class _Callback:
    """A function of (session, text) in a form that Java can call (java.util.function.BiFunction).

    Java writes the origin of the statement before the text, see `Callers.java`.
    """

    def __init__(self, function: Callable[[Any, str], dict[str, Any] | None]) -> None:
        self._function = function

    def apply(self, session: Any, text: str) -> Any:
        endpoint, address, text = text.split(" ", 2)
        with acting_for(caller_of_group(endpoint) or Caller(OWNER, endpoint, address)):
            return self._apply(session, text)

    def _apply(self, session: Any, text: str) -> Any:
        try:
            result = self._function(session, text)
        except JetSQLError as error:
            return json.dumps({"error": _encode_error(error, text)})
        except Exception as error:  # the boundary to Java, which an exception would cross without its message
            return _encode_other_error(error)
        return None if result is None else json.dumps(result)

    class Java:
        implements = ("java.util.function.BiFunction",)


class SparkClientStatements:
    """The running statements of Spark's clients by Java's numbers; Java cancels them (java.util.function.Consumer)."""

    def __init__(self) -> None:
        self._statements: dict[str, Cancellation] = {}

    @contextmanager
    def register(self, number: str) -> Iterator[None]:
        """Make the statement of this thread cancellable by its number during the context."""
        self._statements[number] = Cancellation()
        try:
            with cancellable(self._statements[number]):
                yield
        finally:
            del self._statements[number]

    def accept(self, number: str) -> None:
        """Cancel a statement if it still runs; called from Java."""
        statement = self._statements.get(number)
        if statement is not None:
            statement.cancel()

    def cancel_all(self) -> None:
        """Cancel all running statements."""
        for number in list(self._statements):
            self.accept(number)

    class Java:
        implements = ("java.util.function.Consumer",)


class _CancellableCallback(_Callback):
    """A callback whose text begins with a number, by which Java can cancel the statement, and a space."""

    def __init__(self, function: Callable[[Any, str], dict[str, Any] | None], running: SparkClientStatements) -> None:
        super().__init__(function)
        self._running = running

    def apply(self, session: Any, text: str) -> Any:
        number, _, statement = text.partition(" ")
        with self._running.register(number):
            return super().apply(session, statement)


def connect(
    spark: SparkSession,
    describe: Describe,
    execute: Execute,
    relate: Relate,
    refuse_change: RefuseChange,
    drop_function: DropFunction,
    find_state: FindState,
    bind: Bind,
) -> SparkClientStatements:
    """Connect the parser extension of this JVM to an engine, and return the running statements.

    describe: returns the columns of a statement; None if it is a statement of Spark.
    execute: runs a statement in a session.
    relate: returns the rows of a relation.
    refuse_change: returns why a table must not be dropped or renamed.
    drop_function: drops a function in Python.
    find_state: returns where the state of a job is, see `JobState.java`.
    bind: returns a statement of JetSQL with the texts of values in place of its markers; None for one of Spark.
    """

    def describe_columns(_session: Any, text: str) -> dict[str, Any] | None:
        columns = describe(text)
        return None if columns is None else {"columns": ddl(columns)}

    def execute_statement(session: Any, text: str) -> dict[str, Any]:
        table = execute(text, SparkSession(spark.sparkContext, session))
        return {"columns": ddl(table.columns), "rows": table.rows}

    catalog = Catalog(spark)

    def check_table_topic(_session: Any, text: str) -> None:
        request = json.loads(text)
        table = catalog.table(request["table"])
        if table is not None:
            table_with_options = replace(table, options=table.options | request["options"])
            check_topic(spark, table_with_options, KafkaOperation(request["operation"]))

    def find_users(_session: Any, text: str) -> dict[str, Any] | None:
        request = json.loads(text)
        refusal = refuse_change(request["action"], request["schema"], request["table"])
        return {"refusal": refusal} if refusal else None

    running = SparkClientStatements()
    java(spark).options.TableOptions.setJobOptions(json.dumps([spec.name for spec in OPTIONS]))
    java(spark).sql.EngineCallbacks.connect(
        STATEMENT_FILTER,
        _Callback(describe_columns),
        _CancellableCallback(execute_statement, running),
        running,
        _Callback(lambda _session, name: {"rows": list(relate(name))}),
        _Callback(check_table_topic),
        _Callback(find_users),
        _Callback(lambda _session, request: _drop_function(drop_function, json.loads(request))),
        _Callback(lambda _session, name: find_state(name)),
        _Callback(lambda _session, request: _bind_values(bind, json.loads(request))),
    )
    return running


def _drop_function(drop: DropFunction, request: dict[str, Any]) -> None:
    drop(request["schema"], request["name"], request["if_exists"])


def _bind_values(bind: Bind, request: dict[str, Any]) -> dict[str, Any] | None:
    if "number" in request:
        check_number(request["number"], request["text"])
        return None
    bound = bind(request["text"], request["values"])
    return None if bound is None else {"text": bound}


def disconnect(spark: SparkSession) -> None:
    """Disconnect the parser extension, so that Spark parses all statements itself again."""
    java(spark).sql.EngineCallbacks.disconnect()


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
