"""The relation `jetsql.audit`: an admin sees all events, others their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.jobs.audit.audit_event import AuditedObject
from jetsql.jobs.audit.audit_file import AuditFile
from jetsql.jobs.audit.audit_log import AuditLog
from jetsql.jobs.audit.audit_settings import AuditSettings
from jetsql.jobs.statements.access.audit_relation import AUDIT_COLUMNS
from jetsql.jobs.statements.system_tables import rows
from jetsql.request import Caller, Endpoint, acting_for
from tests.support.engines.jobs_harness import JobsHarness, run_manager

ANN = Caller("ann", Endpoint.HTTP, "10.0.0.1", "a1b2c3d4")


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    with run_manager(tmp_path) as harness:
        yield harness


def test_rows(jobs: JobsHarness, tmp_path: Path) -> None:
    jobs.sql("CREATE USER ann")
    jobs.sql("CREATE USER bob")
    audit = jobs.manager.audit = AuditLog(AuditFile(tmp_path), AuditSettings(), lambda: 5.5)
    used = (AuditedObject("SELECT", "c.s.t"), AuditedObject("ANY", "c.hr.pay", False), AuditedObject("INSERT", "c.s.u"))
    audit.note("statement", ANN, objects=used, outcome="denied", rows=0, millis=7)
    audit.note("login", Caller("bob"))
    names = [column.name for column in AUDIT_COLUMNS]
    with acting_for(ANN):
        (row,) = rows(jobs.manager, "audit")
    found = {name: value for name, value in zip(names, row, strict=True) if value is not None}
    assert found.pop("id")
    assert found == {
        "time": 5.5,
        "event": "statement",
        "user": "ann",
        "token": "a1b2c3d4",
        "endpoint": "http",
        "address": "10.0.0.1",
        "objects": "SELECT c.s.t, INSERT c.s.u",
        "denied": "ANY c.hr.pay",
        "outcome": "denied",
        "ms": 7,
        "rows": 0,
    }
    assert [row[2] for row in rows(jobs.manager, "audit")] == ["rights", "rights", "statement", "login"]
    with acting_for(Caller("eve")):
        assert list(rows(jobs.manager, "audit")) == []
