"""Run Spark's statements in a session, and turn Spark's errors into reports."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta, timezone, tzinfo
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, PySparkNotImplementedError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from jetsql import request
from jetsql.engine.errors.python_errors import CONDITION, describe_python_error
from jetsql.engine.errors.run_failures import cause_of, strip_message
from jetsql.engine.jdbc.jdbc_databases import explain_read_error, find_jdbc_error
from jetsql.engine.jvm import row_stream
from jetsql.engine.jvm.java_classes import java, without_secrets
from jetsql.engine.jvm.python_values import build_values, select_values
from jetsql.engine.session.engine_sessions import open_engine_session
from jetsql.engine.session.streaming_selects import StreamingSelect
from jetsql.engine.session.timestamps import with_offsets
from jetsql.errors import ErrorReport, JetSQLError, StatementError
from jetsql.jobs.audit.audit_log import StatementRecord, active_record, note_objects
from jetsql.live_rows import Live
from jetsql.request import Caller
from jetsql.resultset import Column

# A column of ours among the columns that Spark suggests.
_HIDDEN_COLUMN: Final = re.compile(r", (`[^`]*`\.)*`__jetsql_[^`]*`|(`[^`]*`\.)*`__jetsql_[^`]*`(, )?")

_ZONE: Final = "spark.sql.session.timeZone"

# Plans with small results, which are read in one call. Other results are read in parts, with one part in memory.
_COMMAND_PLANS = ("LocalRelation", "CommandResult", "LocalTableScan")


Row = TypeVar("Row")
_statements: Final[dict[str, tuple[Caller, StatementRecord | None]]] = {}  # those that run, by their job groups


@dataclass(frozen=True)
class SparkRows:
    """The columns and the rows of a statement."""

    columns: tuple[Column, ...]
    """The columns of the rows; empty for a statement without a result."""
    rows: Iterator[tuple[Any, ...]]
    """The rows, which are fetched when they are read."""
    live: Live | None = None
    """A streaming cursor instead of rows."""


Parameters = Mapping[str, Any] | Sequence[Any]
"""Values of a statement's parameter markers, by name (`:name`) or by position (`?`), see `Parameters.java`."""


def run(spark: SparkSession, text: str, parameters: Parameters | None = None, live: bool = False) -> SparkRows:
    """Run one Spark statement. The rows must be read on the same thread.

    Raises Spark's errors, STREAM_WITHOUT_LIMIT, STATEMENT_CANCELLED, and, also while the rows are read, VALUE_NOT_SHOWN
    for values that Python cannot represent.
    live: whether to open a cursor for a stream.
    """
    with _cancellable(spark):
        frame = _execute(spark, text, parameters)
        result = _select_stream(frame, live) if frame.isStreaming else _select_rows(frame)
    if result.live is not None:
        return replace(result, live=replace(result.live, batches=_cancellable_rows(spark, result.live.batches)))
    return replace(result, rows=_cancellable_rows(spark, result.rows))


def run_arrow(spark: SparkSession, text: str, parameters: Parameters | None = None) -> Iterator[bytes]:
    """Run one Spark statement and yield its rows as the parts of an Arrow stream. Raises the errors of `run`."""
    with _cancellable(spark):
        frame = _execute(spark, text, parameters)
        columns = tuple(_column(field) for field in frame.schema.fields)
        if frame.isStreaming:
            with closing(StreamingSelect(frame, live=False).iterate_parts()) as frames:
                parts = (select_values(part, is_arrow=True) for part in frames)
                yield from row_stream.stream_arrow_parts(select_values(frame, is_arrow=True), parts, columns)
        else:
            yield from row_stream.stream_arrow(select_values(frame, is_arrow=True), columns)


def literal_texts(spark: SparkSession, parameters: Parameters) -> Any:
    """Return the values of markers as the texts of literals, by name or by position."""
    return json.loads(java(spark).parser.Parameters.texts(spark._jsparkSession, json.dumps(parameters)))


