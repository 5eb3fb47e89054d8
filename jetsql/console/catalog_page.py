"""The pages about tables: which jobs use them, from memory; and schemas, columns and DDL, with statements on demand.

GET  /console/catalog           the tables that jobs use, and their lineage
GET  /console/catalog/schemas   the schemas of a catalogue, as a part of the page
GET  /console/catalog/tables    the schemas and tables in a schema, as a part of the page
GET  /console/catalog/table     a table: its columns, DDL, lineage, and jobs
POST /console/catalog/sample    the first rows of a table, as a part of its page
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from jetsql.console.jobs.lineage import lineage, table_kind, used_tables
from jetsql.console.statement_runs import run_for_page
from jetsql.console.table_facts import described_table
from jetsql.console.web.login_sessions import Login
from jetsql.console.web.page_templates import page, render
from jetsql.console.web.request_checks import check_form, read_form
from jetsql.console.web.user_handlers import LoginRequired
from jetsql.jobs.access.access_records import Securable, SecurableKind
from jetsql.jobs.model.job import Job
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.language.tokens import quoted_name
from jetsql.server.app import HttpServer
from jetsql.server.auth import TokenAuth

SAMPLE_ROWS: Final = 20
_PART: Final = r"(?:`(?:[^`]|``)+`|\w+)"
_SESSION_CATALOG: Final = "spark_catalog"
_PLAIN: Final = re.compile(r"\w+", re.ASCII)
_QUOTED: Final = re.compile(rf"{_PART}(?:\.{_PART})*")


class CatalogPages:
    """The pages and their parts."""

    def __init__(self, jobs: JobQueries, http_server: HttpServer, access: TokenAuth, catalogs: Sequence[str]) -> None:
        """Create them. catalogs: the names of all catalogues"""
        self._queries = jobs
        self._access = access
        self._catalogs = catalogs
        self._http_server = http_server

    def routes(self, login_required: LoginRequired) -> list[Route]:
        """Return the routes. login_required: see `WebConsole`."""
        return [
            Route("/catalog", login_required(self._catalog)),
            Route("/catalog/schemas", login_required(self._schemas)),
            Route("/catalog/tables", login_required(self._tables)),
            Route("/catalog/table", login_required(self._table)),
            Route("/catalog/sample", login_required(self._sample), methods=["POST"]),
        ]

    async def _catalog(self, http: Request, login: Login) -> Response:
        jobs = self._jobs()
        catalogs = [name for name in self._catalogs if self._access.sees(_catalog(name))]
        values = {"tables": used_tables(jobs), "graph": lineage(jobs), "catalogs": catalogs}
        return page(http, login, "catalog.html", **values)

    async def _schemas(self, http: Request, login: Login) -> Response:
        catalog = http.query_params.get("catalog", _SESSION_CATALOG)
        outcome = await run_for_page(self._http_server, f"SHOW SCHEMAS IN {quoted_name(catalog)}", http)
        return HTMLResponse(render("catalog_schemas.html", outcome=outcome, catalog=catalog))

    async def _tables(self, http: Request, login: Login) -> Response:
        catalog = http.query_params.get("catalog", _SESSION_CATALOG)
        schema = f"{_written(catalog)}.{http.query_params.get('schema', '')}"
        place = quoted_parts(schema)
        kinds = ("TABLES",) if catalog == _SESSION_CATALOG else ("TABLES", "SCHEMAS")  # it has no schemas in schemas
        texts = (f"SHOW {kind} IN {place}" for kind in kinds)
        outcome, *nested = await asyncio.gather(*(run_for_page(self._http_server, text, http) for text in texts))
        rows = [row for row in outcome.rows if not row["isTemporary"]]
        tables = {f"{schema}.{_written(str(row['tableName']))}": row["tableName"] for row in rows}
        used = {each.name: each for each in used_tables(self._jobs())}
        values = {"outcome": outcome, "tables": tables, "nested": nested, "catalog": catalog, "used": used}
        return HTMLResponse(render("catalog_tables.html", **values))

    async def _table(self, http: Request, login: Login) -> Response:
        name = http.query_params.get("name", "")
        quoted = quoted_parts(name)
        statements = (f"DESCRIBE TABLE EXTENDED {quoted}", f"SHOW CREATE TABLE {quoted}")
        described, created = await asyncio.gather(*(run_for_page(self._http_server, each, http) for each in statements))
        jobs = self._jobs()
        uses = next((each for each in used_tables(jobs) if each.name == name), None)
        table = described_table(described)
        kind = uses.kind if uses is not None else table_kind(table.provider)
        values = {"name": name, "quoted": quoted, "table": table, "created": created, "kind": kind}
        values |= {"sample_rows": SAMPLE_ROWS}
        return page(http, login, "catalog_table.html", **values, uses=uses, graph=lineage(jobs, around=name))

    async def _sample(self, http: Request, login: Login) -> Response:
        form = await read_form(http)
        check_form(login, http, form)
        quoted = quoted_parts(form.one("name"))
        outcome = await run_for_page(self._http_server, f"SELECT * FROM {quoted} LIMIT {SAMPLE_ROWS}", http)
        return HTMLResponse(render("catalog_sample.html", outcome=outcome))

    def _jobs(self) -> list[Job]:
        return [view.job for view in self._queries.live()]


def _catalog(name: str) -> Securable:
    return Securable(SecurableKind.CATALOG, (name.lower(),))


def _written(name: str) -> str:
    """Return a part of a qualified name, in back quotes if it needs them, as Spark writes the others."""
    return name if _PLAIN.fullmatch(name) else quoted_name(name)


def quoted_parts(name: str) -> str:
    """Return a qualified name with its parts in back quotes. A name with a back quoted part is as it has to be."""
    if "`" in name and _QUOTED.fullmatch(name):
        return name
    return ".".join(quoted_name(part) for part in name.split("."))
