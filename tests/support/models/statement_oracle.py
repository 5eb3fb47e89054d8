"""Decide whether the answers of concurrent statements, and the state after them, fit a serial order of the statements.

The order has to explain all answers and the final state, and a statement that ended before another began comes first. A
statement that another statement on the same job or snapshot overtook may report this, or the status after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tests.support.models.statement_forms import Form, form_of
from tests.support.models.statement_model import Answer, Item, Seen, after, same_id

_ON_THE_WAY = ("NOT_RUNNING", "STARTING", "COMPLETING", "SUSPENDED_EXPORTING_SNAPSHOT")
_OVERTAKEN = (
    ("WRONG_STATUS", "ry again"),
    ("WRONG_STATUS", "came between"),
    ("WRONG_STATUS", "is being dropped"),
    ("WRONG_STATUS", "has ended with status COMPLETED"),
    ("JOB_ALREADY_EXISTS", "newer job"),
    ("JOB_FAILED", ""),
    ("UPDATE_FAILED", ""),
    ("SNAPSHOT_FAILED", ""),
    ("SNAPSHOT_ALREADY_EXISTS", "being written"),
)


@dataclass(frozen=True)
class _Promise:
    """A status that a job must have later, because a statement that was overtaken has reported it."""

    job: str
    status: str

    def kept(self, state: Seen) -> bool:
        jobs = (*state.live.values(), *state.ended.values())
        return any(same_id(self.job, job.id) and job.status == self.status for job in jobs)


@dataclass(frozen=True)
class _Moment:
    """A point in the order."""

    state: Seen
    promises: tuple[_Promise, ...] = ()
    doomed: frozenset[str] = frozenset()  # new jobs that will fail before their first commit

    def then(self, state: Seen, *promises: _Promise) -> _Moment:
        left = tuple(each for each in (*self.promises, *promises) if not each.kept(state))
        return replace(self, state=state, promises=left)

    def failures(self) -> Iterator[_Moment]:
        """Yield the states after a doomed job has failed; a job that was stopped meanwhile need not fail."""
        for name in self.doomed:
            spared = replace(self, doomed=self.doomed - {name})
            job = self.state.live.get(name)
            if job is not None:
                yield spared.then(self.state.with_end(name, job, "FAILED"))
            if job is None or job.status != "STARTING":
                yield spared


def explained(before: Seen, items: Sequence[Item], real: Seen) -> bool:
    """Return whether an order of the items leads from one state to the other with these answers."""
    return _Round(items, real).goes_on(_Moment(before), frozenset(range(len(items))))


class _Round:
    """The search for an order of concurrent items."""

    def __init__(self, items: Sequence[Item], real: Seen) -> None:
        self.items, self.real = items, real
        # For each item, the objects that the items concurrent with it may have changed meanwhile.
        self.forms = [form_of(item.text) for item in items]
        self.near = [frozenset().union(*self._met(at)) for at in range(len(items))]

    def _met(self, at: int) -> Iterator[frozenset[str]]:
        item = self.items[at]
        for other, form in zip(self.items, self.forms, strict=True):
            if other is not item and other.begin < item.end and item.begin < other.end:
                yield form.touches

    def goes_on(self, now: _Moment, left: frozenset[int]) -> bool:
        if not left and not now.doomed:
            return not now.promises and now.state.fits(self.real)
        if any(self.goes_on(then, left) for then in now.failures()):
            return True
        first = [at for at in left if not any(self.items[other].end < self.items[at].begin for other in left)]
        return any(self.goes_on(then, left - {at}) for at in first for then in self._ways(now, at))

    def _ways(self, now: _Moment, at: int) -> Iterator[_Moment]:
        """Yield the possible states after an item at this position of the order, given its answer."""
        item, form, state = self.items[at], self.forms[at], now.state
        answer, near = item.answer, self.near[at]
        then, expected = after(state, form, answer.job)
        met = bool(near & form.touches)
        if answer.kind == "unknown":
            yield from (now.then(then), now.then(state), *(now.then(half) for half in _halves(state, form)))
        elif answer.kind == "shown":
            if expected.kind == "shown" and _shows(state, form, answer, near):
                yield now
        elif _alike(answer, expected) and not met:
            yield now.then(then)
        elif form.kind == "describe":
            if expected.kind == "reported" and answer.kind == "reported" and f"job {form['job']}" in near:
                yield now
        elif met:
            if _alike(answer, expected):
                yield now.then(then)
            yield from self._overtaken(now, form, answer, then, expected)

    def _overtaken(self, now: _Moment, form: Form, answer: Answer, then: Seen, expected: Answer) -> Iterator[_Moment]:
        if form["job"] in now.state.armed and form["job"] not in now.state.live and answer.what != "JOB_NOT_FOUND":
            yield from self._doomed(now, form, answer)
        if answer.kind in ("happened", "nothing"):
            yield now  # the run was just being ended or started
        if answer.kind == "reported" == expected.kind and same_id(answer.job, expected.job):
            later = () if answer.what in _ON_THE_WAY else (_Promise(answer.job, answer.what),)
            yield now.then(then, *later)
        if answer.kind == "reported" and answer.what == "COMPLETED":
            yield now.then(now.state, _Promise(answer.job, answer.what))  # the end came before what was asked for
        if answer.kind == "refused" and any(
            answer.what == condition and sign in answer.words for condition, sign in _OVERTAKEN
        ):
            yield now
            yield now.then(then)
        if now.state.armed:  # another statement's start had the failure
            spared, expected = after(replace(now.state, armed={}), form, answer.job)
            if _alike(answer, expected):
                yield now.then(spared)

    def _doomed(self, now: _Moment, form: Form, answer: Answer) -> Iterator[_Moment]:
        """Yield the states with a job that fails immediately, which another statement may see before."""
        spared, expected = after(replace(now.state, armed={}), form, answer.job)
        if expected.kind == "reported" and form["job"] in spared.live:
            job = replace(spared.live[form["job"]], status="STARTING", has_batch=bool(form["of"]))
            failing = replace(now, doomed=now.doomed | {form["job"]}).then(spared.with_job(form["job"], job))
            later = () if answer.kind == "refused" or answer.what in _ON_THE_WAY else (_Promise(job.id, answer.what),)
            if answer.kind == "reported" or answer.what == "JOB_FAILED":
                yield failing.then(failing.state, *later)


def _alike(answer: Answer, expected: Answer) -> bool:
    same = (answer.kind, answer.what) == (expected.kind, expected.what)
    return same and (answer.kind == "refused" or same_id(answer.job, expected.job))


def _halves(state: Seen, form: Form) -> Iterator[Seen]:
    """Yield the partial effects of a statement whose engine ended meanwhile."""
    job = state.live.get(form["job"])
    if job is not None and form.kind == "drop" and form["snapshot"]:
        yield state.with_job(form["job"], replace(job, status="SUSPENDED"))


def _shows(state: Seen, form: Form, answer: Answer, near: frozenset[str]) -> bool:
    match form.kind:
        case "jobs":
            return _shows_jobs(state, answer, near)
        case "snapshots":
            rows = {row[0]: row[2] for row in answer.rows}
            kept = {name: job for name, (job, _) in state.snapshots.items()}
            return rows.keys() == kept.keys() and all(same_id(kept[name], job) for name, job in rows.items())
        case _:
            return all(following[2] == row[3] for row, following in pairwise(answer.rows))


def _shows_jobs(state: Seen, answer: Answer, near: frozenset[str]) -> bool:
    rows = {name: (job, status) for job, name, status, *_ in answer.rows}
    if len(rows) != len(answer.rows) or rows.keys() != state.live.keys():
        return False
    return all(
        same_id(state.live[name].id, job) and (status == state.live[name].status or f"job {name}" in near)
        for name, (job, status) in rows.items()
    )
