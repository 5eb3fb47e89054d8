"""The rows of alerts, their states and their messages, and the statements that change them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import sqlalchemy as sa

from jetsql.jobs.alerts.alert_records import (
    QUIET,
    AlertChange,
    AlertMessage,
    AlertRecord,
    AlertState,
    DeliveryState,
    StoredAlerts,
)
from jetsql.jobs.model.serialization import decode, encode
from jetsql.jobs.store.tables import ALERT_MESSAGES, ALERT_STATES, ALERTS

STORED: Final = (
    sa.select(ALERTS).order_by(ALERTS.c.name_key),
    sa.select(ALERT_STATES),
    sa.select(ALERT_MESSAGES).where(ALERT_MESSAGES.c.pending).order_by(ALERT_MESSAGES.c.number),
)
"""The queries of the alerts, their states, and their pending messages."""
MESSAGES: Final = sa.select(ALERT_MESSAGES).order_by(ALERT_MESSAGES.c.number)
NEWEST_MESSAGES: Final = sa.select(ALERT_MESSAGES).where(
    ALERT_MESSAGES.c.number.in_(sa.select(sa.func.max(ALERT_MESSAGES.c.number)).group_by(ALERT_MESSAGES.c.alert))
)
MESSAGES_MOST: Final = 10_000
"""The limit of messages that are kept, besides those that are not delivered yet."""

_Rows = Sequence[sa.Row[Any]]


def decode_alerts(alerts: _Rows, states: _Rows, pending: _Rows) -> StoredAlerts:
    """Return what is in the rows of the queries. Raises MalformedRecord."""
    return StoredAlerts(
        tuple(decode(AlertRecord, row.record) for row in alerts),
        {(row.alert, row.job): decode(AlertState, row.record) for row in states},
        tuple(decode(AlertMessage, row.record) for row in pending),
    )


def save(alert: AlertRecord, *, keeps_states: bool) -> list[sa.Executable]:
    """Return the statements that store an alert, see `Store.save_alert`."""
    states = [] if keeps_states else [ALERT_STATES.delete().where(ALERT_STATES.c.alert == alert.id)]
    row = {"name_key": alert.key, "record": encode(alert)}
    return [*states, ALERTS.delete().where(ALERTS.c.name_key == alert.key), ALERTS.insert().values(row)]


def remove(alert: AlertRecord) -> list[sa.Executable]:
    """Return the statements that delete an alert, see `Store.remove_alert`."""
    pending = sa.and_(ALERT_MESSAGES.c.alert == alert.id, ALERT_MESSAGES.c.pending)
    return [
        ALERTS.delete().where(ALERTS.c.name_key == alert.key),
        ALERT_STATES.delete().where(ALERT_STATES.c.alert == alert.id),
        ALERT_MESSAGES.delete().where(pending),
    ]


def changes(changed: Iterable[AlertChange]) -> list[sa.Executable]:
    """Return the statements that store new states with their messages."""
    return [statement for change in changed for statement in _change(change)]


def _change(change: AlertChange) -> Iterator[sa.Executable]:
    key = {"alert": change.alert.id, "job": change.job}
    yield ALERT_STATES.delete().where(ALERT_STATES.c.alert == key["alert"], ALERT_STATES.c.job == key["job"])
    if change.state != QUIET:
        yield ALERT_STATES.insert().values(**key, record=encode(change.state))
    if change.message is not None:
        message = change.message
        yield ALERT_MESSAGES.insert().values(id=message.id, alert=message.alert_id, **_columns(message))
        newest = sa.select(sa.func.max(ALERT_MESSAGES.c.number)).scalar_subquery()
        old = ALERT_MESSAGES.c.number <= newest - MESSAGES_MOST
        yield ALERT_MESSAGES.delete().where(old, sa.not_(ALERT_MESSAGES.c.pending))


def update_message(message: AlertMessage) -> sa.Executable:
    """Return the statement that stores the result of an attempt; a message that was deleted stays deleted."""
    return ALERT_MESSAGES.update().where(ALERT_MESSAGES.c.id == message.id).values(**_columns(message))


def _columns(message: AlertMessage) -> dict[str, object]:
    return {"pending": message.delivery is DeliveryState.PENDING, "record": encode(message)}
