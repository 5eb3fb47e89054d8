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

from jetsql.output.terminal_text import cut, printable, printable_lines, width

CONTEXT = 100
"""So many characters of a line are shown before its fault and after it: lines of generated scripts have no end."""

_LEAST = 12


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
class Diagnostic:
    """Something wrong at a place of a script. condition: empty where the error has none of its own. trace: where in the
    engine it came from, for those who asked."""

    script: Script
    offset: int
    condition: str
    message: str
    hint: str = ""
    trace: str = ""

    def __str__(self) -> str:
        return self.shown()

    def shown(self, columns: int | None = None) -> str:
        """columns: of a screen, on which the place would be marked elsewhere if its line were broken."""
        script, offset = self.script, self.offset
        place = f"{printable(script.name)}:{script.line(offset)}:{script.column(offset)}: " if script.name else ""
        condition = f"[{self.condition}] " if self.condition else ""
        told = f"{place}{condition}{_safe(self.message)}"
        return "\n".join([told, *self._pointer(columns), *_lines(self.hint), *_lines(self.trace)])

    def _pointer(self, columns: int | None) -> list[str]:
        number = f"{self.script.line(self.offset):>5}"
        before, after = _around(self.script.text, self.offset)
        if columns is not None:
            before, after = _fitted(before, after, max(columns - width(f"{number} | "), _LEAST))
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


def _fitted(before: str, after: str, room: int) -> tuple[str, str]:
    """The same in so many cells: what stands before the place gives way only when two thirds of them don't hold it."""
    if width(before) + width(after) <= room:
        return before, after
    front = max(room * 2 // 3, room - width(after))
    if width(before) > front:
        rest = before.removeprefix("...")
        while width(rest) > front - 3:
            rest = rest[1:]
        before = "..." + rest
    return before, cut(after, room - width(before))


def _lines(told: str) -> list[str]:
    return [_safe(told)] if told else []


def _safe(message: str) -> str:
    """Messages quote what users wrote; their line breaks stay, nothing else in them may drive the terminal."""
    return printable_lines(message.rstrip()).replace("\t", "    ")
