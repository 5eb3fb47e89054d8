"""The HTTP endpoint: it runs statements and streams their rows to clients that have no Spark.

    POST   /v1/sql                      run a statement; its rows are streamed, as JSON lines (see `wire`) or as Arrow
    DELETE /v1/statements/{id}          cancel a statement without a session, by the id in its request
    POST   /v1/sessions                 open a session (current schema, settings, temporary views)
    GET    /v1/sessions/{id}            return the session's current schema
    DELETE /v1/sessions/{id}            close the session
    DELETE /v1/sessions/{session}/statements/{id}
                                        cancel a statement of the session, by the id in its request
    GET    /v1/jobs[?all=true]          return the rows of SHOW [ALL] JOBS, as one JSON object
    GET    /v1/metrics                  return the current metrics of the jobs, as one JSON object
    GET    /v1/engine                   describe the engine
    POST   /v1/engine/stop              stop the engine gracefully
    POST   /v1/backup                   write a backup into a folder of the engine's machine
    GET    /metrics                     return the metrics of engine and jobs in Prometheus's format
    GET    /openapi.json                describe this API for programs
    GET    /healthz[?nonce=...&address=...[&token=...]]
                                        return whether the engine is up, and its role, without a token. The response to
                                        a nonce and an address has a proof, see `discovery.proof`, by which a client
                                        recognizes the engine before it sends the token
    GET    /readyz                      return whether the leader or standby is ready, without a token
    GET    /leader                      return whether the engine takes statements, without a token

The event loop never waits for Spark: work that may wait runs on threads. The HTTP status of an error depends on its
kind, and its body identifies it exactly.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from jetsql.backup.backup_manifest import BackupManifest, summary
from jetsql.errors import ErrorReport, JetSQLError, StatementError, check_text
from jetsql.jobs.access.access_records import Right
from jetsql.jobs.statements.metrics_sample import JobSample
from jetsql.request import Cancellation, cancellable, current
from jetsql.server import wire
from jetsql.server.auth import TokenAuth
from jetsql.server.client_sessions import ClientSessions, SessionFactory
from jetsql.server.metrics_response import as_object
from jetsql.server.parameter_values import bind_parameters
from jetsql.server.prometheus import PrometheusResponse
from jetsql.server.running_statements import Emit, ErrorReporter, RunningStatements, StatementRequest
from jetsql.server.standby_app import health_response
from jetsql.server.statement_response import (
    StatementResponse,
    collect_lines,
    error_response,
    run_for_caller,
    run_lines,
)
from jetsql.server.statement_result import StatementResult

T = TypeVar("T")

MAX_BODY_BYTES: Final = 32 * 1024 * 1024
"""The size limit of a request, which has one statement and its parameters."""

_MAX_LEVELS: Final = 100
"""The limit of arrays and objects nested in a request."""

_MAX_VALUES: Final = 250_000
"""The limit of values in a request. Python reads JSON in one call, during which no other thread runs."""

# A string, also one without an end, or a mark that precedes a value.
_JSON_PARTS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[,\[{]', re.DOTALL)

# Any client that knows the id of a statement without a session can cancel it, so the id needs 128 random bits.
_UNGUESSABLE_ID: Final = re.compile(r"[A-Za-z0-9_-]{22,128}")

_STATEMENT_THREADS: Final = 256
# All other requests have their own threads, so that clients can cancel statements and stop a busy engine.
_SHORT_THREADS: Final = 16
# Below the timeouts of usual health checks: a Spark that does not answer a call cannot run a statement either.
_SPARK_SECONDS: Final = 3.0


class ServedEngine(SessionFactory, ErrorReporter, Protocol):
    """The engine of the HTTP server: an `EngineInstance`."""

    @property
    def closed(self) -> bool: ...

    def run(self, text: str) -> StatementResult:
        """Run a statement in the engine's own session."""

    def prometheus_response(self, sessions: int, statements: int) -> PrometheusResponse:
        """Return the metrics for Prometheus. sessions, statements: the current numbers of the clients."""

    def sample_jobs(self) -> Sequence[JobSample]:
        """Return a sample of each job's current metrics."""

    def about(self) -> Mapping[str, Any]:
        """Return version, master, home and numbers of jobs, as JSON values."""

    def back_up(self, folder: Path) -> BackupManifest:
        """Write a backup. folder: new or empty. Raises EngineError BACKUP_FAILED."""


