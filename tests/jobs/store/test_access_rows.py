"""Users and rights in the store: what is stored is read again, and each change is one transaction."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

from jetsql.errors import EngineError
from jetsql.jobs.access.access_records import (
    Grant,
    Ownership,
    Right,
    RoleMember,
    Securable,
    SecurableKind,
    User,
    UserRole,
    UserToken,
)
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.store.job_store import Store
from tests.support.engines.store_places import StorePlace, open_store
from tests.support.golden_reports import raises

TABLE = Securable(SecurableKind.TABLE, ("spark_catalog", "s", "odd.name `x`"))
STATE = AccessState(
    users=(User("Ann", 1.5), User("bob", 2, disabled=True)),
    roles=(UserRole("analysts", 3),),
    members=(RoleMember("analysts", "ann"),),
    tokens=(UserToken("a1b2c3d4", "ann", "digest", 4, 5, "laptop", 6),),
    grants=(
        Grant("ann", Right.SELECT, TABLE, True, "owner", 7),
        Grant("analysts", Right.USAGE, Securable(SecurableKind.LOCATION, ("s3a://b/in",))),
        Grant("ann", Right.MONITOR, Securable(SecurableKind.ENGINE)),
    ),
    owners=(Ownership(TABLE, "ann"),),
)


def same(first: AccessState, second: AccessState) -> bool:
    return all(
        set(getattr(first, name)) == set(getattr(second, name))
        for name in ("users", "roles", "members", "tokens", "grants", "owners")
    )


def test_stored_state_is_read_again(place: StorePlace) -> None:
    store = open_store(place)
    store.save_access(AccessState(), STATE)
    assert same(store.access(), STATE)
    changed = replace(STATE, grants=STATE.grants[1:], users=(User("Ann", 1.5, disabled=True),), tokens=())
    store.save_access(STATE, changed)
    assert same(store.access(), changed)
    store.save_access(changed, AccessState())
    assert same(store.access(), AccessState())
    store.close()


def test_unreadable_right_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "jetsql.db"
    store = Store(path)
    store.save_access(AccessState(), STATE)
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE grants SET record = replace(record, 'SELECT', 'FLY')")
    connection.close()
    store = Store(path)
    with raises(EngineError, match="STORE_DAMAGED"):
        store.access()
    store.close()
