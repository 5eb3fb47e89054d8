"""Redraw the screen regularly while the main thread reads rows.

Rows are read on the main thread, so Ctrl-C interrupts every wait. Another thread draws, so the elapsed time advances
without rows, and a fast stream costs at most a fixed number of frames a second. It also polls for q, which has the
effect of Ctrl-C.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread, main_thread
from typing import Final

from jetsql.shell.output.screen import Screen, ScreenFrame

REFRESH_SECONDS: Final = 0.1
"""The time between two frames, in seconds."""


class Refresher:
    """Draw frames on a thread. frame: renders the current frame. poll_quit: returns whether q was pressed."""

    def __init__(self, screen: Screen, frame: Callable[[], ScreenFrame], poll_quit: Callable[[], bool]) -> None:
        self._screen = screen
        self._frame = frame
        self._poll_quit = poll_quit
        self._stopped = Event()
        self._stop_lock = Lock()
        self._failure: Exception | None = None
        self._thread = Thread(target=self._refresh, name="refresher", daemon=True)

    def raise_failure(self) -> None:
        """Raise the error that stopped the thread, such as OutputClosed, if there is one."""
        if self._failure is not None:
            raise self._failure

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; it draws no frame after this."""
        with self._stop_lock:
            self._stopped.set()
        if self._thread.is_alive():  # Ctrl-C may have come before it started
            self._thread.join()

    def _refresh(self) -> None:
        while not self._stopped.wait(REFRESH_SECONDS):
            try:
                self._screen.draw(self._frame())
                if self._poll_quit():
                    self._interrupt()
                    return
            except Exception as error:  # the outermost frame of this thread; the main thread raises the error
                self._failure = error
                return

    def _interrupt(self) -> None:
        """Interrupt the main thread, unless it has stopped the refresher."""
        reader = main_thread().ident
        with self._stop_lock:
            if not self._stopped.is_set() and reader is not None:
                signal.pthread_kill(reader, signal.SIGINT)


@contextmanager
def refreshing(
    screen: Screen, frame: Callable[[], ScreenFrame], poll_quit: Callable[[], bool] = lambda: False
) -> Iterator[Refresher]:
    """Draw frames in the block, and a last frame that stays. Raises OutputClosed.

    poll_quit: returns whether q was pressed, which raises KeyboardInterrupt on the main thread.
    """
    refresher = Refresher(screen, frame, poll_quit)
    with screen.drawing():
        try:
            refresher.start()
            yield refresher
        finally:
            refresher.stop()
            screen.draw(frame())
