"""The web console of an engine without Spark, over a real socket, and a browser without scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from html import unescape
from http.client import HTTPConnection, HTTPMessage
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from jetsql.console.console_app import WebConsole
from jetsql.console.web.engine_label import EngineLabel
from jetsql.console.web.login_sessions import LoginSessions
from jetsql.embedded.engine_instance import EngineInstance
from jetsql.identity.oidc_logins import OidcLogins
from jetsql.jobs.model.body_analysis import Operator
from jetsql.server.app import HttpServer
from jetsql.server.auth import TokenAuth
from tests.support.engines.in_memory_runtime import InMemoryRuntime, analysis, sink, source
from tests.support.engines.managed_engine import Managed
from tests.support.servers.http_server import TOKEN, RunningServer, run_server


def joining_engine(home: Path, schema: str) -> Managed:
    """Return an engine whose jobs join the tables orders and payments of a schema, and write totals."""
    found = analysis(
        sources=(source(f"spark_catalog.{schema}.orders"), source(f"spark_catalog.{schema}.payments")),
        stateful=True,
        operators=(
            Operator("Aggregate", "count(1) by region", ("state 1",)),
            Operator("Join", inputs=("source 0", "source 1")),
        ),
        result_inputs=("state 0",),
        sinks=(sink(f"spark_catalog.{schema}.totals"),),
    )
    return Managed(home, runtime=InMemoryRuntime(analysis=found))


@contextmanager
def run_console(
    engine: Managed | EngineInstance,
    logins: LoginSessions | None = None,
    provider: OidcLogins | None = None,
    label: EngineLabel = EngineLabel(),  # noqa: B008  # it is frozen
    **limits: Any,
) -> Iterator[RunningServer]:
    """Serve an engine with its console. provider: of OpenID Connect. limits: further arguments of `run_server`"""

    def console(server: HttpServer, access: TokenAuth) -> WebConsole:
        return WebConsole(engine, server, access, logins, provider, label)

    with run_server(engine, console=console, **limits) as server:
        yield server


@dataclass(frozen=True)
class Page:
    """A response."""

    status: int
    headers: HTTPMessage
    text: str

    @property
    def csrf(self) -> str:
        """Return the value that requests with an effect repeat."""
        found = re.search(r'data-csrf="([^"]+)"', self.text)
        assert found is not None, self.text
        return found[1]

    @property
    def visible(self) -> str:
        """Return the text without markup."""
        return unescape(" ".join(re.sub(r"<[^>]*>", " ", self.text).split()))


@dataclass
class Browser:
    """A browser with cookies, which does not follow redirects by itself."""

    url: str
    cookies: dict[str, str] = field(default_factory=dict)

    def request(self, method: str, path: str, body: str = "", headers: Mapping[str, str] | None = None) -> Page:
        sent = {"Accept": "text/html", **(headers or {})}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        with closing(HTTPConnection(urlsplit(self.url).netloc, timeout=30)) as connection:
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            for cookie in response.headers.get_all("set-cookie") or ():
                name, _, value = cookie.partition(";")[0].partition("=")
                self.cookies[name] = value.strip('"')
                if not self.cookies[name]:
                    del self.cookies[name]
            return Page(response.status, response.headers, response.read().decode())

    def get(self, path: str = "/console/jobs", **headers: str) -> Page:
        """Load a page. headers: with `_` in place of `-`."""
        return self.request("GET", path, headers=_headers(headers))

    def post(self, path: str, fields: Mapping[str, str | Sequence[str]], **headers: str) -> Page:
        """Send a form. headers: with `_` in place of `-`."""
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.request("POST", path, urlencode(fields, doseq=True), {**form, **_headers(headers)})

    def log_in(self, token: str = TOKEN) -> Page:
        return self.post("/console/login", {"token": token, "next": "/console/"})

    def act(self, path: str, fields: Mapping[str, str | Sequence[str]]) -> Page:
        """Send a form of the jobs page."""
        return self.post(path, {"csrf": self.get().csrf, **fields}, HX_Request="true")


def _headers(named: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): text for name, text in named.items()}


def logged_in(server: RunningServer) -> Browser:
    browser = Browser(server.url)
    page = browser.log_in()
    assert page.status == 303, page.text
    return browser


@contextmanager
def events(server: RunningServer, browser: Browser, path: str) -> Iterator[Iterator[tuple[str, Any]]]:
    """Yield the names and contents of server-sent events; an empty content is None."""
    with closing(HTTPConnection(urlsplit(server.url).netloc, timeout=30)) as connection:
        cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        connection.request("GET", path, headers={"Cookie": cookie, "Accept": "text/event-stream"})
        response = connection.getresponse()
        assert response.status == 200, response.read()
        yield _events(iter(response.readline, b""))


def _events(lines: Iterator[bytes]) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in lines:
        key, _, value = line.decode().rstrip("\n").partition(": ")
        if key == "event":
            name = value
        elif key == "data":
            yield name, json.loads(value) if value else None
