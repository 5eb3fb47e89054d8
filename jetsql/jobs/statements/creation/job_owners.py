"""The owner of the job of a CREATE statement, as whom its body is checked, and the right to use the name."""

from __future__ import annotations

from jetsql.errors import ErrorPlace, StatementError
from jetsql.jobs.access.access_records import Right
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.job import name_key
from jetsql.language.statement import CreateJob


def find_job_to_create(manager: Manager, statement: CreateJob) -> JobView | None:
    """Return the live job with the name of a statement, or None.

    Raises StatementError JOB_ALREADY_EXISTS for a job that the caller cannot see, and NOT_ALLOWED for a job that the
    statement would replace without the right.
    """
    live = _find(manager, statement)
    if live is None:
        return None
    if not manager.access.sees_job(live.job):
        message = f"The name {statement.name.text} is in use."  # and nothing else about the job
        raise StatementError("JOB_ALREADY_EXISTS", message, place=statement.name.place, hint="Use another name.")
    if statement.or_replace:
        with ErrorPlace(statement.name.place):
            manager.access.require_on_job(Right.OWNER, live.job, "CREATE OR REPLACE")
    return live


def owner_of(manager: Manager, statement: CreateJob) -> str:
    """Return the key of the owner of the job that a statement creates or replaces."""
    live = _find(manager, statement) if statement.or_replace else None
    return manager.access.new_owner if live is None else live.job.owner


def _find(manager: Manager, statement: CreateJob) -> JobView | None:
    key = name_key(statement.name.text)
    return next((view for view in manager.registry.live() if name_key(view.job.name) == key), None)
