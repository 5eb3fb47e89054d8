"""The note that a job could write each row when it arrives, and the cost. JetSQL never switches by itself."""

from __future__ import annotations

from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.job import Job, Plan
from jetsql.jobs.planning.real_time_plan import find_real_time_plan
from jetsql.language.statement import Body


def describe_real_time(manager: Manager, body: Body, plan: Plan, job: Job | None) -> str:
    """Return, as sentences, the cost of the trigger realTime; empty if the job cannot have it now.

    job: the live job with this body, or None.
    """
    proposed = find_real_time_plan(plan, body.verb)
    cores = None if proposed is None else manager.runtime.count_real_time_cores(body, proposed, job)
    if cores is None:
        return ""
    without = " and without 'snapshotIntervalMillis'" if plan.options.snapshot_interval_millis is not None else ""
    held = "1 core" if cores == 1 else f"{cores} cores"
    return (
        f"With 'trigger' = 'realTime'{without}, the job would write each row when it arrives, also at least once. It"
        f" would permanently occupy {held} of the engine."
    )
