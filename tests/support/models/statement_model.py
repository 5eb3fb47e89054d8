"""A sequential model of the statements: the state of jobs, and the effect and the answer of each statement.

`statement_oracle` searches for a serial order of concurrent statements that explains their answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from tests.support.models.statement_forms import Form, body_of

Row = tuple[str, ...]
REPORTED_LATER: Final = 10**9  # a tick after all others, because the end of a run may be reported late


@dataclass(frozen=True)
class Answer:
    """The answer to a statement, or the effect of the end of a run."""

    kind: str  # reported, refused, shown, unknown (the engine ended); of the end of a run: happened, nothing
    what: str = ""  # the status, or the condition of a refusal
    job: str = ""  # its id, or an empty string
    words: str = ""  # the message
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Item:
    """A statement or the end of a run, with its answer."""

    text: str
    answer: Answer
    begin: int = 0  # a tick
    end: int = 0

    def unknown_after(self, tick: int) -> Item:
        """Return the item with an unknown answer if it ended after the engine."""
        return self if self.end < tick else replace(self, answer=Answer("unknown"))


@dataclass(frozen=True)
class LiveJob:
    """A job that is not in transition, or the newest job of a name that has ended."""

    id: str  # empty if it was not reported
    status: str
    text: str = ""
    attempts: str = ""  # as in the option
    has_batch: bool = True
    again: bool = False  # it has completed, and can run again

    @property
    def ends(self) -> bool:
        return self.text.startswith(body_of("", ends=True))


@dataclass(frozen=True)
class Seen:
    """The state of all jobs and snapshots."""

    live: Mapping[str, LiveJob]  # by name
    ended: Mapping[str, LiveJob]  # the newest jobs of names without a live job
    snapshots: Mapping[str, tuple[str, str]]  # by name: the id of the job, and the table that it reads
    armed: Mapping[str, str] = field(default_factory=dict)  # by job: the failure of its next start

    def newest(self, name: str) -> LiveJob | None:
        return self.live.get(name) or self.ended.get(name)

    def with_job(self, name: str, job: LiveJob) -> Seen:
        return replace(self, live={**self.live, name: job}, ended=_without(self.ended, name))

    def with_end(self, name: str, job: LiveJob, status: str = "DROPPED") -> Seen:
        ended = {**self.ended, name: replace(job, status=status, again=status == "COMPLETED")}
        return replace(self, live=_without(self.live, name), ended=ended)

    def with_snapshot(self, name: str, job: LiveJob) -> Seen:
        return replace(self, snapshots={**self.snapshots, name: (job.id, source_of(job.text))})

    def fits(self, real: Seen) -> bool:
        """Return whether the state agrees with the real one."""
        return (
            _same_jobs(self.live, real.live)
            and _same_jobs(self.ended, real.ended)
            and self.snapshots.keys() == real.snapshots.keys()
            and all(same_id(job, real.snapshots[name][0]) for name, (job, _) in self.snapshots.items())
        )


def _same_jobs(ours: Mapping[str, LiveJob], real: Mapping[str, LiveJob]) -> bool:
    return ours.keys() == real.keys() and all(_same_job(job, real[name]) for name, job in ours.items())


def _same_job(ours: LiveJob, real: LiveJob) -> bool:
    if real.status in ("FAILED", "DROPPED"):
        return same_id(ours.id, real.id) and ours.status == real.status
    return same_id(ours.id, real.id) and replace(ours, id=real.id) == real


def same_id(ours: str, real: str) -> bool:
    return not ours or not real or ours == real


def _without(jobs: Mapping[str, LiveJob], name: str) -> dict[str, LiveJob]:
    return {each: job for each, job in jobs.items() if each != name}


def source_of(text: str) -> str:
    """Return the table that a body reads."""
    return text.rpartition(" ")[2]


Outcome = tuple[Seen, Answer]


def reported(job: LiveJob) -> Answer:
    return Answer("reported", job.status, job.id)


def rejected(condition: str) -> Answer:
    return Answer("refused", condition)


def after(state: Seen, form: Form, new_id: str) -> Outcome:
    """Return the state after a statement without other events, and its answer. new_id: the id of a created job."""
    match form.kind:
        case "create" | "replace":
            return _create(state, form, new_id)
        case "forget":
            return _forget(state, form)
        case "jobs" | "snapshots":
            return state, Answer("shown")
        case "end of run":
            return _end_run(state, form)
    job = state.newest(form["job"])
    if job is None:
        absent = form.kind == "drop" and form["absent"]
        return state, Answer("reported") if absent else rejected("JOB_NOT_FOUND")
    match form.kind:
        case "describe":
            return state, reported(job)
        case "history":
            return state, Answer("shown")
        case "snapshot":
            return _snapshot(state, form, job)
        case "drop":
            return _drop(state, form, job)
        case _:
            return _control(state, form, job)


def _create(state: Seen, form: Form, new_id: str) -> Outcome:
    name, text = form["job"], form.body
    live = state.live.get(name)
    if live is not None and form.kind == "replace":
        return _replace(state, name, text, live)
    if live is not None:
        return state, reported(live) if form["absent"] else rejected("JOB_ALREADY_EXISTS")
    created = LiveJob(new_id, "RUNNING", text)
    if form["of"] and form["of"] not in state.snapshots:
        return state, rejected("SNAPSHOT_NOT_FOUND")
    if form["of"] and state.snapshots[form["of"]][1] != source_of(text):
        return state, rejected("STATE_NOT_COMPATIBLE")
    if name in state.armed:
        disarmed = replace(state, armed=_disarmed(state, name))
        return disarmed.with_end(name, replace(created, has_batch=bool(form["of"])), "FAILED"), rejected("JOB_FAILED")
    return state.with_job(name, created), reported(created)


def _disarmed(state: Seen, name: str) -> dict[str, str]:
    return {each: fault for each, fault in state.armed.items() if each != name}


def _replace(state: Seen, name: str, text: str, live: LiveJob) -> Outcome:
    if source_of(text) != source_of(live.text):
        return state, rejected("STATE_NOT_COMPATIBLE")
    updated = replace(live, status="RUNNING", text=text, attempts="")
    if updated == live:
        return state, reported(live)
    if name in state.armed:
        return replace(state, armed=_disarmed(state, name)), rejected("UPDATE_FAILED")
    return state.with_job(name, updated), reported(updated)


def _started(state: Seen, name: str, job: LiveJob, fault: str = "") -> Seen:
    """Return the state after the start of a run, which ends with the armed fault, if any."""
    if fault == "FATAL_ERROR" or (fault and job.attempts == "0"):
        return state.with_job(name, replace(job, status="SUSPENDED"))
    waiting = state.armed.get(name)
    if waiting is None:
        return state.with_job(name, replace(job, status="RUNNING"))
    return _started(replace(state, armed=_disarmed(state, name)), name, job, waiting)


def _control(state: Seen, form: Form, job: LiveJob) -> Outcome:
    name, status = form["job"], job.status
    wanted = {"suspend": (), "resume": (), "restart": ("STARTING", "RUNNING"), "alter": ("SUSPENDED",)}[form.kind]
    can_run_again = job.again and form.kind in ("resume", "restart")
    if not can_run_again and (name not in state.live or (wanted and status not in wanted)):
        return state, rejected("WRONG_STATUS")
    if form.kind == "suspend":
        suspended = replace(job, status="SUSPENDED")
        return state.with_job(name, suspended), reported(suspended)
    if form.kind == "alter":
        job = replace(job, attempts=form["attempts"])
    if (form.kind == "alter" and not form["resume"]) or (form.kind == "resume" and status == "RUNNING"):
        return state.with_job(name, job), reported(job)
    begun = _started(state, name, replace(job, again=False))
    runs = begun.live[name].status == "RUNNING"
    return begun, reported(begun.live[name]) if runs else rejected("JOB_FAILED")


def _drop(state: Seen, form: Form, job: LiveJob) -> Outcome:
    name, snapshot = form["job"], form["snapshot"]
    if snapshot and not job.has_batch:
        return state, rejected("SNAPSHOT_FAILED")
    if snapshot and snapshot in state.snapshots:
        return state, rejected("SNAPSHOT_ALREADY_EXISTS")
    if name not in state.live:
        forgotten = replace(state, ended={**state.ended, name: replace(job, again=False)})
        return (state, rejected("WRONG_STATUS")) if snapshot else (forgotten, reported(job))
    kept = state.with_snapshot(snapshot, job) if snapshot else state
    return kept.with_end(name, job), Answer("reported", "DROPPED", job.id)


def _snapshot(state: Seen, form: Form, job: LiveJob) -> Outcome:
    if not job.has_batch:
        return state, rejected("SNAPSHOT_FAILED")
    if form["snapshot"] in state.snapshots and not form["over"]:
        return state, rejected("SNAPSHOT_ALREADY_EXISTS")
    if form["job"] not in state.live and not job.again:
        return state, rejected("WRONG_STATUS" if job.status in ("FAILED", "DROPPED") else "SNAPSHOT_FAILED")
    return state.with_snapshot(form["snapshot"], job), reported(job)


def _forget(state: Seen, form: Form) -> Outcome:
    name = form["snapshot"]
    if name not in state.snapshots:
        return state, Answer("reported") if form["absent"] else rejected("SNAPSHOT_NOT_FOUND")
    left = {each: kept for each, kept in state.snapshots.items() if each != name}
    return replace(state, snapshots=left), Answer("reported")


def _end_run(state: Seen, form: Form) -> Outcome:
    job = state.live.get(form["job"])
    if job is None or job.status != "RUNNING":
        return state, Answer("nothing")
    if form["fault"] == "COMPLETE" and not job.ends:
        return state, Answer("nothing")
    if form["fault"] == "COMPLETE":
        return state.with_end(form["job"], job, "COMPLETED"), Answer("happened", job=job.id)
    return _started(state, form["job"], job, form["fault"]), Answer("happened", job=job.id)
