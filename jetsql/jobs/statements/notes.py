"""Notes on a job that CREATE JOB and EXPLAIN show: what the query does that a user may not expect of it."""

from __future__ import annotations

from collections.abc import Iterator

from jetsql.jobs.model.job import Plan
from jetsql.language import find_name
from jetsql.language.statement import Body


def describe_notes(body: Body, plan: Plan) -> Iterator[str]:
    """Return the notes as sentences."""
    yield from _single_read(body, plan)
    yield from (rewrite.caution for rewrite in plan.analysis.rewrites if rewrite.caution)
    if plan.analysis.kept_state:
        yield f"State that nothing removes: {'; '.join(dict.fromkeys(plan.analysis.kept_state))}."


def _single_read(body: Body, plan: Plan) -> Iterator[str]:
    """Return that a batch job does not read the rows that its tables get later.

    A user who comes from another system forgets STREAM, and the job would end without a word about it.
    """
    names = [_name_in(body, table) for table in plan.analysis.tables_read_once]
    if not names:
        return
    pronoun, table = ("it is", names[0]) if len(names) == 1 else ("they are", "before the name of a table")
    reads = f"The job reads {' and '.join(names)} as {pronoun} now, and ends"
    yield f"{reads}: write STREAM {table} to read new rows as they arrive."


def _name_in(body: Body, table: str) -> str:
    """Return the name of a table as the body has it; the qualified name if it is not found, as for a view's table."""
    span = find_name(body.text, table.split("."))
    return table if span is None else body.text[span.start : span.stop]
