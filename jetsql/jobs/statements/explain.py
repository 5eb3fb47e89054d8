"""EXPLAIN CREATE JOB: what was decided for a job and why, then Spark's own plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from jetsql.jobs.lifecycle.engine_api import UserSession
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.job import Plan, Sink, Source, Trigger
from jetsql.jobs.model.redaction import redact, redact_urls
from jetsql.jobs.planning.guarantee import GUARANTEE_TEXTS
from jetsql.jobs.planning.options import Options, parse_options
from jetsql.jobs.planning.progress_tracking import tracks_asynchronously
from jetsql.jobs.statements.create import initial_snapshot
from jetsql.jobs.statements.create_checks import make_statement_plan
from jetsql.jobs.statements.lookup import find_live_job
from jetsql.jobs.statements.replace import update_message
from jetsql.language.statement import CreateJob, ExplainCreateJob
from jetsql.resultset import Column, Table

PLAN_COLUMNS: Final = (Column("plan"),)


def explain(manager: Manager, statement: ExplainCreateJob, session: UserSession) -> Table:
    """One row with all of it as text. Raises what CREATE JOB would refuse the statement with."""
    create = statement.create
    options = parse_options(create.options)
    plan = make_statement_plan(manager, create, options, session)
    spark = manager.engine.explain(create.body, plan, session, statement.formatted)
    begin = tuple(_beginning(manager, create, options, plan))
    text = "\n".join((*decisions(plan), *begin, "", spark.rstrip()))
    return Table(PLAN_COLUMNS, ((redact(text, plan.options),),))


def _beginning(manager: Manager, create: CreateJob, options: Options, plan: Plan) -> Iterator[str]:
    """Where the job would begin, when that is not at the beginning."""
    live = find_live_job(manager, create.name.text) if create.or_replace else None
    if live is not None:
        yield f"Update:      {update_message(live.job, plan)}"
        return
    snapshot = initial_snapshot(manager, create, options, plan)
    if snapshot is not None:
        yield f"Starts from: snapshot {snapshot.name} of job {snapshot.job_name}, batch {snapshot.batch}"


def decisions(plan: Plan) -> Iterator[str]:
    """One line a decision."""
    kind = "streaming" if plan.analysis.streaming else "batch: runs once"
    yield f"Job:         {kind}"
    for source in plan.analysis.sources:
        yield f"Source:      {describe_source(source)}"
    yield f"Sink:        {describe_sink(plan.analysis.sink)}; {describe_write(plan)}"
    yield f"Delivery:    {GUARANTEE_TEXTS[plan.guarantee]}: {plan.guarantee_reason}"
    if plan.analysis.streaming:
        yield f"Trigger:     {describe_trigger(plan)}"
        yield f"Output mode: {plan.output_mode.value if plan.output_mode is not None else ''}"
        yield f"State:       {'; '.join(plan.analysis.operator_texts) or 'none'}"


def describe_source(source: Source) -> str:
    facts = (source.format, redact_urls(source.location))
    return f"{source.name} ({', '.join(fact for fact in facts if fact)}), replayable: {source.replay.value}"


def describe_sink(sink: Sink) -> str:
    partitions = f"partitioned by {', '.join(sink.partition_columns)}" if sink.partition_columns else ""
    facts = (sink.provider, sink.system or redact_urls(sink.location), partitions)
    return f"{sink.table} ({', '.join(fact for fact in facts if fact)})"


def describe_write(plan: Plan) -> str:
    if plan.upsert:
        return f"rows are updated by {', '.join(plan.analysis.sink.key_columns)}"
    return "each result replaces what is there" if plan.overwrite else "rows are added"


def describe_trigger(plan: Plan) -> str:
    if plan.trigger is Trigger.AVAILABLE_NOW:
        return "availableNow: reads what is there, then completes"
    if plan.trigger is Trigger.REAL_TIME:
        return f"realTime: rows at once; how far it is, is noted every {plan.interval_millis} ms"
    if tracks_asynchronously(plan):
        return f"{plan.trigger.value}: rows as they come; how far it is, is noted every {plan.interval_millis} ms"
    return f"{plan.trigger.value}: every {plan.interval_millis} ms"
