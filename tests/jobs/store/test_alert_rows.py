"""Alerts in the store: what is stored is read again, and a firing is one transaction with its message."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

from jetsql.errors import EngineError
from jetsql.jobs.alerts.alert_records import (
    AlertChange,
    AlertMessage,
    AlertRecord,
    AlertState,
    DeliveryState,
    MessageFormat,
    MessageKind,
    StoredAlerts,
)
from jetsql.jobs.store import alert_rows
from jetsql.jobs.store.job_store import Store
from jetsql.language.objects.alert_statement import AlertCondition, AlertTrigger
from tests.support.engines.store_places import StorePlace, open_store
from tests.support.golden_reports import raises

CONDITION = AlertCondition(AlertTrigger.STATUS, ("FAILED",))
ALERT = AlertRecord("1", "Stopped", None, CONDITION, "secret:hook", 1.5, 2, format=MessageFormat.SLACK, comment="c")
STATE = AlertState(firing=True, since=3, reported=True, message_time=3.5, suppressed=2)
MESSAGE = AlertMessage("m", "1", "Stopped", "J", "id", MessageKind.FIRING, 3.5, "FAILED", "STATUS FAILED", "It failed.")


def test_stored_alerts_are_read_again(place: StorePlace) -> None:
    store = open_store(place)
    store.save_alert(ALERT, keeps_states=False)
    store.save_alert_changes([AlertChange(ALERT, "j", STATE, MESSAGE)])
    assert store.alerts() == StoredAlerts((ALERT,), {("1", "j"): STATE}, (MESSAGE,))
    delivered = replace(MESSAGE, delivery=DeliveryState.DELIVERED, attempts=1, delivered=4.0)
    store.save_alert_message(delivered)
    assert store.alerts().pending == () and store.alert_messages() == (delivered,)
    store.save_alert(replace(ALERT, every=1), keeps_states=True)
    assert store.alerts() == StoredAlerts((replace(ALERT, every=1),), {("1", "j"): STATE})
    store.save_alert(ALERT, keeps_states=False)
    assert store.alerts().states == {}
    store.remove_alert(ALERT)
    assert store.alerts() == StoredAlerts() and store.alert_messages() == (delivered,)
    store.close()


def test_newest_message_of_each_alert_is_read(place: StorePlace) -> None:
    store = open_store(place)
    other = replace(ALERT, id="2", name="other")
    messages = [replace(MESSAGE, id=str(number), alert_id="12"[number % 2]) for number in range(5)]
    for alert in (ALERT, other):
        store.save_alert(alert, keeps_states=False)
    store.save_alert_changes([AlertChange(ALERT, "j", STATE, message) for message in messages])
    assert {message.alert_id: message.id for message in store.newest_alert_messages()} == {"1": "4", "2": "3"}
    store.close()


def test_removed_alert_has_no_pending_messages(place: StorePlace) -> None:
    store = open_store(place)
    store.save_alert(ALERT, keeps_states=False)
    store.save_alert_changes([AlertChange(ALERT, "j", STATE, MESSAGE)])
    store.remove_alert(ALERT)
    assert store.alert_messages() == ()
    store.save_alert_message(replace(MESSAGE, delivery=DeliveryState.DELIVERED))
    assert store.alert_messages() == ()
    store.close()


def test_old_messages_are_deleted_when_they_are_delivered(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(alert_rows, "MESSAGES_MOST", 3)
    store = Store(tmp_path / "jetsql.db")
    for number in range(6):
        delivery = DeliveryState.PENDING if number == 0 else DeliveryState.DELIVERED
        message = replace(MESSAGE, id=f"m{number}", delivery=delivery)
        store.save_alert_changes([AlertChange(ALERT, "j", STATE, message)])
    assert [message.id for message in store.alert_messages()] == ["m0", "m3", "m4", "m5"]
    store.close()


def test_unreadable_alert_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "jetsql.db"
    store = Store(path)
    store.save_alert(ALERT, keeps_states=False)
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alerts SET record = replace(record, 'STATUS', 'MOOD')")
    connection.close()
    store = Store(path)
    with raises(EngineError, match="STORE_DAMAGED"):
        store.alerts()
    store.close()
