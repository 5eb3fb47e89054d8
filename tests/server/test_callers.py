"""The caller of a request: it is known at every read of the jobs, and the history names it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jetsql.jobs.model.job import Cause, Status
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.request import ENGINE, OWNER, Caller, Endpoint, current
from tests.server.test_http import Response, request
from tests.support.engines.managed_engine import Managed
from tests.support.screens.console_browser import events, logged_in, run_console
from tests.support.servers.http_server import RunningServer

BY_HTTP = Caller(OWNER, Endpoint.HTTP, "127.0.0.1")
BY_CONSOLE = Caller(OWNER, Endpoint.CONSOLE, "127.0.0.1")
CREATE = "CREATE JOB orders AS INSERT INTO totals SELECT * FROM STREAM orders"


class ObservedQueries(JobQueries):
    """Queries that note their callers."""

    def __init__(self, queries: JobQueries) -> None:
        super().__init__(queries._manager)
        self.callers: set[Caller] = set()

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and name != "callers":
            self.callers.add(current().caller)
        return super().__getattribute__(name)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Managed]:
    engine = Managed(tmp_path / "home")
    engine.queries = ObservedQueries(engine.queries)
    yield engine
    engine.close()


@pytest.fixture
def server(engine: Managed) -> Iterator[RunningServer]:
    with run_console(engine) as server:
        yield server


def run(server: RunningServer, statement: str) -> Response:
    response = request(server, "POST", "/v1/sql", json.dumps({"statement": statement}))
    assert response.status == 200, response
    return response


def authors(engine: Managed, job: str) -> list[tuple[str, Caller | None]]:
    return [(row.event, row.by) for row in engine.manager.store.history(job)]


def only_job(engine: Managed) -> str:
    [view] = engine.manager.registry.live()
    return view.job.id


def test_history_names_the_caller_of_the_http_endpoint(server: RunningServer, engine: Managed) -> None:
    run(server, CREATE)
    run(server, "SUSPEND JOB orders")
    assert authors(engine, only_job(engine)) == [
        ("submitted", BY_HTTP),
        ("first trigger", ENGINE),
        ("suspend requested", BY_HTTP),
        ("suspended", ENGINE),
    ]


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [("203.0.113.7", "203.0.113.7"), ("2001:db8::7", "2001:db8::7"), ("<b>\x1b[31mann", ""), ("localhost", "")],
)
def test_proxy_on_the_machine_can_name_an_ip_address(
    server: RunningServer, engine: Managed, forwarded: str, address: str
) -> None:
    body = json.dumps({"statement": CREATE})
    assert request(server, "POST", "/v1/sql", body, **{"X-Forwarded-For": forwarded}).status == 200
    assert authors(engine, only_job(engine))[0] == ("submitted", Caller(OWNER, Endpoint.HTTP, address))


def test_history_names_the_caller_of_the_console(server: RunningServer, engine: Managed) -> None:
    run(server, CREATE)
    job = only_job(engine)
    page = logged_in(server).act("/console/run", {"title": "Suspend", "statement": "SUSPEND JOB orders"})
    assert page.status == 200
    assert ("suspend requested", BY_CONSOLE) in authors(engine, job)
    shown = logged_in(server).get(f"/console/jobs/{job}").visible
    assert "by owner, console, 127.0.0.1" in shown and "by owner, http, 127.0.0.1" in shown


def test_engine_is_the_author_of_automatic_events(server: RunningServer, engine: Managed) -> None:
    run(server, CREATE)
    job = only_job(engine)
    engine.runtime.fail(job, Cause("The broker is gone.", retryable=True))
    engine.manager.registry.wait(engine.manager.registry.live()[0], lambda view: view.job.run == 2, 20)
    user_events = {event for event, by in authors(engine, job) if by != ENGINE}
    assert user_events == {"submitted"}


def test_show_job_history_names_the_author(server: RunningServer, engine: Managed) -> None:
    run(server, CREATE)
    rows = [json.loads(line) for line in run(server, "SHOW JOB HISTORY orders").content.splitlines()]
    names = [column["name"] for column in rows[0]["columns"]]
    by = [row[names.index("by")] for part in rows for row in part.get("rows", ())]
    assert by == ["owner", "engine"]


def test_log_names_the_caller_of_a_change(
    server: RunningServer, engine: Managed, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "jetsql")
    run(server, CREATE)
    job = only_job(engine)
    run(server, "SUSPEND JOB orders")
    lines = [record.getMessage() for record in caplog.records if "by owner" in record.getMessage()]
    assert lines == [
        f"Job {job} was submitted by owner, http, 127.0.0.1",
        f"Job {job}: suspend requested by owner, http, 127.0.0.1",
    ]


@pytest.mark.parametrize("path", ["/v1/engine", "/v1/metrics", "/metrics"])
def test_reads_over_http_know_their_caller(server: RunningServer, engine: Managed, path: str) -> None:
    run(server, CREATE)
    assert request(server, "GET", path).status == 200
    assert callers(engine) == {BY_HTTP}


@pytest.mark.parametrize(
    "path", ["", "jobs/{job}", "jobs/{job}/measures", "catalog", "catalog/table?name=totals", "snapshots"]
)
def test_reads_of_pages_know_their_caller(server: RunningServer, engine: Managed, path: str) -> None:
    run(server, CREATE)
    browser = logged_in(server)
    assert browser.get(f"/console/{path.format(job=only_job(engine))}").status == 200
    assert callers(engine) - {ENGINE} == {BY_CONSOLE}  # a sample for all pages can come at the same time


def test_events_of_a_job_page_know_their_caller(server: RunningServer, engine: Managed) -> None:
    run(server, CREATE)
    job, browser = only_job(engine), logged_in(server)
    with events(server, browser, f"/console/events/jobs/{job}") as messages:
        engine.runtime.commit(job)
        next(messages)
    assert callers(engine) == {BY_CONSOLE}


def test_samples_for_all_pages_are_read_for_the_engine(server: RunningServer, engine: Managed) -> None:
    run(server, CREATE)
    browser = logged_in(server)
    with events(server, browser, "/console/events/jobs") as messages:
        run(server, "SUSPEND JOB orders")
        while engine.manager.registry.live()[0].job.status is not Status.SUSPENDED or ENGINE not in callers(engine):
            next(messages)
    assert callers(engine) == {BY_CONSOLE, ENGINE}


def callers(engine: Managed) -> set[Caller]:
    assert isinstance(engine.queries, ObservedQueries)
    return engine.queries.callers
