"""The members of the cluster that jobs run on, and the engines of a store, as plain frozen data."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final
from uuid import uuid4

_ID_LENGTH: Final = 50


class MemberStatus(Enum):
    """The status of a member."""

    STARTING = "STARTING"  # its pod on Kubernetes has not started, or not yet joined
    ACTIVE = "ACTIVE"
    EXCLUDED = "EXCLUDED"  # Spark schedules no tasks on it for now, because too many tasks failed there
    LEAVING = "LEAVING"  # it leaves as planned: Spark schedules no more tasks on it, and its last tasks end
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
    until: float | None  # when it was lost or had left, seconds since the epoch; None before
    reason: str  # why it leaves, was lost or has left; empty before
    active_tasks: int
    completed_tasks: int
    failed_tasks: int
    memory_bytes: int  # Spark's storage memory
    pod: str = ""  # its pod on Kubernetes; empty on other clusters
    node: str = ""  # the node of its pod; empty on other clusters


@dataclass(frozen=True)
class ClusterState:
    """The members that run the tasks of jobs, at one moment."""

    members: frozenset[str] = frozenset()  # the ids of all members that are there, with leaving ones
    leaving: frozenset[str] = frozenset()  # those of them that leave as planned
    left: frozenset[str] = frozenset()  # the ids of members that have left as planned
    cores: int = 0  # the tasks that Spark runs in parallel on the staying members; 0 when unknown

    @property
    def staying(self) -> frozenset[str]:
        """Return the ids of the members that a new run can use."""
        return self.members - self.leaving

    @property
    def planned(self) -> frozenset[str]:
        """Return the ids of the members that leave or have left as planned."""
        return self.leaving | self.left


class Role(StrEnum):
    """The role of an engine."""

    LEADER = "leader"
    STANDBY = "standby"


@dataclass(frozen=True)
class EngineRecord:
    """One engine."""

    id: str
    address: str  # the URL of its HTTP endpoint; empty without one
    role: Role
    since: float  # when it got its role, in seconds since the epoch
    version: str  # of JetSQL


def new_engine_id() -> str:
    """Return an id for the engine of this process: the name of its machine and a random part."""
    return f"{socket.gethostname()}-{uuid4().hex[:8]}"


def connection_name(engine_id: str) -> str:
    """Return the application name of an engine's connections to PostgreSQL, which cuts it after 63 characters.

    The next leader ends the connections with this name.
    """
    return f"jetsql-{engine_id[-_ID_LENGTH:]}"
