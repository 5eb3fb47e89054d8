"""Stories of jobs, told in statements over the engine's twin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from jobs_support import World, create, name, world

from jetsql.language.statements import DropJob, ResumeJob, ShowJobs, SuspendJob


@pytest.fixture
def w(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def test_a_job_from_its_making_to_its_end(w: World) -> None:
    made = w.row(create("j"))
    assert (made["name"], made["status"]) == ("j", "RUNNING")
    assert made["message"] == "Created. The first batch is committed. Delivery: exactly once."
    suspended = w.row(SuspendJob(name("J")))
    assert suspended["status"] == "SUSPENDED"
    assert suspended["message"] == "Suspended. The running batch was finished first."
    assert w.row(ResumeJob(name("j")))["status"] == "RUNNING"
    assert [row[1:3] for row in w.run(ShowJobs()).rows] == [("j", "RUNNING")]
    dropped = w.row(DropJob(name("j")))
    assert dropped["status"] == "FAILED"
    assert dropped["message"] == "Dropped. Cancelled by user. The running batch was finished first."
    assert w.run(ShowJobs()).rows == ()
    assert w.engine.calls[-2:] == ["recover 2", "discard 2"]
