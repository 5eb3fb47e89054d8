"""Getting into the console: token, one-time links, sessions with limits, and what other pages cannot do."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from jetsql.console.web.login_sessions import LoginSessions
from jetsql.server.client_user import client_user
from jetsql.settings.engine_settings import EndpointSettings
from tests.support.engines.managed_engine import Managed
from tests.support.screens.console_browser import Browser, events, logged_in, run_console
from tests.support.servers.http_server import TOKEN, RunningServer

BEARER = {"Authorization": f"Bearer {TOKEN}"}


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server(tmp_path: Path, clock: Clock) -> Iterator[RunningServer]:
    engine = Managed(tmp_path / "home")
    logins = LoginSessions(clock, idle_seconds=100, absolute_seconds=1000, link_seconds=10)
    with run_console(engine, logins) as server:
        yield server
    engine.close()


def link(server: RunningServer) -> str:
    response = Browser(server.url).request("POST", "/console/links", headers=BEARER)
    assert response.status == 201
    return str(json.loads(response.text)["path"])


def test_the_address_of_the_engine_leads_to_the_login_page(server: RunningServer) -> None:
    browser = Browser(server.url)
    assert browser.get("/").headers["location"] == "/console/"
    assert browser.get("/console").headers["location"] == "/console/"
    response = browser.get("/console/")
    assert (response.status, response.headers["location"]) == (303, "/console/login?next=/console/")
    page = browser.get(response.headers["location"])
    assert page.status == 200
    assert "Token of the engine" in page.visible


def test_the_token_opens_a_session(server: RunningServer) -> None:
    browser = Browser(server.url)
    page = browser.log_in()
    assert (page.status, page.headers["location"]) == (303, "/console/")
    cookie = page.headers["set-cookie"]
    assert {part.strip().lower() for part in cookie.split(";")[1:]} == {"httponly", "path=/console", "samesite=strict"}
    assert TOKEN not in cookie
    assert browser.get().status == 200


def test_a_wrong_token_opens_none(server: RunningServer) -> None:
    browser = Browser(server.url)
    page = browser.log_in(TOKEN + "x")
    assert (page.status, browser.cookies) == (401, {})
    assert "The token is wrong." in page.visible
    assert TOKEN not in page.text


def test_a_link_opens_one_session(server: RunningServer) -> None:
    path = link(server)
    browser = Browser(server.url)
    page = browser.get(path)
    assert page.status == 200
    assert 'http-equiv="refresh" content="0; url=/console/"' in page.text
    assert browser.get().status == 200
    again = Browser(server.url)
    page = again.get(path)
    assert (page.status, again.cookies) == (401, {})
    assert "Run `jetsql console` again" in page.visible


def test_a_link_is_valid_for_a_short_time(server: RunningServer, clock: Clock) -> None:
    path = link(server)
    clock.now += 11
    assert Browser(server.url).get(path).status == 401


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer wrong"}], ids=["without a token", "with a wrong one"]
)
def test_a_link_needs_the_token(server: RunningServer, headers: dict[str, str]) -> None:
    response = Browser(server.url).request("POST", "/console/links", headers=headers)
    assert response.status == 401
    assert "enter?code" not in response.text


def test_a_session_is_no_token(server: RunningServer) -> None:
    browser = logged_in(server)
    for method, path in (("GET", "/v1/jobs"), ("POST", "/v1/sql"), ("POST", "/v1/engine/stop"), ("GET", "/metrics")):
        assert browser.request(method, path).status == 401, path
    assert not server.stop_requested.is_set()
    assert browser.request("POST", "/console/links").status == 401


def test_an_unused_session_ends(server: RunningServer, clock: Clock) -> None:
    browser = logged_in(server)
    clock.now += 99
    assert browser.get().status == 200
    clock.now += 99
    assert browser.get().status == 200
    clock.now += 101
    assert browser.get().status == 303


def test_a_used_session_ends_as_well(server: RunningServer, clock: Clock) -> None:
    browser = logged_in(server)
    for _ in range(20):
        clock.now += 50
        assert browser.get().status == 200
    clock.now += 50
    assert browser.get().status == 303


def test_scripts_of_a_page_are_no_use_of_a_session(server: RunningServer, clock: Clock) -> None:
    browser = logged_in(server)
    clock.now += 90
    assert browser.get("/console/session").status == 200
    clock.now += 90
    assert browser.get("/console/session", Accept="application/json").status == 401


def test_events_end_with_the_session(server: RunningServer, clock: Clock) -> None:
    browser = logged_in(server)
    with events(server, browser, "/console/events/jobs") as messages:
        assert next(messages)[0] in ("jobs", "ping")
        clock.now += 101
        assert "logout" in [name for name, _ in messages]


def test_pages_without_events_get_heartbeats(server: RunningServer, clock: Clock) -> None:
    browser = logged_in(server)
    with events(server, browser, "/console/events/alive") as messages:
        assert next(messages) == ("ping", None)
        browser.post("/console/logout", {"csrf": browser.get().csrf})
        assert [name for name, _ in messages if name != "ping"] == ["logout"]
    browser = logged_in(server)
    with events(server, browser, "/console/events/alive") as messages:
        next(messages)
        server.http_server.cancel_running()
        assert [name for name, _ in messages if name != "ping"] == []


def test_logout_ends_the_session(server: RunningServer) -> None:
    browser = logged_in(server)
    stolen = Browser(server.url, dict(browser.cookies))
    page = browser.post("/console/logout", {"csrf": browser.get().csrf})
    assert (page.status, page.headers["location"], browser.cookies) == (303, "/console/login", {})
    assert stolen.get().status == 303


def test_a_login_opens_a_new_session_whatever_the_browser_has(server: RunningServer, clock: Clock) -> None:
    """Session fixation: another server on this host name has set the cookie, to a value that its owner knows."""
    attacker = logged_in(server)
    [(name, planted)] = attacker.cookies.items()
    for value in (planted, "chosen", ""):
        browser = Browser(server.url, {name: value})
        assert browser.log_in().status == 303
        assert browser.cookies[name] not in (value, planted)
        assert browser.get().status == 200
    assert attacker.get().status == 303  # the login has ended the session that was planted
    browser = Browser(server.url, {name: "chosen"})
    assert browser.get(link(server)).status == 200
    assert browser.cookies[name] != "chosen"


def test_guesses_open_none(server: RunningServer) -> None:
    browser = Browser(server.url)
    for guess in ("", " ", TOKEN[:-1], TOKEN.upper(), f"{TOKEN}\x00", "é" * 1000):
        assert browser.log_in(guess).status == 401
    assert browser.post("/console/login", {"next": "/console/"}).status == 401
    assert browser.post("/console/login", {"token": ["wrong", TOKEN]}).status == 401
    assert (browser.cookies, browser.get().status) == ({}, 303)


def test_connections_of_the_login_page_have_a_deadline(tmp_path: Path) -> None:
    """Close them as those of other clients without the token, so that the login page is no way around the deadline."""
    engine = Managed(tmp_path / "home")
    with run_console(engine, settings=EndpointSettings(login_seconds=0.2)) as server:
        address = urlsplit(server.url)
        with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
            head = f"POST /console/login HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 100\r\n\r\ntoken="
            connection.sendall(head.encode())
            with suppress(ConnectionResetError):
                assert connection.recv(1) == b""
    engine.close()


def test_other_pages_cannot_use_the_session(server: RunningServer) -> None:
    browser = logged_in(server)
    csrf = browser.get().csrf
    others = logged_in(server).get().csrf
    fields = {"csrf": csrf, "action": "drop", "job": "1"}
    paths = ("/console/jobs/confirm", "/console/run", "/console/logout")
    for path in paths:
        for wrong in ("", "x", others):
            assert browser.post(path, {**fields, "csrf": wrong}).status == 403, path
        for headers in ({"Origin": "http://localhost:1"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "null"}):
            assert browser.post(path, fields, **headers).status == 403, (path, headers)
    assert browser.get().status == 200
    assert browser.post("/console/login", {"token": TOKEN}, Origin="http://evil.example").status == 403


def test_pages_of_the_console_can(server: RunningServer) -> None:
    browser = logged_in(server)
    headers = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    assert browser.post("/console/logout", {"csrf": browser.get().csrf}, **headers).status == 303


@pytest.mark.parametrize(
    "path", ["//evil.example", "https://evil.example/console/", "/v1/jobs", "/console/\\evil", "/console/\r\nX: 1", ""]
)
def test_a_login_leads_to_pages_of_the_console_only(server: RunningServer, path: str) -> None:
    page = Browser(server.url).post("/console/login", {"token": TOKEN, "next": path})
    assert page.headers["location"] == "/console/"


def test_a_login_leads_back_to_the_page(server: RunningServer) -> None:
    page = Browser(server.url).post("/console/login", {"token": TOKEN, "next": "/console/sql"})
    assert page.headers["location"] == "/console/sql"


@pytest.mark.parametrize("path", ["/console/login", "/console/", "/console/none", "/console/assets/1/console.js"])
def test_every_response_is_protected(server: RunningServer, path: str) -> None:
    headers = Browser(server.url).get(path).headers
    policy = {part.strip() for part in headers["content-security-policy"].split(";")}
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"} <= policy
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"


def test_pages_are_not_stored_and_assets_are(server: RunningServer) -> None:
    browser = logged_in(server)
    page = browser.get()
    assert page.headers["cache-control"] == "no-store"
    start = page.text.index("/console/assets/")
    asset = browser.get(page.text[start : page.text.index('"', start)])
    assert (asset.status, "immutable" in asset.headers["cache-control"]) == (200, True)


def test_an_asset_is_kept_under_its_own_version_only(server: RunningServer) -> None:
    """Otherwise the page of an earlier release would make browsers keep a later script under its address."""
    headers = Browser(server.url).get("/console/assets/000000000000/console.js").headers
    assert headers["cache-control"] == "no-store"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_the_cookie_of_a_login_is_useless_for_other_users(
    server: RunningServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Use the cookie from another user. A browser sends it to any program on the port of an engine that has ended."""
    browser = logged_in(server)
    [cookie] = (f"{name}={value}" for name, value in browser.cookies.items())
    headers = {"Host": urlsplit(server.url).netloc, "Cookie": cookie, "Accept": "text/html", "Connection": "close"}
    request = "GET /console/engine HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    assert sent_by_stranger(server, request + "\r\n").startswith("HTTP/1.1 303 ")
    assert "The user 65534 has sent the cookie of a login of 0 to the web console" in caplog.text
    assert browser.get("/console/").status == 303  # the login has ended
    again = logged_in(server)
    assert again.get("/console/").status == 200


