"""A story with open pages of the web console whose engine is killed and started again, as processes of their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
from playwright.sync_api import Browser, Page, expect

from jetsql.home.discovery import read_note
from tests.conftest import until
from tests.support.paths import ROOT
from tests.support.screens.chromium import checked_page
from tests.support.screens.console_steps import open_sql, row, run

_MILLISECONDS = 60_000


class EngineProcess:
    """An engine that runs on one port, also after it was killed."""

    def __init__(self, program: Sequence[str], home: Path) -> None:
        """Create it. program: the beginning of its commands"""
        self._program = program
        self._home = home
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        settings = {"CONFIG": os.devnull, "HOME": str(home), "HTTP_PORT": str(port), "MASTER": "local[2]"}
        settings["DRIVER_MEMORY"] = "1g"
        self._environ = {**os.environ, **{f"JETSQL_{name}": value for name, value in settings.items()}}

    def __call__(self, *arguments: str) -> str:
        """Run a command, and return its standard output."""
        ended = subprocess.run(
            [*self._program, *arguments],
            cwd=ROOT,
            env=self._environ,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def kill(self) -> None:
        """Kill the engine, and the processes that it has started, and wait for their end."""
        note = read_note(self._home)
        assert note is not None
        engine = psutil.Process(note.pid)
        processes = [engine, *engine.children(recursive=True)]
        os.kill(note.pid, signal.SIGKILL)
        until(lambda: not any(map(_runs, processes)))


def _runs(process: psutil.Process) -> bool:
    return bool(process.is_running()) and process.status() != psutil.STATUS_ZOMBIE


@contextmanager
def engine_process(program: Sequence[str], home: Path) -> Iterator[EngineProcess]:
    """Yield an engine that runs; stop it at the end."""
    engine = EngineProcess(program, home)
    engine("start")
    try:
        yield engine
    finally:
        engine("stop")


def pages_survive_a_killed_engine(engine: EngineProcess, chromium: Browser, job: str, kills: int) -> None:
    """Kill the engine under open pages, start it again, and check that the pages report both by themselves.

    job: the name of a job that runs. kills: how often; before the second time, the pages have connected by themselves.
    """
    with checked_page(chromium) as jobs:
        jobs.context.set_default_timeout(_MILLISECONDS)
        jobs.goto(engine("console", "--no-browser").strip())
        expect(row(jobs, job)).to_contain_text("Running", timeout=_MILLISECONDS)
        address = str(row(jobs, job).get_by_role("link").get_attribute("href"))
        details, sql = jobs.context.new_page(), jobs.context.new_page()
        details.goto(jobs.url.replace("/console/", address))
        expect(details.locator("[data-section=head]")).to_contain_text("run 1")
        sql.goto(jobs.url)
        open_sql(sql)
        result = run(sql, f"WAIT FOR JOB `{job}` UNTIL BATCH 1000000")
        expect(result).to_contain_text("Running for")
        for start in range(2, kills + 2):
            engine.kill()
            for page in (jobs, details, sql):
                expect(_front(page).locator("#connection")).to_contain_text("The engine does not answer")
            expect(result.get_by_role("alert")).to_contain_text("The connection to the engine was lost")
            engine("start")
            for page in (jobs, details, sql):
                expect(_front(page).locator("#connection")).to_be_hidden(timeout=_MILLISECONDS)
            expect(row(_front(jobs), job)).to_contain_text("Running", timeout=_MILLISECONDS)
            expect(_front(details).locator("[data-section=head]")).to_contain_text(
                f"run {start}", timeout=_MILLISECONDS
            )
            expect(details.locator("h1 + .status")).to_have_text("Running", timeout=_MILLISECONDS)
            result = run(_front(sql), "SHOW JOBS")
            expect(result).to_contain_text("The session was closed", timeout=_MILLISECONDS)
            expect(result).to_contain_text("1 row")
            result = run(sql, f"WAIT FOR JOB `{job}` UNTIL BATCH {start}000000")
            expect(result).to_contain_text("Running for")
        sql.get_by_role("button", name="Cancel").click()
        expect(result).to_contain_text("Cancelled after", timeout=_MILLISECONDS)
        engine("cancel", job)
        expect(row(_front(jobs), job)).to_contain_text("Failed", timeout=_MILLISECONDS)


def _front(page: Page) -> Page:
    """Return the page in front of the others: one in the background has no connection."""
    page.bring_to_front()
    return page
