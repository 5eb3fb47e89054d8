"""Sinks that were dropped and created again, or moved, while their job was suspended.

A run refuses a table that is not the one that the job knows. RESUME JOB after this error accepts the table as it is
now, if the job could have written it all the time: the state is kept, and rows of earlier batches are not written
again.
"""

from __future__ import annotations

from dataclasses import replace

from jetsql.errors import StatementError
from jetsql.jobs.model.body_analysis import Analysis, Sink
from jetsql.jobs.model.job import Job, Plan
from jetsql.jobs.planning.sink_traits import traits_of


def accept_sinks(job: Job, now: Analysis) -> Plan:
    """Return the job's plan with its sinks as they are now. now: the analysis of its body.

    Raises StatementError SINK_CHANGED for a table that does not fit the job.
    """
    before = job.plan.analysis
    sinks = tuple(_accept(job, old, new) for old, new in zip(before.sinks, now.sinks, strict=True))
    return replace(job.plan, analysis=replace(before, sinks=sinks))


def _accept(job: Job, old: Sink, new: Sink) -> Sink:
    is_own_result = job.plan.overwrite and new.created == old.created and f"/{job.id}-" in new.location
    if is_own_result:  # each result of INSERT OVERWRITE moves the table
        return old
    difference = _difference(old, new, job.plan)
    if difference:
        raise StatementError(
            "SINK_CHANGED",
            f"Job {job.name} cannot continue with the table {old.table}, which was replaced: {difference}. The job is"
            " unchanged.",
            hint="Create the table as it was, and RESUME JOB. To write the table as it is now, run DROP JOB and"
            " CREATE JOB.",
            where=old.table,
        )
    return replace(old, location=new.location, created=new.created, identity=new.identity, managed=new.managed)


def _difference(old: Sink, new: Sink, plan: Plan) -> str:
    """Return how a table differs from the one that the job knows, a clause; empty if the job can write it."""
    if new.provider != old.provider:
        return f"its format is {new.provider}, and was {old.provider}"
    for what, now, before in (
        ("columns", new.columns, old.columns),
        ("partition columns", new.partition_columns, old.partition_columns),
        ("key columns", new.key_columns, old.key_columns),
    ):
        if now != before:
            return f"its {what} are {', '.join(now) or 'none'}, and were {', '.join(before) or 'none'}"
    if new.system != old.system:
        return f"it is a table of {new.system}, and was one of {old.system}"
    replaces_rows = plan.overwrite and old.replaces_whole_table
    if traits_of(old).has_rows_in_folder and not replaces_rows and new.location != old.location:
        return f"its folder is {new.location}, and was {old.location}"
    return ""
