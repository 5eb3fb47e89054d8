"""The names of a running engine: its jobs, tables, columns and functions, loaded when the user needs them.

An engine is never started, and no request waits long for one. The names come from the shell's catalog cache.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Final

from jetsql.client.background_connection import BackgroundConnection, Connect, EngineConnection
from jetsql.completion.catalog_cache import CatalogCache
from jetsql.completion.known_names import Names
from jetsql.errors import EngineError, ReportedError
from jetsql.language import split

_CHECK_SECONDS: Final = 5.0
"""The time between two checks whether the engine answers, or whether there is one, while the user types."""
_WAIT_SECONDS: Final = 0.4
"""The longest time that a request waits for names which are being loaded."""
_CLOSE_SECONDS: Final = 1.0


class EngineNames:
    """The names of one engine, if it runs."""

    def __init__(self, connect: Connect, notify: Callable[[str], None]) -> None:
        """Create it. notify: receives messages for the user, on any thread."""
        self._notify_user = notify
        self._notified = ""
        self._changed = threading.Condition()
        self._connection = EngineConnection(connect, self._on_change, self._notify)
        self._cache = CatalogCache(self._connection, self._on_change, self._on_failure)
        self._alive = BackgroundConnection()
        self._checking = threading.Lock()
        self._checked = monotonic()

    def start(self) -> None:
        """Find the engine, in the background."""
        self._cache.start()
        self._connection.start(start_engine=False)

    def close(self) -> None:
        """Close the session on the engine, and wait for it only briefly."""
        self._cache.close()
        closing = threading.Thread(target=self._connection.close, name="close", daemon=True)
        closing.start()
        closing.join(_CLOSE_SECONDS)

    def names_for(self, text: str, cursor: int) -> Names:
        """Return the names that are known for a position; those that are missing are waited for briefly."""
        self._check_engine()
        self._cache.request(text, cursor)
        until = monotonic() + _WAIT_SECONDS
        with self._changed:
            while self._connection.current is not None and self._cache.lacks_names(text, cursor):
                if not self._changed.wait(until - monotonic()):
                    break
        return self._cache.names

    def lacks_names(self, text: str, cursor: int) -> bool:
        """Return whether an engine runs, and names for the position are still being loaded."""
        return self._connection.current is not None and self._cache.lacks_names(text, cursor)

    def expire_names(self, text: str) -> None:
        """Load the names again, when they are needed, that the statements of a text may have changed."""
        for fragment in split(text):
            self._cache.expire_names(fragment.text)

    def _check_engine(self) -> None:
        """Start a check of the connection, unless the last one is recent."""
        if monotonic() - self._checked < _CHECK_SECONDS or not self._checking.acquire(blocking=False):
            return
        self._checked = monotonic()
        threading.Thread(target=self._check, name="check-engine", daemon=True).start()

    def _check(self) -> None:
        try:
            engine = self._connection.current
            if engine is not None:
                try:
                    self._alive.open_for(engine).current_schema()
                    return
                except (EngineError, ReportedError):  # it has ended, or has closed the session
                    self._alive.close()
                    self._connection.mark_lost(engine)
            self._connection.start(start_engine=False)
        finally:
            self._checking.release()

    def _on_change(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _on_failure(self, error: Exception) -> None:
        self._notify(f"Names of the engine could not be loaded: {type(error).__name__}: {error}")

    def _notify(self, message: str) -> None:
        """Report a message, but not again and again while no engine runs."""
        if message != self._notified:
            self._notified = message
            self._notify_user(message)
