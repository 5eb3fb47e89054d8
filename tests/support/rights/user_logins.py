"""Logins of restricted users at the endpoints, which return what a statement shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Final

from jetsql.client.engine_client import EngineClient
from jetsql.errors import ReportedError
from tests.support.rights.restricted_session import Restricted
from tests.support.servers.http_server import run_server
from tests.support.servers.thrift_server import NEVER, thrift

ENDPOINTS: Final = ("HTTP", "Thrift")
Run = Callable[[str], tuple[str, str]]
"""Runs a statement, and returns the condition of its error and its whole text, or "" and the text of the rows."""


@contextmanager
def logged_in(endpoint: str, ann: Restricted, user: str = "ann") -> Iterator[Run]:
    """Log a user in at an endpoint."""
    if endpoint == "HTTP":
        with run_server(ann.engine) as server, closing(EngineClient(server.url, ann.tokens[user])) as client:
            yield lambda text: over_http(client, ann.filled(text))
        return
    with thrift(ann.engine, NEVER) as served, closing(served.client(user, ann.tokens[user])) as client:
        yield lambda text: _over_thrift(*client.outcome(ann.filled(text)))


def over_http(client: EngineClient, text: str) -> tuple[str, str]:
    """Run a statement of a client, as `Run` does."""
    try:
        return "", repr(list(client.run(text).rows))
    except ReportedError as error:
        return error.report.condition or "failed", str(error)


def _over_thrift(is_error: bool, text: str) -> tuple[str, str]:
    found = re.search(r"\[([A-Z_.0-9]+)\]", text)
    return ("", text) if not is_error else (found[1] if found else "failed", text)