def encode_arrow(spark: SparkSession, columns: tuple[Column, ...], rows: Iterator[tuple[Any, ...]]) -> Iterator[bytes]:
    """Yield rows of JetSQL's statements as an Arrow stream.

    A user's session may not read rows of a program, so one of the engine does, in the time zone of the user's.
    """
    schema = ", ".join(f"`{column.name}` {column.type}" for column in columns)
    session = open_engine_session(spark)
    session.conf.set(_ZONE, str(spark.conf.get(_ZONE)))
    return row_stream.stream_arrow(session.createDataFrame(list(rows), schema), columns)


def _execute(spark: SparkSession, text: str, parameters: Parameters | None) -> DataFrame:
    if parameters:
        frame = DataFrame(java(spark).parser.Parameters.run(spark._jsparkSession, text, json.dumps(parameters)), spark)
    else:
        frame = spark.sql(text)
    java(spark).catalog.TableVersions.ran(frame._jdf)
    return frame


def _select_stream(frame: DataFrame, live: bool) -> SparkRows:
    columns = tuple(_column(field) for field in frame.schema.fields)
    select = StreamingSelect(frame, live)
    if live:
        return SparkRows(columns, iter(()), select.open_cursor(_fetch))
    return SparkRows(columns, _fetch_parts(select.iterate_parts()))


def _fetch_parts(frames: Generator[DataFrame, None, None]) -> Iterator[tuple[Any, ...]]:
    with closing(frames):
        for frame in frames:
            yield from _fetch(frame)


def _select_rows(frame: DataFrame) -> SparkRows:
    columns = tuple(_column(field) for field in frame.schema.fields)
    if not columns:
        # The statement has run. Spark would run some statements again to read rows (a view over a stream).
        return SparkRows((), iter(()))
    small = frame._jdf.queryExecution().commandExecuted().nodeName() in _COMMAND_PLANS
    return SparkRows(columns, _fetch(frame, small))


def _fetch(frame: DataFrame, small: bool = False) -> Iterator[tuple[Any, ...]]:
    selected = select_values(frame)
    with _explain_unsupported_values():
        rows = iter(selected.collect()) if small and selected is frame else row_stream.stream_rows(selected)
    zone = session_zone(frame.sparkSession)
    return _read(with_offsets(build_values(rows, frame.schema), frame.schema, zone))


def _column(field: StructField) -> Column:
    kind: DataType = field.dataType
    nested = isinstance(kind, ArrayType | MapType | StructType)
    return Column(field.name, kind.simpleString(), structure=kind.jsonValue() if nested else None)


@contextmanager
def _cancellable(spark: SparkSession) -> Iterator[None]:
    """Cancel the Spark jobs of this thread when the statement is cancelled. Raises STATEMENT_CANCELLED then."""
    statement, record = request.current().cancellation, active_record()
    if statement is request.NEVER and record is None:
        yield
        return
    context: Any = spark.sparkContext._jsc.sc()
    group = f"jetsql-{uuid.uuid4()}"  # `Callers.java` knows it by this prefix
    _statements[group] = request.current().caller, record
    context.setJobGroup(group, "", True)
    try:
        with statement.on_cancel(lambda: java(spark).scheduling.CancelledJobGroups.cancel(spark._jsparkSession, group)):
            yield
    except Exception:
        statement.check()
        raise
    finally:
        del _statements[group]
        context.clearJobGroup()
        if record is not None:
            note_objects(json.loads(java(spark).common.StatementObjects.take(group)))


def statement_of_group(group: str) -> tuple[Caller, StatementRecord | None] | None:
    """Return the caller and the record of the statement that runs in a job group; None if there is none."""
    return _statements.get(group)


def _cancellable_rows(spark: SparkSession, rows: Iterator[Row]) -> Generator[Row, None, None]:
    with _cancellable(spark):
        yield from rows


