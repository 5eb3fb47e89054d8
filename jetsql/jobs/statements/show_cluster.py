"""SHOW MEMBERS and SHOW ENGINES, and the relations `jetsql.members` and `jetsql.engines` with the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from jetsql.jobs.model.cluster_member import Role
from jetsql.language.statement import ShowEngines, ShowMembers
from jetsql.resultset import Column, Table, Value

if TYPE_CHECKING:
    from jetsql.jobs.manager.job_manager import Manager


MEMBER_COLUMNS: Final = (
    Column("id", comment="Spark's id of the executor, or driver"),
    Column("host", comment="the address of its process"),
    Column("port", "bigint", "the port of its process"),
    Column("cores", "bigint", "the number of tasks that it runs in parallel; 0 for a driver that runs none"),
    Column(
        "status",
        comment="STARTING (a pod that has not joined yet, or cannot be created), ACTIVE, EXCLUDED (no tasks for now,"
        " because too many failed there), LEAVING (as planned) or GONE",
    ),
    Column("is_driver", "boolean", "whether it is the engine's driver"),
    Column("since", "timestamp", "when it joined"),
    Column("until", "timestamp", "when it was lost or had left"),
    Column("reason", comment="why it does not start, leaves or is gone"),
    Column("active_tasks", "bigint", "running tasks"),
    Column("completed_tasks", "bigint", "tasks that have succeeded"),
    Column("failed_tasks", "bigint", "tasks that have failed"),
    Column("memory_bytes", "bigint", "Spark's storage memory"),
    Column("pod", comment="its pod on Kubernetes"),
    Column("node", comment="the node of its pod"),
)

ENGINE_COLUMNS: Final = (
    Column("id", comment="the name of its machine and a random part, new for each process"),
    Column("address", comment="the URL of its HTTP endpoint"),
    Column("role", comment="leader, or standby"),
    Column("since", "timestamp", "when it got its role"),
    Column("version", comment="its version of JetSQL"),
    Column("jobs", "bigint", "the number of its live jobs"),
)


def show_members(manager: Manager, statement: ShowMembers) -> Table:
    """Return the members, oldest first."""
    return Table(MEMBER_COLUMNS, tuple(members_relation(manager)))


def members_relation(manager: Manager) -> Iterator[tuple[Value, ...]]:
    """Return the rows of the members, including those that are gone and that Spark remembers."""
    for member in manager.runtime.members():
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
            member.pod or None,
            member.node or None,
        )


def show_engines(manager: Manager, statement: ShowEngines) -> Table:
    """Return the engines of the store, the leader first."""
    return Table(ENGINE_COLUMNS, tuple(engines_relation(manager)))


def engines_relation(manager: Manager) -> Iterator[tuple[Value, ...]]:
    """Return the rows of the engines. Raises the errors of the store."""
    jobs = len(manager.registry.live())
    for engine in manager.store.engines():
        leads = engine.role is Role.LEADER
        yield (engine.id, engine.address or None, engine.role.value, engine.since, engine.version, jobs if leads else 0)
