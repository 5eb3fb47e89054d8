"""The names that there are, as far as the shell has heard: what completion offers from.

A frozen picture: who has newer names makes a new one, so that a keystroke never sees half of a change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jetsql.jobs.model.job import Status

TEMPORARY = ""
"""The key of `Names.tables` for the session's temporary views, which are in no schema."""


@dataclass(frozen=True)
class Known:
    """A name and what is to be said of it in one line: a column's type, a setting's meaning."""

    name: str
    about: str = ""


@dataclass(frozen=True)
class TableName:
    name: str
    view: bool = False


@dataclass(frozen=True)
class JobName:
    id: str
    name: str
    status: Status


@dataclass(frozen=True)
class SnapshotName:
    """job: the name of its job when it was taken."""

    name: str
    job: str


@dataclass(frozen=True)
class TableKey:
    """Which table is meant, in lower case as Spark compares. schema: `TEMPORARY` for a temporary view."""

    schema: str
    table: str


@dataclass(frozen=True)
class Names:
    """schema: the session's current one. tables: by schema in lower case, only of schemas that were asked for. columns:
    only of tables that were asked for; none for a table that there isn't. jobs: newest first, ended ones too.
    """

    schema: str = "default"
    schemas: tuple[str, ...] = ()
    tables: Mapping[str, tuple[TableName, ...]] = field(default_factory=dict)
    columns: Mapping[TableKey, tuple[Known, ...]] = field(default_factory=dict)
    functions: tuple[Known, ...] = ()
    confs: tuple[Known, ...] = ()
    jobs: tuple[JobName, ...] = ()
    snapshots: tuple[SnapshotName, ...] = ()
    favourites: tuple[Known, ...] = ()

    def tables_of(self, schema: str) -> tuple[TableName, ...]:
        return self.tables.get(schema.lower(), ())

    def key_of(self, parts: tuple[str, ...]) -> TableKey | None:
        """The table that these parts of a name mean, with a catalog before them or not; None for too many or none."""
        match [part.lower() for part in parts]:
            case [table]:
                temporary = any(each.name.lower() == table for each in self.tables_of(TEMPORARY))
                return TableKey(TEMPORARY if temporary else self.schema.lower(), table)
            case [schema, table] | [_, schema, table]:
                return TableKey(schema, table)
        return None

    def columns_of(self, parts: tuple[str, ...]) -> tuple[Known, ...]:
        key = self.key_of(parts)
        return self.columns.get(key, ()) if key else ()
