"""How long things of a job's life may take, and how much of it is kept; the outer settings fill these in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class JobSettings:
    """Deadlines and delays of the manager.

    create_wait_seconds: CREATE JOB waits so long for the first trigger. stop_deadline_seconds: a graceful stop may take
    so long, then it is forced. statement_wait_seconds: SUSPEND, RESUME, RESTART and DROP wait so long.
    wait_timeout_seconds: WAIT FOR JOB without TIMEOUT. retry_first_seconds, retry_most_seconds: the delay before a
    restart doubles from the first to the most. store_retry_seconds: an event that could not be stored is tried again.
    scale_up_delay_seconds: jobs restart on members that have joined when none has come or gone for so long.
    close_wait_seconds: at the engine's end, runs that won't stop even by force are left after so long.
    ended_jobs_days, ended_jobs_most: ended jobs are forgotten when that many days are over, and when there are more.
    """

    create_wait_seconds: float = 10.0
    stop_deadline_seconds: float = 30.0
    statement_wait_seconds: float = 60.0
    wait_timeout_seconds: float = 300.0
    retry_first_seconds: float = 1.0
    retry_most_seconds: float = 60.0
    store_retry_seconds: float = 1.0
    scale_up_delay_seconds: float = 10.0
    close_wait_seconds: float = 90.0
    ended_jobs_days: float = 7.0
    ended_jobs_most: int = 100
