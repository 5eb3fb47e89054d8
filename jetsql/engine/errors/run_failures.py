"""Turn errors of a run into causes with a message for users, and decide whether a retry can help.

One table has the conditions that recur at each retry. Every other error may be temporary: a server restarts, a network
recovers, space is freed on a disk.
"""

from __future__ import annotations

import re
from dataclasses import replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from jetsql.engine.errors.python_errors import CONDITION, SQLSTATE, describe_python_error
from jetsql.engine.errors.remedies import RunPaths, Trace, explain_cause
from jetsql.engine.jdbc.jdbc_databases import JdbcError, explain_read_error, find_jdbc_error, find_jdbc_error_in
from jetsql.engine.jvm.java_classes import without_secrets
from jetsql.engine.jvm.throwables import causes, class_name, throwable_of
from jetsql.errors import SQLSTATES, JetSQLError, RetryableError
from jetsql.jobs.model.job import Cause

# Prefixes of conditions (Spark's and JetSQL's) that recur at each start of the job.
NOT_RETRYABLE: tuple[str, ...] = (
    "AMBIGUOUS_REFERENCE",
    "ARITHMETIC_OVERFLOW",
    "BINARY_ARITHMETIC_OVERFLOW",
    "CANNOT_MODIFY_CONFIG",
    "CANNOT_MODIFY_STATIC_CONFIG",
    "CANNOT_PARSE_DECIMAL",
    "CANNOT_PARSE_INTERVAL",
    "CANNOT_PARSE_JSON_FIELD",
    "CANNOT_PARSE_TIME",
    "CAST_INVALID_INPUT",
    "CAST_OVERFLOW",
    "CODEC_NOT_AVAILABLE",
    "COLUMN_NOT_FOUND",
    "CONVERSION_INVALID_INPUT",
    "DATATYPE_MISMATCH",
    "DATETIME_FIELD_OUT_OF_BOUNDS",
    "DATETIME_OVERFLOW",
    "DIVIDE_BY_ZERO",
    "DUPLICATED_MAP_KEY",
    "EXCEED_LIMIT_LENGTH",
    "FAILED_TO_PARSE_TOO_COMPLEX",
    "INCOMPATIBLE_DATA_FOR_TABLE",
    "INCONSISTENT_BEHAVIOR_CROSS_VERSION",
    "INSERT_COLUMN_ARITY_MISMATCH",
    "INTERVAL_ARITHMETIC_OVERFLOW",
    "INTERVAL_DIVIDED_BY_ZERO",
    "INVALID_ARRAY_INDEX",
    "INVALID_BITMAP_POSITION",
    "INVALID_CONF_VALUE",
    "INVALID_DATETIME_PATTERN",
    "INVALID_FORMAT",
    "INVALID_FRACTION_OF_SECOND",
    "INVALID_INDEX_OF_ZERO",
    "INVALID_LOG_VERSION",
    "INVALID_PARAMETER_VALUE",
    "INVALID_REGEXP_REPLACE",
    "INVALID_TIMEZONE",
    "INVALID_URL",
    "INVALID_UTF8_STRING",
    "INVALID_VARIANT",
    "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED",
    "MALFORMED_CHARACTER_CODING",
    "MALFORMED_RECORD_IN_PARSING",
    "MALFORMED_VARIANT",
    "NOT_NULL_ASSERT_VIOLATION",
    "NULL_MAP_KEY",
    "NUMERIC_VALUE_OUT_OF_RANGE",
    "PARSE_SYNTAX_ERROR",
    "REMAINDER_BY_ZERO",
    "SCALAR_SUBQUERY_TOO_MANY_ROWS",
    "SCHEMA_NOT_FOUND",
    "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
    "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
    "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
    "TABLE_OR_VIEW_NOT_FOUND",
    "UNRECOGNIZED_SQL_TYPE",
    "UNRESOLVED_COLUMN",
    "UNRESOLVED_ROUTINE",
    "UNSUPPORTED",
    "USER_RAISED_EXCEPTION",
    "JETSQL.CHECKPOINT_DAMAGED",
    "JETSQL.DUPLICATE_KEY",
    "JETSQL.EXPECTATION_VIOLATED",
    "JETSQL.FORMAT_NOT_READABLE",
    "JETSQL.JOB_CHANGED",
    "JETSQL.JOB_IN_USE",
    "JETSQL.MESSAGE_NOT_READABLE",
    "JETSQL.PATTERN_TOO_COMPLEX",
    "JETSQL.PENDING_BATCH_FAILED",
    "JETSQL.SINK_CHANGED",
    "JETSQL.SINK_REFUSED_ROWS",
    "JETSQL.SOURCE_CHANGED",
    "JETSQL.STATEMENT_TOO_COMPLEX",
    "JETSQL.STATE_NOT_COMPATIBLE",
)


