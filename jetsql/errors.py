"""The errors that JetSQL raises; `jetsql.conditions.error_conditions` describes their conditions.

    JetSQLError                     a condition, its SQLSTATE, a message, a hint, a position in the text
     ├─ StatementError              the statement is at fault; nothing was changed
     └─ EngineError                 the engine or its home is at fault (exit code 3 of the command line)
    ReportedError                   an error of JetSQL or Spark that an engine in another process reported

As with Spark's errors, the *condition* (`JETSQL.JOB_NOT_FOUND`) identifies an error: programs compare conditions, users
read messages. `SQLSTATES` gives the SQLSTATE of each condition, so code that raises an error names only the condition.
Each condition also has a class, which is an attribute of this module: `except errors.JobNotFound` catches the error of
an engine in this process and that of the DB-API.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Self, TypeVar

from jetsql.conditions.error_conditions import CONDITIONS

E = TypeVar("E", bound=Exception)

SQLSTATES: Final = {name: condition.sqlstate for name, condition in CONDITIONS.items()}


@dataclass(frozen=True)
class Span:
    """A part of a statement's text, in characters from its beginning."""

    start: int
    stop: int  # exclusive

    def line(self, text: str) -> int:
        """Return the line in `text` where the span begins, from 1."""
        return text.count("\n", 0, self.start) + 1

    def column(self, text: str) -> int:
        """Return the column where the span begins, from 0 (as Spark counts positions)."""
        return self.start - (text.rfind("\n", 0, self.start) + 1)


@dataclass(frozen=True)
class ErrorReport:
    """The parts of an error of any origin, for display."""

    condition: str
    sqlstate: str
    message: str  # without condition, SQLSTATE and position
    hint: str = ""
    line: int | None = None  # from 1, in the statement's text
    column: int | None = None  # from 1
    trace: str = ""  # stack trace in the engine; empty unless requested


class ConditionError(Exception):
    """An error with a condition of JetSQL. Each condition has a subclass, which is made when it is first used."""

    condition: str
    sqlstate: str
    message: str
    hint: str


def __getattr__(name: str) -> type[ConditionError]:
    """Return the class of a condition."""
    kind = _condition_class(re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper())
    if kind is None or kind.__name__ != name:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return kind


def __dir__() -> list[str]:
    return sorted([*globals(), *map(_class_name, CONDITIONS)])


def _class_name(condition: str) -> str:
    return condition.title().replace("_", "")


@cache
def _condition_class(condition: str) -> type[ConditionError] | None:
    """Return the class of a condition, without its prefix; None for one that JetSQL does not have."""
    described = CONDITIONS.get(condition)
    if described is None:
        return None
    members = {"__module__": __name__, "__doc__": described.meaning}
    return type(_class_name(condition), (ConditionError,), members)


def with_condition(kind: type[E], condition: str) -> type[E]:
    """Return the subclass of an exception that has a condition of JetSQL; the class itself for other conditions."""
    prefix, _, name = condition.partition(".")
    marker = _condition_class(name) if prefix == "JETSQL" else None
    if marker is None or issubclass(kind, marker):
        return kind
    if (kind, marker) not in _combined:
        _combined[kind, marker] = _combine(kind, marker, condition)
    combined: type[E] = _combined[kind, marker]
    return combined


_combined: Final[dict[tuple[type[Exception], type[ConditionError]], Any]] = {}
"""The results of `_combine`."""


def _combine(kind: type[Exception], marker: type[ConditionError], condition: str) -> Any:
    """Return the subclass of an exception and of the class of its condition."""

    def reduce(error: Exception) -> tuple[Any, ...]:
        return _restore, (kind, condition, error.args, error.__dict__)

    members = {"__module__": kind.__module__, "__doc__": marker.__doc__, "__reduce__": reduce}
    return type(marker.__name__, (kind, marker), members)


def _restore(kind: type[E], condition: str, arguments: tuple[Any, ...], attributes: Mapping[str, Any]) -> E:
    """Return an error that was pickled."""
    error = Exception.__new__(with_condition(kind, condition), *arguments)
    error.__dict__.update(attributes)
    return error


class JetSQLError(Exception):
    """An error of JetSQL: condition, message and hint."""

    def __new__(cls, condition: str, *_arguments: Any, **_named: Any) -> Self:
        """Create the error as an instance of its condition's class, too."""
        return super().__new__(with_condition(cls, f"JETSQL.{condition}"))

    def __init__(
        self,
        condition: str,
        message: str,
        *,
        place: Span | None = None,
        hint: str = "",
        where: str = "",
        correction: str = "",
    ) -> None:
        """Create the error.

        condition: a key of `SQLSTATES`, without the prefix; `str(error)` shows it as `[JETSQL.KEY]`.
        place: the token at fault in the statement's text, if there is one.
        hint: what the user can do, as a sentence.
        where: the table, file, folder or system where it happened; empty for the statement.
        correction: what an editor can write at `place` instead, if the hint names exactly one text.
        """
        self.condition = f"JETSQL.{condition}"
        self.sqlstate = SQLSTATES[condition]
        self.message = message
        self.place = place
        self.hint = hint
        self.where = where
        self.correction = correction
        self.table = ""
        """The qualified name of the table at fault, if the error has no place but the statement names the table."""
        super().__init__(message)

    def __str__(self) -> str:
        return f"[{self.condition}] {self.explanation} SQLSTATE: {self.sqlstate}"

    @property
    def explanation(self) -> str:
        """Return message and hint, without condition and SQLSTATE."""
        return f"{self.message} {self.hint}".strip()

    def report(self, text: str = "") -> ErrorReport:
        """Return the parts of the error. text: the statement, for line and column."""
        place = self.place
        line, column = (None, None) if place is None else (place.line(text), place.column(text) + 1)
        return ErrorReport(self.condition, self.sqlstate, self.message, self.hint, line, column)

    def at(self, place: Span | None) -> JetSQLError:
        """Return this error, placed at `place` unless it has a place."""
        if self.place is None:
            self.place = place
        return self


class StatementError(JetSQLError):
    """An error of the statement; nothing was changed."""


class ErrorPlace:
    """A context manager that places a StatementError without a place at the token at fault."""

    def __init__(self, place: Span | None) -> None:
        self._place = place

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, StatementError):
            error.at(self._place)


class RetryableError(StatementError):
    """An error of something that statement or job needs, such as a server; it can succeed later unchanged."""


def check_text(text: str, subject: str) -> None:
    """Raise StatementError REQUEST_NOT_READABLE for an unpaired surrogate, which UTF-8 cannot encode.

    subject: the text in the error message, as the beginning of a sentence.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        surrogate = f"\\u{ord(text[error.start]):04x}"
        raise StatementError(
            "REQUEST_NOT_READABLE",
            f"{subject} is not valid text: character {error.start + 1} is {surrogate}, an unpaired surrogate.",
            hint="Send text in UTF-8, with characters above U+FFFF as single code points.",
        ) from error


class EngineError(JetSQLError):
    """An engine that cannot start or continue: no Java, an invalid master, a home that is in use or damaged."""


class ReportedError(Exception):
    """An error that an engine in another process reported; its condition says whether JetSQL or Spark raised it."""

    def __init__(self, report: ErrorReport) -> None:
        self.report = report
        super().__init__(report.message)

    def __str__(self) -> str:
        report = self.report
        return f"[{report.condition}] {f'{report.message} {report.hint}'.strip()} SQLSTATE: {report.sqlstate}"
