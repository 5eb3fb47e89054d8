"""SHOW ALERTS, SHOW CREATE ALERT, and the relation `jetsql.alerts` with the messages: all without secrets.

The path of a URL is often a password, so only SHOW CREATE ALERT has it, and only for an admin, who could write it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from jetsql.errors import StatementError
from jetsql.jobs.access.access_state import alert_object
from jetsql.jobs.alerts.alert_conditions import condition_text
from jetsql.jobs.alerts.alert_definition import create_text
from jetsql.jobs.alerts.alert_records import AlertMessage, AlertRecord
from jetsql.jobs.alerts.webhook_urls import origin_of
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.statements.alerts.alert_statements import find_alert
from jetsql.jobs.statements.describe import TEXT_COLUMNS
from jetsql.jobs.statements.lookup import shown_owner, visible_alerts, visible_messages
from jetsql.language.objects.alert_statement import ShowAlerts, ShowCreateAlert, span_text
from jetsql.resultset import Cell, Column, Table, Value
from jetsql.secret_references import is_reference

ALERT_COLUMNS: Final = (
    Column("name", comment="its name"),
    Column("job", comment="the name of the job; NULL for all jobs"),
    Column("condition", comment="the condition, as in CREATE ALERT"),
    Column("receiver", comment="the host of the URL, the secret that has the URL, or the command"),
    Column("format", comment="webhook or slack; NULL for a command"),
    Column("secret", comment="the secret with which messages are signed"),
    Column("every", comment="the shortest time between two messages about a job"),
    Column("enabled", "boolean", "whether it sends messages"),
    Column("firing", comment="the jobs that meet the condition"),
    Column("last_message", "timestamp", "when the newest message was made"),
    Column("delivery", comment="PENDING, DELIVERED or FAILED, of the newest message"),
    Column("last_error", comment="why the newest message is not delivered"),
    Column("owner", comment="the user with whose rights it reads jobs and secrets"),
    Column("apply_group", comment="its group of jetsql apply; NULL without one"),
    Column("comment", comment="its COMMENT"),
)
MESSAGE_COLUMNS: Final = (
    Column("time", "timestamp", "when the condition was met, or ended"),
    Column("id", comment="the id of the message, which the receiver gets with each attempt"),
    Column("alert", comment="the name of the alert"),
    Column("job", comment="the name of the job"),
    Column("job_id", comment="the id of the job"),
    Column("state", comment="FIRING, or RESOLVED when the condition has ended"),
    Column("status", comment="the status of the job then"),
    Column("condition", comment="the condition, as in CREATE ALERT"),
    Column("message", comment="what the job does, as the receiver gets it"),
    Column("suppressed", "bigint", "how often the condition was met since the message before, without a message"),
    Column("delivery", comment="PENDING, DELIVERED, or FAILED if it is not sent again"),
    Column("attempts", "bigint", "how often it was sent"),
    Column("delivered", "timestamp", "when the receiver accepted it"),
    Column("error", comment="why the last attempt failed"),
)


def show_alerts(manager: Manager, statement: ShowAlerts) -> Table:
    """Return the alerts of the caller, or all for an admin, by name."""
    return Table(ALERT_COLUMNS, tuple(alert_rows(manager)))


def alert_rows(manager: Manager) -> Iterator[tuple[Value, ...]]:
    """Return the rows of SHOW ALERTS."""
    newest = {message.alert_id: message for message in manager.store.newest_alert_messages()}
    return (_alert_row(manager, alert, newest.get(alert.id)) for alert in visible_alerts(manager))


def _alert_row(manager: Manager, alert: AlertRecord, newest: AlertMessage | None) -> tuple[Value, ...]:
    firing = sorted(job for job, state in manager.alerts.states(alert).items() if state.firing)
    return (
        alert.name,
        alert.job,
        condition_text(alert.condition),
        _receiver(alert),
        None if alert.is_command else alert.format.value,
        alert.secret or None,
        span_text(alert.every),
        alert.enabled,
        ", ".join(firing) or None,
        None if newest is None else newest.time,
        None if newest is None else newest.delivery.value,
        None if newest is None else newest.error or None,
        shown_owner(manager, manager.access.state.owner_of(alert_object(alert.name))),
        alert.group or None,
        alert.comment,
    )


def _receiver(alert: AlertRecord) -> str:
    if alert.is_command:
        return f"command {alert.target}"
    return alert.target if is_reference(alert.target) else origin_of(alert.target)


def show_create_alert(manager: Manager, statement: ShowCreateAlert) -> Table:
    """Return the statement that creates an alert again. Raises StatementError OBJECT_NOT_FOUND, NOT_ALLOWED."""
    alert = find_alert(manager, statement.name)
    has_url = not alert.is_command and not is_reference(alert.target)
    if has_url and not manager.access.is_admin:  # its owner was an admin when the alert was created
        message = f"The user {manager.access.user} lacks the right ADMIN, which the URL of the alert needs."
        hint = "SHOW ALERTS has its host. ALTER ALERT can name a secret with the URL instead."
        raise StatementError("NOT_ALLOWED", message, place=statement.name.place, hint=hint)
    return Table(TEXT_COLUMNS, ((create_text(alert),),))


def messages_relation(manager: Manager) -> Iterator[tuple[Cell, ...]]:
    """Return the rows of `visible_messages`."""
    return map(_message_row, visible_messages(manager))


def _message_row(message: AlertMessage) -> tuple[Cell, ...]:
    return (
        message.time,
        message.id,
        message.alert,
        message.job,
        message.job_id,
        message.kind.value,
        message.status,
        message.condition,
        message.text,
        message.suppressed,
        message.delivery.value,
        message.attempts,
        message.delivered,
        message.error or None,
    )
