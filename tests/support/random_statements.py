"""Random statements from several threads, and the invariants for their effects in any order.

The model is sequential and small: the history of each job must be a chain of steps, and a statement may only report a
status that its job had between the beginning and the end of the statement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from jetsql.errors import JetSQLError
from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import Job
from jetsql.jobs.store.job_store import Store

Row = Sequence[object]
Run = Callable[[str], Sequence[Row]]

STATEMENTS: Final = (
    "CREATE JOB IF NOT EXISTS {job} AS {body}",
    "CREATE OR REPLACE JOB {job} OPTIONS ({options}) AS {body}",
    "SUSPEND JOB {job}",
    "RESUME JOB {job}",
    "RESTART JOB {job}",
    "ALTER JOB {job} OPTIONS ('restartAttempts' = '5')",
    "DROP JOB IF EXISTS {job}",
    "DROP JOB {job} WITH SNAPSHOT {job}_last",
    "CREATE OR REPLACE SNAPSHOT {job}_kept FOR JOB {job}",
    "DROP SNAPSHOT IF EXISTS {job}_last",
    "SHOW JOBS",
    "SHOW SNAPSHOTS",
)


@dataclass(frozen=True)
class ReportedStatus:
    """A status that a statement about one job reported."""

    text: str
    job: str
    status: str
    before: int  # the number of rows in the job's history when the statement began
    after: int  # the number of rows after it had ended

    def possible(self, history: Sequence[HistoryRow], is_dropped: bool) -> set[str]:
        """Return the statuses that the job had while the statement ran.

        A statement reads the job from the registry, which is one step behind the store. So the status before the newest
        row at the beginning is possible, too.
        """
        return {row.shown_status(is_dropped) for row in history[max(0, self.before - 2) : self.after]}


def run_scripts(run: Run, store: Store, scripts: Sequence[Sequence[str]], seconds: float) -> list[ReportedStatus]:
    """Run each script on a thread of its own. A statement may be refused; any other error or a timeout is raised."""
    with ThreadPoolExecutor(len(scripts)) as threads:
        running = [threads.submit(_run_script, run, store, script) for script in scripts]
        return [status for script in running for status in script.result(seconds)]


def _run_script(run: Run, store: Store, script: Sequence[str]) -> list[ReportedStatus]:
    return [status for text in script for status in _run_statement(run, store, text)]


def _run_statement(run: Run, store: Store, text: str) -> list[ReportedStatus]:
    before = _lengths(store)
    try:
        rows = run(text)
    except JetSQLError:
        return []
    if text.startswith("SHOW"):
        return []
    after = _lengths(store)
    about = [(str(row[0]), str(row[2])) for row in rows if row[0] and row[2]]
    return [ReportedStatus(text, job, status, before.get(job, 0), after[job]) for job, status in about]


def _lengths(store: Store) -> dict[str, int]:
    """Return the number of rows in the history of each job."""
    return {job.id: len(store.history(job.id)) for job in store.all_jobs()}


def faults(store: Store, reports: Sequence[ReportedStatus]) -> list[str]:
    """Return a message for each violated invariant."""
    jobs = {job.id: job for job in store.all_jobs()}
    histories = {job: store.history(job) for job in jobs}
    names = [job.name.casefold() for job in jobs.values() if job.is_live]
    found = [f"{name} lives twice" for name in set(names) if names.count(name) > 1]
    found += [words for job in jobs.values() for words in _broken(job, histories[job.id])]
    for one in reports:
        had = one.possible(histories[one.job], jobs[one.job].is_dropped)
        if one.status not in had:
            found.append(f"{one.text!r} reported {one.status}, and the job only was {sorted(had)} while it ran")
    return found


def _broken(job: Job, history: Sequence[HistoryRow]) -> list[str]:
    found = [
        f"{job.name} jumps from {one.event!r} ({one.to_status.value}) to {next_one.event!r} ({next_one.from_status})"
        for one, next_one in pairwise(history)
        if next_one.from_status is not one.to_status or next_one.run < one.run
    ]
    if history[-1].to_status is not job.status:
        found.append(f"{job.name} is {job.status.value}, and its history ends with {history[-1].to_status.value}")
    return found
