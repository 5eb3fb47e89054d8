"""Secrets and connections in the store: what is stored is read again, and an unreadable record is reported."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

from jetsql.errors import EngineError
from jetsql.jobs.access.connection_records import ConnectionRecord, SecretKind, SecretRecord, StoredConnections
from jetsql.jobs.store.job_store import Store
from tests.support.engines.store_places import StorePlace, open_store
from tests.support.golden_reports import raises

SECRET = SecretRecord("Shop", SecretKind.FILE, "/run/secrets/shop", 1.5, 2, ("jdbc:postgresql://db/",), "of the shop")
CONNECTION = ConnectionRecord("Pg", "jdbc", {"url": "jdbc:postgresql://db/x", "password": "secret:SHOP"}, 3, 4)


def test_stored_records_are_read_again(place: StorePlace) -> None:
    store = open_store(place)
    for record in (SECRET, CONNECTION):
        store.save_connection(record)
    assert store.connections() == StoredConnections((SECRET,), (CONNECTION,))
    changed = replace(CONNECTION, options={"url": "jdbc:postgresql://db2/x"}, comment="new")
    store.save_connection(changed)
    assert store.connections() == StoredConnections((SECRET,), (changed,))
    store.remove_connection(SECRET)
    store.remove_connection(changed)
    assert store.connections() == StoredConnections()
    store.close()


def test_connection_is_as_new_as_its_secrets() -> None:
    state = StoredConnections((SECRET,), (CONNECTION,))
    assert state.changed(CONNECTION) == 4
    assert state.with_secret(replace(SECRET, changed=9)).changed(CONNECTION) == 9


def test_unreadable_record_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "jetsql.db"
    store = Store(path)
    store.save_connection(SECRET)
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE secrets SET record = replace(record, 'FILE', 'MAIL')")
    connection.close()
    store = Store(path)
    with raises(EngineError, match="STORE_DAMAGED"):
        store.connections()
    store.close()
