"""Timeouts, delays and retention of jobs, a part of the engine's settings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class JobSettings:
    """Timeouts, delays and retention of the manager."""

    create_wait_seconds: float = 10.0  # CREATE JOB waits this long for the first trigger
    stop_deadline_seconds: float = 30.0  # a graceful stop becomes a forced one after this time
    statement_wait_seconds: float = 60.0  # SUSPEND, RESUME, RESTART and DROP wait this long
    wait_timeout_seconds: float = 300.0  # the timeout of WAIT FOR JOB without TIMEOUT
    retry_first_seconds: float = 1.0  # the delay before the first restart; it doubles with each further one
    retry_most_seconds: float = 60.0  # the longest delay before a restart
    store_retry_seconds: float = 1.0  # the delay before an event that could not be stored is applied again
    scale_up_delay_seconds: float = 10.0  # jobs restart on new members when no member has joined or left for this time
    close_wait_seconds: float = 90.0  # when the engine closes, it waits this long for runs that cannot be stopped
    ended_jobs_days: float = 7.0  # ended jobs are deleted after this time
    ended_jobs_most: int = 100  # the limit of ended jobs; above it the oldest ones are deleted
