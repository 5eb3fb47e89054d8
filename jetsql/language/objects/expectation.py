"""A rule for the rows of a job, as CONSTRAINT ... EXPECT has it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from jetsql.errors import Span


class ViolationAction(Enum):
    """The action for a row that violates a rule. All of them count it."""

    WARN = "WARN"  # the row is written; a rule without ON VIOLATION
    DROP_ROW = "DROP ROW"
    FAIL = "FAIL"
    INTO_TABLE = "INTO TABLE"  # the row is written to another table


@dataclass(frozen=True)
class Expectation:
    """A condition that is true for the rows that a job should write."""

    name: str
    condition: str  # as written, without its parentheses
    action: ViolationAction = ViolationAction.WARN
    table: str = ""  # the table of INTO TABLE, in the analysis of a body with catalogue and schema; otherwise empty
    name_place: Span = field(default=Span(0, 0), compare=False)
    place: Span = field(default=Span(0, 0), compare=False)  # of the condition
    action_place: Span = field(default=Span(0, 0), compare=False)  # of DROP, FAIL or the table; of the condition
    # without ON VIOLATION

    @property
    def action_text(self) -> str:
        """Return what happens to a row that violates the rule, as in ON VIOLATION."""
        return f"{self.action.value} {self.table}".strip()
