"""Jobs that read what other jobs write: which pairs can't work together.

A stream reads files that are added. A job with INSERT OVERWRITE replaces them, so whoever streams from its table would
lose rows or read them again.
"""

from __future__ import annotations

from collections.abc import Iterable

from jetsql.errors import Span, StatementError
from jetsql.jobs.model.job import Analysis, Job, Plan, name_key
from jetsql.language import find_name
from jetsql.language.statement import Body


def check_overwrite_conflicts(plan: Plan, body: Body, live: Iterable[Job]) -> None:
    """Raise StatementError UNSUPPORTED_QUERY when the new plan and a live job are such a pair."""
    for job in live:
        if _overwrites(job.plan) and _reads(plan.analysis, job.plan.analysis.sink.table):
            table = job.plan.analysis.sink.table
            span = find_name(body.text, table.split("."))
            offset = body.place.start
            raise StatementError(
                "UNSUPPORTED_QUERY",
                f"The job {job.name} replaces the rows of {table} with each result, so they can't be read as a stream.",
                place=Span(span.start + offset, span.stop + offset) if span else body.place,
                hint="Read the stream that that job reads, or leave out STREAM in a batch job.",
            )
        if _overwrites(plan) and _reads(job.plan.analysis, plan.analysis.sink.table):
            raise StatementError(
                "UNSUPPORTED_QUERY",
                f"The job {job.name} reads {plan.analysis.sink.table} as a stream, so its rows can't be replaced.",
                place=body.target,
                hint="Use INSERT INTO, or write another table.",
            )


def _overwrites(plan: Plan) -> bool:
    return plan.overwrite and plan.analysis.streaming


def _reads(analysis: Analysis, table: str) -> bool:
    return any(name_key(source.name) == name_key(table) for source in analysis.sources)
