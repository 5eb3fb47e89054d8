"""The right that a statement needs, checked before it runs.

What the caller has no right on does not exist: the statement itself reports a missing job then, in the same words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from jetsql.errors import ErrorPlace, JetSQLError, StatementError
from jetsql.jobs.access.access_records import Right
from jetsql.jobs.access.job_rights import unchecked_rights
from jetsql.jobs.audit.audit_log import note_object
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.job import Job
from jetsql.jobs.statements.lookup import find_job
from jetsql.language.statement import Name, Statement

_WORD: Final = re.compile("[A-Z][a-z]*")


@dataclass(frozen=True)
class Need:
    """The right that a kind of statement needs."""

    right: Right | None  # None if the statement itself leaves out what the caller has no right on
    job: Callable[[Any], Name] | None = None
    """Returns the job of the statement; without it, the right is one on the engine."""


def check_owner(manager: Manager, job: Job) -> None:
    """Check that the owner of a job may do what the job does.

    Raises StatementError NOT_ALLOWED, which says only to the owner and to admins what is missing. To them, it raises
    Spark's errors for a body that cannot be analysed.
    """
    try:
        manager.runtime.check_owner(job)
    except Exception as error:  # of Spark as well
        knows_all = manager.access.is_admin or job.owner == manager.access.user
        if not (isinstance(error, JetSQLError) and error.condition == "JETSQL.NOT_ALLOWED"):
            if knows_all:
                raise
            raise unchecked_rights(job.owner) from error
        if knows_all and isinstance(error.__cause__, Exception):
            cause = manager.workers.cause_of(error.__cause__)
            raise StatementError("NOT_ALLOWED", f"{error.message} {cause.message}", hint=cause.hint) from error
        raise


def check_right(manager: Manager, statement: Statement, need: Need) -> None:
    """Raise StatementError NOT_ALLOWED if the caller lacks the right that a statement needs."""
    if need.right is None:
        return
    if manager.access.is_admin:
        note_object(need.right.value, "ENGINE" if need.job is None else f"JOB {need.job(statement).text}")
        return
    what = " ".join(_WORD.findall(type(statement).__name__)).upper()
    if need.job is None:
        manager.access.require(need.right, what)
        return
    name = need.job(statement)
    try:
        job = find_job(manager, name).job
    except StatementError:
        return  # the statement reports it, unless it has IF EXISTS
    with ErrorPlace(name.place):
        manager.access.require_on_job(need.right, job, what)
