"""Crashes (kill -9) before and after each step is stored, and before its action is executed.

The engine is in memory, so that each crash takes a second; `make faults` does the same with Spark.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from jetsql.failpoints import POINTS, VARIABLE
from jetsql.jobs.model.job import Status
from tests.faults.history import Deaths, store_faults
from tests.faults.rounds import Round
from tests.support.engines.jobs_world import world
from tests.support.paths import PROGRAMS

PROGRAM = PROGRAMS / "dying_jobs.py"
MAKE = "CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src"
UPDATE = "CREATE OR REPLACE JOB j AS INSERT INTO out SELECT a FROM STREAM src"
SNAPSHOT = "CREATE SNAPSHOT s FOR JOB j"
ALTER = "ALTER JOB j OPTIONS ('snapshotIntervalMillis' = '150')"

# By the title of the step: what is done before, and what comes to the place.
BEFORE: Final[dict[str, tuple[str, ...]]] = {
    "submitted": (MAKE,),
    "first-trigger": (MAKE,),
    "completed": ("batch", "quiet", f"&{MAKE}", "complete"),
    "suspend-requested": (MAKE, "SUSPEND JOB j"),
    "suspended": (MAKE, "SUSPEND JOB j"),
    "resumed": (MAKE, "SUSPEND JOB j", "RESUME JOB j"),
    "restart-requested": (MAKE, "RESTART JOB j"),
    "restarted": (MAKE, "RESTART JOB j"),
    "options-changed": (MAKE, "SUSPEND JOB j", ALTER),
    "drop-with-snapshot-requested": (MAKE, "DROP JOB j WITH SNAPSHOT s"),
    "writing-snapshot": (MAKE, "SUSPEND JOB j", SNAPSHOT),
    "snapshot": (MAKE, SNAPSHOT),
    "update-requested": (MAKE, UPDATE),
    "old-version-stopped": (MAKE, UPDATE),
    "updated": (MAKE, UPDATE),
    "update-committed": (MAKE, UPDATE),
    "update-rolled-back": (MAKE, "quiet", f"&{UPDATE}", "fail"),
    "drop-requested": (MAKE, "DROP JOB j"),
    "dropped": (MAKE, "DROP JOB j"),
    "cleaned-up": (MAKE, "DROP JOB j"),
    "continued": (),
}
AT_REST: Final = (Status.RUNNING, Status.SUSPENDED, Status.FAILED, Status.COMPLETED)
WRITER: Final = tuple(point for point in POINTS if point.partition("-")[0] in ("storing", "stored"))


def die(home: Path, point: str, *texts: str, job: str = "j") -> None:
    ended = subprocess.run(
        [sys.executable, str(PROGRAM), str(home), *texts],
        env={**os.environ, VARIABLE: point}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (-signal.SIGKILL, f"failpoint {point}:{job}\n")


@pytest.mark.parametrize(
    "point",
    # Little can be wrong before the store is written, so these are slow tests.
    [pytest.param(point, marks=pytest.mark.slow if point.startswith("storing-") else ()) for point in WRITER],
)
def test_what_was_stored_is_finished_and_what_was_not_has_not_happened(tmp_path: Path, point: str) -> None:
    title = point.partition("-")[2]
    if title == "continued":
        with world(tmp_path) as w:
            w.sql(MAKE)
    die(tmp_path, point, *BEFORE[title])
    deaths = Deaths(tmp_path / "jetsql.db")
    deaths.note(Round((f"{point}:j",)))
    with world(tmp_path) as w:
        if point == "storing-submitted":
            w.sql(MAKE)
        for job in w.store.live_jobs():
            if w.wait_status(job.id, *AT_REST).status is Status.SUSPENDED:
                w.sql("RESUME JOB j")
        assert w.manager.workers.wait_all(20.0)
        w.make("last")  # after it, no event is pending
    assert list(deaths.wrong()) == []
    assert store_faults(tmp_path / "jetsql.db", ()) == []


def test_a_store_that_was_not_made_to_its_end_is_made_by_the_next_engine(tmp_path: Path) -> None:
    die(tmp_path, "store-made", job="")
    with world(tmp_path) as w:
        w.sql(MAKE)
    assert store_faults(tmp_path / "jetsql.db", ()) == []
