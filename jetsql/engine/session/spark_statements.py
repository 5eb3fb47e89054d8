"""Statements that are Spark's: run them in a session, and take Spark's errors apart for those who show them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta, timezone, tzinfo
from typing import Any, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, PySparkNotImplementedError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from jetsql import cancellation
from jetsql.engine.errors.run_failures import cause_of, plain_message
from jetsql.engine.jvm import arrow_rows, row_stream
from jetsql.engine.jvm.java_classes import java, without_secrets
from jetsql.engine.session.streaming_selects import Look
from jetsql.engine.session.timestamps import with_offsets
from jetsql.errors import ErrorReport, JetSQLError, StatementError
from jetsql.live_rows import Live
from jetsql.resultset import Column

# Results that are read whole in one call; larger ones come part by part, so that memory holds one part.
_COMMAND_PLANS = ("LocalRelation", "CommandResult", "LocalTableScan")


Row = TypeVar("Row")


@dataclass(frozen=True)
class SparkRows:
    """The columns and the rows of a statement; rows are fetched when they are read. live: instead of rows."""

    columns: tuple[Column, ...]
    rows: Iterator[tuple[Any, ...]]
    live: Live | None = None


Parameters = Mapping[str, Any] | Sequence[Any]
"""Values of a statement's parameter markers, by name (`:name`) or by place (`?`), as `Parameters.java` reads them."""


def run(spark: SparkSession, text: str, parameters: Parameters | None = None, live: bool = False) -> SparkRows:
    """Run one statement of Spark's; the rows must be read on the same thread. live: a stream may be looked at.

    Raises Spark's errors, STREAM_WITHOUT_LIMIT, STATEMENT_CANCELLED, and, also while the rows are read, VALUE_NOT_SHOWN
    for values that Python can't hold.
    """
    with _cancellable(spark):
        frame = _frame(spark, text, parameters)
        found = _look(frame, live) if frame.isStreaming else _rows(frame)
    if found.live is not None:
        return replace(found, live=replace(found.live, batches=_cancellable_rows(spark, found.live.batches)))
    return replace(found, rows=_cancellable_rows(spark, found.rows))


def run_arrow(spark: SparkSession, text: str, parameters: Parameters | None = None) -> Iterator[bytes]:
    """Run one statement of Spark's, its rows as the pieces of an Arrow stream. Raises as `run`, as they are read."""
    with _cancellable(spark):
        frame = _frame(spark, text, parameters)
        columns = tuple(_column(field) for field in frame.schema.fields)
        if frame.isStreaming:
            with closing(Look(frame, live=False).frames()) as frames:
                yield from arrow_rows.pieces_of(frame, frames, columns)
        else:
            yield from arrow_rows.pieces(frame, columns)


def arrow_of(spark: SparkSession, columns: tuple[Column, ...], rows: Iterator[tuple[Any, ...]]) -> Iterator[bytes]:
    """Rows that are not Spark's as an Arrow stream."""
    kinds = ", ".join(f"`{column.name}` {column.type}" for column in columns)
    return arrow_rows.pieces(spark.createDataFrame(list(rows), kinds), columns)


def _frame(spark: SparkSession, text: str, parameters: Parameters | None) -> DataFrame:
    if parameters:
        frame = DataFrame(java(spark).sql.Parameters.run(spark._jsparkSession, text, json.dumps(parameters)), spark)
    else:
        frame = spark.sql(text)
    java(spark).sql.TableVersions.ran(frame._jdf)
    return frame


def _look(frame: DataFrame, live: bool) -> SparkRows:
    columns = tuple(_column(field) for field in frame.schema.fields)
    look = Look(frame, live)
    if live:
        return SparkRows(columns, iter(()), look.live(_fetched))
    return SparkRows(columns, _looked(look.frames()))


def _looked(frames: Generator[DataFrame, None, None]) -> Iterator[tuple[Any, ...]]:
    with closing(frames):
        for frame in frames:
            yield from _fetched(frame)


def _rows(frame: DataFrame) -> SparkRows:
    columns = tuple(_column(field) for field in frame.schema.fields)
    if not columns:
        # The statement has run. Spark runs some a second time when their rows are asked for (a view over a stream).
        return SparkRows((), iter(()))
    small = frame._jdf.queryExecution().commandExecuted().nodeName() in _COMMAND_PLANS
    return SparkRows(columns, _fetched(frame, small))


