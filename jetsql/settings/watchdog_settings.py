"""The settings of the watchdog that protects the engine from a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from jetsql.settings.setting_values import parse_byte_count, parse_percent


@dataclass(frozen=True)
class WatchdogSettings:
    """The thresholds at which the engine warns of a job, and at which it suspends the job."""

    heap_warning_percent: float = 75.0  # of the old generation, after a collection
    heap_danger_percent: float = 88.0
    open_files_warning_percent: float = 70.0  # of the limit of the engine's Java process
    open_files_danger_percent: float = 90.0
    disk_warning_bytes: int = 1024 * 1024 * 1024  # free space, of each disk that the engine uses
    disk_danger_bytes: int = 256 * 1024 * 1024


WATCHDOG_READERS: Final[Mapping[str, Callable[[object], object]]] = {
    "heap_warning_percent": parse_percent,
    "heap_danger_percent": parse_percent,
    "open_files_warning_percent": parse_percent,
    "open_files_danger_percent": parse_percent,
    "disk_warning_bytes": parse_byte_count,
    "disk_danger_bytes": parse_byte_count,
}
WATCHDOG_DESCRIPTIONS: Final[Mapping[str, str]] = {
    "heap_warning_percent": "The engine warns of the job that uses most memory when a garbage collection leaves this"
    " part of the heap in use.",
    "heap_danger_percent": "The engine suspends that job when a garbage collection leaves this part of the heap in"
    " use.",
    "open_files_warning_percent": "The engine warns of the job with most open files at this part of the limit"
    " (`ulimit -n`).",
    "open_files_danger_percent": "The engine suspends that job at this part of the limit.",
    "disk_warning_bytes": "The engine warns of the job that has written most when a disk of the engine has less free"
    " space.",
    "disk_danger_bytes": "The engine suspends that job when a disk of the engine has less free space.",
}
