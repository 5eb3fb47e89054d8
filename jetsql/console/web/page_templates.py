"""The templates of the pages: every value is escaped, and an unknown name is an error."""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from jetsql.console.web.assets_served import asset_url
from jetsql.console.web.login_sessions import Login
from jetsql.console.web.sql_markup import sql_markup
from jetsql.output.short_numbers import format_bytes, format_count, format_seconds
from jetsql.version import VERSION

PREFIX: Final = "/console"
_CELL_CHARS: Final = 1000
_SHORT_NAME: Final = 20
_NAME_PARTS: Final = re.compile(r"[^._\-/]+[._\-/]*|[._\-/]+")
_ISO_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:[+-]\d\d:\d\d|Z)", re.ASCII)
PAGES: Final = (
    ("/", "Overview"),
    ("/jobs", "Jobs"),
    ("/sql", "SQL"),
    ("/catalog", "Catalogue"),
    ("/snapshots", "Snapshots"),
    ("/alerts", "Alerts"),
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
        count=format_count,
        bytes=format_bytes,
        seconds=format_seconds,
        iso=iso_time,
        plain=plain_time,
        sql=sql_markup,
        cell=cell_text,
        age=age,
        breakable=breakable,
    )
    made.tests.update(iso_time=is_iso_time)
    made.globals.update(prefix=PREFIX, asset=asset_url, version=VERSION, pages=PAGES)
    return made


def render(name: str, /, **values: Any) -> str:
    """Return a template with these values."""
    return environment().get_template(name).render(**values)


def macro(name: str, of: str) -> Any:
    """Return a macro of a template. name: the template; of: the macro."""
    return getattr(environment().get_template(name).module, of)


def page(http: Request, login: Login, name: str, status: int = 200, /, **values: Any) -> HTMLResponse:
    """Return the page of a user who is logged in.

    http: its state has the `Viewer`. name: the template. status: the HTTP status.
    """
    common = {"csrf": login.csrf, "path": http.url.path, "viewer": http.state.viewer}
    common["label"] = http.state.label
    return HTMLResponse(render(name, **common, **values), status)


def iso_time(seconds: float) -> str:
    """Return a time in seconds since the epoch as HTML's `time` has it, which the script shows in the user's zone."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def age(seconds: float) -> str:
    """Return the time that has passed since a time in seconds since the epoch, as the script updates it."""
    passed = max(0.0, time.time() - seconds)
    for limit, unit, size in ((60, "s", 1), (3600, "min", 60), (48 * 3600, "h", 3600)):
        if passed < limit:
            return f"{int(passed // size)} {unit}"
    return f"{int(passed // 86400)} d"


def breakable(name: str) -> Markup:
    """Return a name that a browser breaks between its words only, and only if it is long."""
    if len(name) <= _SHORT_NAME:
        return Markup.escape(name)
    return Markup("<wbr>").join(Markup.escape(part) for part in _NAME_PARTS.findall(name))


def cell_text(value: object) -> str:
    """Return a value of a row, which is not NULL, as text; of a long one its beginning."""
    is_plain = isinstance(value, str | Decimal)
    text = str(value) if is_plain else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _CELL_CHARS else f"{text[:_CELL_CHARS]}…"


def is_iso_time(value: object) -> bool:
    """Return whether a value is a time with its offset, as statements return it."""
    return isinstance(value, str) and _ISO_TIME.fullmatch(value) is not None


def plain_time(seconds: float) -> str:
    """Return a time in UTC for a browser without the script."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
