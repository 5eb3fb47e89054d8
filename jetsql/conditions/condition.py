"""The description of a condition of errors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Condition:
    """The description of a condition, as the reference manual has it."""

    sqlstate: str
    """The state that Spark or the SQL standard gives to the nearest case."""
    meaning: str
    """The event that raises it."""
    remedy: str
    """The work of the user, or `Nothing.`"""
    check: str = ""
    """The first things to check; empty if no job stops with this condition."""
