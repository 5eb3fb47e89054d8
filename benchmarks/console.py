"""Measure the web console: the processor time of open pages, the time until a browser draws the first page, how soon a
change is visible, and the size of its scripts.

The engine has no Spark: jobs only report batches, each job one a second, so that the pages are the only work. The pages
are connections that read the changes of the jobs; a browser draws them in a process of its own.
"""

from __future__ import annotations

import resource
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from benchmarks.reporting import Goal, introduce, middle, say

if TYPE_CHECKING:
    from tests.support.engines.managed_engine import Managed
    from tests.support.screens.console_browser import Browser
    from tests.support.servers.http_server import RunningServer

CORE = Goal(most=0.05)
FIRST_PAGE = Goal(most=0.3)
VISIBLE = Goal(most=1.0)
SCRIPTS = Goal(most=250.0)
_CHANGES = 20
_FIRST_PAGES = 11
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
"""The milliseconds from the navigation until the first content was drawn."""


def create_jobs(engine: Managed, number: int) -> list[str]:
    """Create jobs and return their ids."""
    text = "CREATE JOB job_{} AS INSERT INTO totals SELECT * FROM STREAM orders"
    return [str(next(engine.run(text.format(each)).rows)[0]) for each in range(number)]


@contextmanager
def committing(engine: Managed, jobs: list[str]) -> Iterator[None]:
    """Commit a batch of each job once a second."""
    stop = threading.Event()

    def commit() -> None:
        count = 0
        while not stop.wait(1 / len(jobs)):
            engine.runtime.commit(jobs[count % len(jobs)], trigger_time=time.time(), rate=float(count % 977))
            count += 1

    thread = threading.Thread(target=commit)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def open_page(server: RunningServer, browser: Browser) -> Iterator[None]:
    """Read the changes of the jobs page, on a thread."""
    address = urlsplit(server.url)
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    request = f"GET /console/events/jobs HTTP/1.1\r\nHost: {address.netloc}\r\nCookie: {cookie}\r\n\r\n"
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall(request.encode())
        thread = threading.Thread(target=_drain, args=(connection,))
        thread.start()
        try:
            yield
        finally:
            connection.shutdown(socket.SHUT_RDWR)
            thread.join()


def _drain(connection: socket.socket) -> None:
    while connection.recv(1 << 20):
        continue


def processor_share(seconds: float) -> float:
    """Return the share of a core that this process uses."""
    began, used = time.perf_counter(), _used()
    time.sleep(seconds)
    return (_used() - used) / (time.perf_counter() - began)


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def change_delays(engine: Managed, server: RunningServer, browser: Browser) -> list[float]:
    """Return how long changes of a status took to arrive at a page, in seconds."""
    from tests.support.screens.console_browser import events

    delays = []
    with events(server, browser, "/console/events/jobs") as messages:
        next(messages)
        for number in range(_CHANGES):
            statement, status = ("SUSPEND", "Suspended") if number % 2 == 0 else ("RESUME", "Running")
            list(engine.run(f"{statement} JOB job_0").rows)
            began = time.perf_counter()
            while not any(status in row and "job_0" in row for row in _rows(next(messages))):
                continue
            delays.append(time.perf_counter() - began)
    return delays


def _rows(message: tuple[str, Any]) -> list[str]:
    name, content = message
    return list(content["rows"].values()) if name == "jobs" else []


def first_pages(server: RunningServer, browser: Browser) -> list[float]:
    """Return how long a browser takes to draw the jobs page for the first time, in seconds."""
    from tests.support.screens.chromium import checked_page, running_chromium

    cookies: list[Any] = [{"name": name, "value": value, "url": server.url} for name, value in browser.cookies.items()]
    seconds = []
    with running_chromium() as chromium:
        for _ in range(_FIRST_PAGES):
            with checked_page(chromium) as page:  # with a cache of its own
                page.context.add_cookies(cookies)
                page.goto(f"{server.url}/console/")
                page.wait_for_function(_PAINT)
                seconds.append(float(page.evaluate(_PAINT)) / 1000)
    return seconds


@click.command(help=__doc__)
@click.option("--jobs", type=click.IntRange(1), default=200, show_default=True, help="Jobs of the engine.")
@click.option("--pages", type=click.IntRange(1), default=20, show_default=True, help="Open pages.")
@click.option("--seconds", type=click.FloatRange(1), default=30.0, show_default=True, help="The time of a measurement.")
def main(jobs: int, pages: int, seconds: float) -> None:
    from jetsql.console.web.assets_served import assets
    from tests.support.engines.managed_engine import Managed
    from tests.support.screens.console_browser import logged_in, run_console

    introduce(f"the web console: {jobs} jobs, {pages} open pages", "an engine without Spark in the same process")
    with tempfile.TemporaryDirectory(prefix="jetsql-bench-") as folder, ExitStack() as stack:
        engine = Managed(Path(folder) / "home")
        stack.callback(engine.close)
        ids = create_jobs(engine, jobs)
        server = stack.enter_context(run_console(engine))
        browser = logged_in(server)
        with committing(engine, ids):
            alone = processor_share(seconds)
            with ExitStack() as opened:
                for _ in range(pages):
                    opened.enter_context(open_page(server, browser))
                share = processor_share(seconds) - alone
        first = middle(first_pages(server, browser))
        visible = max(change_delays(engine, server, browser))
    size = sum(len(asset.compressed) for name, asset in assets().items() if name.endswith(".js")) / 1024
    say(f"open pages: {share:.3f} of a core, goal {CORE.describe(share)}")
    say(f"first page drawn, without a cache: median {first:.3f} s, goal {FIRST_PAGE.describe(first)}")
    say(f"a change is visible: at most {visible:.3f} s, goal {VISIBLE.describe(visible)}")
    say(f"scripts: {size:.0f} KiB compressed, goal {SCRIPTS.describe(size)}")


if __name__ == "__main__":
    main()
