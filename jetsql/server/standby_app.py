"""The HTTP endpoint of a standby: it answers what it is, and every statement with the address of the leader."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from jetsql.errors import EngineError, StatementError
from jetsql.jobs.access.access_records import Right
from jetsql.server import wire
from jetsql.server.auth import TokenAuth
from jetsql.server.statement_response import error_response

StandbyStatus = Literal["standby", "rehearsing", "unconfirmed"]
_OF_MACHINE: Final = ("master", "home", "pid")
"""The facts about an engine that only an admin sees."""
_ALL_METHODS: Final = ["GET", "POST", "PUT", "PATCH", "DELETE"]


class StandbyServer:
    """The ASGI application of a standby."""

    def __init__(
        self,
        about: Callable[[], Mapping[str, Any]],
        status: Callable[[], StandbyStatus],
        access: TokenAuth,
        stop: Callable[[], None],
        pages: Sequence[BaseRoute] = (),
    ) -> None:
        """Create the application.

        about: returns facts about this engine, with the URL of the leader as `leader`, empty if there is none.
        status: returns "unconfirmed" if this engine would not notice now that the leader is gone, "rehearsing" if it is
        not ready because it warms up, and otherwise "standby".
        stop: stops this engine, for a client that requested it. pages: the routes for browsers.
        """
        self._about = about
        self._status = status
        self._access = access
        self._request_stop = stop
        app = Starlette(
            routes=[
                Route("/healthz", self._health, methods=["GET"]),
                Route("/readyz", self._readiness, methods=["GET"]),
                Route("/leader", self._leadership, methods=["GET"]),
                Route("/v1/engine", self._engine, methods=["GET"]),
                Route("/v1/engine/stop", self._stop, methods=["POST"]),
                *pages,
                Route("/{path:path}", self._refuse, methods=_ALL_METHODS),
            ]
        )
        app.router.redirect_slashes = False
        self.app = access.guard(app)

    async def _health(self, http: Request) -> Response:
        return health_response("up", "standby", self._access, http)

    async def _readiness(self, http: Request) -> Response:
        status = self._status()
        return JSONResponse({"status": status}, 200 if status == "standby" else 503)

    async def _leadership(self, http: Request) -> Response:
        return JSONResponse({"status": "standby"}, 503)

    async def _engine(self, http: Request) -> Response:
        facts = {**self._about(), "sessions": 0, "statements": 0}
        hidden = () if self._access.is_admin else _OF_MACHINE
        return JSONResponse({name: value for name, value in facts.items() if name not in hidden})

    async def _stop(self, http: Request) -> Response:
        try:
            self._access.require(Right.ADMIN, "POST /v1/engine/stop")
        except StatementError as error:
            return error_response(error.report(), 403)
        self._request_stop()
        return Response(status_code=202)

    async def _refuse(self, http: Request) -> Response:
        return not_leader(str(self._about()["leader"]))


def not_leader(leader: str) -> Response:
    """Return the response to a statement. leader: the URL of the leader; empty if there is none"""
    where = f"the leader is the engine at {leader}" if leader else "no engine leads at the moment"
    hint = f"Send the statement to {leader}." if leader else "Try again in a few seconds."
    error = EngineError("NOT_LEADER", f"This engine is a standby, and {where}.", hint=hint)
    return JSONResponse({**wire.error_body(error.report()), "leader": leader}, 503)


def health_response(status: str, role: str, access: TokenAuth, http: Request) -> Response:
    """Return the response of /healthz. status: `up` or `down`; role: `leader` or `standby`"""
    message = {"status": status, "role": role}
    nonce, address = http.query_params.get("nonce"), http.query_params.get("address")
    if nonce is not None and address is not None:  # clients of earlier releases do not name the address
        try:
            message["proof"] = access.proof(nonce, address, http.scope["server"][1], http.query_params.get("token", ""))
        except StatementError as error:
            return error_response(error.report(), 403)
    return JSONResponse(message, 200 if status == "up" else 503)
