"""Conflicts between a job that replaces the rows of a table and the other jobs that use the table.

- A stream reads files that are added. A job with INSERT OVERWRITE replaces them, so a stream from its table would lose
  rows or read them again. Only the change data feed of a Delta table has the replaced rows, as changes.
- The rows of another job that writes the table would be lost with the next result, and that job would find that its
  table was replaced.

A message does not name a job, or a table of it, on which the caller has no right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain

from jetsql.errors import Span, StatementError
from jetsql.jobs.model.body_analysis import Analysis, Sink
from jetsql.jobs.model.job import Job, Plan, name_key
from jetsql.jobs.model.table_names import split_table
from jetsql.jobs.planning.sink_traits import traits_of
from jetsql.language import find_name
from jetsql.language.statement import Body
from jetsql.language.tokens import quoted_name

Sees = Callable[[Job], bool]
"""Returns whether the caller has a right on a job."""


def check_overwrite_conflicts(plan: Plan, body: Body | None, others: Iterable[Job], sees: Sees) -> None:
    """Raise StatementError UNSUPPORTED_QUERY or TABLE_IN_USE when a plan conflicts with another job.

    body: that of the statement, for the place of an error; None for a job that exists.
    """
    for job in others:
        _check_reader(plan, body, job, sees)
        _check_writer(plan, body, job, sees)


def _check_reader(plan: Plan, body: Body | None, job: Job, sees: Sees) -> None:
    if _streams_results(job.plan) and _reads(plan.analysis, job.plan.analysis.sink.table):
        table = job.plan.analysis.sink.table
        has_feed = traits_of(job.plan.analysis.sink).has_change_feed
        feed = "Read its change data feed WITH ('readChangeFeed' = 'true'). " if has_feed else ""
        sources = f"Read the sources of {job.name} instead, or create" if sees(job) else "Create"
        raise StatementError(
            "UNSUPPORTED_QUERY",
            f"Cannot read {table} as a stream: {describe_job(job, sees)} replaces its rows with each result.",
            place=None if body is None else _place_of(body, table),
            hint=f"{feed}{sources} a batch job without STREAM.",
        )
    if _streams_results(plan) and _reads(job.plan.analysis, plan.analysis.sink.table):
        raise StatementError(
            "UNSUPPORTED_QUERY",
            f"Cannot replace the rows of {plan.analysis.sink.table}: {describe_job(job, sees)} reads it as a stream.",
            place=None if body is None else body.target,
            hint="Use INSERT INTO, or write to another table.",
        )


def _check_writer(plan: Plan, body: Body | None, job: Job, sees: Sees) -> None:
    if not (_replaces_table(plan) or _replaces_table(job.plan)):
        return
    for number, sink in enumerate(plan.analysis.sinks):
        table = _find_same(job.plan, sink)
        if table is None:
            continue
        named = f"{table}, which" if sees(job) else "another table that"
        shown = "the table" if name_key(table) == name_key(sink.table) else f"{named} has the same rows,"
        writer = describe_job(job, sees)
        if _replaces_table(job.plan):
            message = f"Cannot write to {sink.table}: {writer} replaces the rows of {shown} with each result."
        else:
            message = f"Cannot replace the rows of {sink.table}: {writer} writes {shown} as well."
        targets = [] if body is None else [branch.target for branch in body.branches] or [body.target]
        other = f"run DROP JOB {quoted_name(job.name)} first" if sees(job) else "ask an admin about the job"
        raise StatementError(
            "TABLE_IN_USE",
            message,
            place=targets[number] if targets else None,
            hint=f"Write to another table, or {other}.",
        )


def describe_job(job: Job, sees: Sees) -> str:
    """Return the job as a message names it to the caller."""
    return f"the job {job.name}" if sees(job) else "a job of another user"


def _find_same(plan: Plan, sink: Sink) -> str | None:
    """Return the table that a plan writes and that has the same rows as a sink, or None."""
    written = (each.table for each in plan.analysis.sinks if _is_same(each, sink))
    tables = (plan.late_rows_table, plan.refused_rows_table, *(rule.table for rule in plan.analysis.expectations))
    side = (table for table in tables if name_key(table) == name_key(sink.table))
    return next(chain(written, side), None)


def _is_same(sink: Sink, other: Sink) -> bool:
    """Return whether two sinks have the same rows: one table of the catalogue, or two for the same files or system."""
    if name_key(sink.table) == name_key(other.table):
        return True
    if sink.kind is not other.kind:
        return False
    return sink.system == other.system if sink.system else sink.location == other.location


def _place_of(body: Body, table: str) -> Span:
    """Return the place of a table's name in the query, or the place of the body."""
    span, offset = find_name(body.text, split_table(table)), body.place.start
    return body.place if span is None else Span(span.start + offset, span.stop + offset)


def _replaces_table(plan: Plan) -> bool:
    """Return whether each result replaces all rows of the table, and not only those of some partitions."""
    return plan.overwrite and plan.analysis.sink.replaces_whole_table


def _streams_results(plan: Plan) -> bool:
    return plan.overwrite and plan.analysis.streaming


def _reads(analysis: Analysis, table: str) -> bool:
    return any(name_key(each.name) == name_key(table) for each in analysis.sources if not each.reads_changes)
