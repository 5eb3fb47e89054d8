"""The checks of the store after crashes: no job is lost or duplicated, and the history is consistent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from jetsql.failpoints import FailPoint
from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import Job, Status
from jetsql.jobs.store.job_store import Store
from tests.faults.jobs import Kind
from tests.faults.rounds import CONTINUED, NEXT_TITLES, Round


@dataclass(frozen=True)
class Mark:
    """The state of a job's history when its engine died."""

    place: str
    name: str
    job: str  # the id; empty when there was no such job
    rows: int
    titles: tuple[str, ...]


class Deaths:
    """The histories at each death, of which those are reported that did not continue as expected."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._marks: list[Mark] = []

    def note(self, round: Round) -> None:
        # The last request decides the next history row, whatever the state of the batch.
        by_job = {place.job: place for place in sorted(round.armed, key=lambda place: place.name in NEXT_TITLES)}
        by_job.pop("", None)
        if not by_job:
            return
        with closing(Store(self._store)) as store:
            self._marks += [_mark(store, place) for place in by_job.values()]

    def wrong(self) -> Iterator[tuple[str, str]]:
        """Yield pairs: the fail point, and what is wrong in words."""
        with closing(Store(self._store)) as store:
            for mark in self._marks:
                job = mark.job or _first_after(store, mark)
                later = store.history(job)[mark.rows :] if job else ()
                title = later[0].event if later else "nothing"
                if title not in mark.titles:
                    yield mark.place, f"{mark.name} went on with {title!r} and not with {' or '.join(mark.titles)}"


def _mark(store: Store, place: FailPoint) -> Mark:
    titles = NEXT_TITLES.get(place.name, CONTINUED)
    unfinished = [job.id for job in store.all_jobs() if job.name == place.job and (job.is_live or job.has_files)]
    if not unfinished:
        return Mark(place.name, place.job, "", 0, titles)
    return Mark(place.name, place.job, unfinished[0], len(store.history(unfinished[0])), titles)


def _first_after(store: Store, mark: Mark) -> str:
    """Return the id of the job that was created after the death; empty for none."""
    return next((job.id for job in store.all_jobs() if job.name == mark.name), "")


def store_faults(path: Path, standing: tuple[Kind, ...]) -> list[str]:
    """Return the faults of the store after the last run. standing: the jobs that are made once and stay."""
    with closing(Store(path)) as store:
        jobs = store.all_jobs()
        found = [words for job in jobs for words in _history_faults(job, store.history(job.id))]
    live = Counter(job.name for job in jobs if job.is_live)
    found += [f"{name} is there {count} times" for name, count in live.items() if count > 1]
    for kind in standing:
        statuses = [job.status for job in jobs if job.name == kind.name]
        wanted = Status.COMPLETED if kind.ends else Status.NOT_RUNNING
        if statuses != [wanted]:
            found.append(f"{kind.name} should be {wanted.value} and is {[status.value for status in statuses]}")
    return found


def _history_faults(job: Job, history: tuple[HistoryRow, ...]) -> Iterator[str]:
    """Check that each row begins where the last one ended, that runs only increase, and that the end is current."""
    if not history or history[0].event != "submitted" or history[0].from_status is not None:
        yield f"the history of {job.name} does not begin with its submission"
        return
    for one, next_one in pairwise(history):
        if next_one.from_status is not one.to_status or next_one.run < one.run:
            yield f"the history of {job.name} jumps from {one.event!r} to {next_one.event!r}"
    if history[-1].to_status is not job.status:
        yield f"{job.name} is {job.status.value}, and its history ends with {history[-1].to_status.value}"
    errors = [row.message for row in history if row.event in ("error", "suspended by an error", "failed")]
    if errors:
        yield f"{job.name} met an error: {errors[0]}"
