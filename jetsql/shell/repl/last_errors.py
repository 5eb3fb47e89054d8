"""What went wrong last, for `.errors`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from jetsql.errors import ErrorReport


@dataclass(frozen=True)
class Failure:
    """shown: as it was told. text: the statement as it was written. report: None where nothing more is known of it.
    traceable: whether the engine, when it is asked to, tells where it came from."""

    condition: str
    shown: str
    text: str
    time: datetime
    report: ErrorReport | None = None
    traceable: bool = False

    def details(self) -> list[str]:
        """Everything that is known, in lines."""
        sqlstate = self.report.sqlstate if self.report is not None else ""
        lines = [
            f"time:      {self.time:%Y-%m-%d %H:%M:%S}",
            f"condition: {self.condition or 'none'}",
            *([f"SQLSTATE:  {sqlstate}"] if sqlstate else []),
            "statement:",
            *(f"  {line}" for line in self.text.split("\n")),
            "",
            self.shown,
        ]
        if self.traceable and self.report is not None and not self.report.trace:
            lines += ["", "Where in the engine it came from is shown when the shell is started with -v."]
        return lines
