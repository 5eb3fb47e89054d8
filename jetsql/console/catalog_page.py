"""The pages about tables: which jobs use them, from memory; and schemas, columns and DDL, with statements on demand.

GET  /console/catalog           the tables that jobs use, and their lineage
GET  /console/catalog/schemas   the schemas, as a part of the page
GET  /console/catalog/tables    the tables of a schema, as a part of the page
GET  /console/catalog/table     a table: its columns, DDL, lineage, and jobs
"""

from __future__ import annotations

import asyncio
import re
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from jetsql.console.jobs.lineage import lineage, used_tables
from jetsql.console.statement_runs import run_statement
from jetsql.console.web.login_sessions import Login
from jetsql.console.web.page_templates import page, render
from jetsql.console.web.user_handlers import ForUser
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.job import Job, quoted_name
from jetsql.server.app import HttpServer

_PART: Final = r"(?:`(?:[^`]|``)+`|\w+)"
_QUOTED: Final = re.compile(rf"{_PART}(?:\.{_PART})*")


class CatalogPages:
    """The pages and their parts."""

    def __init__(self, manager: Manager, http_server: HttpServer) -> None:
        self._manager = manager
        self._http_server = http_server

    def routes(self, for_user: ForUser) -> list[Route]:
        """Return the routes. for_user: see `WebConsole`."""
        return [
            Route("/catalog", for_user(self._catalog)),
            Route("/catalog/schemas", for_user(self._schemas)),
            Route("/catalog/tables", for_user(self._tables)),
            Route("/catalog/table", for_user(self._table)),
        ]

    async def _catalog(self, http: Request, login: Login) -> Response:
        jobs = self._jobs()
        return page(http, login, "catalog.html", tables=used_tables(jobs), graph=lineage(jobs))

    async def _schemas(self, http: Request, login: Login) -> Response:
        outcome = await run_statement(self._http_server, "SHOW SCHEMAS")
        return HTMLResponse(render("catalog_schemas.html", outcome=outcome))

    async def _tables(self, http: Request, login: Login) -> Response:
        schema = http.query_params.get("schema", "")
        outcome = await run_statement(self._http_server, f"SHOW TABLES IN {quoted_name(schema)}")
        return HTMLResponse(render("catalog_tables.html", outcome=outcome, schema=schema))

    async def _table(self, http: Request, login: Login) -> Response:
        name = http.query_params.get("name", "")
        quoted = quoted_parts(name)
        statements = (f"DESCRIBE TABLE {quoted}", f"SHOW CREATE TABLE {quoted}")
        described, created = await asyncio.gather(*(run_statement(self._http_server, text) for text in statements))
        jobs = self._jobs()
        uses = next((each for each in used_tables(jobs) if each.name == name), None)
        values = {"name": name, "quoted": quoted, "described": described, "created": created}
        return page(http, login, "catalog_table.html", **values, uses=uses, graph=lineage(jobs, around=name))

    def _jobs(self) -> list[Job]:
        return [view.job for view in self._manager.registry.live()]


def quoted_parts(name: str) -> str:
    """Return a qualified name with its parts in back quotes. A name with a back quoted part is as it has to be."""
    if "`" in name and _QUOTED.fullmatch(name):
        return name
    return ".".join(quoted_name(part) for part in name.split("."))
