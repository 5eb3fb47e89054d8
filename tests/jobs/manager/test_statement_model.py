"""Random statements on several threads, with runs that fail and engines that end: all results must fit a serial order.

JETSQL_MODEL_RUNS: the number of runs (default 25), each with its own random choices; a high number is for a night.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from jetsql.jobs.lifecycle.step_context import can_run_again
from tests.support.engines.disk_runtime import wanted
from tests.support.models.statement_model import Item, Seen
from tests.support.models.statement_oracle import explained
from tests.support.models.statement_schedule import COMPLETE, FAULTS, Scheduler
from tests.support.random_statements import faults as store_faults

RUNS = int(os.environ.get("JETSQL_MODEL_RUNS", "0"))
BODIES = tuple(f"INSERT INTO out SELECT {column} FROM STREAM {table}" for table in ("src", "other") for column in "xy")
STATEMENTS = (
    "CREATE JOB {job} AS {body}",
    "CREATE JOB IF NOT EXISTS {job} AS {body}",
    "CREATE JOB {job} OPTIONS ('initialSnapshotName'='{snapshot}') AS {body}",
    "CREATE OR REPLACE JOB {job} AS {body}",
    "CREATE OR REPLACE JOB {job} AS {body}",
    "CREATE JOB {job} OPTIONS ('trigger'='availableNow') AS {body}",
    "CREATE OR REPLACE JOB {job} OPTIONS ('trigger'='availableNow') AS {body}",
    "SUSPEND JOB {job}",
    "RESUME JOB {job}",
    "RESTART JOB {job}",
    "ALTER JOB {job} OPTIONS ('restartAttempts'='0')",
    "ALTER JOB {job} OPTIONS ('restartAttempts'='3') RESUME",
    "DROP JOB {job}",
    "DROP JOB {job}",
    "DROP JOB IF EXISTS {job}",
    "DROP JOB {job} WITH SNAPSHOT {snapshot}",
    "CREATE SNAPSHOT {snapshot} FOR JOB {job}",
    "CREATE OR REPLACE SNAPSHOT {snapshot} FOR JOB {job}",
    "DROP SNAPSHOT {snapshot}",
    "DROP SNAPSHOT IF EXISTS {snapshot}",
    "SHOW JOBS",
    "SHOW SNAPSHOTS",
    "DESCRIBE JOB {job}",
    "SHOW JOB HISTORY {job}",
)
HELD = ("", "", "analyse", "check_reachable", "start", "stop", "copy_state", "prepare_update", "holds_batch", "discard")


def texts_about(jobs: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    names = {"job": jobs, "snapshot": st.sampled_from("sst"), "body": st.sampled_from(BODIES[:1] + BODIES)}
    return st.builds(str.format, st.sampled_from(STATEMENTS), **names)


def run_ends_of(jobs: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds("{} {}".format, st.sampled_from([COMPLETE, *sorted(FAULTS)]), jobs)


def several_about(jobs: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    texts = texts_about(jobs)
    return st.lists(texts | texts | texts | run_ends_of(jobs), min_size=2, max_size=4)


jobs = st.sampled_from("aabc")
texts, run_ends = texts_about(jobs), run_ends_of(jobs)
several = several_about(jobs) | several_about(st.just("a")) | several_about(st.just("c"))
failpoints = st.none() | st.tuples(jobs, st.sampled_from(sorted(FAULTS)))


class Statements(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.scheduler = Scheduler(Path(self.folder.name))
        self.before = self.scheduler.seen()

    @initialize()
    def begin(self) -> None:
        self.run([f"CREATE JOB a AS {BODIES[0]}"])
        self.run(["CREATE SNAPSHOT s FOR JOB a"])

    @rule(text=texts, armed=failpoints)
    def one_statement(self, text: str, armed: tuple[str, str] | None) -> None:
        self.run([text], armed=armed)

    @rule(run_end=run_ends, armed=failpoints)
    def a_run_ends(self, run_end: str, armed: tuple[str, str] | None) -> None:
        self.run([run_end], armed=armed)

    @rule(several=several, first=st.integers(1, 4), held=st.sampled_from(HELD), armed=failpoints)
    def at_once(self, several: list[str], first: int, held: str, armed: tuple[str, str] | None) -> None:
        self.run(several[:first], several[first:], held, armed=armed)

    @rule(several=several, first=st.integers(0, 4), held=st.sampled_from(HELD), end=st.sampled_from(["close", "kill"]))
    def the_engine_ends(self, several: list[str], first: int, held: str, end: str) -> None:
        self.run(several[:first], several[first:], held if first else "", end)

    @rule(member=st.sampled_from("1234"), several=several, held=st.sampled_from(HELD))
    def members_come_and_go(self, member: str, several: list[str], held: str) -> None:
        """Let a member join or leave in the middle of statements. One member is always left.

        The jobs restart for it, so the model does not predict the responses; the invariants are checked as always.
        """
        engine = self.scheduler.engine
        change = engine.leave if member in engine.there else engine.join
        change(member)
        self.scheduler.run(several[:1], several[1:], held)
        self.scheduler.settle()
        self.before = self.scheduler.seen()

    @rule()
    def ended_runs_report(self) -> None:
        self.scheduler.engine.report_from_ended_runs()
        self.run([])

    @rule(job=jobs)
    def a_batch_is_committed(self, job: str) -> None:
        run = self.scheduler.engine.run_named(job)
        if run is not None:
            self.scheduler.engine.commit(run.job.id)

    def run(
        self,
        texts: Sequence[str],
        late: Sequence[str] = (),
        held: str = "",
        end: str = "",
        armed: tuple[str, str] | None = None,
    ) -> None:
        before = self.before
        if armed is not None:
            name, fault = armed
            self.scheduler.engine.armed[name] = FAULTS[fault]
            before = Seen(before.live, before.ended, before.snapshots, {name: fault})
        items = self.scheduler.run(texts, late, held, end)
        self.scheduler.settle()
        self.scheduler.engine.armed.clear()
        self.before = self.scheduler.seen()
        assert explained(before, items, self.before), story(before, items, held, end, self.before)

    @invariant()
    def nothing_is_broken(self) -> None:
        self.scheduler.settle()
        assert faults(self.scheduler) == []

    def teardown(self) -> None:
        try:
            self.scheduler.close()
        finally:
            self.folder.cleanup()


def faults(scheduler: Scheduler) -> list[str]:
    """Return the violated invariants of a stable state."""
    store, engine = scheduler.jobs.store, scheduler.engine
    live = store.live_jobs()
    disk, alive = engine.disk, engine.alive()
    found = [*disk.wrong, *store_faults(store, ())]
    running = {job.id: job.run for job in live if job.status.value == "RUNNING"}
    runs = {job_id: run.job.run for job_id, run in alive.items()}
    if running != runs:
        found.append(f"there are the runs {runs}, and running jobs {running}")
    kept = [job for job in store.all_jobs() if job.is_live or can_run_again(job)]
    files = {(job.id, number) for job in kept for number in wanted(job)}
    if files != disk.checkpoints.keys():
        found.append(f"there are the checkpoints {set(disk.checkpoints)}, and wanted are {files}")
    known = {snapshot.id: snapshot.batch for snapshot in store.snapshots()}
    if known != disk.snapshots:
        found.append(f"there are the snapshots {disk.snapshots}, and known are {known}")
    for job in store.all_jobs():
        shown = scheduler.jobs.manager.view(job).job
        if replace(shown, batch=job.batch) != job:  # batches are stored with the next step that matters
            found.append(f"{job.name} is stored as {job} and shown as {shown}")
        if job.is_live and shown.batch != disk.checkpoints.get((job.id, job.version.checkpoint)):
            found.append(f"{job.name} is at batch {shown.batch}, and its checkpoint is not: {disk}")
        if job not in kept and job.has_files:
            found.append(f"{job.name} has ended, and its files are there")
    return found


def story(before: Seen, items: Sequence[Item], held: str, end: str, after: Seen) -> str:
    lines = [f"before: {before}", *(f"{item}" for item in items), f"held: {held}; end: {end}", f"after: {after}"]
    return "\n  ".join(["No order explains this:", *lines])


@pytest.fixture(autouse=True)
def nothing_is_lost(caplog: pytest.LogCaptureFixture) -> Any:
    """Fail if the log has an event that could not be applied."""
    caplog.set_level("ERROR", "jetsql")
    yield
    assert not [record for record in caplog.records if "lost" in record.getMessage()]


TestStatements = Statements.TestCase
TestStatements.settings = settings(
    max_examples=RUNS or 25,
    stateful_step_count=16,
    deadline=None,
    derandomize=not RUNS,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],  # threads never do quite the same twice, so nothing can be made shorter
)
