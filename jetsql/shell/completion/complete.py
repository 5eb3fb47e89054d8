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

from jetsql.language import AtCursor, Expected, at_cursor, expected_at
from jetsql.language.intent import LEAD, is_ours
from jetsql.language.tokens import Kind, Token
from jetsql.shell.completion.candidates import Candidate, CandidateCollector, CandidateKind
from jetsql.shell.completion.complete_dot_commands import command_candidates
from jetsql.shell.completion.complete_jobs import add_slots, applicable_keywords
from jetsql.shell.completion.complete_sql import add_sql
from jetsql.shell.completion.known_names import Names
from jetsql.shell.session.entries import command_end

# The most relevant kinds first; functions last, because there are many.
_ORDER: Final = {
    CandidateKind[name]: rank
    for rank, name in enumerate(
        "JOB SNAPSHOT OPTION VALUE COMMAND FAVOURITE SETTING COLUMN CTE TABLE VIEW SCHEMA ALIAS KEYWORD CONF"
        " FUNCTION".split()
    )
}


_LEVELS_MOST: Final = 250
"""Deeper statements are refused, and to read their queries would take minutes."""


def complete(text: str, cursor: int, names: Names) -> tuple[Candidate, ...]:
    """Return the candidates at `cursor`, an offset of `text`, the most relevant first.

    There are none in comments and strings (except options and job ids), and none within a word.
    """
    line, at = entry_at(text, cursor)
    if line is not None:
        candidates = command_candidates(text[line.start : line.stop], cursor - line.start, names, complete)
        return tuple(replace(each, start=each.start + line.start) for each in candidates)
    return () if at.silent else _candidates(at, cursor, names)


@lru_cache(maxsize=4)  # the menu and the cache pass the same text
def entry_at(text: str, cursor: int) -> tuple[slice | None, AtCursor]:
    """Return the span of the command at the cursor, or None, and the context of the cursor."""
    at = at_cursor(text, cursor, command_end)
    if _levels(at.before) > _LEVELS_MOST:
        at = replace(at, silent=True)
    return None if at.command is None else slice(at.command, command_end(text, at.command)), at


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
    if collector.quote not in ("'", '"') and (in_job or not (expected.slots or is_ours(at.before[:LEAD]))):
        add_sql(at, names, collector, in_job=in_job)
    return tuple(sorted(collector.candidates, key=lambda candidate: _ORDER[candidate.kind]))


def _add_jetsql(at: AtCursor, expected: Expected, names: Names, collector: CandidateCollector) -> None:
    """Add the names and keywords that JetSQL's grammar allows next."""
    add_slots(expected.slots, at.before, at.behind, names, collector)
    if at.half is None or at.half.kind is Kind.WORD:
        collector.add_keywords(applicable_keywords(expected.words, at.before, names))
