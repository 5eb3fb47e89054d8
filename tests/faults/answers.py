"""Compare the answers that concurrent clients got with the history of the jobs.

A statement that was answered has done what its answer says, at a moment between its begin and its answer. A statement
without an answer, because its engine was killed, may have been executed or not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import Job, Status

_TOLERANCE_SECONDS = 0.05  # clients and engine read the clock at different moments
_RUNS = frozenset({Status.NOT_RUNNING, Status.STARTING, Status.RUNNING})
_WANTED = {
    "SUSPEND": frozenset({Status.SUSPENDED}),
    "ALTER": frozenset({Status.SUSPENDED}),
    "RESUME": _RUNS,
    "RESTART": _RUNS,
}
"""The statuses of which a job has one when a statement is answered, by the statement's first word."""


@dataclass(frozen=True)
class Answer:
    """The answer to a statement about one job: the job's id and status, or the condition of an error."""

    text: str
    name: str
    """The name of the job in the statement."""
    begin: float
    end: float
    """The times are in seconds since the epoch."""
    job: str = ""
    """The job's id; empty for an error."""
    status: str = ""
    condition: str = ""

    @property
    def verb(self) -> str:
        """Return the first word of the statement."""
        return self.text.split()[0]


@dataclass
class Histories:
    """The jobs of a store and their histories, after the engine has ended."""

    jobs: Sequence[Job]
    rows: dict[str, tuple[HistoryRow, ...]] = field(default_factory=dict)
    """The history by the job's id."""

    def faults(self, answers: Sequence[Answer]) -> list[str]:
        """Return what contradicts the answers, or itself, in words."""
        by_name: dict[str, list[Job]] = defaultdict(list)
        for job in sorted(self.jobs, key=lambda each: each.submission_time):
            by_name[job.name].append(job)
        found = [fault for jobs in by_name.values() for fault in _overlaps(jobs)]
        for answer in answers:
            found += self._refusal_faults(answer, by_name[answer.name]) if answer.condition else self._faults(answer)
        return found

    def _faults(self, answer: Answer) -> Iterator[str]:
        job = next((each for each in self.jobs if each.id == answer.job), None)
        if job is None:
            yield f"{answer.text} was answered with the job {answer.job!r}, which is not in the store"
            return
        held = self._statuses(job, answer)
        wanted = _WANTED.get(answer.verb)
        if wanted is not None and not wanted & held:
            yield f"{answer.text} was answered, and the job was only {_listed(held)}"
        if answer.verb == "DROP" and (job.end_time is None or job.end_time > answer.end + _TOLERANCE_SECONDS):
            yield f"{answer.text} was answered, and the job had not ended"
        is_new = answer.text.startswith("CREATE JOB") and "IF NOT EXISTS" not in answer.text
        if is_new and not _is_within(job.submission_time, answer):
            yield f"{answer.text} was answered with a job that was created at another time"
        if answer.status and answer.status not in held:
            yield f"{answer.text} was answered with {answer.status}, and the job was only {_listed(held)}"

    def _refusal_faults(self, answer: Answer, jobs: Sequence[Job]) -> Iterator[str]:
        live = [job for job in jobs if _begins_before(job, answer.end) and not _ends_before(job, answer.begin)]
        if answer.condition == "JETSQL.JOB_ALREADY_EXISTS" and not live:
            yield f"{answer.text} was refused because of a job that was not there"
        if answer.condition == "JETSQL.JOB_NOT_FOUND" and any(
            _ends_after(job, answer.end) and not _begins_after(job, answer.begin) for job in jobs
        ):
            yield f"{answer.text} did not find a job that was there all the time"

    def _statuses(self, job: Job, answer: Answer) -> set[Status]:
        """Return the statuses that a job had at some moment between the begin and the end of a statement."""
        before = [row for row in self.rows[job.id] if row.time <= answer.begin - _TOLERANCE_SECONDS]
        return {row.to_status for row in self.rows[job.id] if _is_within(row.time, answer)} | (
            {before[-1].to_status} if before else set()
        )


def row_faults(ids: Sequence[int], incarnations: int, expected: int) -> Iterator[str]:
    """Yield what is wrong with the rows of all jobs of one name, each of which copies ids from 0 on.

    incarnations: how many jobs of this name there were. expected: how many ids the newest one has copied.
    """
    counts = Counter(ids)
    missing = [number for number in range(expected) if not counts[number]]
    if missing:
        yield f"{len(missing)} ids are missing, for example {missing[0]}"
    if max(counts.values(), default=0) > incarnations:
        yield f"an id is there {max(counts.values())} times, and there were {incarnations} jobs"
    for one, other in pairwise(range(expected)):
        if counts[one] < counts[other]:
            yield f"id {other} is there more often than id {one}, which every job copies first"
            return


def _overlaps(jobs: Sequence[Job]) -> Iterator[str]:
    for first, second in pairwise(jobs):
        if not _ends_before(first, second.submission_time + _TOLERANCE_SECONDS):
            yield f"there were two jobs {first.name} at one time: {first.id} and {second.id}"


def _begins_before(job: Job, time: float) -> bool:
    return job.submission_time <= time + _TOLERANCE_SECONDS


def _begins_after(job: Job, time: float) -> bool:
    return job.submission_time > time - _TOLERANCE_SECONDS


def _ends_before(job: Job, time: float) -> bool:
    return job.end_time is not None and job.end_time < time


def _ends_after(job: Job, time: float) -> bool:
    return job.end_time is None or job.end_time > time + _TOLERANCE_SECONDS


def _is_within(time: float, answer: Answer) -> bool:
    return answer.begin - _TOLERANCE_SECONDS <= time <= answer.end + _TOLERANCE_SECONDS


def _listed(statuses: set[Status]) -> str:
    return ", ".join(sorted(statuses)) or "absent"
