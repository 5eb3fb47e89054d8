"""An engine of a store, as `SHOW ENGINES` lists it."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import uuid4

_ID_LENGTH: Final = 50


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
