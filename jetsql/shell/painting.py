"""Drawing again and again while the main thread reads rows.

The reading is done on the main thread, so that Ctrl-C ends it wherever it waits; the drawing on one of its own, so that
the screen tells the time while nothing comes, and a stream of any speed costs no more than so many frames a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

from jetsql.shell.screen import Frame, Screen
from jetsql.surface import SurfaceLost

SECONDS: Final = 0.1
"""Between two frames."""


class Painter:
    """frame: gives what is to be seen now."""

    def __init__(self, screen: Screen, frame: Callable[[], Frame]) -> None:
        self._screen = screen
        self._frame = frame
        self._over = Event()
        self._lost: SurfaceLost | None = None
        self._thread = Thread(target=self._paint, name="painter", daemon=True)

    def check(self) -> None:
        """Raises SurfaceLost when nobody can see anything any more."""
        if self._lost is not None:
            raise self._lost

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """No frame is drawn after this."""
        self._over.set()
        if self._thread.is_alive():  # Ctrl-C may have come before it began
            self._thread.join()

    def _paint(self) -> None:
        while not self._over.wait(SECONDS):
            try:
                self._screen.draw(self._frame())
            except SurfaceLost as error:
                self._lost = error
                return


@contextmanager
def painted(screen: Screen, frame: Callable[[], Frame]) -> Iterator[Painter]:
    """While this lasts, frames are drawn; when it is over a last one is, and stays. Raises SurfaceLost."""
    painter = Painter(screen, frame)
    with screen.drawing():
        try:
            painter.begin()
            yield painter
        finally:
            painter.end()
            screen.draw(frame())
