"""Errors in a script, rendered for the user.

    flights.sql:12:14: [JETSQL.JOB_NOT_FOUND] There is no job carrier_delay.
       12 | SUSPEND JOB carrier_delay;
          |             ^
    Did you mean carrier_delays?

The first line has the form that compilers print, so editors can jump to the error. Positions are offsets into the
script as written; only this module converts them to lines and columns (from 1).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

from jetsql.output.terminal_text import printable, printable_lines, truncate, width

CONTEXT_CHARS = 100
"""Characters shown before and after the error on its line: lines of generated scripts can be very long."""

_MIN_COLUMNS = 12


@dataclass(frozen=True)
class Script:
    """The text of a script."""

    name: str  # for messages: the file's path as the user wrote it; empty for typed text
    text: str

    def line(self, offset: int) -> int:
        """Return the line of an offset, from 1."""
        return bisect_left(self._line_ends, offset) + 1

    def column(self, offset: int) -> int:
        """Return the column of an offset, from 1."""
        return offset - self.line_start(self.line(offset)) + 1

    def line_start(self, line: int) -> int:
        """Return the offset at which a line begins; that of the end for a line after the last. line: from 1."""
        if line < 2:
            return 0
        return self._line_ends[line - 2] + 1 if line - 2 < len(self._line_ends) else len(self.text)

    @cached_property
    def _line_ends(self) -> list[int]:
        """Return the offsets of the line breaks. A script can have very many errors."""
        return [match.start() for match in re.finditer("\n", self.text)]


@dataclass(frozen=True)
class Diagnostic:
    """An error at an offset of a script."""

    script: Script
    offset: int
    condition: str  # empty if the error has none
    message: str
    hint: str = ""
    trace: str = ""  # the engine's stack trace, if it was requested
    correction: str = ""  # the text that an editor can write from `offset` to `stop` instead
    stop: int | None = None  # the offset after the words at fault, if they are known

    def __str__(self) -> str:
        return self.render()

    def render(self, columns: int | None = None) -> str:
        """Render the error with its position in the script.

        columns: the width of the screen; lines are cut to it, because wrapping would misplace the caret.
        """
        script, offset = self.script, self.offset
        position = f"{printable(script.name)}:{script.line(offset)}:{script.column(offset)}: " if script.name else ""
        condition = f"[{self.condition}] " if self.condition else ""
        first_line = f"{position}{condition}{_safe(self.message)}"
        return "\n".join([first_line, *self._pointer(columns), *_lines(self.hint), *_lines(self.trace)])

    def _pointer(self, columns: int | None) -> list[str]:
        number = f"{self.script.line(self.offset):>5}"
        before, after = _split_line(self.script.text, self.offset)
        if columns is not None:
            before, after = _fit(before, after, max(columns - width(f"{number} | "), _MIN_COLUMNS))
        return [
            f"{number} | {before}{after}".rstrip(),
            f"{' ' * len(number)} | {' ' * width(before)}^",
        ]


def _split_line(text: str, offset: int) -> tuple[str, str]:
    """Return the line of an offset, split there: printable and shortened to `CONTEXT_CHARS` on each side."""
    first, last = max(offset - CONTEXT_CHARS - 1, 0), offset + CONTEXT_CHARS + 1
    end = text.find("\n", offset, last)
    before = text[max(text.rfind("\n", first, offset) + 1, first) : offset]
    after = text[offset : end if end >= 0 else last].rstrip()
    if len(before) > CONTEXT_CHARS:
        before = "..." + before[-CONTEXT_CHARS:]
    if len(after) > CONTEXT_CHARS:
        after = after[:CONTEXT_CHARS] + "..."
    return printable(before.replace("\t", " ")), printable(after.replace("\t", " "))


def _fit(before: str, after: str, room: int) -> tuple[str, str]:
    """Shorten both parts of a line to `room` cells; `before` keeps at least two thirds of it."""
    if width(before) + width(after) <= room:
        return before, after
    front = max(room * 2 // 3, room - width(after))
    if width(before) > front:
        kept = before.removeprefix("...")
        while width(kept) > front - 3:
            kept = kept[1:]
        before = "..." + kept
    return before, truncate(after, room - width(before))


def _lines(text: str) -> list[str]:
    return [_safe(text)] if text else []


def _safe(message: str) -> str:
    """Escape control characters except line breaks, because messages quote the user's text."""
    return printable_lines(message.rstrip()).replace("\t", "    ")