def sent_by_stranger(server: RunningServer, request: str) -> str:
    """Return the response to what a process of another user sends."""
    host, _, port = urlsplit(server.url).netloc.partition(":")
    program = f'exec 3<>/dev/tcp/{host}/{port}; printf %s "$0" >&3; cat <&3'
    command = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", program, request)
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout


def test_a_client_that_a_proxy_names_is_no_user(server: RunningServer) -> None:
    """Ignore the client in the header: the proxy's user has opened the connection, for all of its clients."""
    browser = logged_in(server)
    assert browser.get("/console/").status == 200
    assert browser.get("/console/", X_Forwarded_For="192.0.2.7").status == 303
    assert browser.get("/console/").status == 200


@pytest.mark.parametrize("family", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_the_user_of_a_connection_is_found(family: str) -> None:
    kind = socket.AF_INET if "." in family and ":" not in family else socket.AF_INET6
    with socket.socket(kind) as listening, socket.socket(kind) as client:
        listening.bind((family, 0))
        listening.listen()
        client.connect(listening.getsockname())
        accepted, (host, port, *_) = listening.accept()
        with accepted:
            scope = {"client": (host, port), "server": accepted.getsockname()[:2]}
            assert client_user(scope) == os.geteuid()
            assert client_user({**scope, "client": (host.removeprefix("::ffff:"), port)}) == os.geteuid()
            assert client_user({**scope, "client": (host, 1)}) is None
    assert client_user({"client": None}) is None and client_user({"client": ("a name", 1), "server": None}) is None


def test_other_host_names_are_refused(server: RunningServer) -> None:
    assert Browser(server.url).get("/console/login", Host="evil.example").status == 403


def test_the_next_engine_continues_the_sessions(tmp_path: Path) -> None:
    clock, file = Clock(), tmp_path / "engine.logins"

    def start(engine: str = "a") -> LoginSessions:
        limits = {"idle_seconds": 100.0, "absolute_seconds": 1000.0}
        return LoginSessions(clock, **limits, wall_clock=clock, file=file, engine=engine)

    logins = start()
    (first, login), (second, closed) = logins.open(), logins.open()
    logins.close(closed)
    assert logins.is_changed
    logins.save()
    assert not logins.is_changed
    assert first not in file.read_text() and file.stat().st_mode & 0o777 == 0o600
    later = start()
    found = later.find(first)
    assert found is not None and found.csrf == login.csrf
    assert not later.is_open(second)
    assert not start(engine="another token").is_open(first)
    clock.now += 90
    later.note_use(found)
    assert later.is_changed
    later.save()
    clock.now += 90
    assert start().is_open(first)
    clock.now += 20
    assert not start().is_open(first)


@pytest.mark.parametrize("content", ["", "{}", '{"engine": "", "logins": [{"key": 1}]}', "[]"])
def test_a_damaged_file_has_no_sessions(tmp_path: Path, content: str) -> None:
    file = tmp_path / "engine.logins"
    file.write_text(content)
    logins = LoginSessions(file=file)
    value, _ = logins.open()
    logins.save()
    assert LoginSessions(file=file).is_open(value)


def test_a_full_disk_ends_no_session(tmp_path: Path) -> None:
    logins = LoginSessions(file=tmp_path / "none" / "engine.logins")
    value, _ = logins.open()
    logins.save()
    assert logins.is_open(value)


def test_too_many_sessions_end_the_oldest() -> None:
    logins = LoginSessions()
    values = [logins.open()[0] for _ in range(201)]
    assert (logins.is_open(values[0]), logins.is_open(values[1]), logins.is_open(values[-1])) == (False, True, True)


@pytest.mark.parametrize("body", ["a=1&" * 3000, "x" * (1024 * 1024 + 1)], ids=["many fields", "large"])
def test_large_forms_are_refused(server: RunningServer, body: str) -> None:
    page = logged_in(server).request("POST", "/console/jobs/confirm", body)
    assert page.status == 400
    assert "REQUEST_NOT_READABLE" in page.visible
