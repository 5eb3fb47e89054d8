"""What went wrong last, for `.errors`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from jetsql.errors import ErrorReport
from jetsql.mistakes import Mistake


@dataclass(frozen=True)
class Failure:
    """report: None when the statement never got to the engine. text: the statement as it was written."""

    mistake: Mistake
    text: str
    time: datetime
    report: ErrorReport | None = None

    def details(self) -> list[str]:
        """Everything that is known, in lines."""
        condition = self.mistake.condition or "none"
        sqlstate = self.report.sqlstate if self.report is not None else ""
        lines = [
            f"time:      {self.time:%Y-%m-%d %H:%M:%S}",
            f"condition: {condition}",
            *([f"SQLSTATE:  {sqlstate}"] if sqlstate else []),
            "statement:",
            *(f"  {line}" for line in self.text.split("\n")),
            "",
            str(self.mistake),
        ]
        if self.report is not None and not self.report.trace:
            lines += ["", "Where in the engine it came from is shown when the shell is started with -v."]
        return lines
