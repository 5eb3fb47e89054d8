"""A standby: an engine with a warm Spark that waits until it leads, see `engine.runs.rehearsal`.

Its HTTP server listens on the socket of the later engine, so a client can connect at any time. It ends when the engine
leads, and the engine's own server takes over the socket.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from jetsql.embedded.http_serving import create_server
from jetsql.engine.runs.rehearsal import Rehearsal
from jetsql.engine.session.startup import Session
from jetsql.jobs.store.postgresql.lease import Lease
from jetsql.server.auth import Access
from jetsql.server.standby_app import StandbyServer
from jetsql.settings.engine_settings import EndpointSettings
from jetsql.version import VERSION

_LOG: Final = logging.getLogger(__name__)


class Standby:
    """The wait of one engine process."""

    def __init__(
        self,
        endpoints: EndpointSettings,
        token: str,
        listening: socket.socket,
        stop: threading.Event,
        on_wait: Callable[[], None],
    ) -> None:
        """Create it. on_wait: called when the endpoint answers as a standby."""
        self._endpoints = endpoints
        self._token = token
        self._listening = listening
        self._stop = stop
        self._on_wait = on_wait

    def wait(self, lease: Lease, spark: Session, home: Path, rehearsal: Rehearsal) -> bool:
        """Return True when this engine has the lease; False when it was stopped before."""
        facts = _facts(spark, home)

        def about() -> dict[str, Any]:
            leader = lease.leader.address if lease.leader is not None else ""
            return {**facts, "leader": leader, "warm": rehearsal.is_warm}

        with self._serving(about), rehearsal.running():
            self._on_wait()
            leads = lease.wait(self._stop)
        _LOG.info("This engine leads now" if leads else "The standby ends")
        return leads

    @contextmanager
    def _serving(self, about: Callable[[], Mapping[str, Any]]) -> Iterator[None]:
        endpoints = self._endpoints
        access = Access(self._token, (*endpoints.http_hosts, endpoints.http_host))
        app = StandbyServer(about, access, self._stop.set).app
        server = create_server(app, access, endpoints)
        # The server closes its socket at its end; the engine needs another one for the same port.
        sockets = [self._listening.dup()]
        thread = threading.Thread(target=server.run, args=(sockets,), name="standby-http", daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.should_exit = True
            thread.join()


def _facts(spark: Session, home: Path) -> dict[str, Any]:
    """Return what does not change while an engine waits."""
    return {
        "version": VERSION,
        "role": "standby",
        "spark": spark.version,
        "master": spark.sparkContext.master,
        "home": str(home),
        "pid": os.getpid(),
        "jobs": {},
    }
