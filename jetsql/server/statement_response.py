"""One statement's answer on its way to the client.

The thread that runs the statement hands lines to the event loop through a short queue. Until its first line it is not
known whether the answer is an error, so the status of HTTP waits for it. While the answer is under way the connection
is watched: a client that left cancels its statement, in whatever the statement waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from jetsql.errors import ErrorReport
from jetsql.server import wire
from jetsql.server.running_statements import ClientDisconnected, RunningStatements, StatementRequest

# Lines that wait for a slow reader: with 64 KiB each, a quarter of a megabyte a statement.
_LINES: Final = 4

# By the condition where it says more than the class of its SQLSTATE does.
_STATUS_OF_CONDITION: Final = {
    "JETSQL.SESSION_NOT_FOUND": 404,
    "JETSQL.STATEMENT_NOT_FOUND": 404,
    "JETSQL.JOB_NOT_FOUND": 404,
    "JETSQL.SNAPSHOT_NOT_FOUND": 404,
    "JETSQL.NOT_AUTHORIZED": 401,
    "JETSQL.ENGINE_NOT_REACHABLE": 503,
    "JETSQL.ENGINE_NOT_STARTED": 503,
}
_STATUS_OF_CLASS: Final = {"XX": 500, "58": 500, "53": 503, "55": 409}


class StatementResponse(Response):
    """The response of `POST /v1/sql`."""

    def __init__(self, running: RunningStatements, request: StatementRequest, threads: ThreadPoolExecutor) -> None:
        running.add(request)  # may refuse, and then there is no statement
        super().__init__(media_type=wire.ARROW_TYPE if request.arrow else wire.CONTENT_TYPE)
        del self.headers["content-length"]  # which nobody knows yet
        self._running = running
        self._request = request
        self._threads = threads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        lines_in, lines = anyio.create_memory_object_stream[bytes | ErrorReport](_LINES)
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._threads, self._work, loop, lines_in)
        watch = asyncio.create_task(self._watch(receive))
        try:
            async with lines:
                await self._send(lines, scope, receive, send)
        finally:
            watch.cancel()
            self._request.cancellation.cancel()
            await asyncio.shield(work)

    def _work(self, loop: asyncio.AbstractEventLoop, lines_in: ObjectSendStream[bytes | ErrorReport]) -> None:
        try:
            self._running.run(self._request, partial(_emit, loop, lines_in))
        finally:
            self._running.remove(self._request)
            loop.call_soon_threadsafe(lines_in.close)  # type: ignore[attr-defined]

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        await asyncio.get_running_loop().run_in_executor(None, self._request.cancellation.cancel)

    async def _send(
        self, lines: ObjectReceiveStream[bytes | ErrorReport], scope: Scope, receive: Receive, send: Send
    ) -> None:
        first = await lines.receive()
        if isinstance(first, ErrorReport):
            await error_response(first)(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": first, "more_body": True})
        async for line in lines:
            if isinstance(line, ErrorReport):
                line = wire.arrow_error(line) if self._request.arrow else wire.error_line(line)
            await send({"type": "http.response.body", "body": line, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _emit(
    loop: asyncio.AbstractEventLoop, lines_in: ObjectSendStream[bytes | ErrorReport], line: bytes | ErrorReport
) -> None:
    """On the statement's thread: wait until there is room. Raises ReaderGone."""
    try:
        asyncio.run_coroutine_threadsafe(lines_in.send(line), loop).result()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
        raise ClientDisconnected from error


def error_response(
    report: ErrorReport, status: int | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error as a whole response. status: of HTTP; else by its condition."""
    by_kind = _STATUS_OF_CONDITION.get(report.condition) or _STATUS_OF_CLASS.get(report.sqlstate[:2], 400)
    return JSONResponse(wire.error_body(report), status or by_kind, headers)
