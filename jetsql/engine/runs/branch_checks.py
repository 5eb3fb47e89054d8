"""The checks of a body with several INSERTs: each branch must compute its rows from single rows of a stream."""

from __future__ import annotations

from typing import Any, Final

from jetsql.errors import Span, StatementError
from jetsql.language.statement import Body

_OWN_JOB: Final = "Write it into the FROM: FROM (SELECT ...) INSERT INTO ..., or create a job for this table."
_OPERATIONS: Final = {
    "Aggregate": ("An aggregate", _OWN_JOB),
    "Distinct": ("DISTINCT", _OWN_JOB),
    "Window": ("A window function", _OWN_JOB),
    "GlobalLimit": ("LIMIT", _OWN_JOB),
    "LocalLimit": ("LIMIT", _OWN_JOB),
    "InputFileName": ("input_file_name()", _OWN_JOB),
    "Sort": ("ORDER BY", "Remove it: the rows of a table have no order."),
}
"""The name of an operation and a hint, by the class of its node in Spark's plan."""


def check_branches(body: Body, facts: dict[str, Any]) -> None:
    """Raise StatementError UNSUPPORTED_QUERY for branches that need more than one row.

    facts: those of the `JobBody` of the Java module.
    """
    if not body.branches:
        return
    source = Span(body.place.start, body.branches[0].place.start)
    if not facts["streaming"]:
        hint = "Write FROM STREAM table, with OPTIONS ('trigger' = 'availableNow') for a job that ends."
        raise _refused("A job with several tables reads a stream, and this FROM reads none.", source, hint)
    for branch, found in zip(body.branches, facts["branches"], strict=True):
        if found["refused"] is not None:
            operation, hint = _OPERATIONS.get(found["refused"], (found["refused"], _OWN_JOB))
            message = f"{operation} is not possible after a FROM with several INSERTs: each row is computed on its own."
            raise _refused(message, branch.place, hint)
    if "unstorable" in facts:
        message = f"The FROM of a job with several tables has a column that cannot be stored: {facts['unstorable']}."
        raise _refused(message, source, "Convert it with CAST in the FROM.")


def _refused(message: str, place: Span, hint: str) -> StatementError:
    return StatementError("UNSUPPORTED_QUERY", message, place=place, hint=hint)
