"""What a command gives back: the job as it is now, and what is to be said about it."""

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
    job: Job
    message: str

    def table(self) -> Table:
        return Table(COMMAND_COLUMNS, ((self.job.id, self.job.name, self.job.status.value, self.message),))


def no_job_result(name: str, message: str) -> Table:
    """Return the row of a command that found no job to do something to, and need not."""
    return Table(COMMAND_COLUMNS, ((None, name, None, message),))


def describe_error(cause: Cause | None) -> str:
    """Why, with the error's condition in front as errors are shown elsewhere, and what to do about it."""
    if cause is None:
        return ""
    return join_sentences(as_sentence(error_text(cause)), cause.hint) if cause.hint else error_text(cause)


def describe_not_running(job: Job, members: int) -> str:
    """Why a job does not run, or did not lately. members: how many there are."""
    return join_sentences(
        describe_missing_members(job, members) if job.waiting_for_members else "", describe_error(job.cause)
    )


def error_text(cause: Cause) -> str:
    """Why, without what to do about it: for errors, which have a place of their own for that."""
    return f"[{cause.condition}] {cause.message}" if cause.condition else cause.message


def as_job_sentence(message: str) -> str:
    """A message of the life cycle, which has the job as its subject, as a sentence of its own."""
    return f"The job {message}" if message else ""
