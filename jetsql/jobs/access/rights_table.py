"""The table of rights: what each one is about, on what it can be granted, and what it lets its holder do.

The checks, the statements and the reference of rights use this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from jetsql.jobs.access.access_records import Right, SecurableKind
from jetsql.jobs.model.spark_settings import PARENT_SETTING

CONTAINERS: Final[Mapping[SecurableKind, tuple[SecurableKind, ...]]] = {
    SecurableKind.TABLE: (SecurableKind.SCHEMA, SecurableKind.CATALOG, SecurableKind.ENGINE),
    SecurableKind.FUNCTION: (SecurableKind.SCHEMA, SecurableKind.CATALOG, SecurableKind.ENGINE),
    SecurableKind.SCHEMA: (SecurableKind.SCHEMA, SecurableKind.CATALOG, SecurableKind.ENGINE),
    SecurableKind.CATALOG: (SecurableKind.ENGINE,),
    SecurableKind.JOB: (SecurableKind.SCHEMA, SecurableKind.CATALOG, SecurableKind.ENGINE),
    SecurableKind.SECRET: (),
    SecurableKind.CONNECTION: (),
    SecurableKind.LOCATION: (),
    SecurableKind.ALERT: (),
    SecurableKind.ENGINE: (),
}
"""The kinds of objects that contain those of a kind. A job is in the schemas of the tables that it writes."""


USER_SETTINGS: Final = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled", "spark.sql.shuffle.partitions")
"""The settings of Spark that every user may set, for a session and for a job."""
SESSION_SETTINGS: Final = (*USER_SETTINGS, PARENT_SETTING)
"""The settings that every user may set for a session."""


@dataclass(frozen=True)
class RightSpec:
    """A right that can be granted."""

    right: Right
    objects: tuple[SecurableKind, ...]  # the kinds of objects that it is about
    lets: str  # what its holder can do, for the reference

    @property
    def grantable_on(self) -> tuple[SecurableKind, ...]:
        """Return the kinds of objects on which it is granted: a right on a schema holds for all in it."""
        kinds = list(self.objects)
        if self.right is not Right.USAGE:
            kinds += [container for kind in self.objects for container in CONTAINERS[kind]]
        return tuple(dict.fromkeys(kinds))


_SPECS: Final = (
    RightSpec(
        Right.SELECT,
        (SecurableKind.TABLE,),
        "read it, in queries and as the source of a job; `DESCRIBE`, `SHOW COLUMNS`, `SHOW CREATE TABLE`",
    ),
    RightSpec(Right.INSERT, (SecurableKind.TABLE,), "`INSERT INTO` it, also as the sink of a job"),
    RightSpec(
        Right.MODIFY,
        (SecurableKind.TABLE,),
        "`INSERT OVERWRITE`, `UPDATE`, `DELETE`, `MERGE` and `TRUNCATE` it, also as the sink of a job; maintain it, as"
        " a table of Delta or Iceberg",
    ),
    RightSpec(
        Right.CREATE,
        (SecurableKind.SCHEMA,),
        "create tables, views and functions in SQL in it, also tables of a job, which it then owns",
    ),
    RightSpec(
        Right.OPERATE,
        (SecurableKind.JOB,),
        "`SUSPEND`, `RESUME`, `RESTART` and `WAIT FOR` it, take snapshots of it, `DESCRIBE` it, and see its statement "
        "and its history. The job runs with the rights of its owner, whoever operates it",
    ),
    RightSpec(
        Right.USAGE,
        (SecurableKind.FUNCTION, SecurableKind.SECRET, SecurableKind.CONNECTION, SecurableKind.LOCATION),
        "call the function; name the secret or the connection in a table, and own tables that do; name the secret in "
        "an alert; read and write files below the location",
    ),
    RightSpec(
        Right.MONITOR,
        (SecurableKind.ENGINE,),
        "see all jobs with their states, times, metrics and the conditions of their errors, and `/metrics`",
    ),
    RightSpec(
        Right.FUNCTION,
        (SecurableKind.ENGINE,),
        "create functions in Python and of jars. Their code runs as the Unix user of the engine, so it is bound by no "
        "right",
    ),
    RightSpec(Right.ADMIN, (SecurableKind.ENGINE,), "do everything: it stands for all rights on all objects"),
)
RIGHTS: Final[Mapping[Right, RightSpec]] = {spec.right: spec for spec in _SPECS}
"""The rights that can be granted. An owner has all of them on the object, can drop and alter it, and grant them."""
