"""SUSPEND, RESUME, RESTART, ALTER ... OPTIONS and DROP: ask for it, wait until it came about, say how it went.

On the deadline the statement tells what is still going on and nothing is undone. What comes out differently than asked
(an error, another statement) is an error, so that scripts stop there.
"""

from __future__ import annotations

from time import monotonic

from jetsql.errors import StatementError
from jetsql.jobs.board import View
from jetsql.jobs.events import AlterOptions, Cancel, Outcome, Restart, Resume, Suspend
from jetsql.jobs.lookup import find
from jetsql.jobs.manager import Manager
from jetsql.jobs.model import Job, Status
from jetsql.jobs.options import parse_options, spec_of
from jetsql.jobs.planning import make_plan
from jetsql.jobs.results import Result, capitalized, cause_words, no_job
from jetsql.jobs.tables import Table
from jetsql.jobs.transitions import joined, restart_words
from jetsql.language.statements import (
    AlterJobOptions,
    DropJob,
    Name,
    OptionText,
    RestartJob,
    ResumeJob,
    SuspendJob,
)


def suspend(manager: Manager, statement: SuspendJob) -> Table:
    view = find(manager, statement.name)
    step = manager.apply(view.job, Suspend())
    if step.job.status is not Status.COMPLETING:
        message = capitalized(step.message) or step.words
        return Result(step.job, message).table()
    after = manager.board.wait(View(step.job), _not_stopping, manager.settings.statement_wait_seconds)
    return Result(after.job, _suspended_words(after, manager)).table()


def _not_stopping(view: View) -> bool:
    return view.job.status is not Status.COMPLETING


def _suspended_words(view: View, manager: Manager) -> str:
    job = view.job
    if job.status is Status.SUSPENDED:
        error = f"Before that it failed: {cause_words(job.cause)}" if job.cause else ""
        return joined("Suspended.", view.facts.stop_words, error)
    if job.status is Status.COMPLETING:
        return _still(manager, "being suspended: its running batch is not finished yet")
    if job.status is Status.COMPLETED:
        return "The job completed before it could be suspended."
    raise _otherwise(job, "suspended")


def _still(manager: Manager, doing: str) -> str:
    seconds = manager.settings.statement_wait_seconds
    return f"After {seconds:g} s the job is still {doing}. It goes on; nothing is undone."


def _otherwise(job: Job, wanted: str) -> StatementError:
    if job.cause is not None:
        message = f"Job {job.name} was not {wanted}; it is {job.status.value}: {cause_words(job.cause)}"
        return StatementError("JOB_FAILED", message)
    message = f"Job {job.name} was not {wanted}: another statement came between; it is {job.status.value} now."
    return StatementError("WRONG_STATUS", message)


def resume(manager: Manager, statement: ResumeJob) -> Table:
    view = find(manager, statement.name)
    step = manager.apply(view.job, Resume())
    if step.outcome is Outcome.KEPT and step.job.status is Status.RUNNING:
        return Result(step.job, capitalized(step.message)).table()
    return _wait_for_run(manager, step.job, "Resumed.")


def restart(manager: Manager, statement: RestartJob) -> Table:
    view = find(manager, statement.name)
    step = manager.apply(view.job, Restart())
    return _wait_for_run(manager, step.job, "Restarted.")


def _wait_for_run(manager: Manager, job: Job, done: str) -> Table:
    """Until the job runs, or is where it won't run from by itself."""
    least = job.run + 1 if job.status is Status.COMPLETING else job.run
    ends = (Status.SUSPENDED, Status.FAILED, Status.COMPLETED)

    def settled(view: View) -> bool:
        if view.job.status is Status.RUNNING:
            return view.job.run >= least or view.job.stop_goal is None
        return view.job.status in ends

    after = manager.board.wait(View(job), settled, manager.settings.statement_wait_seconds)
    if (after.job.status in ends and after.job.status is not Status.COMPLETED) or after.job.run < least:
        if settled(after):
            raise _otherwise(after.job, "started")
    return Result(after.job, _run_words(after, manager, done)).table()


def _run_words(view: View, manager: Manager, done: str) -> str:
    status = view.job.status
    if status is Status.COMPLETED:
        return joined(done, view.facts.words)
    if status is Status.RUNNING:
        return joined(done, view.facts.stop_words, restart_words(view.job))
    error = f"Its last error: {cause_words(view.job.cause)}" if view.job.cause else ""
    doing = "being stopped first" if status is Status.COMPLETING else "starting"
    return joined(_still(manager, doing), error)


def alter_options(manager: Manager, statement: AlterJobOptions) -> Table:
    """New options on top of those that the job has. Raises StatementError OPTION_NOT_CHANGEABLE, WRONG_STATUS."""
    job = find(manager, statement.name).job
    for text in statement.options:
        _check_changeable(job, text)
    options = parse_options(statement.options, before=job.plan.options)
    plan = make_plan(job.plan.analysis, options, job.body.verb, None)
    step = manager.apply(job, AlterOptions(plan, tuple(options.texts), statement.resume))
    if step.job.status is Status.STARTING:
        return _wait_for_run(manager, step.job, "Options changed; resumed.")
    return Result(step.job, "Options changed. They hold from the next RESUME JOB on.").table()


def _check_changeable(job: Job, text: OptionText) -> None:
    spec = spec_of(text.key)
    if spec is not None and not spec.changeable:
        raise StatementError(
            "OPTION_NOT_CHANGEABLE",
            f"The option '{spec.name}' can't change once a job is made.",
            place=text.key_place,
            hint="Make a new job with it.",
        )


def drop(manager: Manager, statement: DropJob) -> Table:
    """Returns when the job has ended and its files are gone."""
    try:
        view = find(manager, statement.name)
    except StatementError:
        if statement.if_exists:
            return no_job(statement.name.text, f"There is no job {_quoted(statement.name)}; nothing to drop.")
        raise
    until = monotonic() + manager.settings.statement_wait_seconds
    step = manager.apply(view.job, Cancel())
    after = manager.board.wait(View(step.job), _ended, until - monotonic())
    if after.job.status is Status.RUNNING:
        raise _otherwise(after.job, "dropped")
    cleaned = manager.workers.wait_idle(after.job.id, until - monotonic())
    if not after.job.live and step.outcome is Outcome.KEPT and not view.job.live:
        return Result(after.job, capitalized(step.message)).table()
    return Result(after.job, _drop_words(after, manager, cleaned)).table()


def _quoted(name: Name) -> str:
    return f"with the id '{name}'" if name.is_id else f"named {name}"


def _ended(view: View) -> bool:
    """RUNNING: the engine could not stop it."""
    return not view.job.live or view.job.status is Status.RUNNING


def _drop_words(view: View, manager: Manager, cleaned: bool) -> str:
    if view.job.live:
        return _still(manager, "being dropped: its running batch is not finished yet")
    files = "" if cleaned else "Its files are still being deleted."
    return joined("Dropped.", view.facts.stop_words or view.facts.words, files)
