"""Snapshots as pages show them, newest first, with the statements of their actions. It reads the store."""

from __future__ import annotations

from dataclasses import dataclass

from jetsql.jobs.model.job import Snapshot
from jetsql.jobs.model.redaction import redact
from jetsql.jobs.statements.describe import fork_text
from jetsql.jobs.statements.job_queries import JobQueries


@dataclass(frozen=True)
class ShownSnapshot:
    """A snapshot, and what can be done with it."""

    snapshot: Snapshot
    owner: str | None  # None for one of an older release
    statement: str  # the job's body when the snapshot was created, without secrets
    fork: str  # the statement that creates a job from it


def shown_snapshots(jobs: JobQueries, job_id: str | None = None) -> list[ShownSnapshot]:
    """Return the snapshots. job_id: of the job that they are of; None for all."""
    return [
        ShownSnapshot(
            each, jobs.shown_owner(each.owner), redact(each.statement, each.plan.options.given), fork_text(each)
        )
        for each in jobs.snapshots(job_id)
    ]
