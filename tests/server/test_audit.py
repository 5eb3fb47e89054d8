"""The audit log of an engine without Spark: logins, statements, rights and jobs over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jetsql.jobs.audit.audit_settings import AuditMode, AuditSettings
from tests.server.test_users import Site
from tests.support.engines.managed_engine import Managed
from tests.support.screens.console_browser import run_console
from tests.support.servers.http_server import TOKEN

JOB = "CREATE JOB j AS INSERT INTO totals SELECT * FROM STREAM orders"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with closing(Managed(tmp_path / "home")) as engine, run_console(engine) as server:
        yield Site(server, engine, {"owner": TOKEN})


def add_user(site: Site, name: str) -> None:
    site.rows("owner", f"CREATE USER {name}")
    site.tokens[name] = str(site.rows("owner", f"CREATE TOKEN FOR {name}")[0][1])


def events(site: Site, event: str = "statement", user: str = "") -> list[dict[str, Any]]:
    lines = (site.engine.home / "audit.log").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    return [each for each in found if each["event"] == event and user in ("", each.get("user"))]


def test_each_statement_has_one_record(site: Site) -> None:
    session = site.open_session("owner")
    site.run("owner", "SHOW JOBS", session=session, id="q1")
    site.run("owner", JOB)
    site.run("owner", "SUSPEND JOB k")
    site.run("owner", "SELCT 1")
    first, created, failed, wrong = events(site)
    assert (first["user"], first["token"], first["endpoint"], first["kind"], first["outcome"], first["rows"]) == (
        "owner",
        "engine.token",
        "http",
        "SHOW JOBS",
        "ok",
        0,
    )
    assert first["statement"] == "q1" and first["address"] == "127.0.0.1"
    assert first["session"] and session not in json.dumps(events(site))
    assert created["kind"] == "CREATE JOB" and [each["right"] for each in created["objects"]] == ["SELECT", "INSERT"]
    assert failed["outcome"] == "failed: JETSQL.JOB_NOT_FOUND" and "text" not in failed
    assert wrong["kind"] == "OTHER" and wrong["outcome"].startswith("failed: ")


def test_record_precedes_the_end_of_the_result(site: Site) -> None:
    for number in range(20):
        site.rows("owner", "SHOW JOBS")
        assert len(events(site)) == number + 1


def test_denied_statement_names_the_missing_right(site: Site) -> None:
    site.rows("owner", JOB)
    add_user(site, "ann")
    site.rows("owner", "GRANT OPERATE ON JOB j TO ann")
    site.run("ann", "CREATE USER eve")
    site.run("ann", "DROP JOB j")
    site.run("ann", "SUSPEND JOB j")
    denied, dropped, suspended = events(site, user="ann")
    assert denied["outcome"] == "denied" and denied["objects"] == [{"right": "ADMIN", "name": "ENGINE", "ok": False}]
    assert dropped["outcome"] == "denied" and dropped["objects"][0]["right"] == "OWNER"
    assert suspended["outcome"] == "ok" and suspended["objects"] == [{"right": "OPERATE", "name": "JOB j", "ok": True}]
    assert denied["token"] == site.tokens["ann"].split("_")[1]


def test_changes_of_rights_are_sentences(site: Site) -> None:
    add_user(site, "ann")
    for text in (
        "CREATE ROLE analysts",
        "GRANT analysts TO ann",
        "GRANT MONITOR TO analysts",
        "REVOKE MONITOR FROM analysts",
        "ALTER USER ann DISABLE",
        "DROP ROLE analysts",
    ):
        site.rows("owner", text)
    token = site.tokens["ann"].split("_")[1]
    assert [each["detail"] for each in events(site, "rights")] == [
        "The user ann was created.",
        f"The token {token} of ann was created.",
        "The role analysts was created.",
        "The role analysts of ann was granted.",
        "MONITOR on the engine was granted to analysts.",
        "MONITOR on the engine was revoked from analysts.",
        "The user ann was disabled.",
        "The role analysts was dropped.",
        "The role analysts of ann was revoked.",
    ]
    assert {each["user"] for each in events(site, "rights")} == {"owner"}
    assert site.tokens["ann"] not in (site.engine.home / "audit.log").read_text()


def test_logins(site: Site) -> None:
    add_user(site, "ann")
    for _ in range(3):
        site.rows("ann", "SHOW JOBS")
    wrong = "jsq_aaaaaaaa_0123456789012345678901234567890123456789abc"
    site.run(wrong, "SHOW JOBS")
    site.run("hunter2", "SHOW JOBS")
    owner, ann, first, second = events(site, "login")
    assert (owner["user"], owner["outcome"], ann["user"], ann["outcome"]) == ("owner", "ok", "ann", "ok")
    assert (first["token"], first["outcome"], first["address"]) == ("aaaaaaaa", "denied", "127.0.0.1")
    assert "token" not in second and "user" not in second
    log = (site.engine.home / "audit.log").read_text()
    assert wrong not in log and "hunter2" not in log and TOKEN not in log


def test_jobs_start_as_their_owner(site: Site) -> None:
    site.rows("owner", JOB)
    (started,) = events(site, "job start")
    assert started["user"] == "owner" and started["job"] and started["detail"] == "Run 1 starts."
    assert [each["right"] for each in started["objects"]] == ["SELECT", "INSERT"]


def test_statement_is_refused_that_cannot_be_recorded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site.engine.audit, "_settings", AuditSettings(AuditMode.REQUIRED))
    (site.engine.home / "audit.log").mkdir()
    response = site.run("owner", JOB)
    error = json.loads(response.content)["error"]
    assert response.status == 500
    assert (error["condition"], error["sqlstate"]) == ("JETSQL.AUDIT_NOT_WRITTEN", "58030") and error["hint"]
    (site.engine.home / "audit.log").rmdir()
    assert site.rows("owner", "SHOW JOBS") == []
    assert [each["event"] for each in events(site, "begin")] == ["begin"]


def test_hostile_client_cannot_write_lines(site: Site) -> None:
    hostile = 'x\n{"event": "statement", "user": "root"}\x1b[2J'
    site.run("owner", f"DROP JOB `{hostile}`")
    site.run("owner", f"SELECT '{'x' * 2**20}'")
    raw = (site.engine.home / "audit.log").read_bytes()
    assert all(32 <= byte < 127 or byte == 10 for byte in raw) and len(raw) < 20_000
    assert {each["user"] for each in events(site)} == {"owner"} and len(events(site)) == 2
