"""The page of a standby: what it is, and where the leader is. It has no session, and shows nothing else."""

from __future__ import annotations

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from jetsql.console.web.assets_served import serve_asset
from jetsql.console.web.engine_label import EngineLabel
from jetsql.console.web.page_templates import PREFIX, render
from jetsql.console.web.request_checks import for_browsers
from jetsql.server.auth import TokenAuth
from jetsql.server.standby_app import not_leader


def standby_pages(
    access: TokenAuth,
    leader: Callable[[], str],
    label: EngineLabel = EngineLabel(),  # noqa: B008  # it is frozen
) -> list[BaseRoute]:
    """Return the routes for browsers. leader: returns the URL of the leader; empty if there is none."""

    async def page(http: Request) -> Response:
        url = leader()
        target = f"{url}{PREFIX}/" if url.startswith(("http://", "https://")) else ""
        return HTMLResponse(render("standby.html", leader=url, target=target, label=label), 503)

    async def links(http: Request) -> Response:
        """Send `jetsql console` to the leader, as other clients."""
        return not_leader(leader())

    async def to_console(http: Request) -> Response:
        return RedirectResponse(f"{PREFIX}/", 307)

    access.admit_sessions(PREFIX, lambda headers: False)
    routes = [
        Route("/assets/{version}/{name}", serve_asset),
        Route("/links", links, methods=["POST"]),
        Route("/{path:path}", page),
    ]
    app = Starlette(routes=routes)
    app.router.redirect_slashes = False
    return [Route("/", to_console), Route(PREFIX, to_console), Mount(PREFIX, for_browsers(app, label))]
