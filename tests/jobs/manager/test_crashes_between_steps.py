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
from tests.support.engines.jobs_harness import run_manager
from tests.support.paths import PROGRAMS

PROGRAM = PROGRAMS / "dying_jobs.py"
CREATE = "CREATE JOB j AS INSERT INTO out SELECT * FROM STREAM src"
UPDATE = "CREATE OR REPLACE JOB j AS INSERT INTO out SELECT a FROM STREAM src"
SNAPSHOT = "CREATE SNAPSHOT s FOR JOB j"
ALTER = "ALTER JOB j OPTIONS ('snapshotIntervalMillis' = '150')"

# By the title of the step: what is done before, and what comes to the place.
BEFORE: Final[dict[str, tuple[str, ...]]] = {
    "submitted": (CREATE,),
    "first-trigger": (CREATE,),
    "completed": ("batch", "quiet", f"&{CREATE}", "complete"),
    "suspend-requested": (CREATE, "SUSPEND JOB j"),
    "suspended": (CREATE, "SUSPEND JOB j"),
    "resumed": (CREATE, "SUSPEND JOB j", "RESUME JOB j"),
    "restart-requested": (CREATE, "RESTART JOB j"),
    "restarted": (CREATE, "RESTART JOB j"),
    "options-changed": (CREATE, "SUSPEND JOB j", ALTER),
    "drop-with-snapshot-requested": (CREATE, "DROP JOB j WITH SNAPSHOT s"),
    "writing-snapshot": (CREATE, "SUSPEND JOB j", SNAPSHOT),
    "snapshot": (CREATE, SNAPSHOT),
    "update-requested": (CREATE, UPDATE),
    "old-version-stopped": (CREATE, UPDATE),
    "updated": (CREATE, UPDATE),
    "update-committed": (CREATE, UPDATE),
    "update-rolled-back": (CREATE, "quiet", f"&{UPDATE}", "fail"),
    "drop-requested": (CREATE, "DROP JOB j"),
    "dropped": (CREATE, "DROP JOB j"),
    "cleaned-up": (CREATE, "DROP JOB j"),
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
def test_stored_steps_are_finished_and_others_never_happened(tmp_path: Path, point: str) -> None:
    title = point.partition("-")[2]
    if title == "continued":
        with run_manager(tmp_path) as jobs:
            jobs.sql(CREATE)
    die(tmp_path, point, *BEFORE[title])
    deaths = Deaths(tmp_path / "jetsql.db")
    deaths.note(Round((f"{point}:j",)))
    with run_manager(tmp_path) as jobs:
        if point == "storing-submitted":
            jobs.sql(CREATE)
        for job in jobs.store.live_jobs():
            if jobs.wait_status(job.id, *AT_REST).status is Status.SUSPENDED:
                jobs.sql("RESUME JOB j")
        assert jobs.manager.workers.wait_all(20.0)
        jobs.make("last")  # after it, no event is pending
    assert list(deaths.wrong()) == []
    assert store_faults(tmp_path / "jetsql.db", ()) == []


def test_incomplete_store_is_created_by_the_next_engine(tmp_path: Path) -> None:
    die(tmp_path, "store-made", job="")
    with run_manager(tmp_path) as jobs:
        jobs.sql(CREATE)
    assert store_faults(tmp_path / "jetsql.db", ()) == []
