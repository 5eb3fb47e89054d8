"""Conflicts between a job that replaces the rows of a table and a job that reads the table as a stream.

A stream reads files that are added. A job with INSERT OVERWRITE replaces them, so a stream from its table would lose
rows or read them again. Only the change data feed of a Delta table has the replaced rows, as changes.
"""

from __future__ import annotations

from collections.abc import Iterable

from jetsql.errors import Span, StatementError
from jetsql.jobs.model.body_analysis import Analysis, SinkKind
from jetsql.jobs.model.job import Job, Plan, name_key
from jetsql.jobs.model.table_names import split_table
from jetsql.language import find_name
from jetsql.language.statement import Body


def check_overwrite_conflicts(plan: Plan, body: Body, live: Iterable[Job]) -> None:
    """Raise StatementError UNSUPPORTED_QUERY when the new plan conflicts with a live job."""
    for job in live:
        if _overwrites(job.plan) and _reads(plan.analysis, job.plan.analysis.sink.table):
            table = job.plan.analysis.sink.table
            span = find_name(body.text, split_table(table))
            is_delta = job.plan.analysis.sink.kind is SinkKind.DELTA
            feed = "Read its change data feed WITH ('readChangeFeed' = 'true'). " if is_delta else ""
            offset = body.place.start
            raise StatementError(
                "UNSUPPORTED_QUERY",
                f"Cannot read {table} as a stream: the job {job.name} replaces its rows with each result.",
                place=Span(span.start + offset, span.stop + offset) if span else body.place,
                hint=f"{feed}Read the sources of {job.name} instead, or create a batch job without STREAM.",
            )
        if _overwrites(plan) and _reads(job.plan.analysis, plan.analysis.sink.table):
            raise StatementError(
                "UNSUPPORTED_QUERY",
                f"Cannot replace the rows of {plan.analysis.sink.table}: the job {job.name} reads it as a stream.",
                place=body.target,
                hint="Use INSERT INTO, or write to another table.",
            )


def _overwrites(plan: Plan) -> bool:
    return plan.overwrite and plan.analysis.streaming


def _reads(analysis: Analysis, table: str) -> bool:
    return any(name_key(each.name) == name_key(table) for each in analysis.sources if not each.reads_changes)
