"""What can stand at the cursor: one pure function of the text, the cursor and the names that are known.

Only the statement at the cursor counts. Its beginning says whose it is: JetSQL's own grammar tells what it takes next;
a job's body and everything else is read as Spark's SQL. Wrong and half-written texts are what it is for, so it never
raises; where nothing fits it offers nothing.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

from jetsql.language import AtCursor, Expected, at_cursor, expected_at
from jetsql.language.intent import LEAD, is_ours
from jetsql.language.tokens import Kind
from jetsql.shell.completion.candidates import Candidate, Offers, Sort
from jetsql.shell.completion.complete_dot_commands import command_candidates
from jetsql.shell.completion.complete_jobs import offer_slots, words_for
from jetsql.shell.completion.complete_sql import offer_sql
from jetsql.shell.completion.known_names import Names
from jetsql.shell.session.entries import command_end

# Relevant things first; functions are many.
_ORDER: Final = {
    sort: rank
    for rank, sort in enumerate(
        (
            Sort.JOB, Sort.SNAPSHOT, Sort.OPTION, Sort.VALUE, Sort.COMMAND, Sort.FAVOURITE, Sort.SETTING, Sort.COLUMN,
            Sort.CTE, Sort.TABLE, Sort.VIEW, Sort.SCHEMA, Sort.ALIAS, Sort.KEYWORD, Sort.CONF, Sort.FUNCTION,
        )
    )
}  # fmt: skip


def complete(text: str, cursor: int, names: Names) -> tuple[Candidate, ...]:
    """What could stand at `cursor`, an offset of `text`; the likeliest first.

    Nothing in comments and strings (but for options and ids of jobs), nor within a word.
    """
    line, at = entry_at(text, cursor)
    if line is not None:
        found = command_candidates(text[line.start : line.stop], cursor - line.start, names, complete)
        return tuple(replace(each, start=each.start + line.start) for each in found)
    return () if at.silent else _candidates(at, cursor, names)


@lru_cache(maxsize=4)  # who makes the menu and who looks for names ask for the same
def entry_at(text: str, cursor: int) -> tuple[slice | None, AtCursor]:
    """Where the command is that the cursor stands in, None for none; and what stands at the cursor."""
    at = at_cursor(text, cursor, command_end)
    return None if at.command is None else slice(at.command, command_end(text, at.command)), at


def _candidates(at: AtCursor, cursor: int, names: Names) -> tuple[Candidate, ...]:
    offers = Offers(at, lower=bool(at.before) and at.before[0].text.islower())
    expected = expected_at(at.before, at.half, cursor)
    if expected.body is not None:
        at = replace(at, before=at.before[expected.body :])
    else:
        _offer_ours(at, expected, names, offers)
    in_job = expected.body is not None
    if offers.quote not in ("'", '"') and (in_job or not (expected.slots or is_ours(at.before[:LEAD]))):
        offer_sql(at, names, offers, in_job=in_job)
    return tuple(sorted(offers.candidates, key=lambda candidate: _ORDER[candidate.sort]))


def _offer_ours(at: AtCursor, expected: Expected, names: Names, offers: Offers) -> None:
    """What the grammar of JetSQL takes next."""
    offer_slots(expected.slots, at.before, at.behind, names, offers)
    if at.half is None or at.half.kind is Kind.WORD:
        offers.words(words_for(expected.words, at.before, names))
