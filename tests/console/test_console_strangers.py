"""A stranger at the console: without a session, with a forged one, from other sites, and with hostile values in it."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from html.parser import HTMLParser
from http.client import HTTPConnection, HTTPResponse
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from starlette.routing import Route

from jetsql.client.engine_client import EngineClient
from jetsql.console.console_app import WebConsole
from jetsql.console.web.event_streams import LOGIN_MOST
from jetsql.console.web.login_sessions import LoginSessions
from jetsql.jobs.model.body_analysis import Operator
from jetsql.jobs.model.cluster_member import Member, MemberStatus
from jetsql.jobs.model.job import Cause
from jetsql.server.app import HttpServer
from jetsql.server.auth import TokenAuth
from tests.conftest import until
from tests.support.engines.in_memory_runtime import sink, source
from tests.support.engines.managed_engine import Managed
from tests.support.screens.console_browser import Browser, Page, events, logged_in
from tests.support.servers.http_server import TOKEN, RunningServer, run_server

OPEN = {"/login", "/enter", "/links", "/assets/{version}/{name}"}
"""The paths for users who are not logged in."""

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>\" onclick=alert(1) x=\"' autofocus='</style>"
    "<!--{{7*7}}{%x%}`&lt;\\"
)
"""A text that leaves elements, attributes, comments and templates."""


class Consoles:
    """Runs a console, and keeps it to read its routes."""

    def __init__(self, engine: Managed, logins: LoginSessions) -> None:
        self._engine = engine
        self._logins = logins
        self.routes: list[Route] = []

    def __call__(self, http_server: HttpServer, access: TokenAuth) -> WebConsole:
        console = WebConsole(self._engine, http_server, access, self._logins)
        self.routes = console._routes()
        return console


@pytest.fixture
def consoles(engine: Managed, tmp_path: Path) -> Consoles:
    return Consoles(engine, LoginSessions(file=tmp_path / "engine.logins"))


@pytest.fixture
def server(engine: Managed, consoles: Consoles) -> Iterator[RunningServer]:
    with run_server(engine, console=consoles) as server:
        yield server


def protected(consoles: Consoles) -> list[tuple[str, str]]:
    """Return the method and path of all requests that need a session."""
    found = []
    for route in consoles.routes:
        if route.path not in OPEN:
            path = re.sub(r"{\w+}", "1", route.path)
            found += [(method, f"/console{path}") for method in sorted(route.methods or ())]
    assert len(found) > 30
    return found


# --- sessions --------------------------------------------------------------------------------------------------------


def test_no_request_works_without_a_session(server: RunningServer, consoles: Consoles) -> None:
    browser = Browser(server.url)
    for method, path in protected(consoles):
        page = browser.request(method, path, "{}" if method == "POST" else "", {"Accept": "text/html"})
        assert (page.status, page.headers["location"].partition("?")[0]) == (303, "/console/login"), (method, path)
        for accept in ("text/event-stream", "application/json", "*/*"):
            page = browser.request(method, path, "", {"Accept": accept})
            assert (page.status, page.text) == (401, ""), (method, path, accept)
    assert len(server.http_server.running) == 0


def test_forged_cookies_are_no_sessions(server: RunningServer, tmp_path: Path) -> None:
    [(name, value)] = logged_in(server).cookies.items()
    key = json.loads((tmp_path / "engine.logins").read_text())["logins"][0]["key"]
    assert key != value
    forged = [key, TOKEN, value[:-1], value + "x", value.swapcase(), f'"{value}x"', "", "None", "%00", "x" * 60_000]
    assert [session_status(server, {name: each}) for each in forged] == [401] * len(forged)
    assert session_status(server, {f"jetsql_console_{'0' * 12}": value}) == 401
    assert session_status(server, {name: value}) == 200


def session_status(server: RunningServer, cookies: dict[str, str]) -> int:
    return Browser(server.url, cookies).get("/console/session", Accept="application/json").status


def test_a_link_used_by_many_opens_one_session(server: RunningServer) -> None:
    link = Browser(server.url).request("POST", "/console/links", headers={"Authorization": f"Bearer {TOKEN}"})
    path = str(json.loads(link.text)["path"])
    with ThreadPoolExecutor(10) as threads:
        statuses = list(threads.map(lambda _: Browser(server.url).get(path).status, range(30)))
    assert sorted(statuses) == [200] + [401] * 29
    for wrong in (path + "x", path[:-1], path.replace("code=", "code=%00"), "/console/enter", "/console/enter?code="):
        assert Browser(server.url).get(wrong).status == 401, wrong


def test_a_page_that_refreshes_itself_prolongs_no_session(engine: Managed) -> None:
    now = [1000.0]
    logins = LoginSessions(lambda: now[0], idle_seconds=100)
    with run_server(engine, console=Consoles(engine, logins)) as server:
        browser = logged_in(server)
        now[0] += 90
        assert browser.get(x_jetsql_refresh="true").status == 200
        now[0] += 20
        assert browser.get(x_jetsql_refresh="true").status == 303


# --- other sites -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_load_nothing(server: RunningServer, site: str) -> None:
    """Refuse pictures, scripts and event sources, for which browsers send the cookie to other ports of a host name."""
    browser = logged_in(server)
    for path in ("", "catalog/table?name=t", "events/jobs", "events/log", "sql"):
        path = f"/console/{path}"
        for mode in ("no-cors", "cors", "websocket"):
            page = browser.get(path, Sec_Fetch_Site=site, Sec_Fetch_Mode=mode)
            assert (page.status, "JETSQL.NOT_AUTHORIZED" in page.visible) == (403, True), (path, mode)
        for origin in ("http://localhost:1", "http://[", "null"):
            assert browser.get(path, Origin=origin).status == 403, (path, origin)
    assert browser.get(Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate").status == 200
    assert browser.get(Sec_Fetch_Site="none", Sec_Fetch_Mode="navigate").status == 200
    assert browser.get(Sec_Fetch_Site="same-origin", Sec_Fetch_Mode="cors").status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "[::2]", "", "0",
     "localhost:80:80", "evil.example:8630", "localhost#", "127.0.0.1/evil", "http://localhost"],
)  # fmt: skip
def test_other_host_names_reach_no_page(server: RunningServer, host: str) -> None:
    browser = logged_in(server)
    for path in ("/console/", "/console/login", "/console/assets/1/console.js", "/", "/console/enter?code=x"):
        assert browser.get(path, Host=host).status in (400, 403), path
    assert browser.request("POST", "/console/login", f"token={quote(TOKEN)}", {"Host": host}).status in (400, 403)


@pytest.mark.parametrize(
    "path", ["//[", "/console//[", "//evil.example/console/", "/console/\\evil.example", "http://["]
)
def test_a_login_leads_to_a_page_of_the_console(server: RunningServer, path: str) -> None:
    browser = Browser(server.url)
    assert browser.get(f"/console/login?next={quote(path)}").status == 200
    form = f"token={quote(TOKEN)}&next={quote(path)}"
    page = browser.request("POST", "/console/login", form, {"Origin": server.url})
    assert page.status == 303 and page.headers["location"].startswith("/console/")


def test_the_proxy_headers_of_a_stranger_change_no_link(server: RunningServer) -> None:
    headers = {"X_Forwarded_Host": "evil.example", "X_Forwarded_Prefix": "//evil", "Forwarded": "host=evil"}
    page = Browser(server.url).get("/console/", **headers)
    assert page.headers["location"] == "/console/login?next=/console/"
    assert Browser(server.url).get("/console/login", **headers).text.count("evil") == 0


# --- paths and bodies ------------------------------------------------------------------------------------------------


PATHS = (
    "/console/../v1/jobs", "/console/%2e%2e/v1/jobs", "/console/..;/v1/jobs", "/console/..%2fv1%2fjobs", "//v1/jobs",
    "/console//v1/jobs", "/console/./../metrics", "/console/%252e%252e/v1/jobs", "/console\\..\\v1\\jobs", "/CONSOLE/",
    "/console/assets/1/../../../engine.token", "/console/assets/1/..%2f..%2f..%2fengine.token", "/console/jobs/%2e%2e",
    "/console/assets/1/%2fetc%2fpasswd", "/console/assets/1/built.json", "/console/assets/1/console.js%00",
    "/console/assets//console.js", "/console/templates/base.html", "/console/jobs/../../v1/jobs", "/console/;/v1/jobs",
    "/console/events/../../v1/jobs", "/console/login/../../v1/engine", "/console/login%2f..%2f..%2fv1%2fengine",
    "/console/\x7f", "/console/%ff%fe", "/console?/v1/jobs",
)  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_around_the_login(engine: Managed, server: RunningServer, path: str) -> None:
    (engine.home / "engine.token").write_text(TOKEN)
    list(engine.run("CREATE JOB confidential AS INSERT INTO out SELECT * FROM STREAM src").rows)
    for cookies in ({}, logged_in(server).cookies):
        answer = raw(server, path, cookies)
        status = int(answer.split()[1])
        assert status in (303, 307, 400, 401, 404), answer
        assert "confidential" not in answer and TOKEN not in answer and "root:" not in answer


def raw(server: RunningServer, path: str, cookies: dict[str, str]) -> str:
    """Return the response to a request for a path that no client changes."""
    address = urlsplit(server.url)
    cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
    headers = {"Host": address.netloc, "Cookie": cookie, "Accept": "text/html", "Connection": "close"}
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "\r\n"]
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall("\r\n".join(lines).encode("latin-1"))
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode(errors="replace")


def test_bodies_of_strangers_are_not_read(server: RunningServer, consoles: Consoles) -> None:
    """Answer a request without a session before its body: 1 TiB is announced, and nothing is sent."""
    address = urlsplit(server.url)
    for method, path in protected(consoles):
        if method != "POST":
            continue
        with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
            head = f"POST {path} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: {2**40}\r\n\r\n"
            connection.sendall(head.encode())
            assert connection.recv(100).split()[1] == b"401", path


@pytest.mark.parametrize("path", ["/console/login", "/console/run", "/console/jobs/confirm", "/console/catalog/sample"])
def test_forms_have_a_limit(server: RunningServer, path: str) -> None:
    page = logged_in(server).request("POST", path, "token=" + "x" * (1024 * 1024))
    assert (page.status, "larger than 1 MiB" in page.visible) == (400, True)


BODIES = ("[]", "null", "{", '"x"', "[" * 50_000, '{"text": "\\ud800"}', "\x00", '{"text": NaN}', '{"text": 1e999}')


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_broken_requests_are_errors_with_a_reason(server: RunningServer, body: str) -> None:
    browser = logged_in(server)
    csrf = browser.get().csrf
    for what in ("read", "complete", "run", "cancel", "graph", "parquet"):
        page = browser.request("POST", f"/console/sql/{what}", body, {"X-CSRF-Token": csrf})
        assert (page.status, "REQUEST_NOT_READABLE" in page.text) == (400, True), (what, page.text)


@pytest.mark.parametrize(
    "query",
    [
        f"after=x-{'9' * 5000}",
        f"after={'9' * 5000}",
        "after=%00",
        "after=-1",
        "after=%D9%A1",
        "q=%00%ff",
        "state=%0d%0a",
    ],
    ids=["a long version", "long", "nul", "negative", "another digit", "no text", "lines"],
)
def test_odd_parameters_of_events_change_nothing(engine: Managed, server: RunningServer, query: str) -> None:
    job = str(next(engine.run("CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src").rows)[0])
    browser = logged_in(server)
    version = browser.get().text.partition('data-version="')[2].partition("-")[0]
    for path in ("jobs", f"jobs/{job}", "log", "alive"):
        with events(server, browser, f"/console/events/{path}?{query.replace('x-', f'{version}-')}") as messages:
            assert next(messages)[0] in ("jobs", "ping", "changed", "numbers", "end")


def test_many_open_pages_end_with_their_session(server: RunningServer) -> None:
    browser = logged_in(server)
    opened = [open_stream(browser, "/console/events/jobs") for _ in range(60)]
    assert browser.get().status == 200
    browser.post("/console/logout", {"csrf": browser.get().csrf})
    for connection, response in opened:
        with closing(connection):
            assert b"event: logout" in response.read()


def test_the_streams_of_a_login_are_limited(engine: Managed, server: RunningServer, remote: EngineClient) -> None:
    """Otherwise one login could use up the connections of the HTTP endpoint."""
    job = str(next(engine.run("CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src").rows)[0])
    browser, other = logged_in(server), logged_in(server)
    paths = cycle(("jobs", f"jobs/{job}", "log", "alive"))
    opened = [open_stream(browser, f"/console/events/{next(paths)}") for _ in range(100)]
    statuses = [response.status for _, response in opened]
    assert statuses == [200] * LOGIN_MOST + [503] * (100 - LOGIN_MOST)
    refusal = opened[-1][1]
    assert refusal.headers["retry-after"] == "10"
    assert "This login has 64 open pages, which is the limit." in refusal.read().decode()
    assert len(list(remote.run("SHOW JOBS").rows)) == 1
    assert browser.get().status == other.get().status == 200
    with events(server, other, "/console/events/jobs") as messages:
        assert next(messages)[0] == "jobs"
    for connection, response in opened:
        response.close()
        connection.close()
    until(lambda: is_streamed(browser))


def is_streamed(browser: Browser) -> bool:
    connection, response = open_stream(browser, "/console/events/alive")
    with closing(connection), closing(response):
        return response.status == 200


def open_stream(browser: Browser, path: str) -> tuple[HTTPConnection, HTTPResponse]:
    """Open a stream of events, which is not read."""
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    connection = HTTPConnection(urlsplit(browser.url).netloc, timeout=30)
    connection.request("GET", path, headers={"Cookie": cookie})
    return connection, connection.getresponse()


# --- hostile values --------------------------------------------------------------------------------------------------


class Markup(HTMLParser):
    """Collects what an attacker could have added to a page: elements and attributes that no template has."""

    ELEMENTS = frozenset(
        "html head meta title link script body a header nav ul ol li div span button svg path circle form input main"
        " dialog h1 h2 h3 p code pre table thead tbody tr th td label select option section time strong details summary"
        " defs marker g rect text polyline wbr dl dt dd meter".split()
    )
    REFUSED = frozenset(("style", "srcdoc", "formaction"))

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.problems: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.ELEMENTS:
            self.problems.append(f"the element {tag}")
        for name, value in attrs:
            is_misplaced = (name == "x" and tag not in ("text", "rect")) or (name == "autofocus" and tag in ("p", "td"))
            if name.startswith("on") or name in self.REFUSED or is_misplaced:
                self.problems.append(f"the attribute {name} of {tag}")
            if name in ("href", "src", "action") and not (value or "").startswith(("/console", "#", "?")):
                self.problems.append(f"{tag} leads to {value}")
        if tag == "script" and not dict(attrs).get("src"):
            self.problems.append("a script in the page")

    def handle_comment(self, data: str) -> None:
        self.problems.append(f"a comment: {data}")


def problems(text: str) -> list[str]:
    markup = Markup()
    markup.feed(text)
    markup.close()
    return markup.problems


def literal(text: str) -> str:
    """Return a text as a string of SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@pytest.fixture
