"""Read what a statement begins with: its verb, and the kind and the name of the object after it.

The statement can be JetSQL's or Spark's. `statement_owner` decides whose it is; the parsers, whether it is valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple

from jetsql.language.tokens import Kind, Token, tokens, unquote

CONTROL_VERBS: Final = ("SUSPEND", "RESUME", "RESTART", "WAIT")
"""The verbs that only JetSQL has: they control jobs that exist."""
QUERY_WORDS: Final = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")
"""The first words of a query."""
EXPLAIN_MODES: Final = ("EXTENDED", "FORMATTED", "CODEGEN", "COST", "LOGICAL")
"""The words that can come between EXPLAIN and the statement."""
TABLES_WITH_JOB: Final = {"STREAMING": "TABLE", "MATERIALIZED": "VIEW"}
"""The kind of object after the first word of the tables with a job. Spark has these words only for its pipelines."""

_REPLACING: Final = ("REPLACE", "REFRESH")
_TEMPORARY: Final = ("TEMPORARY", "TEMP")
_ADJECTIVES: Final = (*_TEMPORARY, "GLOBAL", "EXTERNAL", *TABLES_WITH_JOB)
_KINDS: Final = {
    **{kind: kind for kind in ("TABLE", "VIEW", "FUNCTION", "SCHEMA", "JOB", "SNAPSHOT")},
    **{kind: kind for kind in ("USER", "ROLE", "SECRET", "CONNECTION", "ALERT")},
    **dict.fromkeys(("DATABASE", "NAMESPACE"), "SCHEMA"),
}
_GUARDS: Final = (("IF", "NOT", "EXISTS"), ("IF", "EXISTS"))
_HEAD: Final = 10  # CREATE OR REPLACE GLOBAL TEMPORARY VIEW IF NOT EXISTS, and the name begins


class StatementHead(NamedTuple):
    """The beginning of a statement."""

    verb: str  # the first word in capitals, or the first sign; empty for an empty text
    replaces: str  # REPLACE or REFRESH after CREATE OR; otherwise empty
    is_temporary: bool
    has_job: bool  # the object is a streaming table or a materialized view
    kind: str  # of the object: TABLE, VIEW, FUNCTION, SCHEMA, JOB, SNAPSHOT ...; empty for another one
    guard: str  # IF EXISTS or IF NOT EXISTS before the name; otherwise empty
    name_at: int  # the index of the first token of the name, if there is a kind


def read_head(found: Sequence[Token]) -> StatementHead:
    """Return the beginning of a statement. found: its tokens without comments, or the first ones."""
    verb = found[0].word or found[0].text if found else ""
    at = 1
    replaces = _word(found, 2) if _word(found, 1) == "OR" and _word(found, 2) in _REPLACING else ""
    if replaces:
        at = 3
    adjectives = set()
    while (word := _word(found, at)) in _ADJECTIVES:
        adjectives.add(word)
        at += 1
    kind = _KINDS.get(_word(found, at), "")
    at += bool(kind)
    guard = next((words for words in _GUARDS if words == tuple(_word(found, at + n) for n in range(len(words)))), ())
    return StatementHead(
        verb,
        replaces,
        is_temporary=not adjectives.isdisjoint(_TEMPORARY),
        has_job=any(word in adjectives and kind == follows for word, follows in TABLES_WITH_JOB.items()),
        kind=kind,
        guard=" ".join(guard),
        name_at=at + len(guard),
    )


def head_of(text: str) -> StatementHead:
    """Return the beginning of the statement in a text."""
    return read_head(list(islice(tokens(text), _HEAD)))


def after_explain(found: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens of the statement that an EXPLAIN explains; all tokens of another statement."""
    if _word(found, 0) != "EXPLAIN":
        return found
    return found[2 if _word(found, 1) in EXPLAIN_MODES else 1 :]


def name_at(found: Sequence[Token], first: int) -> tuple[tuple[str, ...], int] | None:
    """Return the parts of the name at an index, and the index of the token after it; None without a name there."""
    parts: list[str] = []
    at = first
    while at < len(found) and found[at].kind in (Kind.WORD, Kind.QUOTED):
        parts.append(name_part(found[at]))
        if at + 1 >= len(found) or found[at + 1].text != ".":
            return tuple(parts), at + 1
        at += 2
    return (tuple(parts), at) if parts else None


def name_part(token: Token) -> str:
    """Return a part of a name without its back quotes."""
    return unquote(token.text) if token.kind is Kind.QUOTED else token.text


def _word(found: Sequence[Token], index: int) -> str:
    return found[index].word if index < len(found) else ""