# The errors of MessageDecoder.java and FileStream.java for a message or a line that does not fit its table's columns.
_NOT_READABLE = re.compile(
    r"(The message at offset |Line \d+ of the file |A record of the file ).* not fit the columns ", re.DOTALL
)

_NO_SEQUENCE = "A change has NULL in SEQUENCE BY"  # ChangeQuery.java's error for a change of AUTO CDC without an order
_NO_SEQUENCE_HINT = (
    "Exclude these changes with FROM (SELECT * FROM STREAM source WHERE ... IS NOT NULL), or replace NULL with"
    " coalesce."
)

# The expression of `file_sizing.py` for a text that would be read as NULL.
_NULL_PARTITION = "A row has the text __HIVE_DEFAULT_PARTITION__ in the partition column"
_NULL_PARTITION_HINT = (
    "Replace the text in the query, such as nullif(name, '__HIVE_DEFAULT_PARTITION__') for NULL, with CREATE OR REPLACE"
    " JOB."
)

_VIOLATED = "JETSQL.EXPECTATION_VIOLATED"
_VIOLATED_HINT = (
    "Nothing of the batch was written. Correct the row in its source, or give the rule another action with CREATE OR"
    " REPLACE, such as ON VIOLATION INTO TABLE table."
)

_DATA_ERROR = "22"  # the class of SQLSTATEs for errors of values
_ROW_PLACE = "dev.jetsql.failures.RowPlace"

_SEVERAL_ROWS_HINT = (
    "Add columns to 'key.columns' until each row of the result has its own key, or group the query by the key columns."
)


def is_retryable(condition: str) -> bool:
    """Return whether a run that ended with this condition may succeed when it is started again."""
    return not condition.startswith(NOT_RETRYABLE)


def cause_of(error: BaseException, batch: int | None = None, paths: RunPaths | None = None) -> Cause:
    """Return the cause for an exception of a run: its innermost specific error, with a hint if there is one."""
    return _without_secrets(_cause_of(error, batch, paths))


def cause_of_throwable(throwable: object, batch: int | None = None, paths: RunPaths | None = None) -> Cause:
    """Return the cause for a Java throwable. Wrappers such as "the job was aborted" are skipped."""
    return _without_secrets(_cause_of_throwable(throwable, batch, paths))


def _without_secrets(cause: Cause) -> Cause:
    message, where, hint = map(without_secrets, (cause.message, cause.where, cause.hint))
    return replace(cause, message=message, where=where, hint=hint)


def _cause_of(error: BaseException, batch: int | None, paths: RunPaths | None) -> Cause:
    if isinstance(error, JetSQLError):
        return _cause_of_own_error(error, batch)
    failure = find_jdbc_error(error)
    if failure is not None:
        return _cause_of_own_error(explain_read_error(failure), batch, failure)
    throwable = throwable_of(error)
    if throwable is not None:
        return _cause_of_throwable(throwable, batch, paths)
    if isinstance(error, PySparkException):
        condition = error.getCondition() or ""
        message = strip_message(str(error), condition)
        return Cause(message, condition, error.getSqlState() or "", batch, is_retryable(condition), _class_name(error))
    name = type(error).__name__ if not isinstance(error, Py4JError) else "Spark"
    cause = Cause(f"{name}: {first_lines(str(error))}", batch=batch, error_class=_class_name(error))
    return explain_cause(cause, Trace((str(error),), "", (_class_name(error),)), paths)


def _cause_of_own_error(error: JetSQLError, batch: int | None, inner: BaseException | None = None) -> Cause:
    # An error that gets its span in a statement is raised again, with the original error as its context.
    origin = next((each for each in (inner, error.__cause__, error.__context__) if isinstance(each, JdbcError)), None)
    kind = "" if origin is None else origin.error_class
    return Cause(
        message=error.message,
        condition=error.condition,
        sqlstate=error.sqlstate,
        batch=batch,
        retryable=is_retryable(error.condition),
        error_class=kind or _class_name(error.__cause__ or error),
        where=error.where,
        hint=error.hint,
        external_outage=isinstance(error, RetryableError),
    )


