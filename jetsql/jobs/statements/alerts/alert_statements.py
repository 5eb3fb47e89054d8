"""CREATE, ALTER and DROP ALERT. An alert exists only for its owner and for admins.

Who may see a job can have an alert on it. The engine sends messages from inside its network, so a user without ADMIN
names the receiver by a secret with USAGE: an admin has chosen the URL. Only an ADMIN has alerts on all jobs, URLs in
the statement, and commands.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace

from jetsql.errors import Span, StatementError
from jetsql.jobs.access.access_records import Right, Securable, SecurableKind
from jetsql.jobs.access.access_state import alert_object
from jetsql.jobs.access.token_accounts import refused
from jetsql.jobs.alerts.alert_definition import check_definition, check_rule, declared_alert, option_fields, secret_name
from jetsql.jobs.alerts.alert_records import AlertRecord
from jetsql.jobs.alerts.alert_secrets import SecretRefused, check_host
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.job import Job, name_key
from jetsql.jobs.statements.access.users import result
from jetsql.jobs.statements.lookup import find_job, owns_alert
from jetsql.language.objects.alert_statement import (
    AlertCall,
    AlertCondition,
    AlterAlert,
    CreateAlert,
    DropAlert,
)
from jetsql.language.statement import Name, OptionText
from jetsql.resultset import Table
from jetsql.secret_references import is_reference, named_secret


def create_alert(manager: Manager, statement: CreateAlert) -> Table:
    """Create an alert, or replace one.

    Raises StatementError OBJECT_ALREADY_EXISTS, JOB_NOT_FOUND, OBJECT_NOT_FOUND, NOT_ALLOWED, INVALID_ALERT,
    UNKNOWN_OPTION, DUPLICATE_OPTION, INVALID_OPTION_VALUE.
    """
    name, now = statement.name, manager.clock()
    declared = declared_alert(statement)
    job = _find_watched(manager, statement)
    with manager.alerts.changing:
        existing = manager.alerts.get(name_key(name.text))
        if existing is not None and not owns_alert(manager, existing):
            raise _already_exists(name)
        if existing is not None and statement.if_not_exists:
            return result(existing.name, "An alert with this name already exists.")
        if existing is not None and not statement.or_replace:
            raise _already_exists(name)
        alert = replace(declared, id=uuid.uuid4().hex, job=None if job is None else job.name, created=now, changed=now)
        if existing is not None:
            alert = replace(alert, id=existing.id, name=existing.name, created=existing.created)
        _check(manager, alert, statement.condition, statement.call, statement.options, job)
        if existing is None:
            manager.access.note_created(alert_object(alert.name))
        manager.alerts.save(alert, keeps_states=existing is not None and _is_same(existing, alert))
    return result(alert.name, "Created." if existing is None else "Replaced.")


def alter_alert(manager: Manager, statement: AlterAlert) -> Table:
    """Change an alert. Raises StatementError OBJECT_NOT_FOUND, and as `create_alert`."""
    with manager.alerts.changing:
        alert = find_alert(manager, statement.name)
        changed = replace(alert, changed=manager.clock(), **option_fields(statement.options))
        if statement.condition is not None:
            changed = replace(changed, condition=statement.condition)
        if statement.call is not None:
            changed = replace(changed, target=statement.call.name.text, is_command=statement.call.is_command)
        if statement.enable is not None:
            changed = replace(changed, enabled=statement.enable)
        call = statement.call or AlertCall(Name(changed.target, statement.name.place), changed.is_command)
        job = None if changed.job is None else _find_by_name(manager, changed.job, statement.name.place)
        if statement.enable is not False:  # an owner who has lost a right can still silence the alert
            check_definition(changed, statement.condition, call, statement.options)
            _check(manager, changed, statement.condition, call, statement.options, job)
        manager.alerts.save(changed, keeps_states=_is_same(alert, changed))
    if statement.enable is not None:
        return result(alert.name, "Enabled." if statement.enable else "Disabled. It sends no messages.")
    return result(alert.name, "Changed.")


def drop_alert(manager: Manager, statement: DropAlert) -> Table:
    """Drop an alert. Raises StatementError OBJECT_NOT_FOUND."""
    with manager.alerts.changing:
        existing = manager.alerts.get(name_key(statement.name.text))
        if statement.if_exists and (existing is None or not owns_alert(manager, existing)):
            return result(statement.name.text, f"There is no alert named {statement.name.text}; nothing to drop.")
        alert = find_alert(manager, statement.name)
        manager.alerts.remove(alert)
        manager.access.note_dropped(alert_object(alert.name))
    return result(alert.name, "Dropped.")


def _is_same(before: AlertRecord, after: AlertRecord) -> bool:
    """Return whether the states of an alert are still those of its jobs."""
    return (before.job_key, before.condition.key, before.enabled) == (after.job_key, after.condition.key, after.enabled)


def find_alert(manager: Manager, name: Name) -> AlertRecord:
    """Return an alert of the caller, or any for an admin. Raises StatementError OBJECT_NOT_FOUND."""
    found = manager.alerts.get(name_key(name.text))
    if found is None or not owns_alert(manager, found):
        hint = "SHOW ALERTS lists them."
        raise StatementError("OBJECT_NOT_FOUND", f"There is no alert named {name.text}.", place=name.place, hint=hint)
    return found


def _already_exists(name: Name) -> StatementError:
    return StatementError(
        "OBJECT_ALREADY_EXISTS",
        f"An alert named {name.text} already exists.",
        place=name.place,
        hint="Use another name, CREATE OR REPLACE ALERT or ALTER ALERT.",
    )


def _find_watched(manager: Manager, statement: CreateAlert) -> Job | None:
    """Return the job of an alert, or None for all. Raises StatementError JOB_NOT_FOUND, NOT_ALLOWED."""
    if statement.job is not None:
        return find_job(manager, statement.job).job
    if not manager.access.is_admin:
        raise refused(manager.access.user, "CREATE ALERT ON JOB ALL", Right.ADMIN).at(statement.name.place)
    return None


def _find_by_name(manager: Manager, job: str, place: Span) -> Job | None:
    try:
        return find_job(manager, Name(job, place)).job
    except StatementError:
        return None  # it was dropped, and can be created again


# --- checks -----------------------------------------------------------------------------------------------------------


def _check(
    manager: Manager,
    alert: AlertRecord,
    condition: AlertCondition | None,
    call: AlertCall,
    options: Sequence[OptionText],
    job: Job | None,
) -> None:
    """Check an alert with the rights of the caller. condition: if it is new; job: the one of the alert, if it exists"""
    if condition is not None and job is not None:
        check_rule(condition, job.name, (rule.name for rule in job.plan.analysis.expectations))
    if alert.is_command:
        _check_command(manager, call.name)
    elif is_reference(alert.target):
        _check_secret(manager, call.name, "")
    elif not manager.access.is_admin:
        raise StatementError(
            "NOT_ALLOWED",
            f"The user {manager.access.user} lacks the right ADMIN, which a URL in CREATE ALERT needs.",
            place=call.name.place,
            hint="Ask an admin for a secret with the URL, and for USAGE on it. Then write CALL 'secret:NAME'.",
        )
    if alert.secret:
        _check_secret(manager, secret_name(alert, call, options), alert.target)


def _check_command(manager: Manager, name: Name) -> None:
    if not manager.access.is_admin:
        raise refused(manager.access.user, "CALL COMMAND", Right.ADMIN).at(name.place)
    if manager.alerts.settings.command(name.text) is None:
        message = f"The configuration of the engine has no command named {name.text}."
        hint = f"Add it to the setting alert_commands, as in {name.text}=/path/of/program."
        raise StatementError("INVALID_ALERT", message, place=name.place, hint=hint)


def _check_secret(manager: Manager, reference: Name, url: str) -> None:
    """Check that the caller may use a secret. url: the receiver, or a reference to it"""
    name = named_secret(reference.text) or ""
    secret = manager.connections.state.secret(name_key(name))
    if secret is None or not manager.access.sees(Securable(SecurableKind.SECRET, (name_key(name),))):
        message, hint = f"There is no secret named {name}.", "SHOW SECRETS lists them."
        raise StatementError("OBJECT_NOT_FOUND", message, place=reference.place, hint=hint)
    if url and not is_reference(url):
        try:
            check_host(secret, url)
        except SecretRefused as error:
            raise StatementError("SECRET_NOT_FOR_HOST", str(error), place=reference.place) from None
