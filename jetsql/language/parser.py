"""Parse the text of one statement.

The first few tokens decide whether a statement is JetSQL's; the rest of Spark's own statements is not scanned. A block
(`BEGIN ... END`) is the exception: it is scanned for statements about jobs, which it may not contain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from jetsql.errors import Span, StatementError
from jetsql.language.blocks import BlockScanner, opens_block
from jetsql.language.statement import Statement
from jetsql.language.statement_owner import (
    begins_with_clause,
    creates_function,
    is_jetsql,
    is_python_function,
    lead_of,
    lone_verb,
)
from jetsql.language.tokens import Kind, Token, tokens


def parse(text: str) -> Statement | None:
    """Return the JetSQL statement in `text`, or None if the statement is Spark's.

    text: one statement, with or without comments and closing semicolons.
    Raises only StatementError, with the span of the wrong token: PARSE_SYNTAX_ERROR, INVALID_NAME, UNSUPPORTED_BODY,
    PARAMETER_IN_BODY or JOB_IN_BLOCK.
    """
    rest = tokens(text)
    lead = lead_of(rest)
    if opens_block(lead):
        _refuse_jobs_inside(text)
        return None
    if creates_function(lead):
        return _statement(text) if is_python_function([*lead, *rest]) else None
    _refuse_lone_verb(lead, rest)
    return _statement(text) if is_jetsql(lead) else None


def _refuse_lone_verb(lead: Sequence[Token], rest: Iterable[Token]) -> None:
    """Raise the error of a job's verb outside of CREATE JOB; `rest` (after the lead) is read only after WITH."""
    verb = lone_verb([*lead, *rest] if begins_with_clause(lead) else lead)
    if verb is None:
        return
    written, once = ("AUTO CDC", "") if verb.word == "AUTO" else ("SINK INTO", ", or INSERT INTO ... to write once")
    raise StatementError(
        "PARSE_SYNTAX_ERROR",
        f"{written} is allowed only in CREATE JOB.",
        place=verb.place,
        hint=f"Write CREATE JOB name AS {written} ... for a job{once}.",
    )


def _statement(text: str) -> Statement:
    from lark import UnexpectedToken

    from jetsql.language.builder import build
    from jetsql.language.grammar import parser
    from jetsql.language.syntax_errors import syntax_error

    try:
        tree = parser().parse(text)
    except UnexpectedToken as error:
        raise syntax_error(text, error) from None
    return build(text, tree)


def terminals(text: str) -> list[tuple[str, Span]]:
    """Return the terminals of one of JetSQL's statements and their places; a keyword has its own name.

    text: a statement for which `parse` returns one. A terminal can have several tokens, such as BODY.
    """
    from jetsql.language.body.named_tokens import token_place
    from jetsql.language.grammar import parser

    leaves = parser().parse(text).scan_values(lambda _: True)
    return [(leaf.type, token_place(leaf)) for leaf in leaves]


def _refuse_jobs_inside(text: str) -> None:
    blocks, found = BlockScanner(), list(tokens(text))
    for index, token in enumerate(found):
        if not blocks.take(token) or token.kind is not Kind.WORD:
            continue
        if index + 1 < len(found) and found[index + 1].text == ":":
            continue  # a label
        lead = lead_of(found[at] for at in range(index, len(found)))
        _refuse_lone_verb(lead, islice(found, index + len(lead), None))
        if is_jetsql(lead):
            raise StatementError(
                "JOB_IN_BLOCK",
                f"{token.word} of a job or snapshot cannot be in a BEGIN ... END block.",
                place=token.place,
                hint="Write the statement outside the block.",
            )