def _read(rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    with _explain_unsupported_values():
        yield from rows


@contextmanager
def _explain_unsupported_values() -> Iterator[None]:
    """Raise VALUE_NOT_SHOWN for values that Python cannot represent; PySpark detects them when it reads a row."""
    try:
        yield
    except PySparkNotImplementedError as error:
        message = "The result has a column of a type that cannot be shown, such as INTERVAL."
        raise StatementError("VALUE_NOT_SHOWN", message, hint="Cast the column to STRING.") from error
    except PySparkException:
        raise
    except (ValueError, OverflowError) as error:
        message = "A date or timestamp of the result is outside the years 1 to 9999 or too close to their limits."
        raise StatementError("VALUE_NOT_SHOWN", message, hint="Cast the column to STRING.") from error


def session_zone(spark: SparkSession) -> tzinfo:
    """Return the session's time zone."""
    name = str(spark.conf.get(_ZONE))
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):  # an offset such as +02:00
        jvm: Any = spark.sparkContext._jvm
        now = jvm.java.time.Instant.now()
        return timezone(timedelta(seconds=jvm.java.time.ZoneId.of(name).getRules().getOffset(now).getTotalSeconds()))


def build_error_report(error: BaseException, text: str) -> ErrorReport:
    """Return the report of any error of a statement, without the values of secrets. text: the statement's text."""
    report = _build_error_report(error, text)
    return replace(report, message=without_secrets(report.message), hint=without_secrets(report.hint))


def _build_error_report(error: BaseException, text: str) -> ErrorReport:
    if isinstance(error, JetSQLError):
        return error.report(text)
    failure = find_jdbc_error(error) if _may_be_of_database(error) else None
    if failure is not None:
        report = explain_read_error(failure).report(text)
        line, column = failure.position or (None, None)
        return replace(report, line=line, column=column)
    if isinstance(error, PySparkException):
        return _report_spark_error(error, text)
    cause = cause_of(error)
    return ErrorReport(cause.condition or "JETSQL.INTERNAL_ERROR", cause.sqlstate or "XX000", cause.message, cause.hint)


def _may_be_of_database(error: BaseException) -> bool:
    """Return whether Spark says no more of an error than that a database has failed, or that it is no error of its own.

    Spark's other errors, such as those of its catalogue, can have a database's error as their cause.
    """
    return not isinstance(error, PySparkException) or (error.getCondition() or "FAILED_JDBC").startswith("FAILED_JDBC")


def _report_spark_error(error: PySparkException, text: str) -> ErrorReport:
    condition = error.getCondition() or "SPARK"
    message = _HIDDEN_COLUMN.sub("", strip_message(_without_position(str(error)), condition))
    line, column = find_position(error, text)
    described = describe_python_error(str(error)) if condition == CONDITION else None
    if described is not None:
        return ErrorReport(condition, error.getSqlState() or "", *described, line, column)
    hint = " ".join(getattr(error, "__notes__", ()))  # see `spark_hints`
    return ErrorReport(condition, error.getSqlState() or "", message, hint, line, column)


def find_position(error: PySparkException, text: str) -> tuple[int | None, int | None]:
    """Return the line and column of an error, counted from 1; None without a position."""
    origin: Any = getattr(error, "_origin", None)
    try:
        if origin is not None and origin.line().isDefined() and origin.startPosition().isDefined():
            return int(origin.line().get()), int(origin.startPosition().get()) + 1
    except Py4JError:  # only parsing and analysis errors have a line
        origin = None
    for context in error.getQueryContext() or ():
        if context.contextType().name == "SQL" and context.startIndex() >= 0:
            start = context.startIndex()
            return text.count("\n", 0, start) + 1, start - (text.rfind("\n", 0, start) + 1) + 1
    return None, None


def _without_position(text: str) -> str:
    return text.partition("; line ")[0].partition(" (line ")[0] if "; line " in text else text.partition("\n== SQL")[0]
