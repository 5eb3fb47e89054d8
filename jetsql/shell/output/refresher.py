"""Drawing again and again while the main thread reads rows.

The reading is done on the main thread, so that Ctrl-C ends it wherever it waits; the drawing on one of its own, so that
the screen tells the time while nothing comes, and a stream of any speed costs no more than so many frames a second.
There q is looked for too; it does what Ctrl-C does.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread, main_thread
from typing import Final

from jetsql.shell.output.screen import Frame, Screen

SECONDS: Final = 0.1
"""Between two frames."""


class Painter:
    """frame: gives what is to be seen now. quits: whether somebody has pressed q."""

    def __init__(self, screen: Screen, frame: Callable[[], Frame], quits: Callable[[], bool]) -> None:
        self._screen = screen
        self._frame = frame
        self._quits = quits
        self._over = Event()
        self._ending = Lock()
        self._failed: Exception | None = None
        self._thread = Thread(target=self._paint, name="painter", daemon=True)

    def check(self) -> None:
        """Raises what kept it from drawing: OutputClosed when nobody can see anything any more."""
        if self._failed is not None:
            raise self._failed

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """No frame is drawn after this."""
        with self._ending:
            self._over.set()
        if self._thread.is_alive():  # Ctrl-C may have come before it began
            self._thread.join()

    def _paint(self) -> None:
        while not self._over.wait(SECONDS):
            try:
                self._screen.draw(self._frame())
                if self._quits():
                    self._interrupt()
                    return
            except Exception as error:  # the outermost frame of this thread: the main thread raises it
                self._failed = error
                return

    def _interrupt(self) -> None:
        """End what the main thread reads, unless it has ended."""
        reader = main_thread().ident
        with self._ending:
            if not self._over.is_set() and reader is not None:
                signal.pthread_kill(reader, signal.SIGINT)


@contextmanager
def painted(screen: Screen, frame: Callable[[], Frame], quits: Callable[[], bool] = lambda: False) -> Iterator[Painter]:
    """While this lasts, frames are drawn; when it is over a last one is, and stays. quits: whether q was pressed, which
    is KeyboardInterrupt on the main thread. Raises OutputClosed."""
    painter = Painter(screen, frame, quits)
    with screen.drawing():
        try:
            painter.begin()
            yield painter
        finally:
            painter.end()
            screen.draw(frame())
