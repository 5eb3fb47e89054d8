"""The statements inside Spark: what the parser hook in the JVM asks, and how answers and errors go back.

Two questions, so that parsing has no side effect: what columns will this text give, and what are its rows. A third one
is for the rows of a relation, a fourth for a topic that a plain statement is about to read or write. A statement that
waits is broken off when Spark interrupts its thread. Errors keep condition, SQLSTATE and position in every client; an
error of Spark itself goes back as the very object it is.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from jetsql.cancellation import Cancellation, cancellable
from jetsql.engine.errors.kafka_errors import KafkaOperation
from jetsql.engine.jvm.java_classes import java, without_secrets
from jetsql.engine.jvm.throwables import throwable_of
from jetsql.engine.session.catalog import Catalog
from jetsql.engine.session.kafka_topics import ask_topic
from jetsql.errors import JetSQLError
from jetsql.jobs.model.job import quoted_text
from jetsql.language import STATEMENT_FILTER
from jetsql.resultset import Cell, Column, Table

log = logging.getLogger(__name__)

Describe = Callable[[str], "tuple[Column, ...] | None"]
Execute = Callable[[str, SparkSession], Table]
Relate = Callable[[str], Iterable[tuple[Cell, ...]]]


class _Question:
    """One function of (session, text), callable from Java (java.util.function.BiFunction)."""

    def __init__(self, answer: Callable[[Any, str], dict[str, Any] | None]) -> None:
        self._answer = answer

    def apply(self, session: Any, text: str) -> Any:
        try:
            answer = self._answer(session, text)
        except JetSQLError as error:
            return json.dumps({"error": _error(error, text)})
        except Exception as error:  # the border to Java: everything else would arrive there without its message
            return _foreign(error)
        return None if answer is None else json.dumps(answer)

    class Java:
        implements = ("java.util.function.BiFunction",)


class SparkClientStatements:
    """The statements that Spark's clients have running, by the numbers that Java gave them; cancelled from there
    (java.util.function.Consumer).
    """

    def __init__(self) -> None:
        self._statements: dict[str, Cancellation] = {}

    @contextmanager
    def entered(self, number: str) -> Iterator[None]:
        self._statements[number] = Cancellation()
        try:
            with cancellable(self._statements[number]):
                yield
        finally:
            del self._statements[number]

    def accept(self, number: str) -> None:
        found = self._statements.get(number)
        if found is not None:
            found.cancel()

    def cancel_all(self) -> None:
        for number in list(self._statements):
            self.accept(number)

    class Java:
        implements = ("java.util.function.Consumer",)


class _Numbered(_Question):
    """A question whose text has a number and a blank in front, by which it can be cancelled."""

    def __init__(self, answer: Callable[[Any, str], dict[str, Any] | None], running: SparkClientStatements) -> None:
        super().__init__(answer)
        self._running = running

    def apply(self, session: Any, text: str) -> Any:
        number, _, statement = text.partition(" ")
        with self._running.entered(number):
            return super().apply(session, statement)


def connect(spark: SparkSession, describe: Describe, execute: Execute, relate: Relate) -> SparkClientStatements:
    """Answer the statements of all sessions of this JVM, and the queries that read a relation (`relate`)."""

    def columns(_session: Any, text: str) -> dict[str, Any] | None:
        found = describe(text)
        return None if found is None else {"columns": ddl(found)}

    def rows(session: Any, text: str) -> dict[str, Any]:
        table = execute(text, SparkSession(spark.sparkContext, session))
        return {"columns": ddl(table.columns), "rows": table.rows}

    def relation(_session: Any, name: str) -> dict[str, Any]:
        return {"rows": list(relate(name))}

    catalog = Catalog(spark)

    def topic(_session: Any, text: str) -> None:
        asked = json.loads(text)
        table = catalog.table(asked["table"])
        if table is not None:
            asked_with = replace(table, options=table.options | asked["options"])
            ask_topic(spark, asked_with, KafkaOperation(asked["doing"]))

    running = SparkClientStatements()
    questions = (_Question(columns), _Numbered(rows, running), running, _Question(relation), _Question(topic))
    java(spark).sql.Engine.connect(STATEMENT_FILTER, *questions)
    return running


def disconnect(spark: SparkSession) -> None:
    """From now on the statements are Spark's matter again."""
    java(spark).sql.Engine.disconnect()


def ddl(columns: tuple[Column, ...]) -> str:
    """The columns as CREATE TABLE takes them."""
    return ", ".join(f"`{column.name}` {column.type}{_comment(column)}" for column in columns)


def _comment(column: Column) -> str:
    return f" COMMENT {quoted_text(column.comment)}" if column.comment else ""


def _error(error: JetSQLError, text: str) -> dict[str, Any]:
    place = error.place
    return {
        "message": without_secrets(str(error)),
        "condition": error.condition,
        "sqlstate": error.sqlstate,
        "line": None if place is None else place.line(text),
        "position": None if place is None else place.column(text),
    }


def _foreign(error: Exception) -> Any:
    throwable = throwable_of(error)
    if throwable is not None:
        return throwable
    log.error("A statement failed in an unexpected way", exc_info=error)
    return json.dumps({"error": _error(JetSQLError("INTERNAL_ERROR", f"{type(error).__name__}: {error}"), "")})
