"""The audit log: its fields, what is never in it, and the refusal of statements that it cannot record."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jetsql.errors import StatementError
from jetsql.jobs.audit.audit_event import OBJECTS_MOST, TEXT_MOST
from jetsql.jobs.audit.audit_file import AUDIT_LOG, AuditFile
from jetsql.jobs.audit.audit_log import NO_AUDIT, AuditLog, active_record, note_object
from jetsql.jobs.audit.audit_settings import AuditMode, AuditSettings, parse_audit
from jetsql.jobs.audit.audited_logins import AuditedLogins
from jetsql.jobs.audit.spark_records import SparkRecords
from jetsql.jobs.audit.statement_kind import statement_kind
from jetsql.request import Caller, Endpoint, acting_for

ANN = Caller("ann", Endpoint.HTTP, "10.0.0.1", "a1b2c3d4", "jetsql/1")
CANARY = "hunter2canary"


def audit_log(home: Path, mode: AuditMode = AuditMode.ON, text: bool = False) -> AuditLog:
    return AuditLog(AuditFile(home), AuditSettings(mode, text), lambda: 1_700_000_000.25)


@pytest.fixture
def ann() -> Iterator[None]:
    with acting_for(ANN):
        yield


def test_statement_has_one_line_with_all_fields(tmp_path: Path, ann: None) -> None:
    log = audit_log(tmp_path)
    record = log.statement("SELECT * FROM shop.orders", session="s1", statement="q1")
    with record.active():
        note_object("SELECT", "spark_catalog.shop.orders")
        note_object("SELECT", "spark_catalog.shop.orders")
    record.add_rows(2)
    record.end()
    record.end()
    event: dict[str, Any] = dict(*log.newest())
    assert event.pop("id") and event.pop("ms") >= 0
    assert event == {
        "time": "2023-11-14T22:13:20.250+00:00",
        "event": "statement",
        "user": "ann",
        "token": "a1b2c3d4",
        "endpoint": "http",
        "address": "10.0.0.1",
        "client": "jetsql/1",
        "session": "s1",
        "statement": "q1",
        "kind": "SELECT",
        "objects": [{"right": "SELECT", "name": "spark_catalog.shop.orders", "ok": True}],
        "outcome": "ok",
        "rows": 2,
    }


def test_outcomes(tmp_path: Path, ann: None) -> None:
    log = audit_log(tmp_path)
    for condition in ("JETSQL.NOT_ALLOWED", "TABLE_OR_VIEW_NOT_FOUND", "PARSE_SYNTAX_ERROR", ""):
        record = log.statement("SELECT 1")
        with record.active():
            if condition == "TABLE_OR_VIEW_NOT_FOUND":
                note_object("ANY", "hr.pay", ok=False)
        if condition:
            record.fail(condition)
        else:
            record.cancel()
        record.end()
    outcomes = [event["outcome"] for event in log.newest()]
    assert outcomes == ["denied", "denied", "failed: PARSE_SYNTAX_ERROR", "cancelled"]


def test_objects_are_noted_for_the_statement_of_the_thread_only(tmp_path: Path, ann: None) -> None:
    note_object("SELECT", "nowhere")
    outer, inner = audit_log(tmp_path).statement("SELECT 1"), audit_log(tmp_path).statement("SELECT 2")
    with outer.active():
        with inner.active():
            note_object("SELECT", "inner")
        note_object("SELECT", "outer")
    assert active_record() is None
    assert [used.name for used in outer.objects] == ["outer"] and [used.name for used in inner.objects] == ["inner"]


def test_control_characters_are_escaped(tmp_path: Path) -> None:
    hostile = 'x\n{"user":"root"}\r\x1b[2J\x7f\x85\u2028\u202e'
    with acting_for(Caller(hostile, Endpoint.THRIFT, "10.0.0.1", client=hostile)):
        log = audit_log(tmp_path, text=True)
        record = log.statement(f"SELECT '{hostile}'", session=hostile, statement=hostile)
        with record.active():
            note_object("SELECT", hostile, ok=False)
        record.end()
    raw = (tmp_path / AUDIT_LOG).read_bytes()
    assert raw.count(b"\n") == 1 and all(32 <= byte < 127 for byte in raw[:-1])
    (event,) = log.newest()
    assert event["user"] == event["client"] == event["statement"] == event["objects"][0]["name"] == hostile


def test_long_texts_and_many_objects_are_limited(tmp_path: Path, ann: None) -> None:
    log = audit_log(tmp_path, text=True)
    record = log.statement(f"SELECT '{'x' * 2**20}'")
    with record.active():
        for number in range(5000):
            note_object("SELECT", f"t{number}")
    record.end()
    (event,) = log.newest()
    assert len(event["text"]) <= TEXT_MOST and len(event["objects"]) == OBJECTS_MOST and event["objects_left_out"]


def test_secrets_are_in_no_line(tmp_path: Path) -> None:
    texts = (
        f"CREATE TABLE t USING jdbc OPTIONS ('password' '{CANARY}')",
        f"CREATE CONNECTION c TYPE jdbc OPTIONS (password '{CANARY}', url 'jdbc:postgresql://u:{CANARY}@db/x')",
        f"SET spark.hadoop.fs.s3a.secret.key={CANARY}",
        CANARY,
        f"{CANARY} FROM t",
        f"CREATE {CANARY} TABLE",
    )
    client = f"curl https://u:{CANARY}@host/"
    with acting_for(Caller("ann", Endpoint.HTTP, "10.0.0.1", client=client)):
        for shows_text in (False, True):
            log = audit_log(tmp_path, text=shows_text)
            for text in texts if not shows_text else texts[:3]:
                log.statement(text).end()
        note = f"s3a://u:{CANARY}@bucket/in"
        record = log.statement("SELECT 1")
        with record.active():
            note_object("USAGE", f"LOCATION {note}")
        record.end()
    assert CANARY not in (tmp_path / AUDIT_LOG).read_text()


def test_kinds_of_statements() -> None:
    kinds = {
        "select 1": "SELECT",
        "-- a comment\n ( SELECT 1)": "SELECT",
        "WITH x AS (SELECT 1) SELECT * FROM x": "SELECT",
        "INSERT INTO t SELECT 1": "INSERT",
        "CREATE OR REPLACE JOB j AS INSERT INTO t SELECT * FROM s": "CREATE JOB",
        "create temporary view v as select 1": "CREATE VIEW",
        "CREATE STREAMING TABLE t AS SELECT 1": "CREATE TABLE",
        "DROP USER ann": "DROP USER",
        "GRANT SELECT ON TABLE t TO ann": "GRANT",
        "SHOW JOBS": "SHOW JOBS",
        "EXPLAIN EXTENDED SELECT 1": "EXPLAIN SELECT",
        "SET x = 1": "SET",
        "SUSPEND JOB j": "SUSPEND",
        "": "OTHER",
        "selct 1": "OTHER",
    }
    assert {text: statement_kind(text) for text in kinds} == kinds


def test_statement_that_cannot_be_recorded_is_refused(tmp_path: Path, ann: None) -> None:
    log = audit_log(tmp_path / "gone", AuditMode.REQUIRED)
    with pytest.raises(StatementError) as caught:
        log.statement("SELECT 1")
    assert (caught.value.condition, caught.value.sqlstate) == ("JETSQL.AUDIT_NOT_WRITTEN", "58030")
    assert "No such file" in caught.value.message and "Free space" in caught.value.hint
    (tmp_path / "gone").mkdir()
    log.statement("SELECT 1", statement="q1").end()
    assert [(event["event"], event["statement"]) for event in log.newest()] == [("begin", "q1"), ("statement", "q1")]


def test_statement_runs_with_a_warning_if_no_record_is_required(
    tmp_path: Path, ann: None, caplog: pytest.LogCaptureFixture
) -> None:
    log = audit_log(tmp_path / "gone")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            log.statement("SELECT 1").end()
        (tmp_path / "gone").mkdir()
        log.statement("SELECT 1").end()
    assert [record.message.partition(",")[0] for record in caplog.records] == [
        "The audit log cannot be written",
        "The audit log can be written again; the events of the meantime are missing in it",
    ]
    assert len(log.newest()) == 1


def test_log_that_is_off_writes_nothing(tmp_path: Path, ann: None) -> None:
    for log in (audit_log(tmp_path, AuditMode.OFF), NO_AUDIT):
        log.statement("SELECT 1").end()
        log.note("engine start")
        assert log.newest() == []
    assert list(tmp_path.iterdir()) == []


def test_lines_of_others_in_the_file_are_left_out(tmp_path: Path, ann: None) -> None:
    log = audit_log(tmp_path)
    (tmp_path / AUDIT_LOG).write_bytes(b'torn{\n[1]\n\xff\xfe\n\n{"event": "x"}\n')
    log.note("engine start")
    assert [event["event"] for event in log.newest()] == ["x", "engine start"]


@pytest.mark.parametrize(
    ("value", "mode"), [("ON", AuditMode.ON), (False, AuditMode.OFF), (" required ", AuditMode.REQUIRED)]
)
def test_setting(value: object, mode: AuditMode) -> None:
    assert parse_audit(value) is mode
    with pytest.raises(ValueError, match="off, on or required"):
        parse_audit("yes")


def test_logins_are_recorded_once_until_the_client_is_idle(tmp_path: Path) -> None:
    now = [0.0]
    log = audit_log(tmp_path)
    logins = AuditedLogins(log, lambda: now[0])
    for passed in (0, 599, 599, 600):
        now[0] += passed
        logins.succeeded(ANN)
    logins.succeeded(Caller("ann", Endpoint.HTTP, "10.0.0.1", "other"))
    assert [event["token"] for event in log.newest()] == ["a1b2c3d4", "a1b2c3d4", "other"]


def test_many_failed_logins_do_not_fill_the_log(tmp_path: Path) -> None:
    now = [0.0]
    log = audit_log(tmp_path)
    logins = AuditedLogins(log, lambda: now[0])
    stranger = Caller("", Endpoint.HTTP, "10.6.6.6")
    for _ in range(1000):
        logins.failed(stranger)
    logins.failed(Caller("", Endpoint.HTTP, "10.0.0.2"))
    now[0] += 60
    logins.failed(stranger)
    events = log.newest()
    assert len(events) == 22 and {event["outcome"] for event in events} == {"denied"}
    assert "are counted" in events[19]["detail"] and "980 failed logins" in events[-1]["detail"]


def _ended(log: AuditLog, **values: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "caller": list(("ann", "thrift", "10.0.0.1", "a1b2c3d4", "")),
        "session": "s",
        "statement": "q",
        "text": "SELECT 1",
        "millis": 5,
        "rows": None,
        "error": None,
        "is_cancelled": False,
        "objects": [],
    }
    SparkRecords(log).end(**given | values)
    return dict(log.newest()[-1])


def test_statements_of_spark_endpoints(tmp_path: Path) -> None:
    log = audit_log(tmp_path)
    assert _ended(log)["outcome"] == "ok" and _ended(log)["user"] == "ann"
    denied = _ended(log, error="[JETSQL.NOT_ALLOWED] User 'ann' has no right", objects=[["SELECT", "s.t", False]])
    assert denied["outcome"] == "denied" and denied["objects"] == [{"right": "SELECT", "name": "s.t", "ok": False}]
    assert _ended(log, error="x: [DIVIDE_BY_ZERO] y [SQLSTATE: 22012]")["outcome"] == "failed: DIVIDE_BY_ZERO"
    assert _ended(log, error=f"boom {CANARY}")["outcome"] == "failed: UNKNOWN"
    assert _ended(log, is_cancelled=True)["outcome"] == "cancelled"
    assert _ended(log, text="Listing databases 'catalog : null'")["kind"] == "METADATA"
    assert CANARY not in (tmp_path / AUDIT_LOG).read_text()
    assert json.loads((tmp_path / AUDIT_LOG).read_bytes().splitlines()[0])["ms"] == 5


@pytest.mark.parametrize(
    ("user", "job", "owner", "reader"),
    [
        ("ann", "", "", ("ann", None)),  # a session of the user, without its client
        ("system", "", "", ("engine", None)),
        ("engine", "", "", ("engine", None)),
        (None, "", "", ("owner", "spark.sql")),  # a program's own session
        ("system", "j1", "ann", ("ann", None)),
        ("system", "j1", "", ("owner", None)),
    ],
)
def test_reader_of_a_secret(
    tmp_path: Path, user: str | None, job: str, owner: str, reader: tuple[str, str | None]
) -> None:
    log = audit_log(tmp_path)
    with acting_for(Caller("owner", Endpoint.SPARK_SQL)):
        SparkRecords(log).secret("secret read", "secret:shop", "the option password of x", user, job, owner, "")
    [event] = log.newest()
    assert (event["user"], event.get("endpoint")) == reader
    assert (
        event.get("job", "") == job
        and event["outcome"] == "ok"
        and event["detail"] == ("For the option password of x.")
    )
    assert event["objects"] == [{"right": "USAGE", "name": "SECRET shop", "ok": True}]


def test_secret_that_cannot_be_read_has_its_condition(tmp_path: Path, ann: None) -> None:
    log = audit_log(tmp_path)
    records = SparkRecords(log)
    url = f"the option password of jdbc:postgresql://ann:{CANARY}@db/shop"
    records.secret("secret read", "secret:file:/run/x", url, "ann", "", "", "JETSQL.SECRET_NOT_READABLE")
    records.secret("secret read", "secret:shop", url, "ann", "", "", "JETSQL.SECRET_NOT_FOR_HOST")
    records.secret("connection use", "pg", "", "system", "j1", "bob", "")
    unread, denied, used = log.newest()
    assert unread["outcome"] == "failed: JETSQL.SECRET_NOT_READABLE" and unread["endpoint"] == "http"
    assert unread["objects"] == [{"right": "USAGE", "name": "SECRET file:/run/x", "ok": True}]
    assert denied["outcome"] == "denied" and denied["objects"][0]["ok"] is False
    assert (used["user"], used["job"], used["objects"][0]["name"]) == ("bob", "j1", "CONNECTION pg")
    assert CANARY not in str(log.newest())