class HttpServer:
    """The ASGI application with its sessions, running statements and threads."""

    def __init__(
        self,
        engine: ServedEngine,
        access: TokenAuth,
        stop: Callable[[], None],
        idle_seconds: float,
        sessions_most: int,
    ) -> None:
        """Create the application.

        stop: stops the engine, for a client that requested it.
        idle_seconds: the time after which an unused session is closed.
        sessions_most: the limit of open sessions.
        """
        self._engine = engine
        self._access = access
        self._request_stop = stop
        self.sessions = ClientSessions(engine, idle_seconds, sessions_most)
        self.running = RunningStatements(engine, self.sessions)
        access.on_change(lambda: self.running.cancel_ended(access.end_of))
        self._threads = ThreadPoolExecutor(_STATEMENT_THREADS, thread_name_prefix="statement")
        self._short = ThreadPoolExecutor(_SHORT_THREADS, thread_name_prefix="http")
        self._stopping = Cancellation()
        self._stop_listeners: list[Callable[[], None]] = []
        self._is_closed: asyncio.Future[bool] | None = None  # the newest call of Spark for /healthz
        self._router = Starlette(
            routes=self._routes(), exception_handlers={JetSQLError: _error_response, HTTPException: _http_error}
        )
        self._router.router.redirect_slashes = False
        self.app: ASGIApp = access.guard(self._router)

    def add_routes(self, routes: Sequence[BaseRoute], on_stop: Callable[[], None]) -> None:
        """Add the routes of another application, before the server runs.

        on_stop: called when the engine stops, to end responses without an end.
        """
        self._router.router.routes.extend(routes)
        self._stop_listeners.append(on_stop)

    def respond_to_statement(self, request: StatementRequest) -> Response:
        """Return the response that runs a statement. Raises the errors of `RunningStatements.add`."""
        return StatementResponse(self.running, request, self._threads)

    async def run_statement(self, request: StatementRequest) -> tuple[bytes | ErrorReport, ...]:
        """Run a statement with a short result, and return its lines and the error, if there is one."""
        return await collect_lines(self.running, request, self._threads)

    async def run_lines(self, request: StatementRequest, emit: Emit) -> None:
        """Run a statement, and pass its lines on, see `statement_response.run_lines`."""
        await run_lines(self.running, request, self._threads, emit)

    async def on_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run a function that may wait on a thread for short requests, for the same caller."""
        return await run_for_caller(self._short, work, *arguments)

    def cancel_running(self) -> None:
        """Cancel the running statements, and a backup, because the engine stops."""
        for listener in self._stop_listeners:
            listener()
        self._stopping.end_with_engine()
        self.running.cancel_all()

    def close(self) -> None:
        """Cancel the running statements, and wait for the threads."""
        self.cancel_running()
        self.sessions.stop()
        self._threads.shutdown()
        self._short.shutdown()

    def _routes(self) -> list[Route]:
        return [
            Route("/v1/sql", self._sql, methods=["POST"]),
            Route("/v1/statements/{id}", self._cancel, methods=["DELETE"]),
            Route("/v1/sessions", self._open_session, methods=["POST"]),
            Route("/v1/sessions/{id}", self._session, methods=["GET", "DELETE"]),
            Route("/v1/sessions/{session}/statements/{id}", self._cancel, methods=["DELETE"]),
            Route("/v1/jobs", self._jobs, methods=["GET"]),
            Route("/v1/metrics", self._job_metrics, methods=["GET"]),
            Route("/v1/engine", self._about, methods=["GET"]),
            Route("/v1/engine/stop", self._stop, methods=["POST"]),
            Route("/v1/backup", self._back_up, methods=["POST"]),
            Route("/metrics", self._metrics, methods=["GET"]),
            Route("/openapi.json", _description, methods=["GET"]),
            Route("/healthz", self._health, methods=["GET"]),
            Route("/readyz", self._readiness, methods=["GET"]),
            Route("/leader", self._readiness, methods=["GET"]),
        ]

    async def _sql(self, http: Request) -> Response:
        arrow = wire.ARROW_TYPE in http.headers.get("accept", "")
        return self.respond_to_statement(_statement(await read_json(http), arrow))

    async def _cancel(self, http: Request) -> Response:
        await self.on_thread(self.running.cancel, http.path_params["id"], http.path_params.get("session"))
        return Response(status_code=202)

    async def _open_session(self, http: Request) -> Response:
        opened = await self.on_thread(self.sessions.open)
        return JSONResponse({"session": opened.id, "schema": await self.on_thread(opened.session.schema)}, 201)

    async def _session(self, http: Request) -> Response:
        if http.method == "DELETE":
            self.sessions.close(http.path_params["id"])
            await self.on_thread(self.running.cancel_streaming_selects, http.path_params["id"])
            return Response(status_code=204)
        opened = self.sessions.get(http.path_params["id"])
        return JSONResponse({"session": opened.id, "schema": await self.on_thread(opened.session.schema)})

    async def _jobs(self, http: Request) -> Response:
        all_jobs = http.query_params.get("all", "false")
        if all_jobs not in ("true", "false") or len(http.query_params) > 1:
            raise StatementError("REQUEST_NOT_READABLE", "The only parameter is `all`, which is true or false.")
        text = "SHOW ALL JOBS" if all_jobs == "true" else "SHOW JOBS"
        content = await self.on_thread(lambda: wire.json_object("jobs", self._engine.run(text)))
        return Response(content, media_type="application/json")

    async def _job_metrics(self, http: Request) -> Response:
        return JSONResponse(as_object(await self.on_thread(self._engine.sample_jobs)))

    async def _about(self, http: Request) -> Response:
        about = await self.on_thread(self._engine.about)
        about = {**about, "user": current().caller.user}
        return JSONResponse({**about, "sessions": len(self.sessions), "statements": len(self.running)})

    async def _metrics(self, http: Request) -> Response:
        self._access.require(Right.MONITOR, "GET /metrics")
        metrics = await self.on_thread(self._engine.prometheus_response, len(self.sessions), len(self.running))
        return Response(metrics.content, media_type=metrics.content_type)

    async def _stop(self, http: Request) -> Response:
        self._access.require(Right.ADMIN, "POST /v1/engine/stop")
        self._request_stop()
        return Response(status_code=202)

    async def _back_up(self, http: Request) -> Response:
        self._access.require(Right.ADMIN, "POST /v1/backup")
        folder = _folder(await read_json(http))

        def write() -> BackupManifest:
            with cancellable(self._stopping):
                return self._engine.back_up(folder)

        manifest = await run_for_caller(self._threads, write)
        return JSONResponse(summary(manifest))

    async def _health(self, http: Request) -> Response:
        return health_response("up" if await self._is_up() else "down", "leader", self._access, http)

    async def _is_up(self) -> bool:
        """Return whether Spark answers a call. Requests share a call that has not ended: they need no token."""
        call = self._is_closed
        if call is None or call.done():
            call = self._is_closed = asyncio.ensure_future(self.on_thread(lambda: self._engine.closed))
        done, _ = await asyncio.wait({call}, timeout=_SPARK_SECONDS)
        return bool(done) and call.exception() is None and not call.result()

    async def _readiness(self, http: Request) -> Response:
        status = await self.on_thread(self._describe_readiness)
        return JSONResponse({"status": status}, 200 if status == "ready" else 503)

    def _describe_readiness(self) -> str:
        if self._engine.closed:
            return "closed"
        return "ready" if self._engine.leads else "unconfirmed"


async def _description(http: Request) -> Response:
    content = resources.files("jetsql.server").joinpath("openapi.json").read_bytes()
    return Response(content, media_type="application/json")


async def read_json(http: Request) -> Mapping[str, Any]:
    """Return the JSON object of a request. Raises StatementError REQUEST_NOT_READABLE."""
    received = bytearray()
    async for part in http.stream():
        received += part
        if len(received) > MAX_BODY_BYTES:
            limit = f"{MAX_BODY_BYTES // 2**20} MiB"
            raise StatementError("REQUEST_NOT_READABLE", f"The request is larger than {limit}.")
    _check_values(received)
    try:
        message = json.loads(received)
    except (ValueError, RecursionError) as error:
        raise StatementError("REQUEST_NOT_READABLE", f"The body of the request is not JSON: {error}.") from error
    if not isinstance(message, dict):
        raise StatementError("REQUEST_NOT_READABLE", "The body of the request is not a JSON object.")
    _check_members(message)
    return message


def _check_values(received: bytearray) -> None:
    """Raise StatementError for a JSON text with too many values, before Python reads it."""
    if sum(map(received.count, (b",", b"[", b"{"))) <= _MAX_VALUES:
        return
    values = 0
    for part in _JSON_PARTS.finditer(received):
        values += part.group()[:1] != b'"'
        if values > _MAX_VALUES:
            hint = "Send the rows in several statements, or write them into a file that the engine reads."
            raise StatementError("REQUEST_NOT_READABLE", f"The request has more than {_MAX_VALUES} values.", hint=hint)


def _check_members(message: Mapping[str, Any]) -> None:
    """Raise StatementError for values nested too deeply to be read recursively, and for half surrogate pairs."""
    level: list[Any] = [message]
    for _ in range(_MAX_LEVELS):
        next_level: list[Any] = []
        for value in level:
            if isinstance(value, str):
                check_text(value, "A text of the request")
            elif isinstance(value, dict):
                next_level += value
                next_level += value.values()
            elif isinstance(value, list):
                next_level += value
        if not next_level:
            return
        level = next_level
    raise StatementError("REQUEST_NOT_READABLE", f"The request is nested more than {_MAX_LEVELS} levels deep.")


_FIELDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "statement": str,
    "session": str,
    "id": str,
    "parameters": (list, dict),
    "trace": bool,
    "live": bool,
}


def _statement(message: Mapping[str, Any], arrow: bool) -> StatementRequest:
    """Return the statement of a request. Raises StatementError REQUEST_NOT_READABLE, PARAMETER_NOT_READABLE."""
    for name, value in message.items():
        if name not in _FIELDS:
            hint = f"The fields are: {', '.join(_FIELDS)}."
            raise StatementError("REQUEST_NOT_READABLE", f"There is no field {name!r}.", hint=hint)
        if value is not None and not isinstance(value, _FIELDS[name]):
            raise StatementError("REQUEST_NOT_READABLE", f"The value of the field {name!r} has the wrong type.")
    text = message.get("statement")
    if not text:
        raise StatementError("REQUEST_NOT_READABLE", "The field 'statement' is missing or empty.")
    return StatementRequest(
        id=_statement_id(message.get("id"), message.get("session")),
        text=text,
        session=message.get("session"),
        parameters=bind_parameters(message.get("parameters"), text),
        trace=message.get("trace") or False,
        arrow=arrow,
        live=message.get("live") or False,
    )


def _folder(message: Mapping[str, Any]) -> Path:
    """Return the folder of a request for a backup. Raises StatementError REQUEST_NOT_READABLE."""
    folder = message.get("folder")
    if len(message) != 1 or not isinstance(folder, str) or not Path(folder).is_absolute() or "\0" in folder:
        raise StatementError("REQUEST_NOT_READABLE", "The only field is 'folder', an absolute path.")
    return Path(folder)


def _statement_id(requested: str | None, session: str | None) -> str:
    """Return the id in the request, or a random one without it. Raises StatementError REQUEST_NOT_READABLE."""
    if requested and session is None and not _UNGUESSABLE_ID.fullmatch(requested):
        raise StatementError(
            "REQUEST_NOT_READABLE",
            "The id of a statement without a session can be guessed.",
            hint="Use 22 to 128 random characters of A-Z, a-z, 0-9, - and _, such as a random UUID, or open a session.",
        )
    return requested or secrets.token_urlsafe(16)


async def _error_response(http: Request, error: Exception) -> Response:
    assert isinstance(error, JetSQLError)
    return error_response(error.report())


async def _http_error(http: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = f"{http.method} {http.url.path}: {error.detail}."
    report = StatementError("REQUEST_NOT_READABLE", message).report()
    return error_response(report, error.status_code, error.headers)
