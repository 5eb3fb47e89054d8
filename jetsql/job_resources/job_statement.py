"""The statement of a resource: exactly one CREATE JOB.

Who may create resources in a namespace must be able to create jobs, and nothing else. So the text is refused unless
JetSQL's own parser reads the whole of it as this statement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jetsql.errors import StatementError
from jetsql.jobs.statements.tables.table_creation import without_secrets
from jetsql.language import parse, split
from jetsql.language.statement import CreateJob
from jetsql.output.diagnostics import Diagnostic
from jetsql.sqlfiles.apply.declarations import Declaration, ObjectKind, read_declarations
from jetsql.sqlfiles.apply.engine_state import StatementFailed
from jetsql.sqlfiles.apply.statement_edits import replacing
from jetsql.sqlfiles.lint_files import LintRun
from jetsql.sqlfiles.lint_problems import PREFIX, ProblemLevel
from jetsql.sqlfiles.read_sql_files import SqlFile

FIELD: Final = "spec.sql"
CONDITION: Final = f"{PREFIX}NOT_A_JOB_STATEMENT"
SQL_MOST: Final = 262_144
"""The limit of characters, which the definition of the resource has as well."""
_HINT: Final = "Write one CREATE JOB. Other statements are for `jetsql apply`, or for a client of the engine."


@dataclass(frozen=True)
class JobStatement:
    """The statement of a resource."""

    declaration: Declaration
    create: CreateJob
    """The statement that is compared with that of a job: with the group of the job, and without secrets."""


def read_job_statement(sql: str, group: str) -> JobStatement:
    """Return the statement in a text. group: of its job. Raises StatementFailed."""
    file = SqlFile(FIELD, sql)
    if len(sql) > SQL_MOST:
        raise _refused(file, 0, f"The text has more than {SQL_MOST} characters.")
    if file.problem is not None:
        raise StatementFailed(file.problem.diagnostic())
    _check_single(file)
    lint = LintRun({})
    problems = [each for each in lint.check([file]) if each.level is ProblemLevel.ERROR]
    found = read_declarations(lint.statements)
    problems += found.problems
    if problems:
        raise StatementFailed(problems[0].diagnostic())
    [declaration] = found.items
    if declaration.kind is not ObjectKind.JOB:
        raise _refused(file, declaration.place.start, "The statement does not create a job.")
    create = parse(replacing(declaration, group).text)
    assert isinstance(create, CreateJob), "an edit of the head leaves the kind as it is"
    return JobStatement(declaration, create if create.table is None else without_secrets(create))


def _check_single(file: SqlFile) -> None:
    """Raise StatementFailed unless the text is one statement that creates a job."""
    try:
        fragments = split(file.text, strict=True)
    except StatementError as error:
        raise _failed(file, 0, error) from error
    if len(fragments) != 1:
        at = fragments[1].start if fragments else 0
        raise _refused(file, at, f"The text has {len(fragments)} statements instead of one.")
    [fragment] = fragments
    try:
        statement = parse(fragment.text)
    except StatementError as error:
        raise _failed(file, fragment.start, error) from error
    if not isinstance(statement, CreateJob):
        raise _refused(file, fragment.start, "The statement does not create a job.")


def _failed(file: SqlFile, start: int, error: StatementError) -> StatementFailed:
    offset = start + (0 if error.place is None else error.place.start)
    return StatementFailed(Diagnostic(file.script, offset, error.condition, error.message, error.hint))


def _refused(file: SqlFile, offset: int, message: str) -> StatementFailed:
    return StatementFailed(Diagnostic(file.script, offset, CONDITION, message, _HINT))
