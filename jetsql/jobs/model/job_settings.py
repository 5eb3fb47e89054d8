"""Timeouts, delays and retention of jobs, and the limits of users: parts of the engine's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jetsql.setting_fields import setting
from jetsql.setting_values import parse_count, parse_days, parse_seconds


@dataclass(frozen=True)
class JobSettings:
    """Timeouts, delays and retention of the manager."""

    create_wait_seconds: float = setting(10.0, parse_seconds, "How long `CREATE JOB` waits for the first batch.")
    stop_deadline_seconds: float = setting(
        30.0, parse_seconds, "How long a graceful stop may take before the job is stopped by force."
    )
    statement_wait_seconds: float = setting(
        60.0, parse_seconds, "How long `SUSPEND`, `RESUME`, `RESTART` and `DROP` wait for the job."
    )
    wait_timeout_seconds: float = setting(300.0, parse_seconds, "How long `WAIT FOR JOB` without `TIMEOUT` waits.")
    retry_first_seconds: float = setting(
        1.0, parse_seconds, "The delay before the first restart after an error; it doubles with each further restart."
    )
    retry_most_seconds: float = setting(60.0, parse_seconds, "The longest delay before a restart.", is_advanced=True)
    store_retry_seconds: float = setting(
        1.0,
        parse_seconds,
        "The delay before an event is stored again that could not be stored.",
        is_advanced=True,
    )
    scale_up_delay_seconds: float = setting(
        10.0,
        parse_seconds,
        "Jobs restart on executors that have joined when none has come or gone for this time.",
        is_advanced=True,
    )
    close_wait_seconds: float = setting(
        90.0,
        parse_seconds,
        "How long the engine waits at its end for runs that do not stop even by force.",
        is_advanced=True,
    )
    ended_jobs_days: float = setting(7.0, parse_days, "Jobs that have ended are deleted after this many days.")
    ended_jobs_most: int = setting(
        100,
        parse_count,
        "When more jobs than this have ended, the oldest of them are deleted.",
        is_advanced=True,
    )


@dataclass(frozen=True)
class LimitSettings:
    """Limits of each user without ADMIN; 0 for none."""

    user_statements_most: int = setting(
        0,
        parse_count,
        "The limit of statements that a user without `ADMIN` runs at a time; 0 for none. `ALTER USER` sets others.",
    )
    user_rows_most: int = setting(
        0,
        parse_count,
        "The limit of rows that a statement of a user without `ADMIN` returns; 0 for none. `ALTER USER` sets others.",
    )
    user_statement_seconds: float = setting(
        0.0,
        parse_seconds,
        "How long a statement of a user without `ADMIN` may run; 0 for any time. `ALTER USER` sets others.",
    )


LIMIT_NAMES: Final = {
    "statements_most": "statements that run at a time; 0 for none",
    "rows_most": "rows that a statement returns; 0 for none",
    "statement_seconds": "how long a statement may run; 0 for any time",
}
"""The limits in ALTER USER, with their explanations. The settings have them with the prefix `user_`."""


def unknown_limit(name: str) -> tuple[str, str] | None:
    """Return the message and the hint for a name in ALTER USER that is no limit; None for a limit."""
    if name.lower() in LIMIT_NAMES:
        return None
    return f"There is no limit named {name}.", f"The limits are {', '.join(LIMIT_NAMES)}."
