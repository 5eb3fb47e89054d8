"""The actions of the pages: each is a statement, with a sentence about what is lost.

Pages offer what the user has the right to. The statement checks it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from jetsql.errors import StatementError
from jetsql.jobs.model.job import Job, Status, quoted_text
from jetsql.jobs.model.job_options import Guarantee
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.language.tokens import quoted_name

_NOTHING_LOST: Final = "Nothing is lost: the running batch is finished first"
"""The beginning of the sentence about an action that keeps the state."""


@dataclass(frozen=True)
class JobAction:
    """A kind of action."""

    name: str
    title: str  # of its button
    statement: Callable[[str], str]  # of the job's name as statements accept it
    loss: Callable[[Job], str]  # what is lost, as sentences
    is_dangerous: bool = False
    is_for_owner: bool = False  # the right to operate the job is not enough


def _suspend_loss(job: Job) -> str:
    if job.plan.guarantee is Guarantee.NONE:
        return "The job keeps no state: RESUME starts it from scratch."
    return f"{_NOTHING_LOST}, and RESUME continues after it."


def _restart_loss(job: Job) -> str:
    if job.plan.guarantee is Guarantee.NONE:
        return "The job keeps no state: it starts from scratch."
    return f"{_NOTHING_LOST}, and the next run continues after it."


def _resume_loss(job: Job) -> str:
    if job.plan.guarantee is Guarantee.NONE:
        return "The job keeps no state: it starts from scratch."
    if job.batch is None:
        return "Nothing is lost: the job starts with its first batch."
    return f"Nothing is lost: the job continues after batch {job.batch}."


def _sink_names(job: Job) -> str:
    """Return the tables that a job writes, without the catalogue and the schema that are those of most tables."""
    return ", ".join(sink.table.removeprefix("spark_catalog.default.") for sink in job.plan.analysis.sinks)


def _drop_loss(job: Job) -> str:
    return (
        f"The job ends for good, and its state is deleted. The rows in {_sink_names(job)} stay, and so"
        " do snapshots. To keep the state, add WITH SNAPSHOT and a name."
    )


ACTIONS: Final[Mapping[str, JobAction]] = {
    action.name: action
    for action in (
        JobAction("suspend", "Suspend", lambda job: f"SUSPEND JOB {job}", _suspend_loss),
        JobAction("resume", "Resume", lambda job: f"RESUME JOB {job}", _resume_loss),
        JobAction("restart", "Restart", lambda job: f"RESTART JOB {job}", _restart_loss),
        JobAction("drop", "Drop", lambda job: f"DROP JOB {job}", _drop_loss, is_dangerous=True, is_for_owner=True),
    )
}


_OF_STATUS: Final[Mapping[Status, Sequence[str]]] = {
    Status.SUSPENDED: ("resume", "drop"),
    Status.SUSPENDED_EXPORTING_SNAPSHOT: ("drop",),
    Status.COMPLETING: ("drop",),
    Status.FAILED: (),
    Status.COMPLETED: (),
}


def actions_of(job: Job) -> list[JobAction]:
    """Return the actions that a job accepts in its status."""
    return [ACTIONS[each] for each in _OF_STATUS.get(job.status, ("suspend", "restart", "drop"))]


def may_act(jobs: JobQueries, action: JobAction, job: Job) -> bool:
    """Return whether the caller has the right to an action on a job."""
    return jobs.owns(job) if action.is_for_owner else jobs.may_operate(job)


def allowed_actions(jobs: JobQueries, job: Job) -> list[JobAction]:
    """Return the actions that a job accepts in its status, and that the caller has the right to."""
    return [action for action in actions_of(job) if may_act(jobs, action, job)]


def has_actions(jobs: JobQueries, job: Job) -> bool:
    """Return whether the caller has the right to any action on a job."""
    return any(may_act(jobs, action, job) for action in ACTIONS.values())


@dataclass(frozen=True)
class PlannedStatement:
    """A statement that the user is asked about."""

    name: str  # of the job or snapshot
    statement: str
    loss: str  # what is lost, as sentences


def plan_actions(jobs: JobQueries, action: JobAction, job_ids: Sequence[str]) -> list[PlannedStatement]:
    """Return the statement for each job. Raises StatementError JOB_NOT_FOUND."""
    found = [jobs.find(job_id) for job_id in dict.fromkeys(job_ids)]
    if not found:
        raise StatementError("REQUEST_NOT_READABLE", "No job is selected.", hint="Select jobs first.")
    return [
        PlannedStatement(job.name, action.statement(job_reference(jobs, job)), _loss(jobs, action, job))
        for job in found
    ]


def _loss(jobs: JobQueries, action: JobAction, job: Job) -> str:
    if not may_act(jobs, action, job):
        needed = "it is for the owner of the job" if action.is_for_owner else "you lack the right OPERATE on the job"
        return f"The statement will be refused, because {needed}."
    if action in actions_of(job):
        return action.loss(job)
    status = job.shown_status.casefold().replace("_", " ")
    return f"The statement will be refused, because the job is {status}."


def plan_snapshot(jobs: JobQueries, job_id: str, name: str) -> PlannedStatement:
    """Return the statement that takes a snapshot of a job. Raises StatementError JOB_NOT_FOUND."""
    job = jobs.find(job_id)
    if not name:
        raise StatementError("INVALID_NAME", "The snapshot needs a name.")
    statement = f"CREATE SNAPSHOT {quoted_name(name)} FOR JOB {job_reference(jobs, job)}"
    loss = "Nothing is lost: a running job continues while its state is copied."
    return PlannedStatement(name, statement, loss)


def plan_snapshot_drop(name: str) -> PlannedStatement:
    """Return the statement that deletes a snapshot."""
    loss = "The snapshot's copy of the state is deleted. Jobs that were created from it do not need it any more."
    return PlannedStatement(name, f"DROP SNAPSHOT {quoted_name(name)}", loss)


def job_reference(jobs: JobQueries, job: Job) -> str:
    """Return the job as statements accept it: by its name, or by its id if the name stands for another job."""
    live = jobs.live_named(job.name)
    return quoted_name(job.name) if live is not None and live.job.id == job.id else quoted_text(job.id)
