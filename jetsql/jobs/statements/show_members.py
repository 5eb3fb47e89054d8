"""The members of the cluster that jobs run on: SHOW MEMBERS, and the same rows as the relation `jetsql.members`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from jetsql.resultset import Column, Table, Value

if TYPE_CHECKING:
    from jetsql.jobs.manager.job_manager import Manager


MEMBER_COLUMNS: Final = (
    Column("id", comment="Spark's id of the executor, or driver"),
    Column("host"),
    Column("port", "bigint"),
    Column("cores", "bigint", "how many tasks it runs at once; 0 for a driver that runs none"),
    Column("status", comment="ACTIVE, EXCLUDED (gets no tasks for now, too many failed there) or GONE"),
    Column("is_driver", "boolean", "whether it is the process of the engine"),
    Column("since", "timestamp", "when it joined"),
    Column("until", "timestamp", "when it was found to be gone"),
    Column("reason", comment="why it is gone"),
    Column("active_tasks", "bigint", "tasks that it runs at this moment"),
    Column("completed_tasks", "bigint", "tasks that it has done"),
    Column("failed_tasks", "bigint", "tasks that have failed there"),
    Column("memory_bytes", "bigint", "memory for what Spark stores"),
)


def show_members(manager: Manager) -> Table:
    """Oldest first."""
    return Table(MEMBER_COLUMNS, tuple(members_relation(manager)))


def members_relation(manager: Manager) -> Iterator[tuple[Value, ...]]:
    """Those that are gone too, as long as Spark remembers them."""
    for member in manager.engine.members():
        yield (
            member.id,
            member.host,
            member.port,
            member.cores,
            member.status.value,
            member.is_driver,
            member.since,
            member.until,
            member.reason or None,
            member.active_tasks,
            member.completed_tasks,
            member.failed_tasks,
            member.memory_bytes,
        )
