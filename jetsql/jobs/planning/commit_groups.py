"""Consumer groups of jobs: a group shows the offsets of one job, because two would overwrite each other's.

The engine does not know the jobs of other engines and other users of the group.
"""

from __future__ import annotations

from collections.abc import Iterable

from jetsql.errors import StatementError
from jetsql.jobs.model.job import Job, Plan
from jetsql.jobs.planning.overwrite_conflicts import Sees, describe_job


def check_group_unused(plan: Plan, others: Iterable[Job], sees: Sees) -> None:
    """Raise StatementError INVALID_OPTION_VALUE when another live job has the group of a plan."""
    group = plan.options.commit_group
    user = None if group is None else next((job for job in others if group in _groups(job)), None)
    if user is not None:
        raise StatementError(
            "INVALID_OPTION_VALUE",
            f"The consumer group {group} shows the offsets of {describe_job(user, sees)} already, and two jobs would"
            " overwrite each other's offsets.",
            hint="Name another group.",
        )


def _groups(job: Job) -> set[str | None]:
    """Return the groups of a job, also those to which it changes or can return."""
    versions = (job.version, job.pending_version, job.rollback_version)
    return {version.plan.options.commit_group for version in versions if version is not None}
