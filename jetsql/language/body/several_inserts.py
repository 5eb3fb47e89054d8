"""Read the body of a job with several sinks: FROM source INSERT INTO a SELECT ... INSERT INTO b SELECT ...

Spark's parser knows this form, but its analyzer would read the source once for each INSERT. So Spark receives the
parts: the source as a query of its own, and each branch with a short name in place of the source. A part keeps its
offset, because everything before it is blank, so positions in Spark's errors are positions in the user's statement. The
words that Spark needs before a branch are written into the blanks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from jetsql.errors import Span
from jetsql.language.body.insert import (
    is_insert,
    read_insert,
    read_table,
    read_verb,
    refuse_parameters,
    refuse_second_job,
    refuse_substitution,
    statement_tokens,
    unsupported_body,
)
from jetsql.language.body.misplaced_clauses import refuse_misplaced_in_body
from jetsql.language.body.relation_clauses import refuse_wrong_target
from jetsql.language.statement import Body, Branch, Verb
from jetsql.language.tokens import Token, blank, top_level

SOURCE_NAME: Final = "x"
"""The name that stands for the source in the text of a branch."""

_BEFORE_INTO: Final = ("FROM", SOURCE_NAME, "INSERT")


def read_body(text: str, start: int) -> Body:
    """Return the body that begins at the offset `start` of the statement `text`.

    Raises StatementError UNSUPPORTED_BODY, PARAMETER_IN_BODY or PARSE_SYNTAX_ERROR with the span of the wrong token.
    """
    found = statement_tokens(text, start)
    inserts = [index for index in top_level(found) if is_insert(found, index)]
    refuse_second_job(found, inserts[1:])
    if found[0].word == "FROM" and len(inserts) > 1:
        return _read_branches(text, start, found, inserts)
    if found[0].word == "WITH" and len(inserts) > 1:
        _refuse_with(found, inserts[0])
    return read_insert(text, start, found)


def source_text(body: Body) -> str:
    """Return the query of the source for Spark's parser."""
    return f"{body.spark_text[: body.branches[0].place.start]} SELECT *"


def branch_text(body: Body, branch: Branch) -> str:
    """Return the INSERT of a branch for Spark's parser; it reads from the name `SOURCE_NAME`."""
    return _words_before(body.spark_text[: branch.into]) + body.spark_text[branch.into : branch.place.stop]


def _refuse_with(found: Sequence[Token], insert: int) -> None:
    """Refuse a WITH before the FROM of several branches."""
    before = [index for index in top_level(found) if index < insert and found[index].word == "FROM"]
    if before:
        hint = "Write it into the FROM: FROM (WITH name AS (...) SELECT ...) INSERT INTO ..."
        raise unsupported_body("WITH is not possible before a FROM with several INSERTs.", found[0].place, hint)


def _read_branches(text: str, start: int, found: Sequence[Token], inserts: Sequence[int]) -> Body:
    stops = [*inserts[1:], len(found)]
    branches = tuple(_read_branch(found, at, stop) for at, stop in zip(inserts, stops, strict=True))
    refuse_misplaced_in_body(found)
    refuse_parameters(found)
    stop = found[-1].stop
    refuse_substitution(text, start, stop)
    only_sinks = all(branch.verb is Verb.SINK_INTO for branch in branches)
    return Body(
        verb=Verb.SINK_INTO if only_sinks else Verb.INSERT_INTO,
        text=text[start:stop],
        place=Span(start, stop),
        spark_text=blank(text[:start]) + text[start:stop],
        target=branches[0].target,
        branches=branches,
    )


def _read_branch(found: Sequence[Token], at: int, stop: int) -> Branch:
    """Return the branch whose INSERT or SINK is at the index `at`. stop: the index after its last token."""
    verb, table = read_verb(found, at)
    if verb is Verb.INSERT_OVERWRITE:
        raise unsupported_body(
            "INSERT OVERWRITE is not possible in a job with several tables.",
            Span(found[at].start, found[at + 1].stop),
            "Write INSERT INTO, or create a job with INSERT OVERWRITE for this table alone.",
        )
    last = read_table(found, table)
    refuse_wrong_target(found[:stop], last + 1)
    for index in top_level(found):
        if last < index < stop:
            _refuse_clause(found, index)
    return Branch(
        verb=verb,
        place=Span(found[at].start, found[stop - 1].stop),
        target=Span(found[table].start, found[last].stop),
        into=found[at + 1].start,
    )


def _refuse_clause(found: Sequence[Token], index: int) -> None:
    word, following = found[index].word, found[index + 1].word if index + 1 < len(found) else ""
    if word == "REPLACE" and following in ("WHERE", "USING", "ON"):
        hint = "Create a job with INSERT OVERWRITE for this table alone."
        raise unsupported_body(f"INSERT INTO ... REPLACE {following} is not supported.", found[index].place, hint)
    if word == "FROM" and found[index - 1].word != "DISTINCT":
        message = "An INSERT after a FROM has no FROM of its own: all of them read the same rows."
        raise unsupported_body(message, found[index].place, "Join the tables in the FROM before the first INSERT.")
    if word == "AUTO" and following == "CDC":
        message = "AUTO CDC is not possible in a job with several tables."
        raise unsupported_body(message, found[index].place, "Create a job with AUTO CDC for this table alone.")


def _words_before(before: str) -> str:
    """Return blanks of the same length and lines with the words before INTO.

    A text with almost every word on a line of its own has no room; it gets longer at its beginning, which keeps lines.
    """
    text, end = blank(before), len(before)
    for count in range(len(_BEFORE_INTO), 0, -1):
        word = _BEFORE_INTO[count - 1]
        room = re.compile(rf"[^\r\n]{{{len(word)}}}(?=\s)")
        at = next((offset for offset in range(end - len(word) - 1, -1, -1) if room.match(text, offset)), None)
        if at is None:
            return f"{' '.join(_BEFORE_INTO[:count])} {text}"
        text, end = text[:at] + word + text[at + len(word) :], at
    return text
