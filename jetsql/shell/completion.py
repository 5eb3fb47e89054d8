"""What can stand at the cursor: one pure function of the text, the cursor and the names that are known.

Only the statement at the cursor counts. Its beginning says whose it is: JetSQL's own grammar tells what it takes next;
a job's body and everything else is read as Spark's SQL. Wrong and half-written texts are what it is for, so it never
raises; where nothing fits it offers nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from jetsql.language import AtCursor, Expected, at_cursor, expected_at
from jetsql.language.intent import LEAD, is_ours
from jetsql.language.tokens import Kind
from jetsql.shell.candidates import Candidate, Offers, Sort
from jetsql.shell.completion_commands import Command, command_candidates, is_command
from jetsql.shell.completion_jobs import offer_slots, words_for
from jetsql.shell.completion_sql import offer_sql
from jetsql.shell.names import Names

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


def complete(text: str, cursor: int, names: Names, commands: Sequence[Command] = ()) -> tuple[Candidate, ...]:
    """What could stand at `cursor`, an offset of `text`; the likeliest first.

    Nothing in comments and strings (but for options and ids of jobs), nor within a word.
    """
    if is_command(text):
        return command_candidates(text, cursor, names, commands, complete)
    at = at_cursor(text, cursor)
    if at.silent:
        return ()
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
