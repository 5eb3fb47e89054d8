"""A standby: an engine with a warm Spark that waits until it leads, see `engine.runs.warm_up`.

An engine that has lost the lead is a standby also while its store is out of reach, before it starts Spark. The HTTP
server listens on the socket of the later engine, so a client can connect at any time. It ends when the engine leads,
and the engine's own server takes over the socket.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from jetsql.console.standby_page import standby_pages
from jetsql.console.web.engine_label import EngineLabel
from jetsql.embedded.http_serving import create_server
from jetsql.engine.jvm.spark_version import full_version
from jetsql.engine.runs.warm_up import WarmUp
from jetsql.identity.open_issuer import open_issuer
from jetsql.jobs.access.token_accounts import StoredAccounts
from jetsql.jobs.audit.audit_file import AuditFile
from jetsql.jobs.audit.audit_log import AuditLog
from jetsql.jobs.store.postgresql.lease import Lease
from jetsql.server.auth import TokenAuth
from jetsql.server.server_certificate import ServerCertificate
from jetsql.server.standby_app import StandbyServer, StandbyStatus
from jetsql.settings.engine_settings import Settings
from jetsql.version import VERSION

_LOG: Final = logging.getLogger(__name__)


class Standby:
    """The wait of one engine process."""

    def __init__(
        self,
        settings: Settings,
        token: str,
        listening: socket.socket,
        certificate: ServerCertificate | None,
        stop: threading.Event,
        on_wait: Callable[[], None],
        on_stop: Callable[[], None],
    ) -> None:
        """Create it.

        on_wait: called when the endpoint answers as a standby. on_stop: called before it stops to, unless the engine
        leads then, whose endpoint answers those who connect meanwhile.
        """
        self._settings = settings
        self._token = token
        self._listening = listening
        self._certificate = certificate
        self._stop = stop
        self._on_wait = on_wait
        self._on_stop = on_stop

    def wait(self, lease: Lease, warm_up: WarmUp) -> bool:
        """Return True when this engine has the lease; False when it was stopped before."""

        def about() -> dict[str, Any]:
            leader = lease.leader.address if lease.leader is not None else ""
            return {"leader": leader, "warm": warm_up.is_warm}

        accounts = StoredAccounts(lambda: lease.access, time.time)

        def status() -> StandbyStatus:
            if not lease.can_take_over:
                return "unconfirmed"
            return "standby" if warm_up.has_rehearsed else "rehearsing"

        with self.serving(about, status, accounts), warm_up.running():
            leads = lease.wait(self._stop)
            if not leads:
                self._on_stop()
        _LOG.info("This engine leads now" if leads else "The standby ends")
        return leads

    @contextmanager
    def serving(
        self,
        about: Callable[[], Mapping[str, Any]],
        status: Callable[[], StandbyStatus],
        accounts: StoredAccounts | None = None,
    ) -> Iterator[None]:
        """Answer clients inside the context.

        about: returns what changes, as for `StandbyServer`. status: as for `StandbyServer`.
        accounts: None while the store is out of reach.
        """
        endpoints = self._settings.endpoints
        identity = self._settings.identity
        issuer = None if accounts is None else open_issuer(identity, accounts, None, time.time)
        audit = AuditLog(AuditFile(self._settings.home), self._settings.audit)
        access = TokenAuth(self._token, (*endpoints.http_hosts, endpoints.http_host), accounts, issuer, audit)
        facts = _facts(self._settings)
        label = EngineLabel(endpoints.console_name, endpoints.console_colour)
        pages = standby_pages(access, lambda: str(about()["leader"]), label)
        app = StandbyServer(lambda: {**facts, **about()}, status, access, self._stop.set, pages).app
        server = create_server(app, access, endpoints, self._certificate)
        # The server closes its socket at its end; the engine needs another one for the same port.
        sockets = [self._listening.dup()]
        thread = threading.Thread(target=server.run, args=(sockets,), name="standby-http", daemon=True)
        thread.start()
        try:
            self._on_wait()
            yield
        finally:
            server.should_exit = True
            if self._stop.is_set():  # otherwise it ends while the engine starts
                thread.join()


def _facts(settings: Settings) -> dict[str, Any]:
    """Return what does not change while an engine waits."""
    return {
        "version": VERSION,
        "role": "standby",
        "spark": full_version(),
        "master": settings.master,
        "home": str(settings.home),
        "pid": os.getpid(),
        "jobs": {},
    }
