"""Ask an engine what exists, and run statements on it, each in a session set up by the statements before it.

Errors of a statement are at their places in its file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

from jetsql.errors import EngineError, ErrorReport, StatementError
from jetsql.jobs.model.spark_settings import PARENT_SETTING
from jetsql.jobs.model.table_names import join_table, quoted_table
from jetsql.jobs.openlineage.parent_runs import ParentRun
from jetsql.language import parse
from jetsql.output.diagnostics import Diagnostic
from jetsql.output.result_sink import OutputClosed
from jetsql.script import PreparedStatement, StatementEngine, diagnose
from jetsql.sqlfiles.apply.declarations import Context, Declaration
from jetsql.sqlfiles.apply.statement_edits import stored_group
from jetsql.sqlfiles.lint_problems import NO_FUNCTION, NO_TABLE, PREFIX

NO_SCHEMA: Final = "SCHEMA_NOT_FOUND"
MISSING: Final = frozenset(
    {
        *(NO_TABLE, NO_SCHEMA, NO_FUNCTION, "ROUTINE_NOT_FOUND"),
        *(f"{PREFIX}{what}_NOT_FOUND" for what in ("FUNCTION", "TABLE", "JOB", "OBJECT")),
    }
)
"""The conditions of errors that name an object which does not exist."""

_PLANNING_ERROR: Final = re.compile(
    r"Error occurred during query planning:\s*(?:\[(?P<condition>[A-Z0-9_.]+)\])?(?P<message>.*?)"
    r"(?:SQLSTATE: \w{5})?(?:; line (?P<line>\d+) pos (?P<position>\d+).*)?\Z",
    re.DOTALL,
)
_JOBS: Final = "SELECT name, status, sink, kind, last_error, statement FROM jetsql.jobs ORDER BY id DESC"
_FINAL: Final = ("FAILED", "COMPLETED", "DROPPED")


class ApplyEngine(StatementEngine, Protocol):
    """An engine that can open further sessions; `EngineClient` is one."""

    def open_session(self) -> StatementEngine:
        """Return another session."""


class StatementFailed(Exception):
    """A statement failed, and nothing of it remains."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic.message)


@dataclass(frozen=True)
class ExistingJob:
    """A job of the engine."""

    name: str
    status: str
    sinks: tuple[str, ...]  # qualified names
    last_error: str
    statement: str  # that creates it, without secrets
    group: str  # empty without one

    @property
    def is_live(self) -> bool:
        """Return whether the job has not ended."""
        return self.status not in _FINAL


class EngineSessions:
    """The sessions on an engine, one for each context of statements."""

    def __init__(self, engine: ApplyEngine) -> None:
        """Create it. engine: the session for statements without a context; the caller closes it."""
        self._engine = engine
        self._sessions: dict[tuple[str, ...], StatementEngine] = {(): engine}
        self._parent = ""

    def close(self) -> None:
        """Close the further sessions."""
        for key, session in self._sessions.items():
            if key:
                session.close()

    def set_parent(self, parent: ParentRun) -> None:
        """Make a run the parent of the runs of jobs that the sessions create. Raises their errors."""
        self._parent = f"SET {PARENT_SETTING}={parent.text}"
        for session in self._sessions.values():
            _rows(session, self._parent)

    def session(self, context: Context) -> StatementEngine:
        """Return the session of a context. Raises StatementFailed for a statement of the context, EngineError."""
        found = self._sessions.get(context.key)
        if found is not None:
            return found
        session = self._engine.open_session()
        try:
            if self._parent:
                _rows(session, self._parent)
            for step in context.steps:
                _run(session, step, step.text)
        except BaseException:
            session.close()
            raise
        self._sessions[context.key] = session
        return session

    def run(self, step: PreparedStatement, context: Context) -> list[dict[str, Any]]:
        """Run a statement and return its rows. Raises StatementFailed, EngineError."""
        return _run(self.session(context), step, step.text)

    def explain(self, step: PreparedStatement, context: Context) -> str:
        """Run an EXPLAIN and return its text. Raises StatementFailed, EngineError.

        Spark returns an error of the analysis as rows.
        """
        rows = self.run(step, context)
        text = "\n".join(str(next(iter(row.values()))) for row in rows)
        failure = _PLANNING_ERROR.match(text)
        if failure is None:
            return text
        line, position = failure["line"], failure["position"]
        report = ErrorReport(
            failure["condition"] or "",
            "",
            failure["message"].strip(),
            line=int(line) if line else None,
            column=int(position) + 1 if position else None,
        )
        raise StatementFailed(diagnose(step, report))

    def ask(self, declaration: Declaration, text: str) -> list[dict[str, Any]] | None:
        """Run a query about a declared object, and return its rows; None if the object does not exist.

        Raises StatementFailed at the object's name, EngineError.
        """
        try:
            return self.rows_about(declaration, text)
        except StatementFailed as failed:
            if failed.diagnostic.condition in MISSING:
                return None
            raise

    def rows_about(self, declaration: Declaration, text: str) -> list[dict[str, Any]]:
        """Run a query about a declared object, and return its rows.

        Raises StatementFailed at the object's name, also if it does not exist, EngineError.
        """
        session = self.session(declaration.context)
        return _run(session, declaration.prepared, text, at_name=declaration)

    def run_text(self, text: str) -> list[dict[str, Any]]:
        """Run a statement of no file. Raises ReportedError, JetSQLError."""
        return _rows(self._engine, text)

    def jobs(self) -> list[ExistingJob]:
        """Return the jobs of the engine, newest first."""
        return [_job(row) for row in self.run_text(_JOBS)]

    def created_text(self, declaration: Declaration) -> str | None:
        """Return the statement that creates a table or view, or None if it does not exist."""
        rows = self.ask(declaration, f"SHOW CREATE TABLE {quoted_table(join_table(declaration.parts))}")
        return None if rows is None else str(next(iter(rows[0].values())))


def _job(row: dict[str, Any]) -> ExistingJob:
    statement = str(row["statement"])
    return ExistingJob(
        name=str(row["name"]),
        status=str(row["status"]),
        sinks=tuple(each.strip() for each in str(row["sink"] or "").split(",")),
        last_error=str(row["last_error"] or ""),
        statement=statement,
        group=_group(statement),
    )


def _group(statement: str) -> str:
    try:
        return stored_group(parse(statement))
    except StatementError:  # of a release with another grammar: the group is not known, so the job is left alone
        return ""


def _run(
    session: StatementEngine, step: PreparedStatement, text: str, at_name: Declaration | None = None
) -> list[dict[str, Any]]:
    with _failing_at(session, step, text, at_name):
        return _rows(session, text)


@contextmanager
def _failing_at(
    session: StatementEngine, step: PreparedStatement, text: str, at_name: Declaration | None
) -> Iterator[None]:
    try:
        yield
    except (EngineError, OutputClosed):
        raise
    except Exception as error:
        # Every other error is one of the statement, also Spark's own, which has no common class here.
        report = session.error(error, text)
        if at_name is None:
            raise StatementFailed(diagnose(step, report)) from error
        offset = step.start + step.filled.original(at_name.place.start)
        found = Diagnostic(step.script, offset, report.condition, report.message, report.hint, report.trace)
        raise StatementFailed(found) from error


def _rows(session: StatementEngine, text: str) -> list[dict[str, Any]]:
    found = session.run(text)
    names = [column.name for column in found.columns]
    return [dict(zip(names, row, strict=True)) for row in found.rows]
