"""What can come next, for a shell's completion: straight from the grammar's parser, so it never lags behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from jetsql.language.grammar import BODY, END, MARKS, NAMES, SLOTS, STRINGS, Slot, ahead_of
from jetsql.language.tokens import Kind, Token, tokens

_BODY_WORDS: Final = ("INSERT INTO", "INSERT OVERWRITE", "SINK INTO", "WITH")


@dataclass(frozen=True)
class Expected:
    """What the grammar takes at the end of a text.

    words: keywords, sorted; only those that begin as the half-written word at the end does, if there is one.
    slots: what the user fills in (a job's name, an option's value). marks: signs such as `(`.
    start: the offset where the half-written word begins, else the text's length: a completion replaces from there.
    ends: whether the statement could end here. body: the index of the token at which a job's body begins, when the text
    reaches into it: from there on it is Spark's SQL.
    """

    words: tuple[str, ...] = ()
    slots: tuple[Slot, ...] = ()
    marks: tuple[str, ...] = ()
    start: int = 0
    ends: bool = False
    body: int | None = None


def completions(prefix: str) -> Expected:
    """What can follow `prefix`, the beginning of one statement; nothing where it isn't JetSQL's, or in a job's body."""
    found = list(tokens(prefix))
    half = found[-1] if found and found[-1].stop == len(prefix) else None
    if half is not None and half.kind in (Kind.WORD, Kind.OPEN):
        found.pop()
    else:
        half = None
    return expected_at(found, half, len(prefix))


def expected_at(found: Sequence[Token], half: Token | None, cursor: int) -> Expected:
    """As `completions`, of tokens. half: the word or open quote that is being written at the cursor, not among them."""
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
