"""Read CREATE TABLE ... AS in a job, and make the texts that Spark analyses and runs.

The job creates the table and then runs an INSERT into it, so Spark gets two texts: the CREATE TABLE for analysis and
creation, and the INSERT for every run. As in `insert`, everything before is blank, and every other word keeps its
position: the two words of CREATE TABLE or INSERT INTO are written into the blanks before the table's name. If all words
of the statement are on lines of their own, OVERWRITE does not fit there; the positions after it are wrong then.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.language.body.insert import (
    refuse_parameters,
    refuse_second_insert,
    refuse_substitution,
    statement_tokens,
    unsupported_body,
)
from jetsql.language.body.misplaced_clauses import refuse_misplaced_in_body
from jetsql.language.statement import Body, NewTable, TableIdentifier, Verb
from jetsql.language.statement_head import QUERY_WORDS
from jetsql.language.syntax_errors import shown
from jetsql.language.tokens import Kind, Token, blank, tokens, top_level, unquote

_EXAMPLE: Final = "Write CREATE TABLE table USING parquet AS SELECT ..."
_WORDS: Final = {
    Verb.INSERT_INTO: ("INSERT", "INTO"),
    Verb.INSERT_OVERWRITE: ("INSERT", "OVERWRITE"),
    Verb.SINK_INTO: ("INSERT", "INTO"),
}
_FOREIGN_CLAUSES: Final = {
    "WITH": (
        "A new table has no clause WITH.",
        "Write OPTIONS ('key' = 'value') for the table, and JOB OPTIONS ('option' = 'value') before it for the job.",
    ),
    "SCHEDULE": ("JetSQL has no clause SCHEDULE.", "Run REFRESH MATERIALIZED VIEW name when the rows are needed."),
}
"""Clauses of other systems, with a message and a hint."""


@dataclass(frozen=True)
class TableStart:
    """The beginning of a statement that creates a table."""

    create: int  # the offset of CREATE
    name: TableIdentifier
    if_not_exists: bool
    clauses: int  # the offset of the clauses after the name


def is_new_table(text: str, start: int) -> bool:
    """Return whether the body at the offset `start` creates its table."""
    lead = list(islice(tokens(text, start), 2))
    return len(lead) == 2 and lead[0].word == "CREATE" and lead[1].word == "TABLE"


def read_table_body(text: str, start: int) -> tuple[Body, NewTable]:
    """Return the body and the table of a job whose body begins with CREATE TABLE at the offset `start`.

    Raises StatementError as `read_body`.
    """
    found = statement_tokens(text, start)
    if_not_exists = [token.word for token in found[2:5]] == ["IF", "NOT", "EXISTS"]
    first = 5 if if_not_exists else 2
    if first >= len(found) or found[first].kind not in (Kind.WORD, Kind.QUOTED):
        place = found[first].place if first < len(found) else Span(found[-1].stop, found[-1].stop)
        raise unsupported_body("Expected a table's name after CREATE TABLE.", place, _EXAMPLE)
    last = first
    while last + 2 < len(found) and found[last + 1].text == "." and found[last + 2].kind in (Kind.WORD, Kind.QUOTED):
        last += 2
    parts = tuple(unquote(part.text) if part.kind is Kind.QUOTED else part.text for part in found[first : last + 1 : 2])
    name = TableIdentifier(parts, Span(found[first].start, found[last].stop))
    clauses = found[last + 1].start if last + 1 < len(found) else found[-1].stop
    return read_new_table(text, TableStart(start, name, if_not_exists, clauses))


def read_new_table(text: str, start: TableStart) -> tuple[Body, NewTable]:
    """Return the body and the table of a statement that creates a table. Raises StatementError as `read_body`.

    The `spark_text` of the body is the CREATE TABLE, those of the table's `inserts` are the INSERTs.
    """
    found = statement_tokens(text, start.clauses)
    query = _query_start(found, start)
    refuse_second_insert(found, [index for index in top_level(found) if found[index].start > query])
    refuse_misplaced_in_body(found)
    _refuse_wrong_order(found, query)
    refuse_parameters(found)
    stop = found[-1].stop
    refuse_substitution(text, start.create, stop)
    place = Span(start.create, stop)

    def body(verb: Verb, spark_text: str) -> Body:
        return Body(verb, text[start.create : stop], place, spark_text, start.name.place)

    name = start.name.place
    between = blank(text[name.stop : start.clauses])
    creation = _head(text, start, ("CREATE", "TABLE")) + between + text[start.clauses : stop]
    clauses = blank(text[start.clauses : query])
    # In the table, partition columns come last, so the query's columns are matched by their names.
    by_name = _fit(clauses, ("BY", "NAME")) if _is_partitioned(found) else None
    after_name = between + (by_name or clauses) + text[query:stop]
    inserts = tuple(body(verb, _head(text, start, words) + after_name) for verb, words in _WORDS.items())
    definition = Span(start.clauses, query)
    return body(Verb.INSERT_INTO, creation), NewTable(
        start.name, start.if_not_exists, inserts, text[start.clauses : stop], definition
    )


def _query_start(found: Sequence[Token], start: TableStart) -> int:
    """Return the offset of the query. found: the tokens after the table's name. Raises StatementError."""
    if not found:
        raise unsupported_body(
            "The table needs a query: its columns and rows come from it.",
            Span(start.name.place.stop, start.name.place.stop),
            "Add AS SELECT ... FROM STREAM source.",
        )
    if [token.word for token in found[:3]] == ["IF", "NOT", "EXISTS"]:
        raise _misplaced(found[0], "IF NOT EXISTS is written after the name.", "It comes before the name.")
    if found[0].text == "(":
        message = "The columns of the table come from the query, so the statement cannot list them."
        raise unsupported_body(message, found[0].place, "Remove the list, and name the columns in SELECT with AS.")
    at = next((index for index in top_level(found) if found[index].word == "AS"), None)
    if at is None or at + 1 == len(found):
        end = found[-1].stop
        message = "The table needs a query: its columns and rows come from it."
        raise unsupported_body(message, Span(end, end), "Add AS SELECT ... FROM STREAM source.")
    query = found[at + 1]
    if query.word not in QUERY_WORDS and query.text != "(":
        raise unsupported_body(f"Expected a query after AS, found {shown(query.text)}.", query.place, _EXAMPLE)
    return query.start


