"""Compare an alert that a file declares with the statement that the engine shows of it.

Both are read into a definition with its defaults, so layout, the order of statuses and options, and the case of names
are no difference. Whether an alert is disabled is one only if the file says DISABLE: it can also be silenced by hand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from jetsql.errors import StatementError
from jetsql.jobs.alerts.alert_definition import check_rule, create_text, declared_alert, secret_name
from jetsql.jobs.alerts.alert_records import AlertRecord
from jetsql.jobs.model.job import name_key
from jetsql.jobs.model.redact_sql import redact_sql
from jetsql.jobs.model.table_names import split_table
from jetsql.language import parse
from jetsql.language import statement as st
from jetsql.language.objects.alert_statement import CreateAlert
from jetsql.language.tokens import quoted_name
from jetsql.secret_references import named_secret
from jetsql.sqlfiles.apply.declarations import Declaration, ObjectKind
from jetsql.sqlfiles.apply.dependencies import OrderedDeclarations
from jetsql.sqlfiles.apply.engine_state import EngineSessions, ExistingJob
from jetsql.sqlfiles.apply.statement_edits import created_job, group_of
from jetsql.sqlfiles.lint_problems import PREFIX, LintProblem

_NO_JOB: Final = f"{PREFIX}JOB_NOT_FOUND"
_NO_SECRET: Final = f"{PREFIX}OBJECT_NOT_FOUND"
_SILENCED: Final = "it is disabled, which no file declares; ALTER ALERT ... ENABLE enables it"


@dataclass(frozen=True)
class AlertComparison:
    """The result of a comparison."""

    group: str  # of the alert that exists; empty without one
    differences: tuple[str, ...]  # phrases
    notes: tuple[str, ...]  # phrases
    before: str  # the statements in one form, without URLs
    after: str


def statement_of(declaration: Declaration) -> CreateAlert:
    """Return the statement of an alert."""
    statement = declaration.checked.statement
    assert isinstance(statement, CreateAlert), "other statements declare no alert"
    return statement


def compare_alert(declaration: Declaration, sessions: EngineSessions, group: str) -> AlertComparison | None:
    """Compare an alert with its statement; None if it does not exist. group: of the folder; empty for none

    Raises StatementFailed, EngineError.
    """
    rows = sessions.ask(declaration, f"SHOW CREATE ALERT {quoted_name(declaration.parts[0])}")
    if rows is None:
        return None
    existing = _read(rows[0])
    declared = declared_alert(statement_of(declaration))
    if group and group_of(declaration) is None:
        declared = replace(declared, group=group)
    differences = tuple(_differences(declared, existing))
    notes: tuple[str, ...] = ()
    if not existing.enabled and declared.enabled:
        notes = ("the alert is disabled, and the replacement enables it",) if differences else (_SILENCED,)
    before, after = (redact_sql(create_text(replace(each, name=declared.name))) for each in (existing, declared))
    return AlertComparison(existing.group, differences, notes, before, after)


def find_undeclared(declared: Collection[str], sessions: EngineSessions, group: str) -> Iterator[str]:
    """Yield the names of the alerts of a group that no file declares. declared: the keys of those that one declares

    Raises ReportedError, JetSQLError, EngineError.
    """
    for row in sessions.run_text("SHOW ALERTS"):
        if name_key(str(row["name"])) not in declared and row["apply_group"] == group:
            yield str(row["name"])


def find_problems(
    declaration: Declaration, ordered: OrderedDeclarations, sessions: EngineSessions, jobs: Sequence[ExistingJob]
) -> Iterator[LintProblem]:
    """Yield what an alert names, and neither the files declare nor the engine has. jobs: of the engine

    Raises StatementFailed, EngineError.
    """
    statement, needs = statement_of(declaration), ordered.needed_by(declaration)
    if statement.job is not None:
        job = _find_job(statement.job.text, needs, jobs)
        if job is None:
            message = f"There is no job named {statement.job.text}, and no file declares it."
            hint = "SHOW JOBS lists the jobs. That of a streaming table has the name of its table, with the schema."
            yield declaration.problem(_NO_JOB, message, hint, statement.job.place)
        else:
            yield from _rule_problem(declaration, statement, job)
    alert = declared_alert(statement)
    missing = alert.secrets - {need.key[0] for need in needs if need.kind is ObjectKind.SECRET}
    if missing:
        missing -= {name_key(str(row["name"])) for row in sessions.rows_about(declaration, "SHOW SECRETS")}
    for reference in (statement.call.name, secret_name(alert, statement.call, statement.options)):
        name = named_secret(reference.text)
        if name is not None and name_key(name) in missing:
            message = f"There is no secret named {name}, and no file declares it."
            yield declaration.problem(_NO_SECRET, message, "SHOW SECRETS lists them.", reference.place)


def _find_job(name: str, needs: Sequence[Declaration], jobs: Sequence[ExistingJob]) -> st.CreateJob | None:
    """Return the statement of a job, as a file declares it or as the newest one of the engine has it."""
    is_qualified = len(split_table(name)) > 1
    for need in needs:
        if need.kind is ObjectKind.JOB or (need.kind.has_job and is_qualified):
            return need.checked.job
    newest = next((job for job in jobs if name_key(job.name) == name_key(name)), None)
    return None if newest is None else created_job(parse(newest.statement))


def _rule_problem(declaration: Declaration, statement: CreateAlert, job: st.CreateJob) -> Iterator[LintProblem]:
    try:
        check_rule(statement.condition, job.name.text, (rule.name for rule in job.body.expectations))
    except StatementError as error:
        yield declaration.problem(error.condition, error.message, error.hint, error.place)


def _read(row: dict[str, Any]) -> AlertRecord:
    statement = parse(str(row["create_statement"]))
    assert isinstance(statement, CreateAlert), "SHOW CREATE ALERT returns CREATE ALERT"
    return declared_alert(statement)


def _differences(declared: AlertRecord, existing: AlertRecord) -> Iterator[str]:
    if declared.job_key != existing.job_key:
        yield "another job"
    if declared.condition.key != existing.condition.key:
        yield "another condition"
    if _receiver(declared) != _receiver(existing):
        yield "another receiver"
    if _options(declared) != _options(existing):
        yield "other options"
    if declared.comment != existing.comment:
        yield "another comment"
    if existing.enabled and not declared.enabled:
        yield "no DISABLE"


def _receiver(alert: AlertRecord) -> tuple[object, ...]:
    is_url = not alert.is_command and not alert.secrets
    return (alert.is_command, alert.target if is_url else name_key(alert.target))


def _options(alert: AlertRecord) -> tuple[object, ...]:
    return (alert.every, alert.format, name_key(alert.secret), alert.group)
