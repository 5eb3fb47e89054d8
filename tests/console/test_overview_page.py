"""The first page: the state of the engine and of its jobs, jobs in trouble, and what has changed."""

from __future__ import annotations

import re

from jetsql.console.overview_page import CHANGES_MOST, changed_jobs
from jetsql.console.web.engine_label import EngineLabel
from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import Cause, Status
from jetsql.jobs.statements.job_queries import JobChange
from tests.support.engines.managed_engine import Managed
from tests.support.screens.console_browser import Browser, logged_in, run_console


def create(engine: Managed, name: str) -> str:
    return str(next(engine.run(f"CREATE JOB `{name}` AS INSERT INTO out SELECT * FROM STREAM src").rows)[0])


def fail(engine: Managed, job: str) -> None:
    engine.runtime.fail(job, Cause("The disk is full.", "X", retryable=False))
    view = engine.manager.registry.get(job)
    assert view is not None
    engine.manager.registry.wait(view, lambda now: now.job.cause is not None, 20)


def tiles(browser: Browser) -> dict[str, int]:
    found = re.findall(r'class="figure">(\d+)</span> ([a-z ]+)', browser.get("/console/").text)
    return {label.strip(): int(count) for count, label in found}


def test_jobs_are_counted_and_a_dropped_one_is_no_failure(engine: Managed, browser: Browser) -> None:
    assert "There are no jobs yet" in browser.get("/console/").visible
    jobs = [create(engine, name) for name in ("runs", "breaks", "waits", "goes")]
    fail(engine, jobs[1])
    list(engine.run("SUSPEND JOB waits").rows)
    list(engine.run("DROP JOB goes").rows)
    assert tiles(browser) == {"failed": 0, "suspended": 2, "in transition": 0, "running": 1}
    page = browser.get("/console/")
    assert "1 by an error" in page.visible
    trouble = page.text.partition('data-section="trouble"')[2].partition("</section>")[0]
    assert "breaks" in trouble and "The disk is full." in trouble
    assert not any(f">{name}<" in trouble for name in ("runs", "waits", "goes"))
    changes = page.text.partition('data-section="changes"')[2]
    assert "status-dropped" in changes and "status-failed" not in changes
    listed = browser.get("/console/jobs").text
    assert "status-dropped" in listed and "status-failed" not in listed


def test_the_engine_describes_itself(browser: Browser) -> None:
    page = browser.get("/console/").visible
    for text in ("Role leader", "Members 1, 0 tasks on 2 cores", "300 MiB of 1.0 GiB", "60 GiB free of 100 GiB"):
        assert text in page, text


def test_firing_alerts_are_on_the_overview(engine: Managed, browser: Browser) -> None:
    create(engine, "orders")
    list(engine.run("SUSPEND JOB orders").rows)
    list(engine.run("CREATE ALERT stopped ON JOB orders STATUS SUSPENDED CALL 'http://127.0.0.1:9/x'").rows)
    assert "Firing stopped : job orders, STATUS SUSPENDED" in browser.get("/console/").visible


def test_the_label_is_on_all_pages(engine: Managed) -> None:
    with run_console(engine, label=EngineLabel("production", "red")) as server:
        for page in (Browser(server.url).get("/console/login"), logged_in(server).get("/console/")):
            assert "· production</title>" in page.text and 'data-colour="red"' in page.text
            assert "icon-red.svg" in page.text


def test_events_of_a_job_are_one_row() -> None:
    def change(number: int, job: str, event: str, message: str = "") -> JobChange:
        row = HistoryRow(job, float(number), event, None, Status.RUNNING, 1, message)
        return JobChange(job, job, row.shown_status(False), row)

    events = [change(9 - number, "a", event) for number, event in enumerate(("cleaned up", "f", "e", "d", "c", "b"))]
    [one, other] = changed_jobs([*events, change(1, "b", "submitted", "Said.")])
    assert (one.job, one.time, one.events) == ("a", 9.0, "… → c → d → e → f → cleaned up")
    assert (other.events, other.message) == ("submitted", "Said.")
    assert CHANGES_MOST > 1