def _refuse_wrong_order(found: Sequence[Token], query: int) -> None:
    """Refuse clauses of the table after the query, and USING after other clauses. query: the offset of the query

    Spark has one order for USING, and any for the other clauses. Raises StatementError PARSE_SYNTAX_ERROR.
    """
    before = ""
    for index in top_level(found):
        clause = _table_clause(found, index)
        in_query = found[index].start >= query
        if clause and in_query:
            raise _misplaced(found[index], f"{clause} is written after the query.", f"Write {clause} before AS.")
        if clause == "USING" and before and not in_query:
            hint = "Write USING format first, after the name of the table and JOB OPTIONS."
            raise _misplaced(found[index], f"USING is written after {before}.", hint)
        if not in_query and found[index].word in _FOREIGN_CLAUSES:
            raise _misplaced(found[index], *_FOREIGN_CLAUSES[found[index].word])
        before = before or clause


def _table_clause(found: Sequence[Token], index: int) -> str:
    """Return the clause of a table that begins at the index, where a query cannot continue so; otherwise ''."""
    following = found[index + 1] if index + 1 < len(found) else found[index]
    match found[index].word:
        case "USING" if following.kind is Kind.WORD or following.kind is Kind.QUOTED:
            return "USING"
        case "PARTITIONED" | "CLUSTERED" if following.word == "BY":
            return f"{found[index].word} BY"
        case "LOCATION" | "COMMENT" if following.kind is Kind.STRING:
            return found[index].word
        case "TBLPROPERTIES" | "OPTIONS" as word if _opens_options(found, index):
            return word
    return ""


def _opens_options(found: Sequence[Token], index: int) -> bool:
    signs = [token.text for token in found[index + 1 : index + 4]]
    return len(signs) == 3 and signs[0] == "(" and signs[2] == "=" and found[index + 2].kind is Kind.STRING


def _misplaced(token: Token, message: str, hint: str) -> StatementError:
    return StatementError("PARSE_SYNTAX_ERROR", message, place=token.place, hint=hint)


def _is_partitioned(found: Sequence[Token]) -> bool:
    clauses = [found[index].word for index in top_level(found)]
    return "PARTITIONED" in clauses[: clauses.index("AS")]


def _head(text: str, start: TableStart, words: tuple[str, str]) -> str:
    """Return the blank text up to the table's name, with two words in it, and the name."""
    name = start.name.place
    before, room = blank(text[: start.create]), blank(text[start.create : name.start])
    fitted = _fit(room, words)
    if fitted is None:
        fitted = " ".join(words) + " "
        before = before[max(len(fitted) - len(room), 0) :]
    return before + fitted + text[name.start : name.stop]


def _fit(room: str, words: tuple[str, str]) -> str | None:
    """Return the blanks with the words in them; None if a line is too short for a word."""
    at = 0
    for word in words:
        free = re.compile(rf"[^\r\n]{{{len(word)}}}(?=\s)").search(room, at)
        if free is None:
            return None
        room = room[: free.start()] + word + room[free.end() :]
        at = free.end() + 1
    return room
