"""Report a JDBC driver that is missing to a program that uses the engine's Spark session directly.

PySpark raises Py4JJavaError, with Java's stack trace, for errors that are not Spark's own. The class of a driver that
Java does not find is one of these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.errors.exceptions import captured

from jetsql.engine.jdbc.jdbc_databases import NO_DRIVER, explain_read_error, find_jdbc_error_in
from jetsql.errors import StatementError


class DriverMissing(AnalysisException):
    """The engine has no JDBC driver for a table of the statement."""

    def __init__(self, error: StatementError, throwable: Any) -> None:
        super().__init__(message=str(error))
        self._error = error
        self._origin = throwable  # as in other errors of PySpark that come from Java

    def __str__(self) -> str:
        return str(self._error)

    def getMessage(self) -> str:
        """Return the whole message."""
        return str(self._error)

    def getCondition(self) -> str | None:
        """Return the condition of the error."""
        return self._error.condition

    def getSqlState(self) -> str | None:
        """Return the SQLSTATE of the error."""
        return self._error.sqlstate


def report_missing_drivers() -> None:
    """Make PySpark raise DriverMissing in this process. Further calls have no effect."""
    convert: Callable[[Any], Any] = captured.convert_exception
    if not hasattr(convert, "__wrapped__"):
        captured.convert_exception = _with_drivers(convert)  # type: ignore[assignment]


def _with_drivers(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def convert_exception(throwable: Any) -> Any:
        converted = convert(throwable)
        if not isinstance(converted, captured.UnknownException):
            return converted
        failure = find_jdbc_error_in(throwable)
        if failure is None or failure.sqlstate != NO_DRIVER:
            return converted
        return DriverMissing(explain_read_error(failure), throwable)

    convert_exception.__wrapped__ = convert  # type: ignore[attr-defined]
    return convert_exception
