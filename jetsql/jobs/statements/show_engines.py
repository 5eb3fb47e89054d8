"""SHOW ENGINES and the relation `jetsql.engines`, which have the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from jetsql.jobs.model.engine_record import Role
from jetsql.language.statement import ShowEngines
from jetsql.resultset import Column, Table, Value

if TYPE_CHECKING:
    from jetsql.jobs.manager.job_manager import Manager


ENGINE_COLUMNS: Final = (
    Column("id", comment="the name of its machine and a random part, new for each process"),
    Column("address", comment="the URL of its HTTP endpoint"),
    Column("role", comment="leader, or standby"),
    Column("since", "timestamp", "when it got its role"),
    Column("version", comment="its version of JetSQL"),
    Column("jobs", "bigint", "the number of its live jobs"),
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
