"""The result of a command: the job, and a message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jetsql.jobs.lifecycle.scaling import describe_missing_members
from jetsql.jobs.lifecycle.step_context import as_sentence, join_sentences
from jetsql.jobs.model.job import Cause, Job
from jetsql.resultset import Column, Table

COMMAND_COLUMNS: Final = (Column("id"), Column("name"), Column("status"), Column("message"))


@dataclass(frozen=True)
class CommandResult:
    """The job after a command, and a message for the user."""

    job: Job
    message: str

    def table(self) -> Table:
        """Return the result as a table with one row."""
        return Table(COMMAND_COLUMNS, ((self.job.id, self.job.name, self.job.shown_status, self.message),))


def no_job_result(name: str, message: str) -> Table:
    """Return the result of a command without a job, such as DROP JOB IF EXISTS."""
    return Table(COMMAND_COLUMNS, ((None, name, None, message),))


def describe_error(cause: Cause | None) -> str:
    """Return the error with its condition and its hint; empty for None."""
    if cause is None:
        return ""
    return join_sentences(as_sentence(error_text(cause)), cause.hint) if cause.hint else error_text(cause)


def describe_not_running(job: Job, members: int) -> str:
    """Return why a job does not run, or its last error. members: the number of available members."""
    return join_sentences(
        describe_missing_members(job, members) if job.waiting_for_members else "", describe_error(job.cause)
    )


def error_text(cause: Cause) -> str:
    """Return the error with its condition, without its hint."""
    return f"[{cause.condition}] {cause.message}" if cause.condition else cause.message


def as_job_sentence(message: str) -> str:
    """Return a reply of the life cycle as a sentence about the job; empty for an empty reply."""
    return f"The job {message}" if message else ""
