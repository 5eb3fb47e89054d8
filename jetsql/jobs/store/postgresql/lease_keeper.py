"""The heartbeats of a leader: a thread sends one each second, until the engine ends or another engine leads."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Thread
from typing import Final

from jetsql.errors import EngineError
from jetsql.jobs.store.postgresql.lease import Lease

_PAUSE: Final = 0.1  # after a heartbeat that failed
_LOG: Final = logging.getLogger(__name__)


def _no_action() -> None: ...


class LeaseKeeper:
    """The thread that keeps a lease."""

    def __init__(self, lease: Lease, heartbeat_seconds: float, errors: tuple[type[Exception], ...]) -> None:
        """Create it; `start` sends the first heartbeat. errors: the exceptions of a store out of reach."""
        self._lease = lease
        self._heartbeat_seconds = heartbeat_seconds
        self._errors = errors
        self._ended = Event()
        self._thread: Thread | None = None
        self._on_lost: Callable[[], None] = _no_action
        self._watched = Event()

    def watch(self, on_lost: Callable[[], None]) -> None:
        """Set the function that is called once, on the thread, when another engine leads, or has led since `start`."""
        self._on_lost = on_lost
        self._watched.set()

    def start(self) -> None:
        """Send heartbeats from now on."""
        self._ended = Event()
        self._thread = Thread(target=self._loop, name="lease-keeper", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Send no more heartbeats."""
        self._ended.set()
        self._watched.set()
        if self._thread is not None:
            self._thread.join()

    def _loop(self) -> None:
        is_out = False
        while not self._ended.is_set():
            try:
                self._lease.beat()
                if is_out:
                    _LOG.info("The store is reachable again; this engine still leads")
                is_out = False
            except EngineError as error:
                _LOG.error("This engine does not lead any more: %s", error.message)
                self._watched.wait()
                self._on_lost()
                return
            except self._errors as error:
                if not is_out:
                    _LOG.warning("A heartbeat failed; jobs wait when the lease has run out: %s", error)
                is_out = True
            self._ended.wait(_PAUSE if is_out else self._heartbeat_seconds)
