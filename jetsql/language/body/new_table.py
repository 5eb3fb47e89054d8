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

from jetsql.errors import Span
from jetsql.language.body.insert import (
    refuse_parameters,
    refuse_second_insert,
    refuse_substitution,
    statement_tokens,
    unsupported_body,
)
from jetsql.language.foreign_words import refuse_foreign_words
from jetsql.language.statement import Body, NewTable, TableIdentifier, Verb
from jetsql.language.syntax_errors import shown
from jetsql.language.tokens import Kind, Token, blank, tokens, top_level, unquote

_EXAMPLE: Final = "Write CREATE TABLE table USING parquet AS SELECT ..."
_QUERIES: Final = frozenset({"SELECT", "WITH", "FROM", "TABLE", "VALUES"})
_WORDS: Final = {
    Verb.INSERT_INTO: ("INSERT", "INTO"),
    Verb.INSERT_OVERWRITE: ("INSERT", "OVERWRITE"),
    Verb.SINK_INTO: ("INSERT", "INTO"),
}


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
    refuse_foreign_words(found)
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
    if found[0].text == "(":
        message = "The columns of the table come from the query, so the statement cannot list them."
        raise unsupported_body(message, found[0].place, "Remove the list, and name the columns in SELECT with AS.")
    at = next((index for index in top_level(found) if found[index].word == "AS"), None)
    if at is None or at + 1 == len(found):
        end = found[-1].stop
        message = "The table needs a query: its columns and rows come from it."
        raise unsupported_body(message, Span(end, end), "Add AS SELECT ... FROM STREAM source.")
    query = found[at + 1]
    if query.word not in _QUERIES and query.text != "(":
        raise unsupported_body(f"Expected a query after AS, found {shown(query.text)}.", query.place, _EXAMPLE)
    return query.start


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