def hostile_job(engine: Managed) -> str:
    """Create a job of which every value is hostile, with a snapshot, an error and a history, and return its id."""
    engine.runtime.analysis = replace(
        engine.runtime.analysis,
        sources=(source(HOSTILE, format=HOSTILE, location=HOSTILE), source(f"b.{HOSTILE}")),
        operators=(Operator(HOSTILE, HOSTILE),),
        sinks=(sink(HOSTILE, provider=HOSTILE, location=HOSTILE, columns=(HOSTILE,)),),
        stateful=True,
    )
    name = HOSTILE.replace("`", "``")
    options = f"'applyGroup' = {literal(HOSTILE)}, 'spark.my.conf' = {literal(HOSTILE)}"
    head = f"CREATE JOB `{name}` COMMENT {literal(HOSTILE)} OPTIONS ({options})"
    text = f"{head} AS INSERT INTO out SELECT {literal(HOSTILE)} FROM STREAM src"
    job = str(next(engine.run(text).rows)[0])
    list(engine.run(f"CREATE SNAPSHOT `{name}` FOR JOB '{job}'").rows)
    cause = Cause(HOSTILE, HOSTILE, HOSTILE, hint=HOSTILE, retryable=False, where=HOSTILE, error_class=HOSTILE)
    engine.runtime.fail(job, cause)
    engine.manager.registry.wait(engine.manager.registry.live()[0], lambda view: view.job.cause is not None, 20)
    (engine.home / "engine.log").write_text(f"WARN {HOSTILE}\n")
    return job


