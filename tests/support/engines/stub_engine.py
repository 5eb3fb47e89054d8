"""A stub of an engine without Spark: it knows statements by their first word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from jetsql.errors import EngineError, JetSQLError, Span, StatementError
from jetsql.resultset import Column


class SparkError(Exception):
    """An error as Spark reports it, with line and column from 1."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


@dataclass(frozen=True)
class StubResult:
    columns: tuple[Column, ...]
    rows: Iterator[tuple[object, ...]]


@dataclass(frozen=True)
class StubReport:
    condition: str
    message: str
    hint: str = ""
    line: int | None = None
    column: int | None = None
    trace: str = ""


@dataclass
class StubEngine:
    """An engine with these statements.

    SELECT a, b ...   returns a row of these words    COUNT n           returns n rows
    FAIL WORD         a JetSQL error at WORD          SPARK WORD        an error of Spark at WORD
    LATE              an error after the first row    NOTHING           returns no columns
    NOWHERE           an error without a place        CRASH             the connection to the engine is lost
    INTERRUPT         the user presses Ctrl-C         DIE               Spark's process ends meanwhile
    EXPLAIN ...       returns `plan`, if there is one
    """

    texts: list[str] = field(default_factory=list)  # the statements so far
    close_calls: int = 0
    plan: str = ""  # what EXPLAIN returns

    def run(self, text: str) -> StubResult:
        self.texts.append(text)
        verb, rest = (*text.split(maxsplit=1), "")[:2]
        match verb.upper():
            case "SELECT":
                values = tuple(word.strip() for word in rest.split(","))
                return StubResult(tuple(Column(f"c{index}") for index, _ in enumerate(values)), iter([values]))
            case "COUNT":
                return StubResult((Column("n", "int"),), ((number,) for number in range(int(rest))))
            case "LATE":
                return StubResult((Column("n", "int"),), self._late())
            case "EXPLAIN" if self.plan:
                return StubResult((Column("plan"),), iter([(self.plan,)]))
            case "NOTHING":
                return StubResult((), iter(()))
            case _:
                raise self._error(verb.upper(), rest, text)

    def error(self, exc: Exception, text: str) -> StubReport:
        if isinstance(exc, JetSQLError):
            place = exc.place
            line, column = (place.line(text), place.column(text) + 1) if place else (None, None)
            return StubReport(exc.condition, exc.message, exc.hint, line, column)
        if isinstance(exc, SparkError):
            return StubReport("TABLE_OR_VIEW_NOT_FOUND", str(exc), "", exc.line, exc.column)
        return StubReport("", f"{type(exc).__name__}: {exc}")

    def close(self) -> None:
        self.close_calls += 1

    def _late(self) -> Iterator[tuple[object, ...]]:
        yield (1,)
        raise SparkError("the second row is broken")

    def _error(self, verb: str, rest: str, text: str) -> BaseException:
        at = text.find(rest.split()[-1]) if rest.strip() else 0
        place = Span(at, at + 1)
        match verb:
            case "FAIL":
                return StatementError("JOB_NOT_FOUND", "There is no such job.", place=place, hint="See SHOW JOBS.")
            case "SPARK":
                return SparkError("There is no such table.", place.line(text), place.column(text) + 1)
            case "CRASH":
                return EngineError("ENGINE_NOT_STARTED", "The engine is gone.")
            case "DIE":
                return EngineError("ENGINE_NOT_REACHABLE", "The engine has ended, because Spark's process has ended.")
            case "INTERRUPT":
                return KeyboardInterrupt()
        return ValueError(f"unknown: {verb}")
