"""Find the words that can follow the beginning of a statement, for the completion of a shell.

They come from the parser of the grammar, so they always agree with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jetsql.language.grammar import BODY, END, MARKS, NAMES, SLOTS, STRINGS, TABLE_CLAUSES, TEST_QUERY, Slot, ahead_of
from jetsql.language.statement_head import QUERY_WORDS
from jetsql.language.tokens import Kind, Token, tokens

_BODY_WORDS: Final = ("INSERT INTO", "INSERT OVERWRITE", "SINK INTO", "AUTO CDC INTO", "CREATE TABLE", "WITH")
_TABLE_WORDS: Final = ("USING", "PARTITIONED BY", "OPTIONS", "TBLPROPERTIES", "LOCATION", "COMMENT", "AS SELECT")


@dataclass(frozen=True)
class Expected:
    """The continuations that the grammar accepts at the end of a text."""

    words: tuple[str, ...] = ()  # keywords, sorted; only those that complete the word at the cursor, if there is one
    slots: tuple[Slot, ...] = ()  # values that the user fills in, such as a job's name
    marks: tuple[str, ...] = ()  # signs such as `(`
    start: int = 0  # the offset from which a completion replaces the text
    ends: bool = False  # the statement is complete
    body: int | None = None  # the index of the first token of the job's body (Spark's SQL), or None without a body


def completions(prefix: str) -> Expected:
    """Return what can follow `prefix`, the beginning of one statement.

    The result is empty for a statement that is not JetSQL's, and in the body of a job.
    """
    found = list(tokens(prefix))
    half = found[-1] if found and found[-1].stop == len(prefix) else None
    if half is not None and half.kind in (Kind.WORD, Kind.OPEN):
        found.pop()
    else:
        half = None
    return expected_at(found, half, len(prefix))


def expected_at(found: Sequence[Token], half: Token | None, cursor: int) -> Expected:
    """Return what can follow these tokens; see `completions`.

    half: the incomplete word or open quote at the cursor, which `found` does not contain.
    """
    start = half.start if half else cursor
    if half and half.text.startswith("/*"):
        return Expected(start=start)
    ahead = ahead_of(found)
    expected = ahead.terminals
    if half and half.kind is not Kind.WORD:
        wanted = NAMES if half.text.startswith("`") else STRINGS if half.kind is Kind.OPEN else frozenset()
        return Expected(slots=_slots(expected & wanted), start=start, body=ahead.body)
    words = [name for name in expected if name not in SLOTS and name not in MARKS and name != END]
    words += _BODY_WORDS if BODY in expected else ()
    words += _TABLE_WORDS if TABLE_CLAUSES in expected else ()
    words += QUERY_WORDS if TEST_QUERY in expected else ()
    return Expected(
        words=tuple(sorted(word for word in words if word.startswith(half.word if half else ""))),
        slots=_slots(expected),
        marks=() if half else tuple(mark for name, mark in MARKS.items() if name in expected and name != "SEMICOLON"),
        start=start,
        ends=half is None and END in expected,
        body=ahead.body,
    )


def _slots(terminals: frozenset[str]) -> tuple[Slot, ...]:
    return tuple(slot for name, slot in SLOTS.items() if name in terminals)
