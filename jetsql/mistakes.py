"""What is wrong in a script, as people read it.

    flights.sql:12:14: [JETSQL.JOB_NOT_FOUND] There is no job carrier_delay.
       12 | SUSPEND JOB carrier_delay;
          |             ^
    Did you mean carrier_delays?

The first line is what compilers print, so that editors jump to the place. Places are offsets into the script as it was
written; lines and columns (from 1) are worked out only here.
"""

from __future__ import annotations

from dataclasses import dataclass

from jetsql.cells import printable, width

CONTEXT = 100
"""So many characters of a line are shown before its fault and after it: lines of generated scripts have no end."""


@dataclass(frozen=True)
class Script:
    """A text of statements. name: how messages call it, a file's path as the user wrote it; empty for what a person has
    just typed and still sees."""

    name: str
    text: str

    def line(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def column(self, offset: int) -> int:
        return offset - self.text.rfind("\n", 0, offset)


@dataclass(frozen=True)
class Mistake:
    """Something wrong at a place of a script. condition: empty where the error has none of its own. trace: where in the
    engine it came from, for those who asked."""

    script: Script
    offset: int
    condition: str
    message: str
    hint: str = ""
    trace: str = ""

    def __str__(self) -> str:
        script, offset = self.script, self.offset
        place = f"{printable(script.name)}:{script.line(offset)}:{script.column(offset)}: " if script.name else ""
        condition = f"[{self.condition}] " if self.condition else ""
        told = f"{place}{condition}{_safe(self.message)}"
        return "\n".join([told, *self._pointer(), *_lines(self.hint), *_lines(self.trace)])

    def _pointer(self) -> list[str]:
        before, after = _around(self.script.text, self.offset)
        number = f"{self.script.line(self.offset):>5}"
        return [
            f"{number} | {before}{after}".rstrip(),
            f"{' ' * len(number)} | {' ' * width(before)}^",
        ]


def _around(text: str, offset: int) -> tuple[str, str]:
    """The line of a place in two parts, printable and of a length that a person can look at."""
    end = text.find("\n", offset)
    before = text[text.rfind("\n", 0, offset) + 1 : offset]
    after = text[offset : end if end >= 0 else len(text)].rstrip()
    if len(before) > CONTEXT:
        before = "..." + before[-CONTEXT:]
    if len(after) > CONTEXT:
        after = after[:CONTEXT] + "..."
    return printable(before.replace("\t", " ")), printable(after.replace("\t", " "))


def _lines(told: str) -> list[str]:
    return [_safe(told)] if told else []


def _safe(message: str) -> str:
    """Messages quote what users wrote; their line breaks stay, nothing else in them may drive the terminal."""
    return "\n".join(printable(line.replace("\t", "    ")) for line in message.rstrip().split("\n"))
