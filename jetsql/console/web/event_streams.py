"""Server-sent events of pages, with a limit of open streams.

A browser opens one for each visible page, and closes it for a page in the background. Without a limit, one login could
use up the connections that the HTTP endpoint allows, so that no client of the engine would get an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Final

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from jetsql.console.web.login_sessions import Login
from jetsql.errors import EngineError
from jetsql.server.statement_response import error_response

LOGIN_MOST: Final = 64
"""The limit of open streams of a login."""
ALL_MOST: Final = 512
"""The limit of open streams of all logins."""
_RETRY_SECONDS: Final = 10


class EventStreams:
    """The open streams. Only the event loop's thread uses it."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    def respond(self, login: Login, messages: AsyncIterator[bytes]) -> Response:
        """Return a stream of messages, or status 503 if the login, or all together, have too many."""
        for count, most, owner in (
            (self._open[login.key], LOGIN_MOST, "This login"),
            (self._open.total(), ALL_MOST, "The web console"),
        ):
            if count >= most:
                message = f"{owner} has {most} open pages, which is the limit."
                report = EngineError("ENGINE_NOT_REACHABLE", message, hint="Close pages of the console.").report()
                return error_response(report, 503, {"Retry-After": str(_RETRY_SECONDS)})
        return _EventStream(self._open, login.key, messages)


class _EventStream(StreamingResponse):
    """A stream that counts until it ends."""

    def __init__(self, counts: Counter[str], key: str, messages: AsyncIterator[bytes]) -> None:
        super().__init__(messages, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
        self._counts = counts
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._counts[self._key] += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._counts[self._key] -= 1
            if not self._counts[self._key]:
                del self._counts[self._key]
