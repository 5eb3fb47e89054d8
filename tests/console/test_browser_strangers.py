"""Pages of other sites in a real browser whose user is logged in: DNS rebinding, frames, forms and events."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.conftest import until
from tests.support.engines.managed_engine import Managed
from tests.support.screens.chromium import running_chromium
from tests.support.screens.console_steps import create, log_in
from tests.support.servers.http_server import RunningServer

pytestmark = pytest.mark.browser

PAGE = "<!doctype html><title>other</title><iframe name=target></iframe>"
# Each attempt returns what the page of the attacker learned, or the kind of the refusal.
READ = """async url => {
  const read = async (path, options) => {
    try { const r = await fetch(url + path, options); return `${r.type} ${r.status} ${(await r.text()).length}`; }
    catch (error) { return error.name; }
  };
  const opened = kind => new Promise(done => {
    const source = kind();
    source.onopen = () => done("open");
    source.onmessage = () => done("message");
    source.onerror = () => done("error");
  });
  const statement = {method: "POST", body: JSON.stringify({statement: "SHOW JOBS"}), credentials: "include"};
  return {
    api: await read("/v1/jobs", {credentials: "include"}),
    statement: await read("/v1/sql", {...statement, headers: {"Content-Type": "application/json"}}),
    blind: await read("/v1/sql", {...statement, mode: "no-cors"}),
    console: await read("/console/", {credentials: "include"}),
    session: await read("/console/session", {credentials: "include", mode: "no-cors"}),
    run: await read("/console/run", {method: "POST", mode: "no-cors", credentials: "include",
      headers: {"Content-Type": "application/x-www-form-urlencoded"}, body: "statement=DROP+JOB+orders&csrf=x"}),
    events: await opened(() => new EventSource(url + "/console/events/jobs", {withCredentials: true})),
    socket: await opened(() => new WebSocket(url.replace("http", "ws") + "/console/events/jobs")),
  };
}"""
SUBMIT = """([url, fields]) => new Promise(done => {
  const form = document.createElement("form");
  Object.assign(form, {method: "POST", action: url, target: "target"});
  for (const [name, value] of Object.entries(fields)) {
    form.append(Object.assign(document.createElement("input"), {name, value}));
  }
  document.body.append(form);
  document.querySelector("iframe").addEventListener("load", () => done(), {once: true});
  form.submit();
})"""
FRAME = """url => new Promise(done => {
  const frame = document.querySelector("iframe");
  frame.addEventListener("load", () => done(), {once: true});
  frame.src = url;
})"""


@pytest.fixture
def engine(shop: Managed) -> Managed:
    return shop


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with running_chromium("--host-resolver-rules=MAP evil.test 127.0.0.1") as browser:
        yield browser


@pytest.fixture
def context(chromium: Browser, engine: Managed, server: RunningServer) -> Iterator[BrowserContext]:
    """Return a browser in which the user is logged in, and an engine with the job `orders`."""
    create(engine)
    context = chromium.new_context()
    log_in(context.new_page(), server.url)
    yield context
    context.close()


class Other(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def other_site() -> Iterator[int]:
    """Serve a page on another port of this machine, which is the same site for a browser, and return the port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


def attack(page: Page, url: str) -> dict[str, str]:
    found: dict[str, str] = page.evaluate(READ, url)
    return found


def is_refused(page: Page) -> bool:
    """Return whether the frame of a page shows no response, or that of the API without the token."""
    framed = page.frames[1]
    return framed.url.startswith("chrome-error://") or "The token is missing or wrong" in framed.content()


def jobs(engine: Managed) -> list[str]:
    return [str(row[1]) for row in engine.run("SHOW JOBS").rows]


def test_a_name_that_resolves_to_this_machine_reads_nothing(
    context: BrowserContext, server: RunningServer, engine: Managed
) -> None:
    """Give a name of the attacker the address of this machine (DNS rebinding), so that all has its own origin."""
    url = f"http://evil.test:{urlsplit(server.url).port}"
    page = context.new_page()
    page.goto(url)
    found = attack(page, url)
    assert {name: text.rpartition(" ")[0] for name, text in found.items() if " " in text} == dict.fromkeys(
        ("api", "statement", "blind", "console", "session", "run"), "basic 403"
    )
    assert (found["events"], found["socket"]) == ("error", "error")
    assert jobs(engine) == ["orders"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "evil.test"])
def test_pages_of_other_origins_read_and_change_nothing(
    context: BrowserContext, server: RunningServer, engine: Managed, host: str
) -> None:
    """Attack from another port of 127.0.0.1: a browser takes it for the same site and sends the console's cookie."""
    with other_site() as port, closing(context.new_page()) as page:
        page.goto(f"http://{host}:{port}/")
        found = attack(page, server.url)
        assert found == {
            **dict.fromkeys(("api", "statement", "console", "session", "run"), "TypeError"),
            "blind": "opaque 0 0",  # a request without the token, whose answer a script does not get
            **dict.fromkeys(("events", "socket"), "error"),
        }
        for path, fields in (
            ("/console/run", {"statement": "DROP JOB orders"}),
            ("/console/logout", {}),
            ("/console/login", {"token": "x", "next": "/console/"}),
            ("/v1/sql", {"statement": "DROP JOB orders"}),
        ):
            page.evaluate(SUBMIT, [f"{server.url}{path}", fields])
            until(partial(is_refused, page))
        page.evaluate(FRAME, f"{server.url}/console/")
        until(lambda: page.frames[1].url.startswith("chrome-error://"))
    assert jobs(engine) == ["orders"]
    reloaded = context.pages[0].reload()
    assert reloaded is not None and reloaded.status == 200  # still logged in
