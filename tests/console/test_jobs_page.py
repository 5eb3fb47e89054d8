"""The jobs page: rows, their changes while it is open, and actions on jobs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

from jetsql.console.jobs import jobs_feed
from jetsql.console.jobs.job_rows import spark_points
from jetsql.jobs.model.job import Cause
from tests.support.engines.managed_engine import Managed
from tests.support.screens.console_browser import Browser, Page, events, logged_in
from tests.support.servers.http_server import RunningServer

HOSTILE = "<script>alert(1)</script>\"'`--&"


def create(engine: Managed, name: str = "orders", options: str = "") -> str:
    """Create a job with one batch, and return its id."""
    quoted = name.replace("`", "``")
    result = engine.run(f"CREATE JOB `{quoted}` {options} AS INSERT INTO out SELECT * FROM STREAM src")
    job_id = str(next(result.rows)[0])
    return job_id


def run(browser: Browser, action: str, jobs: str | list[str]) -> Page:
    """Confirm an action, and run its statements."""
    question = browser.act("/console/jobs/confirm", {"action": action, "job": jobs})
    assert question.status == 200, question.text
    return browser.act("/console/run", {"title": action, "statement": planned(question)})


def planned(page: Page) -> list[str]:
    """Return the statements that a question would run."""
    parts = page.text.split('name="statement" value="')[1:]
    return [unescape(part.partition('"')[0]) for part in parts]


def statements(page: Page) -> list[str]:
    """Return the statements that a question shows."""
    parts = page.text.split('<pre class="sql"><code>')[1:]
    return [unescape(re.sub("<[^>]*>", "", part.partition("</code>")[0])) for part in parts]


def test_page_without_jobs_says_what_to_do(browser: Browser) -> None:
    page = browser.get()
    assert "There are no jobs yet" in page.visible
    assert "CREATE JOB name AS" in page.visible


def test_page_shows_jobs(engine: Managed, browser: Browser) -> None:
    job = create(engine)
    engine.runtime.commit(job, rows=20, rate=1234.0)
    engine.manager.registry.wait(engine.manager.registry.live()[0], lambda view: view.job.batch == 1, 20)
    page = browser.get()
    assert f'id="job-{job}"' in page.text
    assert "orders" in page.visible
    assert "Running" in page.visible
    assert "exactly once" in page.visible
    assert "1.2k" in page.visible


def test_a_failed_job_stays_until_its_name_is_used_again(engine: Managed, browser: Browser) -> None:
    failed = create(engine)
    engine.runtime.commit(failed)
    list(engine.run("DROP JOB orders").rows)
    assert f'id="job-{failed}"' in browser.get().text
    again = create(engine)
    page = browser.get()
    assert f'id="job-{failed}"' not in page.text
    assert f'id="job-{again}"' in page.text


def test_open_pages_get_changes(engine: Managed, server: RunningServer, browser: Browser) -> None:
    job = create(engine)
    with events(server, browser, "/console/events/jobs") as messages:
        name, first = next(messages)
        assert (name, set(first["rows"])) == ("jobs", {job})
        engine.runtime.commit(job, rate=77.0)
        assert until_change(messages, lambda change: change["cells"].get(job, {}).get("rate", [""])[0] == "77")
        list(engine.run("SUSPEND JOB orders").rows)
        changed = until_change(messages, lambda change: job in change["rows"])
        assert "Suspended" in changed["rows"][job]
        second = create(engine, "second")
        assert until_change(messages, lambda change: second in change["rows"])
        list(engine.run("DROP JOB orders").rows)
        assert "Dropped" in until_change(messages, lambda change: job in change["rows"])["rows"][job]


def until_change(messages: Iterator[tuple[str, Any]], matches: Any) -> Any:
    return next(change for name, change in messages if name == "jobs" and matches(change))


def test_a_page_gets_what_it_missed_only(engine: Managed, server: RunningServer, browser: Browser) -> None:
    job = create(engine)
    text = browser.get().text
    version = text.partition('data-version="')[2].partition('"')[0]
    with events(server, browser, f"/console/events/jobs?after={version}") as messages:
        assert next(messages) == ("ping", None)
    second = create(engine, "second")
    with events(server, browser, f"/console/events/jobs?after={version}") as messages:
        change = until_change(messages, lambda change: change["rows"])
        assert set(change["rows"]) == {second}
    with events(server, browser, "/console/events/jobs?after=of-another-engine") as messages:
        change = until_change(messages, lambda change: change["rows"])
        assert set(change["rows"]) == {job, second}


def test_several_pages_get_the_same_changes(engine: Managed, server: RunningServer, browser: Browser) -> None:
    job = create(engine)
    path = "/console/events/jobs"
    with events(server, browser, path) as one, events(server, logged_in(server), path) as other:
        assert next(one) == next(other)
        list(engine.run("SUSPEND JOB orders").rows)
        changes = [until_change(each, lambda change: job in change["rows"]) for each in (one, other)]
        assert changes[0]["rows"] == changes[1]["rows"]


def test_a_change_that_a_new_page_finds_reaches_open_pages(
    engine: Managed, server: RunningServer, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_feed, "PING_SECONDS", 3600.0)  # no other message brings the change
    job = create(engine)
    with events(server, browser, "/console/events/jobs") as messages:
        next(messages)
        for number in range(10):
            list(engine.run("SUSPEND JOB orders" if number % 2 == 0 else "RESUME JOB orders").rows)
            browser.get()  # before the next sample
            assert until_change(messages, lambda change: job in change["rows"])


def test_the_events_end_with_the_engine(server: RunningServer, browser: Browser) -> None:
    with events(server, browser, "/console/events/jobs") as messages:
        next(messages)
        server.http_server.cancel_running()
        assert [name for name, _ in messages if name != "ping"] == []


@pytest.mark.parametrize(
    ("action", "loss"),
    [
        ("suspend", "Nothing is lost: the running batch is finished first, and RESUME continues after it."),
        ("restart", "Nothing is lost: the running batch is finished first, and the next run continues after it."),
        ("resume", "Nothing is lost: the job continues after batch 0."),
        ("drop", "The job ends for good, and its state is deleted. The rows in out stay"),
    ],
)
def test_confirmation_names_what_is_lost(engine: Managed, browser: Browser, action: str, loss: str) -> None:
    job = create(engine)
    if action == "resume":
        list(engine.run("SUSPEND JOB orders").rows)
    before = status(engine, job)
    page = browser.act("/console/jobs/confirm", {"action": action, "job": job})
    assert page.status == 200
    assert loss in page.visible
    assert statements(page) == planned(page) == [f"{action.upper()} JOB `orders`"]
    assert status(engine, job) == before


def test_confirmation_names_what_will_be_refused(engine: Managed, browser: Browser) -> None:
    jobs = [create(engine, name) for name in ("running", "suspended", "ended")]
    list(engine.run("SUSPEND JOB suspended").rows)
    list(engine.run("DROP JOB ended").rows)
    page = browser.act("/console/jobs/confirm", {"action": "resume", "job": jobs})
    assert "running The statement will be refused, because the job is running." in page.visible
    assert "suspended Nothing is lost" in page.visible
    assert "ended The statement will be refused, because the job is dropped." in page.visible


@pytest.mark.parametrize("action", ["suspend", "restart", "resume"])
def test_a_job_without_state_starts_from_scratch(engine: Managed, browser: Browser, action: str) -> None:
    job = create(engine, options="OPTIONS ('processingGuarantee' = 'none')")
    if action == "resume":
        list(engine.run("SUSPEND JOB orders").rows)
    page = browser.act("/console/jobs/confirm", {"action": action, "job": job})
    assert "from scratch" in page.visible


def test_an_action_is_the_statement(engine: Managed, browser: Browser) -> None:
    job = create(engine)
    engine.runtime.commit(job)
    page = run(browser, "suspend", job)
    assert (page.status, "Suspended." in page.visible) == (200, True)
    assert status(engine, job) == "SUSPENDED"
    assert "Resumed." in run(browser, "resume", job).visible
    assert status(engine, job) == "RUNNING"
    run(browser, "drop", job)
    assert engine.manager.registry.live() == ()


def status(engine: Managed, job: str) -> str:
    return next(view.job.status.value for view in engine.manager.registry.live() if view.job.id == job)


def test_an_action_on_several_jobs(engine: Managed, browser: Browser) -> None:
    jobs = [create(engine, f"job {number}") for number in range(20)]
    list(engine.run("SUSPEND JOB `job 7`").rows)
    page = run(browser, "resume", jobs)
    assert page.visible.count("WRONG_STATUS") + page.visible.count("The job") >= 19
    assert "Resumed." in page.visible
    page = run(browser, "suspend", jobs)
    assert {status(engine, job) for job in jobs} == {"SUSPENDED"}


def test_the_error_of_an_action_has_its_hint(engine: Managed, browser: Browser) -> None:
    job = create(engine)
    list(engine.run("DROP JOB orders").rows)
    page = run(browser, "suspend", job)
    assert page.status == 200
    assert "JETSQL.WRONG_STATUS" in page.visible
    assert statements(page) == [f"SUSPEND JOB '{job}'"]


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"action": "explode", "job": "1"}, 400, "There is no action"),
        ({"action": "drop"}, 400, "No job is selected"),
        ({"action": "drop", "job": "0000-0000-0000-0000"}, 404, "JOB_NOT_FOUND"),
        ({"action": "drop", "job": HOSTILE}, 404, "There is no job with the id"),
    ],
)
def test_wrong_requests_are_errors(browser: Browser, fields: dict[str, str], status: int, message: str) -> None:
    page = browser.act("/console/jobs/confirm", fields)
    assert page.status == status
    assert message in page.visible
    assert "<script" not in page.text


def test_hostile_texts_are_escaped(engine: Managed, server: RunningServer, browser: Browser) -> None:
    job = create(engine, HOSTILE, f"COMMENT '{HOSTILE.replace(chr(39), chr(92) + chr(39))}'")
    engine.runtime.commit(job)
    engine.runtime.fail(job, Cause(HOSTILE, "<b>", hint=HOSTILE, retryable=False))
    engine.manager.registry.wait(engine.manager.registry.live()[0], lambda view: view.job.cause is not None, 20)
    pages = [browser.get().text]
    pages += [browser.act("/console/jobs/confirm", {"action": "restart", "job": job}).text]
    pages += [run(browser, "restart", job).text]
    with events(server, browser, "/console/events/jobs") as messages:
        pages.append(json.dumps(next(messages)[1]))
    for text in pages:
        assert "&lt;script&gt;alert(1)" in text
        assert "<script>alert" not in text
        assert "<b>" not in text


def test_sparklines() -> None:
    assert spark_points((0.0, 10.0, 5.0)) == "0,19 45,1 90,10"
    assert spark_points((0.0, 0.0)) == "0,19 90,19"
    assert spark_points(()) == ""


def test_page_is_notified_of_ended_jobs(engine: Managed, server: RunningServer, browser: Browser) -> None:
    """Send all rows to a page whose version the engine does not know, such as one of an earlier engine."""
    job = create(engine)
    version = browser.get().text.partition('data-version="')[2].partition('"')[0]
    for known, is_all in ((version, False), ("", True), ("of-another-engine", True), ("00000000-0", True)):
        with events(server, browser, f"/console/events/jobs?after={known}") as messages:
            if is_all:
                assert until_change(messages, lambda change: job in change["rows"])["all"] is True
            else:
                list(engine.run("SUSPEND JOB orders").rows)
                assert until_change(messages, lambda change: job in change["rows"])["all"] is False
