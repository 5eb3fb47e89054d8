"""The problems that `jetsql lint` finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from jetsql.errors import SQLSTATES
from jetsql.output.diagnostics import Diagnostic, Script

PREFIX: Final = "JETSQL."
# Spark's conditions for what lint finds before an engine does, as the engine would report them.
NO_TABLE: Final = "TABLE_OR_VIEW_NOT_FOUND"
NO_FUNCTION: Final = "UNRESOLVED_ROUTINE"
_SPARK_STATES: Final = {NO_TABLE: "42P01", NO_FUNCTION: "42883"}


class ProblemLevel(Enum):
    """The weight of a problem."""

    ERROR = "error"  # the engine would refuse the statement
    WARNING = "warning"  # the engine would probably refuse the statement
    NOTE = "note"  # nothing is wrong, or it could not be checked; the exit code stays 0


@dataclass(frozen=True)
class LintProblem:
    """A problem at a place of a script."""

    script: Script
    offset: int
    stop: int  # the offset after the words at fault; at least `offset`
    level: ProblemLevel
    condition: str  # JetSQL's with its prefix, or Spark's
    message: str
    hint: str = ""
    correction: str = ""  # the text that an editor can write from `offset` to `stop` instead; empty without one

    @property
    def sqlstate(self) -> str:
        """Return the SQLSTATE of the condition; empty if it is not known."""
        name = self.condition.removeprefix(PREFIX)
        return SQLSTATES.get(name) or _SPARK_STATES.get(name, "")

    @property
    def line(self) -> int:
        """Return the line, from 1."""
        return self.script.line(self.offset)

    @property
    def column(self) -> int:
        """Return the column, from 1."""
        return self.script.column(self.offset)

    def diagnostic(self) -> Diagnostic:
        """Return the problem for a terminal."""
        message = self.message if self.level is ProblemLevel.ERROR else f"{self.level.value}: {self.message}"
        return Diagnostic(self.script, self.offset, self.condition, message, self.hint)
