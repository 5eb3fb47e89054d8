"""The relation `jetsql.audit`: the newest events of the audit log, of all users for an admin, and one's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from jetsql.jobs.audit.audit_event import EVENTS
from jetsql.jobs.model.job import name_key
from jetsql.resultset import Cell, Column

if TYPE_CHECKING:
    from jetsql.jobs.manager.job_manager import Manager

AUDIT_COLUMNS: Final = (
    Column("time", "timestamp", "when it was recorded; a statement is recorded at its end"),
    Column("id", comment="the id of the event"),
    Column("event", comment=", ".join(EVENTS)),
    Column("user", comment="the user; for a failed login, the name that the client has given"),
    Column("token", comment="the id of the token; engine.token for that of the home"),
    Column(
        "endpoint",
        comment="the way to the engine: http, console, connect, thrift, spark.sql, kubernetes, embedded or notebook",
    ),
    Column("address", comment="the IP address of the client"),
    Column("client", comment="the program, as it names itself"),
    Column("session", comment="a name of the session, by which it cannot be used"),
    Column("statement", comment="the id of the statement"),
    Column("kind", comment="the kind of the statement, such as SELECT or CREATE JOB"),
    Column("objects", comment="the rights on objects that it has used, such as SELECT spark_catalog.shop.orders"),
    Column("denied", comment="the rights on objects that the user lacks, of names that may not exist"),
    Column("outcome", comment="ok, denied, cancelled, or failed: and the condition of the error"),
    Column("ms", "bigint", "how long the statement took, in milliseconds"),
    Column("rows", "bigint", "the rows that were sent to the client; NULL if they were not counted"),
    Column("job", comment="the id of the job"),
    Column("detail", comment="what has changed, as a sentence"),
    Column("text", comment="the text of the statement, with the setting audit_text"),
)
_LISTS: Final = {"objects": True, "denied": False}


def audit_relation(manager: Manager) -> Iterator[tuple[Cell, ...]]:
    """Yield the rows that the caller may see, the oldest first. Raises OSError."""
    access = manager.access
    for event in manager.audit.newest():
        if access.is_admin or name_key(str(event.get("user", ""))) == access.user:
            yield _row(event)


def _row(event: Mapping[str, Any]) -> tuple[Cell, ...]:
    values = {**event, "time": _seconds(event.get("time"))}
    for name, is_allowed in _LISTS.items():
        values[name] = ", ".join(
            f"{each.get('right')} {each.get('name')}"
            for each in event.get("objects", ())
            if each.get("ok") is is_allowed
        )
    return tuple(values.get(column.name) or (0 if values.get(column.name) == 0 else None) for column in AUDIT_COLUMNS)


def _seconds(text: object) -> float | None:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None
