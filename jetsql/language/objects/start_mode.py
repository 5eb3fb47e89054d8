"""The clause START_MODE: where a job begins to read its sources. Its words are those of Flink's materialized tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from jetsql.errors import Span

RESUMING = "RESUME_OR_"


class StartPosition(Enum):
    """The positions at which a job can begin, by the word of each."""

    BEGINNING = "FROM_BEGINNING"
    NOW = "FROM_NOW"
    TIMESTAMP = "FROM_TIMESTAMP"
    OFFSETS = "FROM_OFFSETS"


@dataclass(frozen=True)
class StartMode:
    """The clause START_MODE of a statement."""

    position: StartPosition
    resumes: bool = False  # RESUME_OR_: a job that exists continues, if it can
    argument: str = ""  # as written, without its parentheses; empty without one
    place: Span = field(default=Span(0, 0), compare=False)  # of the word
    argument_place: Span = field(default=Span(0, 0), compare=False)  # of the word without an argument

    @property
    def text(self) -> str:
        """Return the value of the clause, as SHOW CREATE JOB has it."""
        word = f"{RESUMING if self.resumes else ''}{self.position.value}"
        return f"{word}({self.argument})" if self.argument else word
