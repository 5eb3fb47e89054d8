"""Migrations of a store from an older version: a list of steps, each from one version to the next.

JetSQL migrates the store when it opens it, forward only; the store has its version, and the steps ship with the
package. All steps and the new version number are one transaction, so the store always has one consistent version, even
after a crash. Before the transaction a file is copied, for users who return to an older JetSQL.

The steps run on SQLite and PostgreSQL, both of which have transactions with changes of tables. The first store on
PostgreSQL had version 5.

Steps use the column names of their time, not those of the store's current tables.
This module is imported only when a migration is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import sqlalchemy as sa

from jetsql.failpoints import failpoint
from jetsql.jobs.store.database import StoreDatabase
from jetsql.jobs.store.record_versions import RENAMED_EVENTS, upgrade_text
from jetsql.jobs.store.tables import INTEGER, TEXT

MigrationStep = Callable[[sa.Connection], object]


def migrate(engine: sa.Engine, database: StoreDatabase, from_version: int) -> None:
    """Migrate the store to the newest version. A copy of an old file is kept as `<file>.version-<from_version>`."""
    database.back_up(from_version)
    failpoint("store-copied")
    version = sa.text("UPDATE meta SET value = :version WHERE key = 'version'")
    with engine.begin() as connection:
        for step in STEPS[from_version - 1 :]:
            step(connection)
        connection.execute(version, {"version": str(len(STEPS) + 1)})
        failpoint("store-migrated")


def _snapshots(connection: sa.Connection) -> None:
    """Version 2: named snapshots."""
    _create_table(
        connection,
        "snapshots",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name_key", sa.Text, nullable=False, unique=True),
        sa.Column("job", sa.Text, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
    )


def _operators(connection: sa.Connection) -> None:
    """Version 3: the stateful operators of a query as data."""
    _upgrade_records(connection, 2)


def _new_names(connection: sa.Connection) -> None:
    """Version 4: new names of fields and events."""
    _upgrade_records(connection, 3)
    rename = sa.text("UPDATE history SET title = :new WHERE title = :old")
    for old, new in RENAMED_EVENTS.items():
        connection.execute(rename, {"old": old, "new": new})


def _functions(connection: sa.Connection) -> None:
    """Version 5: functions in Python."""
    _create_table(
        connection,
        "functions",
        sa.Column("schema_key", sa.Text, primary_key=True),
        sa.Column("name_key", sa.Text, primary_key=True),
        sa.Column("record", sa.Text, nullable=False),
    )


def _callers(connection: sa.Connection) -> None:
    """Version 6: the author of each event in the history."""
    kind = TEXT.compile(connection.dialect)
    for column in ("caller", "endpoint", "address"):
        connection.execute(sa.text(f"ALTER TABLE history ADD COLUMN {column} {kind}"))


def _options(connection: sa.Connection) -> None:
    """Version 7: the options of a job as one record of its plan."""
    _upgrade_records(connection, 6)


def _sinks(connection: sa.Connection) -> None:
    """Version 8: all sinks of a job as one list."""
    _upgrade_records(connection, 7)


def _users(connection: sa.Connection) -> None:
    """Version 9: users, roles, tokens and rights."""
    for table in ("users", "roles"):
        _create_table(connection, table, _key("name_key"), _text("record"))
    _create_table(connection, "members", _key("role"), _key("member"))
    _create_table(connection, "tokens", _key("id"), _text("record"))
    keys = (_key(name) for name in ("grantee", "access", "kind", "object"))
    _create_table(connection, "grants", *keys, _text("record"))
    _create_table(connection, "owners", _key("kind"), _key("object"), _text("owner"))


def _connections(connection: sa.Connection) -> None:
    """Version 10: secrets and connections."""
    for table in ("secrets", "connections"):
        _create_table(connection, table, _key("name_key"), _text("record"))


def _alerts(connection: sa.Connection) -> None:
    """Version 11: alerts, their states and their messages."""
    _create_table(connection, "alerts", _key("name_key"), _text("record"))
    _create_table(connection, "alert_states", _key("alert"), _key("job"), _text("record"))
    _create_table(
        connection,
        "alert_messages",
        sa.Column("number", INTEGER, primary_key=True),
        sa.Column("id", TEXT, nullable=False, unique=True),
        sa.Column("alert", TEXT, nullable=False, index=True),
        sa.Column("pending", sa.Boolean, nullable=False),
        _text("record"),
    )


def _key(name: str) -> sa.Column[str]:
    return sa.Column(name, TEXT, primary_key=True)


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, TEXT, nullable=False)


def _create_table(connection: sa.Connection, name: str, *columns: sa.Column[Any]) -> None:
    sa.Table(name, sa.MetaData(), *columns).create(connection)


def _upgrade_records(connection: sa.Connection, version: int) -> None:
    """Upgrade the records by one version. A malformed record stays; the store reports it when it is read."""
    for table in ("jobs", "snapshots"):
        update = sa.text(f"UPDATE {table} SET record = :record WHERE id = :id")
        for record_id, text in connection.execute(sa.text(f"SELECT id, record FROM {table}")).all():
            connection.execute(update, {"id": record_id, "record": upgrade_text(text, version, version + 1)})


# STEPS[0] makes version 2 of version 1, and so on.
STEPS: Final[Sequence[MigrationStep]] = (
    _snapshots,
    _operators,
    _new_names,
    _functions,
    _callers,
    _options,
    _sinks,
    _users,
    _connections,
    _alerts,
)
