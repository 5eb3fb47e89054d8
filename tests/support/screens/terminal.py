"""A terminal in memory, to check the output as the user sees it."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyte

from jetsql.resultset import Column
from jetsql.shell.input.typed_ahead import Keyboard
from jetsql.shell.output.screen import Screen, ScreenSize
from jetsql.shell.output.show_results import ResultOutput


@dataclass
class StubDisplaySettings:
    """The shell's settings for the output."""

    mode: str = "table"
    pager: str = "off"
    timing: bool = False
    null_text: str = "NULL"


def create_output(screen: Screen, report: Callable[[str], None] = lambda words: None, **settings: Any) -> ResultOutput:
    """Return an output on a screen, without keys pressed."""
    return ResultOutput(screen, lambda: StubDisplaySettings(**settings), Keyboard(), report)


class ScreenTerminal(io.StringIO):
    """A text stream that draws what is written to it."""

    def __init__(self, columns: int = 80, lines: int = 24) -> None:
        super().__init__()
        self.size = ScreenSize(columns, lines)
        self._screen = pyte.HistoryScreen(columns, lines, history=1000)
        self._stream = pyte.Stream(self._screen)

    def write(self, text: str) -> int:
        self._stream.feed(text.replace("\n", "\r\n"))
        return super().write(text)

    def resize(self, columns: int, lines: int) -> None:
        self.size = ScreenSize(columns, lines)
        self._screen.resize(lines, columns)

    @property
    def visible_lines(self) -> list[str]:
        """Return the lines of the screen up to the last line with text."""
        lines = [line.rstrip() for line in self._screen.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def scrolled_lines(self) -> list[str]:
        """Return the lines that have scrolled off the top of the screen."""
        return ["".join(line[x].data for x in range(self.size.columns)).rstrip() for line in self._screen.history.top]

    def colours_of(self, text: str) -> tuple[str, bool]:
        """Return the colour of the first occurrence of a text, and whether it is bold."""
        for number, line in enumerate(self._screen.display):
            if text in line:
                char = self._screen.buffer[number][line.index(text)]
                return char.fg, char.bold
        raise AssertionError(f"{text!r} is not on the screen")

    def screen(self, *, is_terminal: bool = True, can_redraw: bool = True, is_coloured: bool = False) -> Screen:
        return Screen(
            self, self, lambda: self.size, is_terminal=is_terminal, can_redraw=can_redraw, is_coloured=is_coloured
        )


def columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column(name, kind) for name, kind in types.items())
