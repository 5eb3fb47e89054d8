"""Complete the text at the cursor: a pure function of text, cursor and known names.

Only the statement at the cursor counts. JetSQL's grammar completes JetSQL statements up to a job's body; the body and
all other statements are read as Spark's SQL. Unfinished and wrong texts are the normal case, so completion never
raises; it returns nothing if nothing fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from jetsql.completion.candidates import Candidate, CandidateCollector, CandidateKind
from jetsql.completion.complete_jobs import add_slots, applicable_keywords
from jetsql.completion.complete_sql import add_sql
from jetsql.completion.complete_tables import add_kafka_options
from jetsql.completion.known_names import Names
from jetsql.completion.statement_at_cursor import AtCursor, CommandEnd, at_cursor, no_command
from jetsql.language import Expected, Slot, expected_at
from jetsql.language.statement_owner import is_jetsql, lead_of
from jetsql.language.tokens import Kind, Token

# The most relevant kinds first; functions last, because there are many.
_ORDER: Final = {
    CandidateKind[name]: rank
    for rank, name in enumerate(
        "JOB SNAPSHOT ALERT OPTION VALUE COLUMN CTE TABLE VIEW SCHEMA ALIAS KEYWORD CONF FUNCTION".split()
    )
}


_LEVELS_MOST: Final = 250
"""Deeper statements are refused, and to read their queries would take minutes."""


def complete(text: str, cursor: int, names: Names) -> tuple[Candidate, ...]:
    """Return the candidates at `cursor`, an offset of `text`, the most relevant first.

    There are none in comments and strings (except options and job ids), and none within a word.
    """
    return complete_at(read_cursor(text, cursor), cursor, names)


@lru_cache(maxsize=4)  # the menu and the cache pass the same text
def read_cursor(text: str, cursor: int, command_end: CommandEnd = no_command) -> AtCursor:
    """Return the tokens around the cursor, see `at_cursor`; silent in a statement that is too deep."""
    at = at_cursor(text, cursor, command_end)
    return replace(at, silent=True) if _levels(at.before) > _LEVELS_MOST else at


def complete_at(at: AtCursor, cursor: int, names: Names) -> tuple[Candidate, ...]:
    """Return the candidates at a cursor whose statement was read, see `complete`."""
    return () if at.silent else _candidates(at, cursor, names)


def is_only_jetsql(at: AtCursor, expected: Expected) -> bool:
    """Return whether only JetSQL can continue the statement. ALTER TABLE is Spark's, too, until OWNER follows."""
    return is_jetsql(lead_of(at.before)) or any(slot is not Slot.TABLE_NAME for slot in expected.slots)


def _levels(before: Sequence[Token]) -> int:
    """Return the number of parentheses that are open at the cursor."""
    levels = 0
    for token in before:
        levels = max(levels + (token.text == "(") - (token.text == ")"), 0)
    return levels


def _candidates(at: AtCursor, cursor: int, names: Names) -> tuple[Candidate, ...]:
    collector = CandidateCollector(at, lower=bool(at.before) and at.before[0].text.islower())
    expected = expected_at(at.before, at.half, cursor)
    if expected.body is not None:
        at = replace(at, before=at.before[expected.body :])
    else:
        _add_jetsql(at, expected, names, collector)
    in_job = expected.body is not None
    if add_kafka_options(at, collector):
        return collector.candidates
    if collector.quote not in ("'", '"') and (in_job or not is_only_jetsql(at, expected)):
        add_sql(at, names, collector, in_job=in_job)
    return tuple(sorted(collector.candidates, key=lambda candidate: _ORDER[candidate.kind]))


def _add_jetsql(at: AtCursor, expected: Expected, names: Names, collector: CandidateCollector) -> None:
    """Add the names and keywords that JetSQL's grammar allows next."""
    add_slots(expected.slots, at.before, at.behind, names, collector)
    if at.half is None or at.half.kind is Kind.WORD:
        collector.add_keywords(applicable_keywords(expected.words, at.before, names))
