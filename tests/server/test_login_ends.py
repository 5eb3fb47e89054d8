"""Statements and sessions end with the login of their client: the token expires, or it or the user is taken away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest

from jetsql.jobs.access.expiry_timer import ExpiryTimer
from tests.conftest import until
from tests.server.test_limits import JOB, WAIT
from tests.server.test_users import Site
from tests.support.engines.managed_engine import Managed
from tests.support.rights.expired_tokens import expire
from tests.support.screens.console_browser import Browser, run_console
from tests.support.servers.http_server import TOKEN


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with closing(Managed(tmp_path / "home")) as engine, run_console(engine) as server:
        site = Site(server, engine, {"owner": TOKEN})
        site.rows("owner", JOB.format("j"))
        for user in ("ann", "boss"):
            site.rows("owner", f"CREATE USER {user}")
            site.tokens[user] = str(site.rows("owner", f"CREATE TOKEN FOR {user}")[0][1])
        site.rows("owner", "GRANT OPERATE ON JOB j TO ann")
        site.rows("owner", "GRANT ADMIN TO boss")
        yield site


def _id(site: Site, user: str) -> str:
    return site.tokens[user].split("_")[1]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("DROP TOKEN '{}'", "The token {} was dropped."),
        ("ALTER USER ann DISABLE", "The user ann was disabled."),
        ("DROP USER ann", "The user ann was dropped."),
        ("expiry", "The token {} has expired."),
    ],
)
def test_statement_ends_with_its_login(site: Site, change: str, reason: str) -> None:
    token = _id(site, "ann")
    with ThreadPoolExecutor() as threads:
        running = threads.submit(site.run, "ann", WAIT)
        other = threads.submit(site.run, "boss", WAIT)
        until(lambda: len(site.server.http_server.running) == 2)
        if change == "expiry":
            expire(site.engine, token)
        else:
            site.rows("owner", change.format(token))
        error = json.loads(running.result(60).content.splitlines()[-1])["error"]
        assert (error["condition"], error["sqlstate"]) == ("JETSQL.LOGIN_ENDED", "28000")
        assert error["message"] == f"{reason.format(token)} The statement was ended."
        assert not other.done()
        site.rows("owner", "DROP JOB j")
    assert site.send("ann", "GET", "/v1/jobs").status == 401
    events = [event for event in site.engine.audit.newest() if event.get("kind") == "WAIT"]
    assert ("ann", "failed: JETSQL.LOGIN_ENDED") in [(event["user"], event["outcome"]) for event in events]


def test_other_tokens_of_the_user_stay(site: Site) -> None:
    second = str(site.rows("owner", "CREATE TOKEN FOR ann")[0][1])
    with ThreadPoolExecutor() as threads:
        running = threads.submit(site.run, second, WAIT)
        until(lambda: len(site.server.http_server.running) == 1)
        site.rows("owner", f"DROP TOKEN '{_id(site, 'ann')}'")
        assert not running.done() and len(site.rows(second, "SHOW JOBS")) == 1
        site.rows("owner", "DROP JOB j")


def test_statement_that_ends_its_own_login_has_a_result(site: Site) -> None:
    assert "Dropped" in str(site.rows("ann", f"DROP TOKEN '{_id(site, 'ann')}'"))
    assert site.send("ann", "GET", "/v1/jobs").status == 401


def test_login_of_the_console_ends_when_its_token_expires(site: Site) -> None:
    browser = Browser(site.server.url)
    browser.log_in(site.tokens["ann"])
    assert browser.get().status == 200
    expire(site.engine, _id(site, "ann"))
    until(lambda: browser.get().status == 303)


def test_timer_calls_once_for_each_time_that_has_come() -> None:
    now, rung = [100.0], [Event(), Event()]
    calls = iter(rung)
    timer = ExpiryTimer(lambda: now[0], lambda: next(calls).set())
    timer.expect(None)
    timer.expect(99.0)  # past
    timer.expect(100.05)
    timer.expect(3600.0)
    now[0] = 101.0
    assert rung[0].wait(30)
    timer.expect(101.05)
    now[0] = 102.0
    assert rung[1].wait(30)
    timer.close()
    timer.expect(103.0)
    assert timer._timer is None
