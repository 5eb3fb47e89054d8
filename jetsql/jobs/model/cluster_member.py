"""A member of the cluster that jobs run on, as plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class MemberStatus(Enum):
    """EXCLUDED: Spark gives it no tasks at the moment, because too many failed there."""

    ACTIVE = "ACTIVE"
    EXCLUDED = "EXCLUDED"
    GONE = "GONE"


@dataclass(frozen=True)
class Member:
    """A process that runs tasks, or Spark's driver, which runs tasks itself when all is in one process.

    port: None for a moment after it has joined. cores: for tasks; 0 for a driver that runs none. since, until: seconds
    since the epoch; until is None while it is there. reason: why it is gone. active_tasks: at this moment.
    memory_bytes: for what Spark stores.
    """

    id: str
    host: str
    port: int | None
    cores: int
    status: MemberStatus
    is_driver: bool
    since: float
    until: float | None
    reason: str
    active_tasks: int
    completed_tasks: int
    failed_tasks: int
    memory_bytes: int
