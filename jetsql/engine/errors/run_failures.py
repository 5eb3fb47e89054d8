"""Errors of a run in words for people, and whether trying again can help: one table of Spark's conditions.

What is not in the table may heal: a server that is restarted, a network that comes back, a full disk that is cleared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from jetsql.engine.errors.remedies import Scene, Trace, explained
from jetsql.engine.jdbc.jdbc_databases import JdbcError, read_refusal, sql_failure, sql_failure_in
from jetsql.engine.jvm.java_classes import without_secrets
from jetsql.errors import SQLSTATES, JetSQLError, RetryableError
from jetsql.jobs.model.job import Cause

# Prefixes of conditions (Spark's and ours) that come back however often the job is started.
WONT_HEAL: tuple[str, ...] = (
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
    "JETSQL.FORMAT_NOT_READABLE",
    "JETSQL.JOB_CHANGED",
    "JETSQL.JOB_IN_USE",
    "JETSQL.MESSAGE_NOT_READABLE",
    "JETSQL.PENDING_BATCH_FAILED",
    "JETSQL.SINK_CHANGED",
    "JETSQL.SINK_REFUSED_ROWS",
    "JETSQL.SOURCE_CHANGED",
)


_MESSAGE = "The message at offset "  # how MessageDecoder.java tells of one that doesn't fit the columns of its table


def heals(condition: str) -> bool:
    """Whether a run that ended with this condition may work when it is started again."""
    return not condition.startswith(WONT_HEAL)


def cause_of(error: BaseException, batch: int | None = None, scene: Scene | None = None) -> Cause:
    """Any exception of a run as a cause: the innermost error that says what happened, and what can be done about it."""
    return _without_secrets(_cause_of(error, batch, scene))


def of_throwable(throwable: object, batch: int | None = None, scene: Scene | None = None) -> Cause:
    """A Java throwable as a cause. Wrappers such as "the job was aborted" give way to what they wrap."""
    return _without_secrets(_of_throwable(throwable, batch, scene))


def _without_secrets(cause: Cause) -> Cause:
    message, where, hint = map(without_secrets, (cause.message, cause.where, cause.hint))
    return replace(cause, message=message, where=where, hint=hint)


def _cause_of(error: BaseException, batch: int | None, scene: Scene | None) -> Cause:
    if isinstance(error, JetSQLError):
        return _of_ours(error, batch)
    failure = sql_failure(error)
    if failure is not None:
        return _of_ours(read_refusal(failure), batch, failure)
    throwable = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    if throwable is not None:
        return _of_throwable(throwable, batch, scene)
    if isinstance(error, PySparkException):
        condition = error.getCondition() or ""
        message = plain_message(str(error), condition)
        return Cause(message, condition, error.getSqlState() or "", batch, heals(condition), _class_of(error))
    name = type(error).__name__ if not isinstance(error, Py4JError) else "Spark"
    found = Cause(f"{name}: {first_lines(str(error))}", batch=batch, error_class=_class_of(error))
    return explained(found, Trace((str(error),), "", _class_of(error)), scene)


def _of_ours(error: JetSQLError, batch: int | None, inner: BaseException | None = None) -> Cause:
    # Where an error is given its place in a statement it is raised once more, which leaves what it came of as context.
    came_of = next((each for each in (inner, error.__cause__, error.__context__) if isinstance(each, JdbcError)), None)
    kind = "" if came_of is None else came_of.error_class
    return Cause(
        message=error.message,
        condition=error.condition,
        sqlstate=error.sqlstate,
        batch=batch,
        heals=heals(error.condition),
        error_class=kind or _class_of(error.__cause__ or error),
        where=error.where,
        hint=error.hint,
        away=isinstance(error, RetryableError),
    )


def _class_of(error: BaseException) -> str:
    kind = type(error)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _of_throwable(throwable: object, batch: int | None, scene: Scene | None) -> Cause:
    failure = sql_failure_in(throwable)
    if failure is not None:
        return _of_ours(read_refusal(failure), batch, failure)
    chain = list(_chain(throwable))
    named = best = chain[0]
    condition = state = ""
    for each in chain:
        name = _call(each, "getCondition")
        if name and name not in _WRAPPERS:
            named, best, condition, state = each, each, name, _call(each, "getSqlState")
        elif (not condition or condition in _SAY_LITTLE) and name not in _WRAPPERS and _call(each, "getMessage"):
            best = each
    message = plain_message(_call(best, "getMessage") or str(best), condition)
    if condition == "USER_RAISED_EXCEPTION" and message.startswith(_MESSAGE):
        condition, state = "JETSQL.MESSAGE_NOT_READABLE", SQLSTATES["MESSAGE_NOT_READABLE"]
    kind = _kind(chain[-1])
    where = _file_of(named) if condition == "FAILED_READ_FILE.FILE_NOT_EXIST" else ""
    cause = Cause(message, condition, state, batch, heals(condition), kind, where)
    messages = tuple(_call(each, "getMessage") for each in chain)
    return explained(cause, Trace(messages, "\n".join(_frames(each) for each in chain), kind), scene)


def _chain(throwable: object) -> Iterator[object]:
    each = throwable
    while each is not None:
        yield each
        each = each.getCause()  # type: ignore[attr-defined]


def _file_of(throwable: object) -> str:
    """Return the file that an error of Spark names."""
    return str(throwable.getMessageParameters().get("path") or "")  # type: ignore[attr-defined]


def _kind(throwable: object) -> str:
    return str(throwable.getClass().getName())  # type: ignore[attr-defined]


def _frames(throwable: object) -> str:
    """The methods that a throwable went through, one a line."""
    return "\n".join(str(frame) for frame in throwable.getStackTrace())  # type: ignore[attr-defined]


_WRAPPERS = frozenset(
    {
        "STREAM_FAILED",
        "FOREACH_BATCH_USER_FUNCTION_ERROR",
        "TASK_WRITE_FAILED",
        "INTERNAL_ERROR",
    }
)
# Conditions that are worth showing, with messages that leave what happened to the error within.
_SAY_LITTLE = frozenset({"FAILED_READ_FILE.NO_HINT", "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"})


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
