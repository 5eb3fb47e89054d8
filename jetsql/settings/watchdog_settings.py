"""The settings of the watchdog that protects the engine from a job."""

from __future__ import annotations

from dataclasses import dataclass

from jetsql.setting_fields import setting
from jetsql.setting_values import parse_byte_count, parse_percent


@dataclass(frozen=True)
class WatchdogSettings:
    """The thresholds at which the engine warns of a job, and at which it suspends the job."""

    heap_warning_percent: float = setting(
        75.0,
        parse_percent,
        "The engine warns of the job that uses most memory when a garbage collection leaves this part of the heap "
        "in use.",
        is_advanced=True,
    )
    heap_danger_percent: float = setting(
        88.0,
        parse_percent,
        "The engine suspends that job when a garbage collection leaves this part of the heap in use.",
        is_advanced=True,
    )
    open_files_warning_percent: float = setting(
        70.0,
        parse_percent,
        "The engine warns of the job with most open files at this part of the limit (`ulimit -n`).",
        is_advanced=True,
    )
    open_files_danger_percent: float = setting(
        90.0,
        parse_percent,
        "The engine suspends that job at this part of the limit.",
        is_advanced=True,
    )
    disk_warning_bytes: int = setting(
        1024 * 1024 * 1024,
        parse_byte_count,
        "The engine warns of the job that has written most when a disk of the engine has less free space.",
        is_advanced=True,
    )
    disk_danger_bytes: int = setting(
        256 * 1024 * 1024,
        parse_byte_count,
        "The engine suspends that job when a disk of the engine has less free space.",
        is_advanced=True,
    )
