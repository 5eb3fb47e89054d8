"""The plan that a job would have with the trigger realTime, for a note to users who may not know this trigger."""

from __future__ import annotations

from dataclasses import replace

from jetsql.errors import StatementError
from jetsql.jobs.model.job import Plan
from jetsql.jobs.model.job_options import Guarantee, StatementOptions, Trigger
from jetsql.jobs.planning.planner import make_plan
from jetsql.language.statement import Verb


def find_real_time_plan(plan: Plan, verb: Verb) -> Plan | None:
    """Return the plan of a job with the trigger realTime, and otherwise its options; None if it cannot have one.

    Only a job that delivers at least once anyway, and whose user has chosen no trigger, has one. Without Spark.
    """
    options = plan.options
    is_candidate = (
        plan.analysis.streaming
        and plan.guarantee is Guarantee.AT_LEAST_ONCE
        and options.trigger is Trigger.INTERVAL
        and "trigger" not in options.given
    )
    if not is_candidate:
        return None
    # An interval of batches is no duration of a batch in real-time mode.
    values = replace(options, trigger=Trigger.REAL_TIME, snapshot_interval_millis=None)
    try:
        return make_plan(plan.analysis, StatementOptions(values), verb, None)
    except StatementError:
        return None
