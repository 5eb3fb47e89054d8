"""EXPLAIN CREATE JOB: the decisions for a job with their reasons, and Spark's plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from jetsql.jobs.lifecycle.runtime import UserSession
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.body_analysis import PARSE_MODE, Sink, Source
from jetsql.jobs.model.job import Plan, SinkPlan, Status
from jetsql.jobs.model.job_options import StatementOptions, Trigger
from jetsql.jobs.model.redaction import redact, redact_urls
from jetsql.jobs.planning.guarantee import GUARANTEE_TEXTS
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.progress_tracking import tracks_asynchronously
from jetsql.jobs.planning.sink_traits import replaces_part, traits_of
from jetsql.jobs.planning.update_verdict import UpdateKind, UpdateVerdict, is_same_text
from jetsql.jobs.statements.creation.create import describe_notes, initial_snapshot, unexpected_single_read
from jetsql.jobs.statements.creation.create_checks import check_conflicts, make_statement_plan
from jetsql.jobs.statements.creation.job_owners import find_job_to_create
from jetsql.jobs.statements.creation.real_time_note import describe_real_time
from jetsql.jobs.statements.creation.replace import explain_update
from jetsql.jobs.statements.creation.start_positions import describe_start_mode
from jetsql.jobs.statements.lookup import find_live_job, visible_plan
from jetsql.jobs.statements.tables.table_creation import prepare_to_explain, without_secrets
from jetsql.language.statement import CreateJob, ExplainCreateJob
from jetsql.resultset import Column, Table

PLAN_COLUMNS: Final = (Column("plan"),)
_HIDDEN_PLAN: Final = "Only an ADMIN sees Spark's plan."


def explain(manager: Manager, statement: ExplainCreateJob, session: UserSession) -> Table:
    """Return one row with the text. Raises the error with which CREATE JOB would refuse the statement."""
    create = kept = statement.create  # kept: as the job keeps it
    options = parse_options(create.options)
    table: tuple[str, ...] = ()
    if create.table is not None:
        create, description = prepare_to_explain(manager, create, options, session)
        table, kept = (f"Table:       {description}",), without_secrets(create)
    plan = make_statement_plan(manager, create, options, session)
    live = find_job_to_create(manager, create)
    check_conflicts(manager, create, options, plan, None if live is None else live.job)
    # Spark's plan shows what views of other users read, and the folders of tables.
    is_admin = manager.access.is_admin
    spark = manager.runtime.explain(create.body, plan, statement.formatted) if is_admin else _HIDDEN_PLAN
    start = tuple(_start_lines(manager, kept, options, plan))
    single_read = unexpected_single_read(create.body, plan, create.kind)
    real_time = describe_real_time(manager, create.body, plan, None if live is None else live.job)
    notes = (
        *([single_read.line()] if single_read else ()),
        *(f"Note:        {each}" for each in (*describe_notes(create.body, plan), real_time) if each),
    )
    begins = () if kept.start_mode is None else (f"Start:       {describe_start_mode(kept.start_mode)}",)
    text = "\n".join((*decisions(visible_plan(manager, plan)), *begins, *table, *notes, *start, "", spark.rstrip()))
    return Table(PLAN_COLUMNS, ((redact(text, plan.options.given),),))


def _start_lines(manager: Manager, create: CreateJob, options: StatementOptions, plan: Plan) -> Iterator[str]:
    """Return a line about the live job or snapshot that the job would continue, if there is one."""
    live = find_live_job(manager, create.name.text) if create.or_replace else None
    if live is not None:
        yield explain_update(manager, live.job, create, options, plan).line()
        return
    newest = manager.store.newest_named(create.name.text) if create.or_replace else None
    completed = newest if newest is not None and manager.access.sees_job(newest) else None
    if completed is not None and completed.status is Status.COMPLETED and is_same_text(completed, create):
        yield UpdateVerdict(UpdateKind.UNCHANGED, "the job had this statement, and has completed").line()
        return
    snapshot = initial_snapshot(manager, create, options, plan)
    if snapshot is not None:
        yield f"Starts from: snapshot {snapshot.name} of job {snapshot.job_name}, batch {snapshot.batch}"


def decisions(plan: Plan) -> Iterator[str]:
    """Return a line for each decision."""
    kind = "streaming" if plan.analysis.streaming else "batch: runs once"
    yield f"Job:         {kind}"
    for source in plan.analysis.sources:
        yield f"Source:      {describe_source(source)}"
    for each in plan.sinks:
        yield f"Sink:        {describe_sink(each.sink)}; {describe_write(plan, each)}"
    if plan.refused_rows_table:
        limit = f"at most {plan.options.refused_rows_most} of a batch"
        yield f"Refused:     rows that the sink refuses are written to {plan.refused_rows_table}, {limit}"
    for rule in plan.analysis.expectations:
        yield f"Rule:        {rule.name}: {rule.condition}; on violation: {rule.action_text}"
    yield f"Delivery:    {GUARANTEE_TEXTS[plan.guarantee]}: {plan.guarantee_reason}"
    if plan.analysis.streaming:
        yield f"Trigger:     {describe_trigger(plan)}"
        yield f"Output mode: {plan.output_mode.value if plan.output_mode is not None else ''}"
        for meaning in dict.fromkeys(rewrite.meaning for rewrite in plan.analysis.rewrites):
            yield f"Rewritten:   {meaning}"
        if plan.analysis.batch_part:
            yield f"In batches:  {plan.analysis.batch_part}"
        for lookup in plan.analysis.lookups:
            yield f"Lookup:      {lookup}"
        yield f"State:       {'; '.join(plan.analysis.operator_texts) or 'none'}"
        if plan.analysis.flow_texts:
            yield f"Flow:        {'; '.join(plan.analysis.flow_texts)}"
        if plan.late_rows_table:
            yield f"Late rows:   written to {plan.late_rows_table}"
        idle_millis = plan.options.idle_timeout_millis
        if idle_millis is not None:
            yield f"Idle source: does not hold back the watermark after {idle_millis} ms without rows"
        if plan.options.commit_group is not None:
            yield f"Group:       the consumer group {plan.options.commit_group} shows the offsets of committed batches"


def describe_source(source: Source) -> str:
    """Return a source with format, location, replayability, and what applies to rows that do not fit its columns."""
    facts = (source.format, redact_urls(source.location))
    described = f"{source.name} ({', '.join(fact for fact in facts if fact)}), replayable: {source.replay.value}"
    return ", ".join((described, *_on_error(source)))


def _on_error(source: Source) -> Iterator[str]:
    if source.on_error == PARSE_MODE:
        yield "malformed lines: as the table's own options of Spark say"
    elif source.on_error:
        yield f"on.error: {source.on_error}"
    elif source.keeps_malformed_lines:
        yield "malformed lines: rows of NULLs, as when the job was created"


def describe_sink(sink: Sink) -> str:
    """Return a sink with provider, system or location, and partition columns."""
    partitions = f"partitioned by {', '.join(sink.partition_columns)}" if sink.partition_columns else ""
    facts = (sink.provider, sink.system or redact_urls(sink.location), partitions)
    return f"{sink.table} ({', '.join(fact for fact in facts if fact)})"


def describe_write(plan: Plan, written: SinkPlan) -> str:
    """Return how rows are written to a sink of a plan, as a phrase."""
    keys = ", ".join(written.sink.key_columns)
    if plan.analysis.keeps_history:
        effort = "a batch writes all rows of its keys again, and the state keeps all changes"
        return f"each change is a row, by {keys}; {effort}"
    if plan.analysis.marks_deleted:
        return f"changed rows are updated by {keys}, and rows that leave the result are deleted"
    if written.deletes:
        return f"the newest change of each key updates or deletes its row, by {keys}"
    if written.retracts:
        to_topic = traits_of(written.sink).is_topic
        effort = "compares the result with the previous one" if to_topic else "writes the whole result"
        return (
            f"rows are updated by {keys}, and rows that leave the result are"
            f" deleted; each batch {effort}, and nothing removes the state"
        )
    if written.upsert:
        return f"rows are updated by {keys}"
    if written.overwrite:
        return "each result replaces the previous rows"
    return "the rows that meet the condition are replaced" if replaces_part(written.sink) else "rows are added"


def describe_trigger(plan: Plan) -> str:
    """Return the trigger with its interval."""
    trigger = plan.options.trigger
    if trigger is Trigger.AVAILABLE_NOW:
        return "availableNow: processes the available rows, then completes"
    if trigger is Trigger.REAL_TIME:
        return f"realTime: rows immediately; progress is committed every {plan.interval_millis} ms"
    if tracks_asynchronously(plan):
        return f"{trigger.value}: rows as they arrive; offsets are committed every {plan.interval_millis} ms"
    return f"{trigger.value}: every {plan.interval_millis} ms"