def _class_name(error: BaseException) -> str:
    kind = type(error)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _cause_of_throwable(throwable: object, batch: int | None, paths: RunPaths | None) -> Cause:
    failure = find_jdbc_error_in(throwable)
    if failure is not None:
        return _cause_of_own_error(explain_read_error(failure), batch, failure)
    chain = list(causes(throwable))
    named = best = chain[0]
    condition = state = ""
    for each in chain:
        name = _condition(each)
        if name and name not in _WRAPPERS:
            named, best, condition = each, each, name
            state = _call(each, "getSqlState") or (SQLSTATE if name == CONDITION else "")
        elif (not condition or condition in _UNSPECIFIC) and name not in _WRAPPERS and _call(each, "getMessage"):
            best = each
    message = strip_message(_call(best, "getMessage") or str(best), condition)
    described = describe_python_error(_call(named, "getMessage")) if condition == CONDITION else None
    if described is not None:
        return Cause(described[0], condition, state, batch, is_retryable(condition), hint=described[1])
    if condition == "USER_RAISED_EXCEPTION" and _NOT_READABLE.match(message):
        condition, state = "JETSQL.MESSAGE_NOT_READABLE", SQLSTATES["MESSAGE_NOT_READABLE"]
    refused = _refused_rows(message, batch, paths) if condition == "USER_RAISED_EXCEPTION" else None
    if refused is not None:
        return refused
    classes = tuple(map(class_name, chain))
    where = _file_of(named) if condition == "FAILED_READ_FILE.FILE_NOT_EXIST" else ""
    cause = Cause(message, condition, state, batch, is_retryable(condition), classes[-1], where)
    if condition == "JETSQL.EXTERNAL_SYSTEM_UNAVAILABLE":  # Java's own error, for example of a schema registry
        return replace(cause, external_outage=True)
    if condition == _VIOLATED:  # ViolatedExpectation.java
        return replace(cause, hint=_VIOLATED_HINT)
    if condition == "JETSQL.DUPLICATE_KEY":  # KeyedRowsProcessor.java's error
        return replace(cause, where="" if paths is None else paths.sink, hint=_SEVERAL_ROWS_HINT)
    messages = tuple(_call(each, "getMessage") for each in chain)
    return _with_row_place(explain_cause(cause, Trace(messages, "\n".join(map(_frames, chain)), classes), paths), chain)


def _with_row_place(cause: Cause, chain: list[object]) -> Cause:
    """Return the cause with what the failed task was reading, if a value of a row has failed."""
    is_of_value = cause.sqlstate.startswith(_DATA_ERROR) or cause.condition == "USER_RAISED_EXCEPTION"
    place = _row_place(chain) if is_of_value and not cause.condition.startswith("JETSQL.") else ""
    if not place:
        return cause
    return replace(cause, message=f"{cause.message.removesuffix('.')}. The task was reading {place}.", where=place)


def _refused_rows(message: str, batch: int | None, paths: RunPaths | None) -> Cause | None:
    """Return the cause for rows that JetSQL's expressions refuse; None for an error that the query raises itself."""
    hints = {_NO_SEQUENCE: _NO_SEQUENCE_HINT, _NULL_PARTITION: _NULL_PARTITION_HINT}
    hint = next((hint for start, hint in hints.items() if message.startswith(start)), None)
    if hint is None:
        return None
    condition, sink = "SINK_REFUSED_ROWS", "" if paths is None else paths.sink
    return Cause(message, f"JETSQL.{condition}", SQLSTATES[condition], batch, False, where=sink, hint=hint)


def _row_place(chain: list[object]) -> str:
    """Return the file or messages that the failed task was reading, which Java has attached to its error; or ""."""
    for each in chain:
        for suppressed in each.getSuppressed():  # type: ignore[attr-defined]
            if class_name(suppressed) == _ROW_PLACE:
                return _call(suppressed, "getMessage")
    return ""


def _file_of(throwable: object) -> str:
    """Return the file that a Spark error names; empty without one."""
    return str(throwable.getMessageParameters().get("path") or "")  # type: ignore[attr-defined]


def _frames(throwable: object) -> str:
    """Return the methods in the stack trace of a throwable, one on each line."""
    return "\n".join(str(frame) for frame in throwable.getStackTrace())  # type: ignore[attr-defined]


_WRAPPERS = frozenset(
    {
        "STREAM_FAILED",
        "FOREACH_BATCH_USER_FUNCTION_ERROR",
        "TASK_WRITE_FAILED",
        "INTERNAL_ERROR",
    }
)
# Conditions to show although their messages do not describe the failure; the message of the inner error does.
_UNSPECIFIC = frozenset({"FAILED_READ_FILE.NO_HINT", "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"})


def _condition(throwable: object) -> str:
    """Return the condition of a throwable, or "". Spark 4.1 has none for the errors of Python workers."""
    is_python = class_name(throwable) == "org.apache.spark.api.python.PythonException"
    return _call(throwable, "getCondition") or (CONDITION if is_python else "")


def _call(throwable: object, method: str) -> str:
    try:
        value = getattr(throwable, method)()
    except Py4JError:  # only Spark's throwables have conditions
        return ""
    return "" if value is None else str(value)


def strip_message(text: str, condition: str) -> str:
    """Return a message of Spark without its condition, SQLSTATE, plan and stack trace."""
    text = text.strip().removeprefix(f"[{condition}]").strip()
    text = text.partition("\n\tat ")[0].partition("\nJVM stacktrace")[0].partition("\n== SQL")[0].partition(";\n")[0]
    return first_lines(text.partition(" SQLSTATE:")[0])


def first_lines(text: str) -> str:
    """Return the first three lines of a text as one line, without stack frames."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip() and not line.startswith("\tat ")]
    return " ".join(lines[:3])
