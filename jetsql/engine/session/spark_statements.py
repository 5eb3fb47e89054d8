"""Run statements of Spark's in a session, and turn Spark's errors into reports."""

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
from jetsql.engine.errors.run_failures import cause_of, strip_message
from jetsql.engine.jvm import row_stream
from jetsql.engine.jvm.java_classes import java, without_secrets
from jetsql.engine.session.streaming_selects import StreamingSelect
from jetsql.engine.session.timestamps import with_offsets
from jetsql.errors import ErrorReport, JetSQLError, StatementError
from jetsql.live_rows import Live
from jetsql.resultset import Column

# Results that are read in one call; larger ones are read in parts, so that memory holds one part.
_COMMAND_PLANS = ("LocalRelation", "CommandResult", "LocalTableScan")


Row = TypeVar("Row")


@dataclass(frozen=True)
class SparkRows:
    """The columns and the rows of a statement; rows are fetched when they are read."""

    columns: tuple[Column, ...]
    rows: Iterator[tuple[Any, ...]]
    live: Live | None = None
    """A streaming cursor instead of rows."""


Parameters = Mapping[str, Any] | Sequence[Any]
"""Values of a statement's parameter markers, by name (`:name`) or by place (`?`), as `Parameters.java` reads them."""


def run(spark: SparkSession, text: str, parameters: Parameters | None = None, live: bool = False) -> SparkRows:
    """Run one statement of Spark's. The rows must be read on the same thread. live: open a cursor for a stream.

    Raises Spark's errors, STREAM_WITHOUT_LIMIT, STATEMENT_CANCELLED, and, also while the rows are read, VALUE_NOT_SHOWN
    for values that Python cannot hold.
    """
    with _cancellable(spark):
        frame = _frame(spark, text, parameters)
        found = _select_stream(frame, live) if frame.isStreaming else _rows(frame)
    if found.live is not None:
        return replace(found, live=replace(found.live, batches=_cancellable_rows(spark, found.live.batches)))
    return replace(found, rows=_cancellable_rows(spark, found.rows))


def run_arrow(spark: SparkSession, text: str, parameters: Parameters | None = None) -> Iterator[bytes]:
    """Run one statement of Spark's and yield its rows as the pieces of an Arrow stream. Raises as `run`."""
    with _cancellable(spark):
        frame = _frame(spark, text, parameters)
        columns = tuple(_column(field) for field in frame.schema.fields)
        if frame.isStreaming:
            with closing(StreamingSelect(frame, live=False).iterate_parts()) as frames:
                yield from row_stream.stream_arrow_parts(frame, frames, columns)
        else:
            yield from row_stream.stream_arrow(frame, columns)


def encode_arrow(spark: SparkSession, columns: tuple[Column, ...], rows: Iterator[tuple[Any, ...]]) -> Iterator[bytes]:
    """Return rows that are not Spark's as an Arrow stream."""
    schema = ", ".join(f"`{column.name}` {column.type}" for column in columns)
    return row_stream.stream_arrow(spark.createDataFrame(list(rows), schema), columns)


def _frame(spark: SparkSession, text: str, parameters: Parameters | None) -> DataFrame:
    if parameters:
        frame = DataFrame(java(spark).sql.Parameters.run(spark._jsparkSession, text, json.dumps(parameters)), spark)
    else:
        frame = spark.sql(text)
    java(spark).sql.TableVersions.ran(frame._jdf)
    return frame


def _select_stream(frame: DataFrame, live: bool) -> SparkRows:
    columns = tuple(_column(field) for field in frame.schema.fields)
    select = StreamingSelect(frame, live)
    if live:
        return SparkRows(columns, iter(()), select.open_cursor(_fetch))
    return SparkRows(columns, _rows_of_parts(select.iterate_parts()))


def _rows_of_parts(frames: Generator[DataFrame, None, None]) -> Iterator[tuple[Any, ...]]:
    with closing(frames):
        for frame in frames:
            yield from _fetch(frame)


def _rows(frame: DataFrame) -> SparkRows:
    columns = tuple(_column(field) for field in frame.schema.fields)
    if not columns:
        # The statement has run. Spark runs some a second time when their rows are read (a view over a stream).
        return SparkRows((), iter(()))
    small = frame._jdf.queryExecution().commandExecuted().nodeName() in _COMMAND_PLANS
    return SparkRows(columns, _fetch(frame, small))


def _fetch(frame: DataFrame, small: bool = False) -> Iterator[tuple[Any, ...]]:
    with _explain_unsupported_values():
        fetched = iter(frame.collect()) if small else row_stream.stream_rows(frame)
    return _read(with_offsets(fetched, frame.schema, session_zone(frame.sparkSession)))


def _column(field: StructField) -> Column:
    kind: DataType = field.dataType
    nested = isinstance(kind, ArrayType | MapType | StructType)
    return Column(field.name, kind.simpleString(), structure=kind.jsonValue() if nested else None)


@contextmanager
def _cancellable(spark: SparkSession) -> Iterator[None]:
    """Cancel the Spark work of this thread when the statement is cancelled, and raise that as the error."""
    statement = cancellation.current()
    if statement is cancellation.NEVER:
        yield
        return
    context: Any = spark.sparkContext._jsc.sc()
    group = f"jetsql-{uuid.uuid4()}"
    context.setJobGroup(group, "", True)
    try:
        with statement.on_cancel(lambda: java(spark).stream.CancelledJobGroups.cancel(spark._jsparkSession, group)):
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
    with _explain_unsupported_values():
        yield from rows


@contextmanager
def _explain_unsupported_values() -> Iterator[None]:
    """Raise VALUE_NOT_SHOWN for values that Python does not have; PySpark finds them when it reads a row."""
    try:
        yield
    except PySparkNotImplementedError as error:
        message = "The result has a column of a type that can't be shown, such as INTERVAL."
        raise StatementError("VALUE_NOT_SHOWN", message, hint="Cast the column to STRING.") from error
    except PySparkException:
        raise
    except (ValueError, OverflowError) as error:
        message = "A date or timestamp of the result is outside the years 1 to 9999, or at their very edge."
        raise StatementError("VALUE_NOT_SHOWN", message, hint="Cast the column to STRING.") from error


def session_zone(spark: SparkSession) -> tzinfo:
    """Return the session's time zone, in which Spark's own tools show timestamps."""
    name = str(spark.conf.get("spark.sql.session.timeZone"))
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):  # an offset such as +02:00
        jvm: Any = spark.sparkContext._jvm
        now = jvm.java.time.Instant.now()
        return timezone(timedelta(seconds=jvm.java.time.ZoneId.of(name).getRules().getOffset(now).getTotalSeconds()))


def build_error_report(error: BaseException, text: str) -> ErrorReport:
    """Return the report of any error of a statement, without secrets that were read."""
    found = _build_error_report(error, text)
    return replace(found, message=without_secrets(found.message), hint=without_secrets(found.hint))


def _build_error_report(error: BaseException, text: str) -> ErrorReport:
    if isinstance(error, JetSQLError):
        return error.report(text)
    if isinstance(error, PySparkException):
        return _report_spark_error(error, text)
    cause = cause_of(error)
    return ErrorReport(cause.condition or "JETSQL.INTERNAL_ERROR", cause.sqlstate or "XX000", cause.message, cause.hint)


def _report_spark_error(error: PySparkException, text: str) -> ErrorReport:
    condition = error.getCondition() or "SPARK"
    message = strip_message(_without_position(str(error)), condition)
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
