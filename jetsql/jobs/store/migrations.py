"""How a store of an older version becomes one of this version: a list of steps, each from one version to the next.

The steps are Alembic's operations, run through its MigrationContext. Its script folder, alembic.ini and version table
are not used: those are for databases that developers migrate by a command, out of order and back again, while this file
is migrated by the program that opens it, forward only; the store says its version itself, and the steps ship with the
package. All steps are one transaction together with the new version number, so a store is wholly of one version at
every moment, whenever the process dies. Before it, the file is copied beside itself, for who wants to go back to an
older JetSQL.

Steps stand for themselves: they name columns as they were then, not as the store's tables are now.
Imported only when a migration is due.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import sqlalchemy as sa
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext

from jetsql.failpoints import failpoint
from jetsql.jobs.store.record_versions import RENAMED_EVENTS, upgrade_text
from jetsql.jobs.store.store_file import StoreFile

MigrationStep = Callable[[Operations], object]


def migrate(engine: sa.Engine, file: StoreFile, found: int) -> None:
    """Bring the store of version `found` to the newest, with a copy of it as it was in `<file>.version-<found>`."""
    _copy(file, found)
    failpoint("store-copied")
    version = sa.text("UPDATE meta SET value = :version WHERE key = 'version'")
    with engine.begin() as connection:
        operations = Operations(MigrationContext.configure(connection))
        for step in STEPS[found - 1 :]:
            step(operations)
        connection.execute(version, {"version": str(len(STEPS) + 1)})
        failpoint("store-migrated")


def _copy(file: StoreFile, found: int) -> None:
    """A copy is there whole or not at all: it gets its name when it is written."""
    place = Path(f"{file.path}.version-{found}")
    part = StoreFile(Path(f"{place}.part"))
    part.path.unlink(missing_ok=True)
    part.make_private()
    with closing(sqlite3.connect(file.path)) as source, closing(sqlite3.connect(part.path)) as target:
        source.backup(target)
    os.replace(part.path, place)


def _snapshots(operations: Operations) -> None:
    """Version 2: named snapshots."""
    operations.create_table(
        "snapshots",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name_key", sa.Text, nullable=False, unique=True),
        sa.Column("job", sa.Text, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
    )


def _operators(operations: Operations) -> None:
    """Version 3: the stateful operators of a query as data."""
    _upgrade_records(operations, 2)


def _new_names(operations: Operations) -> None:
    """Version 4: fields and events by their names of today."""
    _upgrade_records(operations, 3)
    rename = sa.text("UPDATE history SET title = :new WHERE title = :old")
    for old, new in RENAMED_EVENTS.items():
        operations.get_bind().execute(rename, {"old": old, "new": new})


def _upgrade_records(operations: Operations, version: int) -> None:
    """Upgrade the records of a version by one step. A malformed one stays: the store reports it when it is read."""
    connection = operations.get_bind()
    for table in ("jobs", "snapshots"):
        update = sa.text(f"UPDATE {table} SET record = :record WHERE id = :id")
        for record_id, text in connection.execute(sa.text(f"SELECT id, record FROM {table}")).all():
            connection.execute(update, {"id": record_id, "record": upgrade_text(text, version, version + 1)})


# STEPS[0] makes version 2 of version 1, and so on.
STEPS: Final[Sequence[MigrationStep]] = (_snapshots, _operators, _new_names)
