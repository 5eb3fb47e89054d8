"""The pages about tables: which jobs use them, from memory; and schemas, columns and DDL, with statements on demand.

GET  /console/catalog           the tables that jobs use, and their lineage
GET  /console/catalog/schemas   the schemas of a catalogue, as a part of the page
GET  /console/catalog/tables    the schemas and tables in a schema, as a part of the page
GET  /console/catalog/table     a table: its columns, DDL, lineage, and jobs
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
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
_SESSION_CATALOG: Final = "spark_catalog"
_PLAIN: Final = re.compile(r"\w+", re.ASCII)
_QUOTED: Final = re.compile(rf"{_PART}(?:\.{_PART})*")


class CatalogPages:
    """The pages and their parts."""

    def __init__(self, manager: Manager, http_server: HttpServer, catalogs: Sequence[str]) -> None:
        """Create them. catalogs: the names of all catalogues"""
        self._manager = manager
        self._catalogs = catalogs
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
        values = {"tables": used_tables(jobs), "graph": lineage(jobs), "catalogs": self._catalogs}
        return page(http, login, "catalog.html", **values)

    async def _schemas(self, http: Request, login: Login) -> Response:
        catalog = http.query_params.get("catalog", _SESSION_CATALOG)
        outcome = await run_statement(self._http_server, f"SHOW SCHEMAS IN {quoted_name(catalog)}")
        return HTMLResponse(render("catalog_schemas.html", outcome=outcome, catalog=catalog))

    async def _tables(self, http: Request, login: Login) -> Response:
        catalog = http.query_params.get("catalog", _SESSION_CATALOG)
        schema = f"{_written(catalog)}.{http.query_params.get('schema', '')}"
        place = quoted_parts(schema)
        kinds = ("TABLES",) if catalog == _SESSION_CATALOG else ("TABLES", "SCHEMAS")  # it has no schemas in schemas
        texts = (f"SHOW {kind} IN {place}" for kind in kinds)
        outcome, *nested = await asyncio.gather(*(run_statement(self._http_server, text) for text in texts))
        names = [f"{schema}.{_written(str(row['tableName']))}" for row in outcome.rows if not row["isTemporary"]]
        values = {"outcome": outcome, "tables": names, "nested": nested, "catalog": catalog}
        return HTMLResponse(render("catalog_tables.html", **values))

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


def _written(name: str) -> str:
    """Return a part of a qualified name, in back quotes if it needs them, as Spark writes the others."""
    return name if _PLAIN.fullmatch(name) else quoted_name(name)


def quoted_parts(name: str) -> str:
    """Return a qualified name with its parts in back quotes. A name with a back quoted part is as it has to be."""
    if "`" in name and _QUOTED.fullmatch(name):
        return name
    return ".".join(quoted_name(part) for part in name.split("."))