def _fetched(frame: DataFrame, small: bool = False) -> Iterator[tuple[Any, ...]]:
    with _values_told():
        fetched = iter(frame.collect()) if small else row_stream.rows(frame)
    return _read(with_offsets(fetched, frame.schema, session_zone(frame.sparkSession)))


def _column(field: StructField) -> Column:
    kind: DataType = field.dataType
    nested = isinstance(kind, ArrayType | MapType | StructType)
    return Column(field.name, kind.simpleString(), structure=kind.jsonValue() if nested else None)


@contextmanager
def _cancellable(spark: SparkSession) -> Iterator[None]:
    """What this thread lets Spark do within is broken off when the statement is cancelled, with that as the error."""
    statement = cancellation.current()
    if statement is cancellation.NEVER:
        yield
        return
    context: Any = spark.sparkContext._jsc.sc()
    group = f"jetsql-{uuid.uuid4()}"
    context.setJobGroup(group, "", True)
    try:
        with statement.waking(lambda: java(spark).stream.CancelledJobGroups.cancel(spark._jsparkSession, group)):
            yield
    except Exception:
        statement.check()
        raise
    finally:
        context.clearJobGroup()


def _cancellable_rows(spark: SparkSession, rows: Iterator[Row]) -> Generator[Row, None, None]:
    with _cancellable(spark):
        yield from rows


def _read(rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    with _values_told():
        yield from rows


@contextmanager
def _values_told() -> Iterator[None]:
    """Spark has values that Python has not; PySpark finds that out at the row."""
    try:
        yield
    except PySparkNotImplementedError as error:
        words = "The result has a column of a type that can't be shown, such as INTERVAL."
        raise StatementError("VALUE_NOT_SHOWN", words, hint="Cast the column to STRING.") from error
    except PySparkException:
        raise
    except (ValueError, OverflowError) as error:
        words = "A date or timestamp of the result is outside the years 1 to 9999, or at their very edge."
        raise StatementError("VALUE_NOT_SHOWN", words, hint="Cast the column to STRING.") from error


def session_zone(spark: SparkSession) -> tzinfo:
    """The session's time zone, in which Spark's own tools show timestamps."""
    name = str(spark.conf.get("spark.sql.session.timeZone"))
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):  # an offset such as +02:00
        jvm: Any = spark.sparkContext._jvm
        now = jvm.java.time.Instant.now()
        return timezone(timedelta(seconds=jvm.java.time.ZoneId.of(name).getRules().getOffset(now).getTotalSeconds()))


def report(error: BaseException, text: str) -> ErrorReport:
    """Take an error of a statement apart: ours, Spark's, or anything else. No secret that was read is in it."""
    found = _report(error, text)
    return replace(found, message=without_secrets(found.message), hint=without_secrets(found.hint))


def _report(error: BaseException, text: str) -> ErrorReport:
    if isinstance(error, JetSQLError):
        return error.report(text)
    if isinstance(error, PySparkException):
        return _of_spark(error, text)
    cause = cause_of(error)
    return ErrorReport(cause.condition or "JETSQL.INTERNAL_ERROR", cause.sqlstate or "XX000", cause.message, cause.hint)


def _of_spark(error: PySparkException, text: str) -> ErrorReport:
    condition = error.getCondition() or "SPARK"
    message = plain_message(_without_position(str(error)), condition)
    line, column = _position(error, text)
    return ErrorReport(condition, error.getSqlState() or "", message, "", line, column)


def _position(error: PySparkException, text: str) -> tuple[int | None, int | None]:
    origin: Any = getattr(error, "_origin", None)
    try:
        if origin is not None and origin.line().isDefined() and origin.startPosition().isDefined():
            return int(origin.line().get()), int(origin.startPosition().get()) + 1
    except Py4JError:  # only parsing and analysis errors know a line
        origin = None
    for context in error.getQueryContext() or ():
        if context.contextType().name == "SQL" and context.startIndex() >= 0:
            start = context.startIndex()
            return text.count("\n", 0, start) + 1, start - (text.rfind("\n", 0, start) + 1) + 1
    return None, None


def _without_position(text: str) -> str:
    return text.partition("; line ")[0].partition(" (line ")[0] if "; line " in text else text.partition("\n== SQL")[0]
