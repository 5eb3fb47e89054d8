"""The findings of `jetsql check`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    """The severity of a finding."""

    ERROR = "error"  # a job cannot continue, or rows can be lost
    WARNING = "warning"  # leftover files, or a condition that can lead to an error
    NOTE = "note"  # information about a normal condition

    @property
    def is_problem(self) -> bool:
        """Return whether the user should act."""
        return self is not Severity.NOTE


@dataclass(frozen=True)
class Finding:
    """A finding of the check."""

    severity: Severity
    message: str  # a sentence
    where: str = ""  # a path or name; empty for none
    remedy: str = ""  # what to do, a sentence; empty for nothing
