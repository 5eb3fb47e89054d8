"""The pages about members, snapshots and the engine."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from jetsql.console.cluster_pages import LOG_LINES, log_tail
from jetsql.jobs.model.job import Job
from jetsql.settings.engine_settings import Settings, shown_settings
from jetsql.settings.store_settings import StoreSettings
from tests.support.engines.managed_engine import Managed
from tests.support.screens.console_browser import Browser, events
from tests.support.servers.http_server import RunningServer

HOSTILE = "<script>alert(1)</script>\"'`--&"


def create(engine: Managed, name: str) -> Job:
    list(engine.run(f"CREATE JOB `{name}` AS INSERT INTO out SELECT * FROM STREAM src").rows)
    return engine.manager.registry.live()[0].job


def test_members_and_engines(browser: Browser) -> None:
    page = browser.get("/console/members")
    assert page.status == 200
    assert "driver 127.0.0.1" in page.visible
    assert "leader" in page.visible


def test_snapshots(engine: Managed, browser: Browser) -> None:
    assert "There are no snapshots." in browser.get("/console/snapshots").visible
    job = create(engine, "orders")
    list(engine.run("CREATE SNAPSHOT `<b>` FOR JOB orders").rows)
    page = browser.get("/console/snapshots")
    assert "<b> orders owner" in page.visible
    assert f'href="/console/jobs/{job.id}"' in page.text
    assert "<b>" not in page.text


def test_snapshots_are_dropped_and_forked_on_their_page(engine: Managed, browser: Browser) -> None:
    create(engine, "orders")
    list(engine.run("CREATE SNAPSHOT friday FOR JOB orders").rows)
    list(engine.run("DROP JOB orders").rows)  # which leaves its snapshots
    page = browser.get("/console/snapshots")
    assert "INSERT INTO out SELECT * FROM STREAM src" in page.visible
    assert quote("'initialSnapshotName' = 'friday'") in page.text
    assert 'aria-label="Drop snapshot friday"' in page.text
    browser.act("/console/run", {"title": "Drop", "statement": "DROP SNAPSHOT `friday`"})
    assert "There are no snapshots." in browser.get("/console/snapshots").visible


def test_pages_but_those_with_sql_need_no_spark(
    engine: Managed, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = create(engine, "orders")

    def no_session() -> None:
        raise AssertionError("a page asked for a session of Spark")

    monkeypatch.setattr("tests.support.engines.managed_engine.Session", no_session)
    for path in (
        "",
        "jobs",
        f"jobs/{job.id}",
        f"jobs/{job.id}/measures",
        "catalog",
        "snapshots",
        "alerts",
        "members",
        "engine",
    ):
        page = browser.get(f"/console/{path}")
        assert page.status == 200 and "INTERNAL_ERROR" not in page.text, path


def test_errors_keep_the_navigation_of_a_user(server: RunningServer, browser: Browser) -> None:
    page = browser.get("/console/jobs/none")
    assert page.status == 404 and "Snapshots Alerts Members Engine Log out" in page.visible and page.csrf
    page = browser.get("/console/nowhere")
    assert (page.status, "There is no such page. Back to the overview" in page.visible) == (404, True)
    stranger = Browser(server.url).get("/console/nowhere")
    assert (stranger.status, "Log out" in stranger.visible) == (404, False)


def test_the_engine_and_its_log(engine: Managed, browser: Browser) -> None:
    assert "There is no log" in browser.get("/console/engine").visible
    (engine.home / "engine.log").write_text("2026 INFO one\n2026 WARN <script>two</script>\n")
    page = browser.get("/console/engine")
    assert "2026 INFO one" in page.visible and str(engine.home) in page.visible
    assert "<script>two" not in page.text
    page = browser.get("/console/engine?q=warn")
    assert "INFO one" not in page.visible and "two" in page.visible
    assert "No line of the log's end contains this text" in browser.get("/console/engine?q=%3Cb%3E").visible


def test_an_open_page_follows_the_log(engine: Managed, server: RunningServer, browser: Browser) -> None:
    file = engine.home / "engine.log"
    file.write_text("INFO one\nWARN two\n")
    with events(server, browser, "/console/events/log?q=warn") as messages:
        assert next(messages) == ("end", ["WARN two"])
        with file.open("a") as log:
            log.write("INFO three\nwarn <four>\nWARN fi")
        assert next(messages) == ("lines", ["warn <four>"])
        with file.open("a") as log:
            log.write("ve\n")
        assert next(messages) == ("lines", ["WARN five"])
        file.rename(engine.home / "engine.log.1")
        file.write_text("WARN six\n")
        assert next(messages) == ("lines", ["WARN six"])
        browser.post("/console/logout", {"csrf": browser.get().csrf})
        assert [name for name, _ in messages if name != "ping"] == ["logout"]


def test_a_log_that_begins_later_is_followed(engine: Managed, server: RunningServer, browser: Browser) -> None:
    with events(server, browser, "/console/events/log?q=") as messages:
        assert next(messages) == ("end", [])
        (engine.home / "engine.log").write_text("INFO one\n")
        assert next(messages) == ("lines", ["INFO one"])


def test_a_long_log_is_read_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "engine.log").write_text("".join(f"line {number}\n" for number in range(1_000_000)))
    lines = log_tail(tmp_path, "")
    assert (len(lines), lines[-1]) == (LOG_LINES, "line 999999")
    assert log_tail(tmp_path, "LINE 999998") == ["line 999998"]


def test_settings_are_shown_without_secrets(tmp_path: Path) -> None:
    conf = {"spark.my.password": "hunter2secret", "spark.sql.shuffle.partitions": "4"}
    store = StoreSettings(store="postgresql://ann:pa55word@host/db")
    shown = shown_settings(Settings(home=tmp_path, spark_conf=conf, store=store))
    assert shown["home"] == str(tmp_path)
    assert shown["spark.sql.shuffle.partitions"] == "4"
    assert shown["kafka"] == "false"
    assert not any("hunter2secret" in value or "pa55word" in value for value in shown.values())
    assert shown["spark.my.password"] == "***"


def test_pages_of_a_leader_without_its_store(
    engine: Managed, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Managed, "leads", False)
    page = browser.get("/console/members")
    assert page.status == 200
    assert "cannot reach its store, and another engine may lead" in page.visible
    outcome = browser.act("/console/run", {"title": "Suspend", "statement": "SUSPEND JOB orders"})
    assert "cannot reach its store, and another engine may lead" in outcome.visible
