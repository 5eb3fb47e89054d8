"""Random statements from several threads, and what must hold of them in whatever order they came to be.

The model is sequential and small: the history of each job must be a chain of steps, and a statement may only tell of a
status that the job had between the statement's beginning and its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from jetsql.errors import JetSQLError
from jetsql.jobs.history import HistoryRow
from jetsql.jobs.model import Job
from jetsql.jobs.store import Store

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
class Told:
    """What a statement about one job said. rows: how long the store's history was before and after it."""

    text: str
    job: str
    status: str
    rows: tuple[int, int]


def storm(run: Run, store: Store, scripts: Sequence[Sequence[str]], seconds: float) -> list[Told]:
    """Run each script on a thread of its own. A statement may be refused; nothing else may go wrong, none may hang."""
    with ThreadPoolExecutor(len(scripts)) as threads:
        running = [threads.submit(_play, run, store, script) for script in scripts]
        return [told for script in running for told in script.result(seconds)]


def _play(run: Run, store: Store, script: Sequence[str]) -> list[Told]:
    return [told for text in script for told in _say(run, store, text)]


def _say(run: Run, store: Store, text: str) -> list[Told]:
    before = _length(store)
    try:
        rows = run(text)
    except JetSQLError:
        return []
    if text.startswith("SHOW"):
        return []
    after = _length(store)
    return [Told(text, str(row[0]), str(row[2]), (before, after)) for row in rows if row[0] and row[2]]


def _length(store: Store) -> int:
    return sum(len(store.history(job.id)) for job in store.all_jobs())


def faults(store: Store, told: Sequence[Told]) -> list[str]:
    """What can't have been, in words."""
    jobs = {job.id: job for job in store.all_jobs()}
    histories = {job: store.history(job) for job in jobs}
    names = [job.name.casefold() for job in jobs.values() if job.live]
    found = [f"{name} lives twice" for name in set(names) if names.count(name) > 1]
    found += [words for job in jobs.values() for words in _broken(job, histories[job.id])]
    for one in told:
        had = {row.after.value for row in histories[one.job]} | {"NOT_RUNNING"}
        if one.status not in had:
            found.append(f"{one.text!r} said {one.status}, and the job only was {sorted(had)}")
    return found


def _broken(job: Job, history: Sequence[HistoryRow]) -> list[str]:
    found = [
        f"{job.name} jumps from {one.title!r} ({one.after.value}) to {next_one.title!r} ({next_one.before})"
        for one, next_one in pairwise(history)
        if next_one.before is not one.after or next_one.run < one.run
    ]
    if history[-1].after is not job.status:
        found.append(f"{job.name} is {job.status.value}, and its history ends with {history[-1].after.value}")
    return found
