"""The use of the engine's machine: processor, disk, and the heap of Spark's driver."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Heap:
    """The heap of a JVM, in bytes."""

    used: int
    limit: int


@dataclass(frozen=True)
class MachineUse:
    """The use of a machine at one moment; None for what is unknown."""

    load: float | None  # processes that run or wait for a core, on average over a minute
    cores: int  # that this process can use
    disk_free: int | None  # bytes on the disk of the home
    disk_size: int | None
    heap: Heap | None = None

    @property
    def disk_used(self) -> int | None:
        """Return the bytes of the disk that are in use."""
        return None if self.disk_size is None or self.disk_free is None else self.disk_size - self.disk_free


def measure_machine(home: Path, heap: Heap | None = None) -> MachineUse:
    """Return the current use of this machine. home: a folder on the disk."""
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows has no load average
        load = None
    try:
        disk = shutil.disk_usage(home)
    except OSError:
        return MachineUse(load, os.cpu_count() or 1, None, None, heap)
    return MachineUse(load, os.cpu_count() or 1, disk.free, disk.total, heap)
