"""What `jetsql check` finds, as facts: how bad, what, where, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    """ERROR: a job can't go on, or its rows are in danger. WARNING: something is left over, or soon an error.
    NOTE: worth knowing, nothing is wrong.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def is_problem(self) -> bool:
        return self is not Severity.NOTE


@dataclass(frozen=True)
class Finding:
    """what, todo: sentences. where: a path or a name; empty when there is no one place."""

    severity: Severity
    what: str
    where: str = ""
    remedy: str = ""
