"""A member of the cluster that jobs run on, as plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class MemberStatus(Enum):
    """The status of a member."""

    ACTIVE = "ACTIVE"
    EXCLUDED = "EXCLUDED"  # Spark schedules no tasks on it for now, because too many tasks failed there
    GONE = "GONE"


@dataclass(frozen=True)
class Member:
    """An executor, or the driver, which runs tasks itself with a local master."""

    id: str  # Spark's id of the executor, or `driver`
    host: str
    port: int | None  # None until Spark has reported it
    cores: int  # cores for tasks; 0 for a driver that runs none
    status: MemberStatus
    is_driver: bool
    since: float  # when it joined, seconds since the epoch
    until: float | None  # when it was lost, seconds since the epoch; None before
    reason: str  # why it was lost; empty before
    active_tasks: int
    completed_tasks: int
    failed_tasks: int
    memory_bytes: int  # Spark's storage memory
