"""Errors of Spark's analyzer that JetSQL explains, because they would point to what the user did not write."""

from __future__ import annotations

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from jetsql.engine.errors.run_failures import strip_message
from jetsql.engine.jdbc.jdbc_databases import explain_read_error, find_jdbc_error
from jetsql.engine.runs.body_checks import START_COLUMN, unsupported_sink
from jetsql.engine.session.spark_statements import build_error_report
from jetsql.errors import Span, StatementError
from jetsql.language.statement import Body
from jetsql.language.tokens import Kind, tokens, unquote

_EXTRA_COLUMNS = "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS"
_HISTORY_COLUMNS = (START_COLUMN, "__end_at")


def explain_analysis_error(body: Body, target: Span, error: PySparkException | Py4JError) -> Exception:
    """Return the error to raise for one of Spark's analyzer, or that error if it needs no explanation.

    target: the place of the table that is written.
    """
    return (
        _explain_extra_columns(body, error)
        or _explain_database_error(body, target, error)
        or _explain_replacement(target, error)
        or _explain_refusal(body, error)
        or error
    )


def _explain_extra_columns(body: Body, error: PySparkException | Py4JError) -> StatementError | None:
    """Return the error to raise for changes with columns that the table lacks, or None for another error.

    Spark only counts the columns.
    """
    if body.changes is None or not isinstance(error, PySparkException):
        return None
    if error.getCondition() not in ("INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS", _EXTRA_COLUMNS):
        return None
    parameters = error.getMessageParameters() or {}
    table = [name.lower() for name in _split_names(parameters.get("tableColumns", ""))]
    extra = [name for name in _split_names(parameters.get("dataColumns", "")) if name.lower() not in table]
    listed = ", ".join(extra) or parameters.get("extraColumns", "").replace("`", "")
    missing = [name for name in listed.split(", ") if name.lower() in _HISTORY_COLUMNS]
    if body.changes.keeps_history and missing:
        names = " and ".join(missing)
        return StatementError(
            "UNSUPPORTED_QUERY",
            f"SCD TYPE 2 is not possible: the table does not have {names}.",
            place=body.target,
            hint=f"Create the tables again with {names} of the type of SEQUENCE BY, and with __START_AT in the key.",
        )
    return StatementError(
        "UNSUPPORTED_QUERY",
        f"The changes have columns that the table does not have: {listed}.",
        place=body.changes.columns or body.target,
        hint=f"Write COLUMNS * EXCEPT ({listed}) after SEQUENCE BY." if extra else "Remove them from COLUMNS.",
    )


def _split_names(listed: str) -> list[str]:
    """Return the names of a list in one of Spark's messages, in back quotes."""
    return [unquote(token.text) for token in tokens(listed) if token.kind is Kind.QUOTED]


def _explain_database_error(body: Body, target: Span, error: PySparkException | Py4JError) -> StatementError | None:
    """Return the error to raise for a database that the body reads or writes, or None for another error.

    target: the place of the table that is written.
    """
    if isinstance(error, PySparkException) and error.getCondition() == "USER_SPECIFIED_AND_ACTUAL_SCHEMA_MISMATCH":
        return StatementError(
            "SINK_CHANGED",
            f"The columns of a JDBC table differ from those in the catalogue. {_describe_columns(error)}",
            place=target,
            hint="Run DROP TABLE and CREATE TABLE to update the catalogue; the rows stay in the database.",
        )
    failure = find_jdbc_error(error)
    if failure is None:
        return None
    explained = explain_read_error(failure)
    explained.place = None if failure.position is None else _place_at(body, *failure.position)
    return explained


def _place_at(body: Body, line: int, column: int) -> Span:
    """Return the span of a character. line, column: counted from 1, in the statement."""
    lines = body.spark_text.split("\n")[: line - 1]
    start = sum(len(each) + 1 for each in lines) + column - 1
    return Span(start, start + 1)


def _describe_columns(error: PySparkException) -> str:
    """Return the two lists of columns in Spark's message, without its advice, which does not apply here."""
    text = strip_message(str(error), error.getCondition() or "").partition("schema: ")[2].partition(" If you're")[0]
    return f"In the catalogue and in the database: {text.removeprefix('user-specified: ').replace('actual: ', '')}"


def _explain_replacement(target: Span, error: PySparkException | Py4JError) -> StatementError | None:
    """Return the error of REPLACE WHERE for a table that cannot replace single rows, or None for another error."""
    if "Cannot write into v1 table" not in str(error):
        return None
    hint = "Write a table USING delta or iceberg, or use INSERT OVERWRITE, which replaces the table or partitions."
    return unsupported_sink(target, "REPLACE WHERE is not possible for this table.", hint)


def _explain_refusal(body: Body, error: PySparkException | Py4JError) -> StatementError | None:
    """Return the error of a query that the Java module refuses, or None for another error."""
    report = build_error_report(error, body.spark_text)
    if report.condition != "JETSQL.UNSUPPORTED_QUERY":
        return None
    place = body.place
    if report.line is not None and report.column is not None:
        place = _place_at(body, report.line, report.column)
    return StatementError("UNSUPPORTED_QUERY", report.message, place=place, hint=report.hint)
