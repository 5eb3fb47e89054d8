"""The terminal that results are shown on, or whatever stands in its place.

What is redrawn in place stands at the end of what was written, and never in another screen: so what was shown last is
still there when the prompt comes back. Lines are overwritten, not erased before they are written, so nothing flickers.
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
_REST_OF_LINE: Final = "\x1b[K"
_REST_OF_SCREEN: Final = "\x1b[J"
_EVERYTHING: Final = "\x1b[H\x1b[2J"


@dataclass(frozen=True)
class Size:
    """Of a screen, in cells."""

    columns: int
    lines: int


@dataclass(frozen=True)
class Frame:
    """What is drawn at once. scroll: lines that stay above for good. stay: those below, which the next frame replaces;
    none is wider than the screen, and all together are not higher."""

    stay: Sequence[str]
    scroll: Sequence[str] = ()


class Screen:
    """terminal: whether a person watches. moves: whether lines can be drawn again. coloured: whether colours are
    wanted; without `moves` there are none."""

    def __init__(
        self, out: TextIO, talk: TextIO, size: Callable[[], Size], *, terminal: bool, moves: bool, coloured: bool
    ) -> None:
        self._out = out
        self._talk = talk
        self._size = size
        self.terminal = terminal
        self.moves = moves
        self.coloured = coloured
        self._drawn = 0
        self._drawn_at: Size | None = None

    @property
    def size(self) -> Size:
        return self._size()

    @property
    def paint(self) -> Paint:
        return COLOURS if self.moves and self.coloured else PLAIN

    def line(self, text: str) -> None:
        """A line of a result. Raises OutputClosed."""
        self._write(self._out, text + "\n")

    def say(self, text: str) -> None:
        """A line about a result, at once. Raises OutputClosed."""
        self.flush()
        self._write(self._talk, self.paint.colourize(self.paint.dim, printable_lines(text)) + "\n")
        self._flush(self._talk)

    def flush(self) -> None:
        """Raises OutputClosed."""
        self._flush(self._out)

    @contextmanager
    def drawing(self, keep: bool = True) -> Iterator[None]:
        """While this lasts, `draw` may be called. keep: whether the last frame stays, with the cursor below it."""
        self._drawn, self._drawn_at = 0, None
        self._write(self._out, _HIDE_CURSOR)
        try:
            yield
        finally:
            end = "\n" if keep and self._drawn else self._back(self.size) + _REST_OF_SCREEN if self._drawn else ""
            self._write(self._out, end + _SHOW_CURSOR)
            self.flush()

    def draw(self, frame: Frame) -> None:
        """A frame in the place of the one before. Raises OutputClosed."""
        size = self.size
        stay = [cut_painted(line, size.columns) for line in frame.stay[: max(size.lines - 1, 1)]]
        lines = [*frame.scroll, *stay]
        body = "\n".join(_REST_OF_LINE + line for line in lines)
        self._write(self._out, f"{self._back(size)}{body}{_REST_OF_SCREEN if self._drawn > len(lines) else ''}")
        self.flush()
        self._drawn, self._drawn_at = len(stay), size

    def _back(self, size: Size) -> str:
        """To where the last frame begins. A screen of another size has put lines who knows where: draw on a clean
        one."""
        if self._drawn > 1 and size != self._drawn_at:
            return _EVERYTHING
        return "\r" + (f"\x1b[{self._drawn - 1}A" if self._drawn > 1 else "")

    def _write(self, stream: TextIO, text: str) -> None:
        try:
            stream.write(text)
        except (OSError, ValueError) as error:  # ValueError: somebody has closed it
            raise OutputClosed(error) from error

    def _flush(self, stream: TextIO) -> None:
        try:
            stream.flush()
        except OSError as error:
            raise OutputClosed(error) from error


def cut_painted(line: str, size: int) -> str:
    """A line that may hold colours, cut to so many cells. Whoever draws with colours has fitted it already."""
    return line if "\x1b" in line else truncate(line, size)


def screen_of(out: TextIO, talk: TextIO, environ: Mapping[str, str] = os.environ) -> Screen:
    """The screen that these streams are shown on, if they are."""
    terminal = out.isatty()
    moves = terminal and environ.get("TERM", "dumb") != "dumb"
    return Screen(out, talk, _terminal_size, terminal=terminal, moves=moves, coloured=moves)


def _terminal_size() -> Size:
    columns, lines = shutil.get_terminal_size()
    return Size(max(columns, 1), max(lines, 1))
