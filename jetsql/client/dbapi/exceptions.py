"""The exceptions of PEP 249, and their choice by the SQLSTATE class of an error.

Error                        condition, sqlstate, message, hint, line, column
 ├─ InterfaceError           the DB-API is used wrongly, for example a closed cursor
 └─ DatabaseError
     ├─ DataError            a value has the wrong type or range (SQLSTATE 22)
     ├─ OperationalError     the engine, a job or an external system failed (08, 28, 40, 53-58)
     ├─ IntegrityError       a constraint is violated (23)
     ├─ InternalError        a bug in JetSQL or Spark (XX)
     ├─ ProgrammingError     the statement is wrong, or an object does not exist (42, 07, 21, 26, 34, 3D, 3F)
     └─ NotSupportedError    the statement is not supported (0A)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from jetsql.errors import ErrorReport, JetSQLError, ReportedError, with_condition


class Warning(Exception):  # PEP 249's name for it
    """A warning in `Connection.messages`, for example about a lost session."""


class Error(Exception):
    """An error with its condition (of JetSQL or Spark), SQLSTATE and, if known, line and column from 1."""

    def __init__(self, report: ErrorReport) -> None:
        self.condition = report.condition
        self.sqlstate = report.sqlstate
        self.message = report.message
        self.hint = report.hint
        self.line = report.line
        self.column = report.column
        super().__init__(report)

    def __str__(self) -> str:
        place = "" if self.line is None else f" (line {self.line}, column {self.column})"
        text = f"[{self.condition}] {f'{self.message} {self.hint}'.strip()}{place}"
        return f"{text} SQLSTATE: {self.sqlstate}" if self.sqlstate else text


class InterfaceError(Error):
    pass


class DatabaseError(Error):
    pass


class DataError(DatabaseError):
    pass


class OperationalError(DatabaseError):
    pass


class IntegrityError(DatabaseError):
    pass


class InternalError(DatabaseError):
    pass


class ProgrammingError(DatabaseError):
    pass


class NotSupportedError(DatabaseError):
    pass


_BY_CONDITION: Final[dict[str, type[DatabaseError]]] = {
    "JETSQL.REQUEST_NOT_READABLE": ProgrammingError,
}
_BY_SQLSTATE_CLASS: Final[dict[str, type[DatabaseError]]] = {
    **dict.fromkeys(("08", "28", "40", "53", "54", "55", "57", "58"), OperationalError),
    **dict.fromkeys(("07", "0L", "21", "26", "2B", "34", "3D", "3F", "42"), ProgrammingError),
    "0A": NotSupportedError,
    "22": DataError,
    "23": IntegrityError,
    "XX": InternalError,
}


def to_dbapi_error(report: ErrorReport) -> DatabaseError:
    """Return the exception of PEP 249 for an error."""
    kind = _BY_CONDITION.get(report.condition) or _BY_SQLSTATE_CLASS.get(report.sqlstate[:2], DatabaseError)
    return with_condition(kind, report.condition)(report)


def interface_error(message: str, hint: str = "") -> InterfaceError:
    """Return the exception for a wrong call, found before any request was sent."""
    return InterfaceError(ErrorReport("JETSQL.INTERFACE", "HY010", message, hint))


@contextmanager
def require_package(name: str, purpose: str) -> Iterator[None]:
    """Raise NotSupportedError if the block imports an optional package that is not installed.

    purpose: what needs the package, as the beginning of a sentence.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        message, hint = f"{purpose} needs {name}, which is not installed.", f"Run: pip install {name}"
        raise NotSupportedError(ErrorReport("JETSQL.NOT_SUPPORTED", "0A000", message, hint)) from error


@contextmanager
def translate_errors(text: str = "") -> Iterator[None]:
    """Raise errors of the block as exceptions of PEP 249. text: the statement, for the line and column of an error."""
    try:
        yield
    except ReportedError as error:
        raise to_dbapi_error(error.report) from error
    except JetSQLError as error:
        raise to_dbapi_error(error.report(text)) from error
