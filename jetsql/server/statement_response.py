"""Send the result of a statement to the client while it is computed.

The thread that runs the statement passes lines to the event loop through a short queue. The first line shows whether
the statement failed, so the HTTP status is sent after it. If the client disconnects, its statement is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, Final, TypeVar

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from jetsql.errors import ErrorReport, JetSQLError
from jetsql.request import ENGINE_STOPS
from jetsql.server import wire
from jetsql.server.running_statements import ClientDisconnected, Emit, RunningStatements, StatementRequest

T = TypeVar("T")

# The number of lines that wait for a slow client: with 64 KiB each, 256 KiB for a statement.
_QUEUED_LINES: Final = 4

# For these conditions, the class of the SQLSTATE is not specific enough.
_STATUS_OF_CONDITION: Final = {
    "JETSQL.SESSION_NOT_FOUND": 404,
    "JETSQL.STATEMENT_NOT_FOUND": 404,
    "JETSQL.JOB_NOT_FOUND": 404,
    "JETSQL.SNAPSHOT_NOT_FOUND": 404,
    "JETSQL.NOT_AUTHORIZED": 401,
    "JETSQL.NOT_ALLOWED": 403,
    "JETSQL.LIMIT_EXCEEDED": 429,
    f"JETSQL.{ENGINE_STOPS}": 503,
    "JETSQL.ENGINE_NOT_REACHABLE": 503,
    "JETSQL.ENGINE_NOT_STARTED": 503,
    "JETSQL.NOT_LEADER": 503,
}
_STATUS_OF_CLASS: Final = {"XX": 500, "58": 500, "53": 503, "55": 409}


class StatementResponse(Response):
    """The response of `POST /v1/sql`."""

    def __init__(self, running: RunningStatements, request: StatementRequest, threads: ThreadPoolExecutor) -> None:
        running.add(request)  # first, because it may raise
        super().__init__(media_type=wire.ARROW_TYPE if request.arrow else wire.CONTENT_TYPE)
        del self.headers["content-length"]  # unknown until the last row
        self._running = running
        self._request = request
        self._threads = threads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        lines_in, lines = anyio.create_memory_object_stream[bytes | ErrorReport](_QUEUED_LINES)
        loop = asyncio.get_running_loop()
        work = run_for_caller(self._threads, self._work, loop, lines_in)
        watch = asyncio.create_task(self._cancel_on_disconnect(receive))
        try:
            async with lines:
                is_streamed = await self._send(lines, scope, receive, send)
        finally:
            watch.cancel()
            self._request.cancellation.cancel()
            await asyncio.shield(work)  # an error of the thread leaves the response without an end
        if is_streamed:
            await send({"type": "http.response.body", "more_body": False})

    def _work(self, loop: asyncio.AbstractEventLoop, lines_in: ObjectSendStream[bytes | ErrorReport]) -> None:
        try:
            self._running.run(self._request, partial(_emit, loop, lines_in))
        finally:
            self._running.remove(self._request)
            loop.call_soon_threadsafe(lines_in.close)  # type: ignore[attr-defined]

    async def _cancel_on_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        await asyncio.get_running_loop().run_in_executor(None, self._request.cancellation.cancel)

    async def _send(
        self, lines: ObjectReceiveStream[bytes | ErrorReport], scope: Scope, receive: Receive, send: Send
    ) -> bool:
        """Send the lines of a response, and return whether its end is still to be sent."""
        first = await lines.receive()
        if isinstance(first, ErrorReport):
            await error_response(first)(scope, receive, send)
            return False
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": first, "more_body": True})
        async for line in lines:
            if isinstance(line, ErrorReport):
                line = wire.arrow_error(line) if self._request.arrow else wire.error_line(line)
            await send({"type": "http.response.body", "body": line, "more_body": True})
        return True


async def collect_lines(
    running: RunningStatements, request: StatementRequest, threads: ThreadPoolExecutor
) -> tuple[bytes | ErrorReport, ...]:
    """Run a statement with a short result, and return its lines and the error, if there is one."""
    lines: list[bytes | ErrorReport] = []
    await run_lines(running, request, threads, lines.append)
    return tuple(lines)


async def run_lines(
    running: RunningStatements, request: StatementRequest, threads: ThreadPoolExecutor, emit: Emit
) -> None:
    """Run a statement on a thread. emit: called with each line, and with the error if there is one."""
    try:
        running.add(request)
    except JetSQLError as error:
        emit(error.report())
        return

    def work() -> None:
        try:
            running.run(request, emit)
        finally:
            running.remove(request)

    await run_for_caller(threads, work)


def run_for_caller(threads: Executor, work: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
    """Run a function on another thread for the caller of this one, see `jetsql.request`."""
    return asyncio.get_running_loop().run_in_executor(threads, copy_context().run, work, *arguments)


def _emit(
    loop: asyncio.AbstractEventLoop, lines_in: ObjectSendStream[bytes | ErrorReport], line: bytes | ErrorReport
) -> None:
    """Queue a line from the statement's thread, when there is room. Raises ClientDisconnected."""
    try:
        asyncio.run_coroutine_threadsafe(lines_in.send(line), loop).result()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
        raise ClientDisconnected from error


def error_response(
    report: ErrorReport, status: int | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the response for an error. status: the HTTP status; by default, it depends on the condition."""
    return JSONResponse(wire.error_body(report), status or http_status(report), headers)


def http_status(report: ErrorReport) -> int:
    """Return the HTTP status for an error."""
    return _STATUS_OF_CONDITION.get(report.condition) or _STATUS_OF_CLASS.get(report.sqlstate[:2], 400)
