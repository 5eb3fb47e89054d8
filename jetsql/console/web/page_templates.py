"""The templates of the pages: every value is escaped, and an unknown name is an error."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from jetsql.console.web.assets_served import asset_url
from jetsql.console.web.login_sessions import Login
from jetsql.console.web.sql_markup import sql_markup
from jetsql.output.short_numbers import format_bytes, format_count, format_seconds
from jetsql.version import VERSION

PREFIX: Final = "/console"
PAGES: Final = (
    ("/", "Jobs"),
    ("/sql", "SQL"),
    ("/catalog", "Catalogue"),
    ("/snapshots", "Snapshots"),
    ("/members", "Members"),
    ("/engine", "Engine"),
)
"""The path of each page in the navigation, and its label."""


@cache
def environment() -> Environment:
    """Return the environment, which compiles each template once."""
    made = Environment(
        loader=PackageLoader("jetsql.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(
        count=format_count, bytes=format_bytes, seconds=format_seconds, iso=iso_time, plain=plain_time, sql=sql_markup
    )
    made.globals.update(prefix=PREFIX, asset=asset_url, version=VERSION, pages=PAGES)
    return made


def render(name: str, /, **values: Any) -> str:
    """Return a template with these values."""
    return environment().get_template(name).render(**values)


def macro(name: str, of: str) -> Any:
    """Return a macro of a template. name: the template; of: the macro."""
    return getattr(environment().get_template(name).module, of)


def page(http: Request, login: Login, name: str, /, **values: Any) -> HTMLResponse:
    """Return the page of a user who is logged in."""
    return HTMLResponse(render(name, csrf=login.csrf, path=http.url.path, **values))


def iso_time(seconds: float) -> str:
    """Return a time in seconds since the epoch as HTML's `time` has it, which the script shows in the user's zone."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def plain_time(seconds: float) -> str:
    """Return a time in UTC for a browser without the script."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
