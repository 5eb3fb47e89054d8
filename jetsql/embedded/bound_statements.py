"""Bind the parameters of JetSQL's statements: their values become literals in the text, which a job is stored with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from jetsql.errors import StatementError
from jetsql.language import can_be_jetsql, parse
from jetsql.language.body.parameter_markers import bind_markers
from jetsql.language.statement import Statement

Values = Mapping[str, str] | Sequence[str]
"""The texts of literals, by name (`:name`) or by position (`?`)."""


def bound_statement(text: str, values: Callable[[], Values]) -> tuple[str, Statement | None]:
    """Return a JetSQL statement with values in place of its markers, and its text; None for a statement of Spark.

    Raises StatementError, with its place in the text without values.
    """
    if not can_be_jetsql(text):
        return text, None
    bound = bind_markers(text, values())
    try:
        return bound.text, parse(bound.text)
    except StatementError as error:
        if error.place is not None:
            error.place = bound.original(error.place)
        raise


def bind(text: str, values: Values) -> str | None:
    """Return a JetSQL statement with values in place of its markers; None for a statement of Spark."""
    bound, statement = bound_statement(text, lambda: values)
    return None if statement is None else bound
