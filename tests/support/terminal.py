"""A terminal that can be read: what a person would see of what was written."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyte

from jetsql.resultset import Column
from jetsql.shell.output.screen import Screen, ScreenSize
from jetsql.shell.output.show_results import ResultOutput
from jetsql.shell.session.typed_ahead import Keyboard


@dataclass
class Settings:
    """The part of the shell's settings that output knows."""

    mode: str = "table"
    pager: str = "off"
    timing: bool = False
    null_text: str = "NULL"


def output_on(screen: Screen, tell: Callable[[str], None] = lambda words: None, **settings: Any) -> ResultOutput:
    """What shows results on a screen, where nobody presses a key."""
    return ResultOutput(screen, lambda: Settings(**settings), Keyboard(), tell)


class Terminal(io.StringIO):
    """What is written to it is drawn."""

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
    def shown(self) -> list[str]:
        """The lines of the screen, without those that are empty below the last."""
        lines = [line.rstrip() for line in self._screen.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def scrolled(self) -> list[str]:
        """Those that have gone out at the top."""
        return ["".join(line[x].data for x in range(self.size.columns)).rstrip() for line in self._screen.history.top]

    def colours_of(self, text: str) -> tuple[str, bool]:
        """The colour of the first place where a text stands, and whether it is bold."""
        for number, line in enumerate(self._screen.display):
            if text in line:
                char = self._screen.buffer[number][line.index(text)]
                return char.fg, char.bold
        raise AssertionError(f"{text!r} is not on the screen")

    def screen(self, *, terminal: bool = True, moves: bool = True, coloured: bool = False) -> Screen:
        return Screen(self, self, lambda: self.size, is_terminal=terminal, can_redraw=moves, is_coloured=coloured)


def columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column(name, kind) for name, kind in types.items())