def test_hostile_values_add_nothing_to_pages(
    engine: Managed, server: RunningServer, hostile_job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = Member(HOSTILE, HOSTILE, 5, 2, MemberStatus.ACTIVE, False, 1.5, None, HOSTILE, 0, 0, 0, 1000)
    monkeypatch.setattr(engine.runtime, "members", lambda: (member,))
    monkeypatch.setattr(Managed, "facts", {HOSTILE: HOSTILE})
    monkeypatch.setattr(Managed, "catalogs", (HOSTILE,))
    alert = (
        f"CREATE ALERT `{HOSTILE.replace('`', '``')}` ON JOB ALL STATUS FAILED, SUSPENDED CALL 'http://127.0.0.1:9/'"
    )
    list(engine.run(f"{alert} COMMENT {literal(HOSTILE)}").rows)
    browser = logged_in(server)
    value = quote(HOSTILE)
    paths = [
        "", "jobs", f"jobs?q={value}&status={value}&sort={value}", "alerts", f"alerts?alert={value}",
        f"jobs/{hostile_job}", f"jobs/{hostile_job}?history=all",
        f"jobs/{value}", f"sql?text={value}", "catalog", f"catalog/schemas?catalog={value}", "snapshots", "members",
        f"catalog/tables?catalog={value}&schema={value}", f"catalog/table?name={value}", "engine", f"engine?q={value}",
        value, f"login?next={value}",
    ]  # fmt: skip
    for path in paths:
        page = browser.get(f"/console/{path}")
        assert page.status in (200, 404), path
        assert problems(page.text) == [], path
    seen = "".join(browser.get(f"/console/{path}").visible for path in paths)
    assert seen.count("<script>alert(1)</script>") > 40
    assert "{{7*7}}{%x%}" in seen  # no template has computed it


def test_hostile_values_add_nothing_to_parts_of_pages(engine: Managed, server: RunningServer, hostile_job: str) -> None:
    browser = logged_in(server)
    parts: list[Page] = []
    for action in ("suspend", "resume", "restart", "drop"):
        parts.append(browser.act("/console/jobs/confirm", {"action": action, "job": hostile_job}))
    parts.append(browser.act("/console/snapshots/confirm", {"action": "take", "job": hostile_job, "name": HOSTILE}))
    parts.append(browser.act("/console/snapshots/confirm", {"action": "drop", "name": HOSTILE}))
    parts.append(browser.act("/console/jobs/confirm", {"action": HOSTILE, "job": HOSTILE}))
    statements = [HOSTILE, f"SUSPEND JOB {literal(HOSTILE)}"]
    parts.append(browser.act("/console/run", {"title": HOSTILE, "statement": statements}))
    parts.append(browser.act("/console/catalog/sample", {"name": HOSTILE}))
    for part in parts:
        assert "<script>alert(1)</script>" in part.visible, part.text
        assert problems(part.text) == [], part.text


def test_hostile_values_add_nothing_to_events(engine: Managed, server: RunningServer, hostile_job: str) -> None:
    browser = logged_in(server)
    with events(server, browser, "/console/events/jobs") as messages:
        rows = next(messages)[1]["rows"]
        assert problems(f"<table>{rows[hostile_job]}</table>") == []
    engine.runtime.fail(hostile_job, Cause(HOSTILE, HOSTILE, retryable=False))
    with events(server, browser, f"/console/events/jobs/{hostile_job}?state=x&after=0") as messages:
        numbers: Any = next(content for name, content in messages if name == "numbers")
        assert problems(numbers["graph"]) == [] and "&lt;script&gt;" in numbers["graph"]
    with events(server, browser, f"/console/events/log?q={quote('ALERT')}") as messages:
        assert next(messages) == ("end", [f"WARN {HOSTILE}"])


def test_names_in_files_are_no_headers(server: RunningServer) -> None:
    browser = logged_in(server)
    for value in ("%0d%0aSet-Cookie:%20x=1", "\u010d\u010a", "%0aLocation:%20http://evil"):
        page = Browser(server.url).get(f"/console/jobs/{quote(value, safe='%')}")
        assert page.headers["set-cookie"] is None and "evil" not in (page.headers["location"] or "").partition("?")[0]
        page = browser.get(f"/console/jobs/{quote(value, safe='%')}")
        assert (page.status, page.headers["set-cookie"]) == (404, None)
