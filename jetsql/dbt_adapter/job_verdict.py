"""The verdict on an update of a job, read from `EXPLAIN CREATE OR REPLACE JOB`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

_UPDATE_LINE: Final = re.compile(r"^Update: +(.*)$", re.MULTILINE)
_OTHER_COLUMNS: Final = "JETSQL.TABLE_ALREADY_EXISTS"


class UpdateOutcome(Enum):
    """The effect of CREATE OR REPLACE JOB on the job that runs."""

    UNCHANGED = "unchanged"  # the job has this statement
    UPDATED = "updated"  # the job continues with its state, or after the rows that it has read
    REFUSED = "refused"


@dataclass(frozen=True)
class Verdict:
    """The outcome, and the engine's words about it."""

    outcome: UpdateOutcome
    text: str


def parse_verdict(plan: str) -> Verdict:
    """Return the verdict in the text of EXPLAIN."""
    line = _UPDATE_LINE.search(plan)
    text = line[1] if line is not None else ""
    if text.startswith("none: "):
        return Verdict(UpdateOutcome.UNCHANGED, text.removeprefix("none: "))
    if text.startswith("refused: "):
        return Verdict(UpdateOutcome.REFUSED, text.removeprefix("refused: "))
    return Verdict(UpdateOutcome.UPDATED, text)


def refused_by(condition: str, message: str) -> Verdict | None:
    """Return the verdict of an error of EXPLAIN, or None if the error is not about the job and table that exist."""
    return Verdict(UpdateOutcome.REFUSED, message) if condition == _OTHER_COLUMNS else None
