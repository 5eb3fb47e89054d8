"""Errors of a run in words for people, and whether trying again can help: one table of Spark's conditions.

What is not in the table may heal: a server that is restarted, a network that comes back, a full disk that is cleared.
"""

from __future__ import annotations

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from jetsql.engine.databases import read_refusal, sql_failure, sql_failure_in
from jetsql.errors import JetSQLError
from jetsql.jobs.model import Cause

# Prefixes of conditions (Spark's and ours) that come back however often the job is started.
WONT_HEAL: tuple[str, ...] = (
    "AMBIGUOUS_REFERENCE",
    "ARITHMETIC_OVERFLOW",
    "BINARY_ARITHMETIC_OVERFLOW",
    "CANNOT_MODIFY_CONFIG",
    "CANNOT_MODIFY_STATIC_CONFIG",
    "CAST_INVALID_INPUT",
    "CAST_OVERFLOW",
    "CANNOT_PARSE_TIMESTAMP",
    "CANNOT_PARSE_DECIMAL",
    "COLUMN_NOT_FOUND",
    "CONVERSION_INVALID_INPUT",
    "DATATYPE_MISMATCH",
    "DATETIME_FIELD_OUT_OF_BOUNDS",
    "DIVIDE_BY_ZERO",
    "EXCEED_LIMIT_LENGTH",
    "INCOMPATIBLE_DATA_FOR_TABLE",
    "INSERT_COLUMN_ARITY_MISMATCH",
    "INVALID_ARRAY_INDEX",
    "INVALID_CAST_ARGUMENT",
    "INVALID_CONF_VALUE",
    "MALFORMED_RECORD_IN_PARSING",
    "MAP_KEY_DOES_NOT_EXIST",
    "NOT_NULL_ASSERT_VIOLATION",
    "NULL_MAP_KEY",
    "NUMERIC_VALUE_OUT_OF_RANGE",
    "PARSE_SYNTAX_ERROR",
    "SCHEMA_NOT_FOUND",
    "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
    "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
    "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
    "TABLE_OR_VIEW_NOT_FOUND",
    "UNRESOLVED_COLUMN",
    "UNRESOLVED_ROUTINE",
    "UNSUPPORTED",
    "USER_RAISED_EXCEPTION",
    "JETSQL.DUPLICATE_KEY",
    "JETSQL.FORMAT_NOT_READABLE",
    "JETSQL.JOB_CHANGED",
    "JETSQL.JOB_IN_USE",
    "JETSQL.PENDING_BATCH_FAILED",
    "JETSQL.SINK_CHANGED",
    "JETSQL.SINK_REFUSED_ROWS",
)


def heals(condition: str) -> bool:
    """Whether a run that ended with this condition may work when it is started again."""
    return not condition.startswith(WONT_HEAL)


def cause_of(error: BaseException, batch: int | None = None) -> Cause:
    """Any exception of a run as a cause: the innermost error that says what happened."""
    if isinstance(error, JetSQLError):
        return Cause(error.explanation, error.condition, error.sqlstate, batch, heals(error.condition))
    failure = sql_failure(error)
    if failure is not None:
        return cause_of(read_refusal(failure), batch)
    if isinstance(error, PySparkException):
        return _of_spark(error, batch)
    if isinstance(error, Py4JJavaError):
        return of_throwable(error.java_exception, batch)
    name = type(error).__name__ if not isinstance(error, Py4JError) else "Spark"
    return Cause(f"{name}: {first_lines(str(error))}", "", "", batch, True)


def _of_spark(error: PySparkException, batch: int | None) -> Cause:
    origin = getattr(error, "_origin", None)
    if origin is not None:
        return of_throwable(origin, batch)
    condition = error.getCondition() or ""
    return Cause(plain_message(str(error), condition), condition, error.getSqlState() or "", batch, heals(condition))


def of_throwable(throwable: object, batch: int | None = None) -> Cause:
    """A Java throwable as a cause. Wrappers such as "the job was aborted" give way to what they wrap."""
    failure = sql_failure_in(throwable)
    if failure is not None:
        return cause_of(read_refusal(failure), batch)
    best, condition, state = throwable, "", ""
    each = throwable
    while each is not None:
        name = _call(each, "getCondition")
        if name and name not in _WRAPPERS:
            best, condition, state = each, name, _call(each, "getSqlState")
        elif not condition and name not in _WRAPPERS and _call(each, "getMessage"):
            best = each
        each = each.getCause()  # type: ignore[attr-defined]
    message = _call(best, "getMessage") or str(best)
    return Cause(plain_message(message, condition), condition, state, batch, heals(condition))


_WRAPPERS = frozenset(
    {
        "STREAM_FAILED",
        "FOREACH_BATCH_USER_FUNCTION_ERROR",
        "TASK_WRITE_FAILED",
        "FAILED_READ_FILE.NO_HINT",
        "INTERNAL_ERROR",
    }
)


def _call(throwable: object, method: str) -> str:
    try:
        value = getattr(throwable, method)()
    except Py4JError:  # not every throwable knows conditions
        return ""
    return "" if value is None else str(value)


def plain_message(text: str, condition: str) -> str:
    """A message of Spark without its condition, SQLSTATE, plan and stack."""
    text = text.strip().removeprefix(f"[{condition}]").strip()
    text = text.partition("\n\tat ")[0].partition("\nJVM stacktrace")[0].partition("\n== SQL")[0].partition(";\n")[0]
    return first_lines(text.partition(" SQLSTATE:")[0])


def first_lines(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip() and not line.startswith("\tat ")]
    return " ".join(lines[:3])
