"""The definition of an alert: what CREATE ALERT declares, the checks that need no engine, and its text again.

The engine, `jetsql lint` and `jetsql apply` share it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from jetsql.errors import StatementError
from jetsql.jobs.alerts.alert_conditions import condition_text
from jetsql.jobs.alerts.alert_records import DEFAULT_EVERY, AlertRecord, MessageFormat
from jetsql.jobs.alerts.webhook_urls import find_url_problem
from jetsql.jobs.model.job import Status, quoted_text
from jetsql.language.objects.alert_statement import (
    ALERT_OPTIONS,
    EVERY,
    FORMAT,
    SECRET,
    UNITS,
    AlertCall,
    AlertCondition,
    CreateAlert,
    span_text,
)
from jetsql.language.objects.object_names import APPLY_GROUP, Name, OptionText
from jetsql.language.tokens import quoted_name
from jetsql.secret_references import is_reference, named_secret

_SPAN: Final = re.compile(r"([0-9]{1,9})\s*([a-z]+?)s?", re.IGNORECASE)
_SECRET_HINT: Final = "CREATE SECRET makes one; write CALL 'secret:NAME'."


def declared_alert(statement: CreateAlert) -> AlertRecord:
    """Return the alert that a statement declares, without an id and times.

    Raises StatementError UNKNOWN_OPTION, DUPLICATE_OPTION, INVALID_OPTION_VALUE, INVALID_ALERT.
    """
    alert = AlertRecord(
        "",
        statement.name.text,
        None if statement.job is None else statement.job.text,
        statement.condition,
        statement.call.name.text,
        created=0.0,
        changed=0.0,
        is_command=statement.call.is_command,
        enabled=not statement.disable,
        comment=statement.comment,
        **option_fields(statement.options),
    )
    check_definition(alert, statement.condition, statement.call, statement.options)
    return alert


def create_text(alert: AlertRecord) -> str:
    """Return the statement that creates an alert, without what is the default. It has the whole URL."""
    return "\n".join(_create_lines(alert))


def _create_lines(alert: AlertRecord) -> Iterator[str]:
    yield f"CREATE ALERT {quoted_name(alert.name)}"
    yield f"ON JOB {'ALL' if alert.job is None else quoted_name(alert.job)}"
    yield condition_text(alert.condition)
    yield f"CALL COMMAND {quoted_name(alert.target)}" if alert.is_command else f"CALL {quoted_text(alert.target)}"
    given = {
        EVERY: span_text(alert.every) if alert.every != DEFAULT_EVERY else "",
        FORMAT: alert.format.value if alert.format is not MessageFormat.WEBHOOK else "",
        SECRET: alert.secret,
        APPLY_GROUP: alert.group,
    }
    if pairs := [f"  {quoted_text(name)} = {quoted_text(value)}" for name, value in given.items() if value]:
        yield "OPTIONS (\n" + ",\n".join(pairs) + "\n)"
    if alert.comment is not None:
        yield f"COMMENT {quoted_text(alert.comment)}"
    if not alert.enabled:
        yield "DISABLE"


# --- checks -----------------------------------------------------------------------------------------------------------


def check_definition(
    alert: AlertRecord, condition: AlertCondition | None, call: AlertCall, options: Sequence[OptionText]
) -> None:
    """Check what is wrong in any engine. condition: if it is new. Raises StatementError INVALID_ALERT."""
    if condition is not None:
        _check_statuses(condition)
    if alert.is_command:
        _check_command(alert, call.name)
    else:
        _check_url(alert, call.name)
    if alert.secret:
        _check_named(secret_name(alert, call, options))


def check_rule(condition: AlertCondition, job: str, rules: Iterable[str]) -> None:
    """Check that a job has the rule of EXPECTATION. rules: the names of its rules. Raises StatementError."""
    if condition.rule and condition.rule.casefold() not in {rule.casefold() for rule in rules}:
        message = f"Job {job} has no rule named {condition.rule}."
        hint = "DESCRIBE JOB lists its rules. EXPECTATION without a name is about all of them."
        raise StatementError("OBJECT_NOT_FOUND", message, place=condition.place, hint=hint)


def secret_name(alert: AlertRecord, call: AlertCall, options: Sequence[OptionText]) -> Name:
    """Return the option `secret` with its place."""
    place = next((each.value_place for each in options if each.key.lower() == SECRET), call.name.place)
    return Name(alert.secret, place)


def _check_statuses(condition: AlertCondition) -> None:
    known = [status.value for status in Status]
    unknown = next((status for status in condition.statuses if status not in known), None)
    if unknown is not None:
        message, hint = f"There is no status {unknown}.", f"The statuses are {', '.join(known)}."
        raise StatementError("INVALID_ALERT", message, place=condition.place, hint=hint)


def _check_command(alert: AlertRecord, name: Name) -> None:
    if alert.format is not MessageFormat.WEBHOOK or alert.secret:
        message = "A command has no options format and secret."
        raise StatementError("INVALID_ALERT", message, place=name.place, hint="It gets the JSON of a webhook.")


def _check_url(alert: AlertRecord, url: Name) -> None:
    if is_reference(url.text):
        _check_named(url)
    elif problem := find_url_problem(url.text):
        raise StatementError("INVALID_ALERT", f"The URL cannot be called: {problem}.", place=url.place)
    elif alert.format is MessageFormat.SLACK:
        message = "The URL of a Slack channel is a password: who has it can write there."
        raise StatementError("INVALID_ALERT", message, place=url.place, hint=f"Keep it in a secret. {_SECRET_HINT}")


def _check_named(reference: Name) -> None:
    if named_secret(reference.text) is None:
        message = "An alert names its secrets only as 'secret:NAME'."
        raise StatementError("INVALID_ALERT", message, place=reference.place, hint=_SECRET_HINT)


# --- options ----------------------------------------------------------------------------------------------------------


def option_fields(given: Sequence[OptionText]) -> Mapping[str, Any]:
    """Return the fields of an alert for its options. An empty value is the default.

    Raises StatementError UNKNOWN_OPTION, DUPLICATE_OPTION, INVALID_OPTION_VALUE.
    """
    fields: dict[str, Any] = {}
    for option in given:
        known = _OPTIONS.get(option.key.lower())
        if known is None:
            message = f"There is no option '{option.key}' of alerts."
            hint = f"The options are {', '.join(ALERT_OPTIONS)}."
            raise StatementError("UNKNOWN_OPTION", message, place=option.key_place, hint=hint)
        field, parse = known
        if field in fields:
            message = f"The option '{option.key}' is given twice."
            raise StatementError("DUPLICATE_OPTION", message, place=option.key_place, hint="Remove one.")
        fields[field] = parse(option)
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


_OPTIONS: Final[Mapping[str, tuple[str, Callable[[OptionText], object]]]] = {
    FORMAT: ("format", _format),
    SECRET: ("secret", _secret),
    EVERY: ("every", _every),
    APPLY_GROUP.lower(): ("group", lambda option: option.value),
}
"""The field and the parser of each option, by its key in lower case."""


def _invalid(option: OptionText, expected: str) -> StatementError:
    message = f"The value of the option '{option.key}' is not valid."
    return StatementError("INVALID_OPTION_VALUE", message, place=option.value_place, hint=f"Write {expected}.")
