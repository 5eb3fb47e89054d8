"""CREATE, ALTER and DROP ALERT. An alert exists only for its owner and for admins.

Who may see a job can have an alert on it. The engine sends messages from inside its network, so a user without ADMIN
names the receiver by a secret with USAGE: an admin has chosen the URL. Only an ADMIN has alerts on all jobs, URLs in
the statement, and commands.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from jetsql.errors import Span, StatementError
from jetsql.jobs.access.access_records import Right, Securable, SecurableKind
from jetsql.jobs.access.token_accounts import refused
from jetsql.jobs.alerts.alert_records import DEFAULT_EVERY, AlertRecord, MessageFormat
from jetsql.jobs.alerts.alert_secrets import SecretRefused, check_host
from jetsql.jobs.alerts.receivers import find_url_problem
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.job import Job, Status, name_key
from jetsql.jobs.statements.access.users import result
from jetsql.jobs.statements.lookup import find_job
from jetsql.language.objects.alert_statement import (
    ALERT_OPTIONS,
    EVERY,
    FORMAT,
    SECRET,
    UNITS,
    AlertCall,
    AlertCondition,
    AlertTrigger,
    AlterAlert,
    CreateAlert,
    DropAlert,
)
from jetsql.language.statement import Name, OptionText
from jetsql.resultset import Table
from jetsql.secret_references import is_reference, named_secret

_SPAN: Final = re.compile(r"([0-9]{1,9})\s*([a-z]+?)s?", re.IGNORECASE)
_SECRET_HINT: Final = "CREATE SECRET makes one; write CALL 'secret:NAME'."


def create_alert(manager: Manager, statement: CreateAlert) -> Table:
    """Create an alert, or replace one.

    Raises StatementError OBJECT_ALREADY_EXISTS, JOB_NOT_FOUND, OBJECT_NOT_FOUND, NOT_ALLOWED, INVALID_ALERT,
    UNKNOWN_OPTION, DUPLICATE_OPTION, INVALID_OPTION_VALUE.
    """
    name, now = statement.name, manager.clock()
    job = _find_watched(manager, statement)
    with manager.alerts.changing:
        existing = manager.alerts.get(name_key(name.text))
        if existing is not None and not manager.access.owns(existing.thing):
            raise _already_exists(name)
        if existing is not None and statement.if_not_exists:
            return result(existing.name, "An alert with this name already exists.")
        if existing is not None and not statement.or_replace:
            raise _already_exists(name)
        shown, created, alert_id = name.text, now, uuid.uuid4().hex
        if existing is not None:
            shown, created, alert_id = existing.name, existing.created, existing.id
        alert = AlertRecord(
            alert_id,
            shown,
            None if job is None else job.name,
            statement.condition,
            statement.call.name.text,
            created,
            now,
            is_command=statement.call.is_command,
            comment=statement.comment,
            **_options(statement.options),
        )
        _check(manager, alert, statement.condition, statement.call, statement.options, job)
        if existing is None:
            manager.access.note_created(alert.thing)
        manager.alerts.save(alert, keeps_states=existing is not None and _is_same(existing, alert))
    return result(alert.name, "Created." if existing is None else "Replaced.")


def alter_alert(manager: Manager, statement: AlterAlert) -> Table:
    """Change an alert. Raises StatementError OBJECT_NOT_FOUND, and as `create_alert`."""
    with manager.alerts.changing:
        alert = _find(manager, statement.name)
        changed = replace(alert, changed=manager.clock(), **_options(statement.options))
        if statement.condition is not None:
            changed = replace(changed, condition=statement.condition)
        if statement.call is not None:
            changed = replace(changed, target=statement.call.name.text, is_command=statement.call.is_command)
        if statement.enable is not None:
            changed = replace(changed, enabled=statement.enable)
        call = statement.call or AlertCall(Name(changed.target, statement.name.place), changed.is_command)
        job = None if changed.job is None else _find_by_name(manager, changed.job, statement.name.place)
        if statement.enable is not False:  # an owner who has lost a right can still silence the alert
            _check(manager, changed, statement.condition, call, statement.options, job)
        manager.alerts.save(changed, keeps_states=_is_same(alert, changed))
    if statement.enable is not None:
        return result(alert.name, "Enabled." if statement.enable else "Disabled. It sends no messages.")
    return result(alert.name, "Changed.")


def drop_alert(manager: Manager, statement: DropAlert) -> Table:
    """Drop an alert. Raises StatementError OBJECT_NOT_FOUND."""
    with manager.alerts.changing:
        existing = manager.alerts.get(name_key(statement.name.text))
        if statement.if_exists and (existing is None or not manager.access.owns(existing.thing)):
            return result(statement.name.text, f"There is no alert named {statement.name.text}; nothing to drop.")
        alert = _find(manager, statement.name)
        manager.alerts.remove(alert)
        manager.access.note_dropped(alert.thing)
    return result(alert.name, "Dropped.")


def _is_same(before: AlertRecord, after: AlertRecord) -> bool:
    """Return whether the states of an alert are still those of its jobs."""
    return (before.job, before.condition, before.enabled) == (after.job, after.condition, after.enabled)


def _find(manager: Manager, name: Name) -> AlertRecord:
    found = manager.alerts.get(name_key(name.text))
    if found is None or not manager.access.owns(found.thing):
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
    if condition is not None:
        _check_condition(condition, job)
    if alert.is_command:
        _check_command(manager, alert, call.name)
    else:
        _check_url(manager, alert, call.name)
    if alert.secret:
        place = next((each.value_place for each in options if each.key.lower() == SECRET), call.name.place)
        _check_secret(manager, Name(alert.secret, place), alert.target)


def _check_condition(condition: AlertCondition, job: Job | None) -> None:
    known = [status.value for status in Status]
    unknown = next((status for status in condition.statuses if status not in known), None)
    if unknown is not None:
        message, hint = f"There is no status {unknown}.", f"The statuses are {', '.join(known)}."
        raise StatementError("INVALID_ALERT", message, place=condition.place, hint=hint)
    if condition.trigger is AlertTrigger.EXPECTATION and condition.rule and job is not None:
        rules = {rule.name.casefold() for rule in job.plan.analysis.expectations}
        if condition.rule.casefold() not in rules:
            message = f"Job {job.name} has no rule named {condition.rule}."
            hint = "DESCRIBE JOB lists its rules. EXPECTATION without a name is about all of them."
            raise StatementError("OBJECT_NOT_FOUND", message, place=condition.place, hint=hint)


def _check_command(manager: Manager, alert: AlertRecord, name: Name) -> None:
    if not manager.access.is_admin:
        raise refused(manager.access.user, "CALL COMMAND", Right.ADMIN).at(name.place)
    if manager.alerts.settings.command(name.text) is None:
        message = f"The configuration of the engine has no command named {name.text}."
        hint = f"Add it to the setting alert_commands, as in {name.text}=/path/of/program."
        raise StatementError("INVALID_ALERT", message, place=name.place, hint=hint)
    if alert.format is not MessageFormat.WEBHOOK or alert.secret:
        message = "A command has no options format and secret."
        raise StatementError("INVALID_ALERT", message, place=name.place, hint="It gets the JSON of a webhook.")


def _check_url(manager: Manager, alert: AlertRecord, url: Name) -> None:
    if is_reference(url.text):
        _check_secret(manager, url, "")
        return
    if not manager.access.is_admin:
        raise StatementError(
            "NOT_ALLOWED",
            f"The user {manager.access.user} lacks the right ADMIN, which a URL in CREATE ALERT needs.",
            place=url.place,
            hint="Ask an admin for a secret with the URL, and for USAGE on it. Then write CALL 'secret:NAME'.",
        )
    if problem := find_url_problem(url.text):
        raise StatementError("INVALID_ALERT", f"The URL cannot be called: {problem}.", place=url.place)
    if alert.format is MessageFormat.SLACK:
        message = "The URL of a Slack channel is a password: who has it can write there."
        raise StatementError("INVALID_ALERT", message, place=url.place, hint=f"Keep it in a secret. {_SECRET_HINT}")


def _check_secret(manager: Manager, reference: Name, url: str) -> None:
    """Check that the caller may use a secret. url: the receiver, if it is known"""
    name = named_secret(reference.text)
    if name is None:
        message = "An alert names its secrets only as 'secret:NAME'."
        raise StatementError("INVALID_ALERT", message, place=reference.place, hint=_SECRET_HINT)
    secret = manager.connections.state.secret(name_key(name))
    if secret is None or not manager.access.sees(Securable(SecurableKind.SECRET, (name_key(name),))):
        message, hint = f"There is no secret named {name}.", "SHOW SECRETS lists them."
        raise StatementError("OBJECT_NOT_FOUND", message, place=reference.place, hint=hint)
    if url and not is_reference(url):
        try:
            check_host(secret, url)
        except SecretRefused as error:
            raise StatementError("SECRET_NOT_FOR_HOST", str(error), place=reference.place) from None


# --- options ----------------------------------------------------------------------------------------------------------


def _options(given: Sequence[OptionText]) -> Mapping[str, Any]:
    """Return the fields of an alert for its options."""
    fields: dict[str, Any] = {}
    for option in given:
        name = option.key.lower()
        if name not in ALERT_OPTIONS:
            message = f"There is no option '{option.key}' of alerts."
            hint = f"The options are {', '.join(ALERT_OPTIONS)}."
            raise StatementError("UNKNOWN_OPTION", message, place=option.key_place, hint=hint)
        if name in fields:
            message = f"The option '{option.key}' is given twice."
            raise StatementError("DUPLICATE_OPTION", message, place=option.key_place, hint="Remove one.")
        fields[name] = _VALUES[name](option)
    return fields


def _format(option: OptionText) -> MessageFormat:
    try:
        return MessageFormat(option.value.strip().lower() or MessageFormat.WEBHOOK)
    except ValueError:
        raise _invalid(option, "webhook or slack") from None


def _every(option: OptionText) -> int:
    if not option.value.strip():
        return DEFAULT_EVERY
    match = _SPAN.fullmatch(option.value.strip())
    unit = None if match is None else UNITS.get(match[2].upper())
    if match is None or unit is None:
        raise _invalid(option, "a time such as 15 minutes, or 0 seconds for no limit")
    return int(match[1]) * unit


def _secret(option: OptionText) -> str:
    if option.value and not is_reference(option.value):
        raise _invalid(option, "a reference such as secret:NAME: the secret itself would be in the store and in logs")
    return option.value


_VALUES: Final = {FORMAT: _format, SECRET: _secret, EVERY: _every}


def _invalid(option: OptionText, expected: str) -> StatementError:
    message = f"The value of the option '{option.key}' is not valid."
    return StatementError("INVALID_OPTION_VALUE", message, place=option.value_place, hint=f"Write {expected}.")
