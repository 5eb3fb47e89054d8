"""The terminal on which results are shown, or a file or pipe instead.

Redrawn lines are at the end of the output, never on an alternate screen, so the last state remains when the prompt
returns. Lines are overwritten without being erased first, so nothing flickers.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TextIO

from jetsql.output.layout import COLOURS, PLAIN, Paint
from jetsql.output.result_sink import OutputClosed
from jetsql.output.terminal_text import printable_lines, truncate

_HIDE_CURSOR: Final = "\x1b[?25l"
_SHOW_CURSOR: Final = "\x1b[?25h"
_CLEAR_LINE: Final = "\x1b[K"
_CLEAR_BELOW: Final = "\x1b[J"
_CLEAR_SCREEN: Final = "\x1b[H\x1b[2J"


@dataclass(frozen=True)
class ScreenSize:
    """The size of a screen in cells."""

    columns: int
    lines: int


@dataclass(frozen=True)
class ScreenFrame:
    """The lines of one drawing. No line is wider than the screen."""

    lines: Sequence[str]  # replaced by the next frame; they fit on the screen
    scrolled_lines: Sequence[str] = ()  # written above permanently


class Screen:
    """Draw results and messages on a terminal, or write them to a file or pipe."""

    def __init__(
        self,
        out: TextIO,
        messages: TextIO,
        size: Callable[[], ScreenSize],
        *,
        is_terminal: bool,
        can_redraw: bool,
        is_coloured: bool,
    ) -> None:
        """Create a screen. can_redraw: lines can be redrawn in place. is_coloured: use colours, if it can redraw."""
        self._out = out
        self._messages = messages
        self._size = size
        self.is_terminal = is_terminal
        self.can_redraw = can_redraw
        self.is_coloured = is_coloured
        self._drawn = 0
        self._drawn_at: ScreenSize | None = None

    @property
    def size(self) -> ScreenSize:
        """Return the current size."""
        return self._size()

    @property
    def paint(self) -> Paint:
        """Return the escape sequences of the colours; empty ones without colours."""
        return COLOURS if self.can_redraw and self.is_coloured else PLAIN

    def write_line(self, text: str) -> None:
        """Write a line of a result. Raises OutputClosed."""
        self._write(self._out, text + "\n")

    def print_message(self, text: str) -> None:
        """Print a message and flush it. Raises OutputClosed."""
        self.flush()
        self._write(self._messages, self.paint.colourize(self.paint.dim, printable_lines(text)) + "\n")
        self._flush(self._messages)

    def flush(self) -> None:
        """Flush the results. Raises OutputClosed."""
        self._flush(self._out)

    @contextmanager
    def drawing(self, keep: bool = True) -> Iterator[None]:
        """Allow `draw` in the block. keep: the last frame stays, with the cursor below it."""
        self._drawn, self._drawn_at = 0, None
        self._write(self._out, _HIDE_CURSOR)
        try:
            yield
        finally:
            end = "\n" if keep and self._drawn else self._move_to_start(self.size) + _CLEAR_BELOW if self._drawn else ""
            self._write(self._out, end + _SHOW_CURSOR)
            self.flush()

    def draw(self, frame: ScreenFrame) -> None:
        """Draw a frame in place of the previous one. Raises OutputClosed."""
        size = self.size
        stay = [truncate_coloured(line, size.columns) for line in frame.lines[: max(size.lines - 1, 1)]]
        lines = [*frame.scrolled_lines, *stay]
        body = "\n".join(_CLEAR_LINE + line for line in lines)
        self._write(self._out, f"{self._move_to_start(size)}{body}{_CLEAR_BELOW if self._drawn > len(lines) else ''}")
        self.flush()
        self._drawn, self._drawn_at = len(stay), size

    def _move_to_start(self, size: ScreenSize) -> str:
        """Return the sequence that moves to the start of the last frame.

        After a resize the start is unknown, so the sequence clears the screen.
        """
        if self._drawn > 1 and size != self._drawn_at:
            return _CLEAR_SCREEN
        return "\r" + (f"\x1b[{self._drawn - 1}A" if self._drawn > 1 else "")

    def _write(self, stream: TextIO, text: str) -> None:
        try:
            stream.write(text)
        except (OSError, ValueError) as error:  # ValueError: the stream is closed
            raise OutputClosed(error) from error

    def _flush(self, stream: TextIO) -> None:
        try:
            stream.flush()
        except OSError as error:
            raise OutputClosed(error) from error


def truncate_coloured(line: str, size: int) -> str:
    """Cut a line to `size` cells. Coloured lines are returned unchanged, because their caller has fitted them."""
    return line if "\x1b" in line else truncate(line, size)


def create_screen(out: TextIO, messages: TextIO, environ: Mapping[str, str] = os.environ) -> Screen:
    """Return the screen for these streams."""
    terminal = out.isatty()
    moves = terminal and environ.get("TERM", "dumb") != "dumb"
    return Screen(out, messages, _terminal_size, is_terminal=terminal, can_redraw=moves, is_coloured=moves)


def _terminal_size() -> ScreenSize:
    columns, lines = shutil.get_terminal_size()
    return ScreenSize(max(columns, 1), max(lines, 1))
