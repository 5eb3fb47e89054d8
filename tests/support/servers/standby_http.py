"""The HTTP endpoint of a standby on a real socket, in a thread of this process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from uvicorn import Server

from jetsql.console.standby_page import standby_pages
from jetsql.server.auth import Accounts, TokenAuth
from jetsql.server.login_limits import http_config
from jetsql.server.standby_app import StandbyServer, StandbyStatus
from jetsql.settings.engine_settings import EndpointSettings
from tests.support.servers.http_server import TOKEN


@contextmanager
def run_standby(
    leader: Callable[[], str],
    stop: Callable[[], None] = lambda: None,
    port: int = 0,
    accounts: Accounts | None = None,
    status: Callable[[], StandbyStatus] = lambda: "standby",
) -> Iterator[str]:
    """Yield the URL of a standby with its page. leader: returns the URL of the leader. port: 0 for a free one."""
    access = TokenAuth(TOKEN, accounts=accounts)
    pages = standby_pages(access, leader)
    facts = {"role": "standby", "home": "/home/of/it"}
    app = StandbyServer(lambda: {**facts, "leader": leader()}, status, access, stop, pages).app
    server = Server(http_config(app, access, EndpointSettings(), 100))
    with socket.create_server(("127.0.0.1", port)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
