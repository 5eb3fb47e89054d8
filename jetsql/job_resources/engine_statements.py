"""Run the statements of resources on the engine of this process, as the user of the setting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from jetsql.errors import SQLSTATES, EngineError, ErrorReport, StatementError
from jetsql.job_resources.statement_turns import StatementTurns
from jetsql.jobs.access.token_accounts import TokenAccounts, inactive_user
from jetsql.jobs.access.user_limits import UserLimits
from jetsql.jobs.model.job import Cause, name_key
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.language import parse
from jetsql.language import statement as st
from jetsql.output.diagnostics import Diagnostic
from jetsql.output.render import Rows
from jetsql.request import ENGINE, Caller, Endpoint, acting_for
from jetsql.script import StatementEngine
from jetsql.sqlfiles.lint_problems import PREFIX

_ALLOWED: Final = (
    *(st.CreateJob, st.ExplainCreateJob, st.SuspendJob, st.ResumeJob, st.DropJob),
    *(st.CreateSnapshot, st.DropSnapshot),
)


class EngineSession(Protocol):
    """A session of an engine."""

    def run(self, text: str) -> Rows: ...


class JobEngine(Protocol):
    """An engine of this process; `EngineInstance` is one."""

    @property
    def queries(self) -> JobQueries: ...
    @property
    def accounts(self) -> TokenAccounts: ...
    @property
    def limits(self) -> UserLimits: ...
    @property
    def leads(self) -> bool: ...
    def session(self) -> EngineSession: ...
    def error(self, error: BaseException, text: str) -> ErrorReport: ...


@dataclass(frozen=True)
class ResourceError:
    """An error, as the status of a resource shows it."""

    condition: str
    sqlstate: str
    message: str
    hint: str = ""
    line: int | None = None  # in the statement of the resource, from 1
    column: int | None = None

    @classmethod
    def of(cls, name: str, message: str, hint: str = "") -> ResourceError:
        """Return an error that no statement has raised. name: of its condition, without the prefix."""
        return cls(f"{PREFIX}{name}", SQLSTATES[name], message, hint)

    @classmethod
    def of_cause(cls, cause: Cause) -> ResourceError:
        """Return the last error of a job."""
        return cls(cause.condition, cause.sqlstate, cause.message, cause.hint)


class CommandFailed(Exception):
    """A statement that no resource contains has failed."""

    def __init__(self, error: ResourceError) -> None:
        self.error = error
        super().__init__(error.message)


class EngineStatements:
    """The statements of all resources, in one session: none of them changes it. Any thread can use it.

    It is the engine of `jetsql.sqlfiles.apply`.
    """

    def __init__(self, engine: JobEngine, user: str) -> None:
        self._engine = engine
        self._caller = Caller(user, Endpoint.KUBERNETES)
        self._turns = StatementTurns(engine.limits)
        self._session: EngineSession | None = None
        self._sqlstates: dict[str, str] = {}

    @property
    def queries(self) -> JobQueries:
        """Return the queries of the engine, which are for the caller of the thread."""
        return self._engine.queries

    @contextmanager
    def for_user(self) -> Iterator[None]:
        """Let the statements and queries inside the context be those of the user."""
        with acting_for(self._caller):
            yield

    @contextmanager
    def for_engine(self) -> Iterator[None]:
        """Let the queries inside the context see all jobs."""
        with acting_for(ENGINE):
            yield

    def cancel(self) -> None:
        """Cancel the statements, because the engine stops."""
        self._turns.end()

    def run(self, text: str) -> Rows:
        """Run a statement within the limits of the user. Raises JetSQLError, and Spark's errors.

        The session records it in the audit log.
        """
        with self._turns.turn():
            self._check(text)
            if self._session is None:
                self._session = self._engine.session()
            return self._session.run(text)

    def command(self, text: str) -> None:
        """Run a statement that no resource contains. Raises CommandFailed, EngineError."""
        try:
            self.run(text)
        except EngineError:
            raise
        except Exception as error:  # also of Spark
            report = self.error(error, text)
            raise CommandFailed(
                ResourceError(report.condition, report.sqlstate, report.message, report.hint)
            ) from error

    def open_session(self) -> StatementEngine:
        """Return this session: a resource has no statements that set up another one."""
        return self

    def close(self) -> None:
        """Do nothing: the session ends with the engine."""

    def error(self, error: Exception, text: str) -> ErrorReport:
        """Return the parts of an error."""
        report = self._engine.error(error, text)
        self._sqlstates[report.condition] = report.sqlstate
        return report

    def described(self, found: Diagnostic) -> ResourceError:
        """Return an error at a place of the statement of a resource."""
        name = found.condition.removeprefix(PREFIX)
        sqlstate = SQLSTATES.get(name) or self._sqlstates.get(found.condition, "")
        line, column = found.script.line(found.offset), found.script.column(found.offset)
        return ResourceError(found.condition, sqlstate, found.message, found.hint, line, column)

    def _check(self, text: str) -> None:
        """Raise an error for a statement that may not run.

        Raises EngineError if another engine may lead, and StatementError NOT_ALLOWED for a user who cannot log in, and
        for a statement of another kind.
        """
        if not self._engine.leads:
            raise EngineError("ENGINE_NOT_STARTED", "The engine does not lead now.")
        accounts, user = self._engine.accounts, name_key(self._caller.user)
        if accounts.has_users and not accounts.has_account(user):
            message = f"{inactive_user(accounts.state, user)} The statements of resources run as this user."
            hint = "Create or enable the user, or change the setting kubernetes_jobs_user."
            raise StatementError("NOT_ALLOWED", message, hint=hint)
        if not isinstance(parse(text), _ALLOWED):
            raise StatementError("NOT_ALLOWED", "A resource can neither run this statement nor contain it.")
