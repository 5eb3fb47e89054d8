"""The names that completion offers, as far as they are loaded.

The objects are frozen: new names make a new object, so a keystroke never sees a partial change.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from jetsql.jobs.model.job import Status

TEMPORARY = ""
"""The key of `Names.tables` for the session's temporary views, which are in no schema."""


@dataclass(frozen=True)
class KnownName:
    """A name and a line that describes it: a column's type, a setting's meaning."""

    name: str
    description: str = ""


@dataclass(frozen=True)
class TableName:
    name: str
    is_view: bool = False


@dataclass(frozen=True)
class JobName:
    id: str  # empty for a job that no engine has
    name: str
    status: Status | None  # None for a job that is only in a file, which fits every statement

    @property
    def is_live(self) -> bool:
        """Return whether the job has not ended, as far as known."""
        return self.status is None or not self.status.is_final

    def fits(self, statuses: Container[Status]) -> bool:
        """Return whether a statement for jobs with these statuses applies to the job."""
        return self.status is None or self.status in statuses


@dataclass(frozen=True)
class SnapshotName:
    """A snapshot and the name that its job had when it was taken."""

    name: str
    job: str


@dataclass(frozen=True)
class TableKey:
    """The key of a table, in lower case as Spark compares. schema: `TEMPORARY` for a temporary view."""

    schema: str
    table: str


@dataclass(frozen=True)
class Names:
    """The names known to completion."""

    schema: str = "default"  # the session's current one
    schemas: tuple[str, ...] = ()
    # by schema in lower case, as far as loaded
    tables: Mapping[str, tuple[TableName, ...]] = field(default_factory=dict)
    # by table, as far as loaded; empty for a table that does not exist
    columns: Mapping[TableKey, tuple[KnownName, ...]] = field(default_factory=dict)
    functions: tuple[KnownName, ...] = ()
    confs: tuple[KnownName, ...] = ()
    jobs: tuple[JobName, ...] = ()  # newest first, including ended jobs
    snapshots: tuple[SnapshotName, ...] = ()
    alerts: tuple[KnownName, ...] = ()

    def tables_in(self, schema: str) -> tuple[TableName, ...]:
        return self.tables.get(schema.lower(), ())

    def table_key(self, parts: tuple[str, ...]) -> TableKey | None:
        """Return the key of a table by the parts of its name, with or without catalog, or None for more parts."""
        match [part.lower() for part in parts]:
            case [table]:
                temporary = any(each.name.lower() == table for each in self.tables_in(TEMPORARY))
                return TableKey(TEMPORARY if temporary else self.schema.lower(), table)
            case [schema, table] | [_, schema, table]:
                return TableKey(schema, table)
        return None

    def columns_of(self, parts: tuple[str, ...]) -> tuple[KnownName, ...]:
        key = self.table_key(parts)
        return self.columns.get(key, ()) if key else ()
