"""The facts about an engine that several pages show."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from jetsql.home.machine_use import MachineUse


class EngineFacts(Protocol):
    """An engine that describes itself without a call of Spark."""

    @property
    def home(self) -> Path: ...

    @property
    def facts(self) -> Mapping[str, str]:
        """Return versions and settings by name, without secrets."""

    def machine_use(self) -> MachineUse:
        """Return the current use of the engine's machine."""
