"""Detect statements that drop something, and ask before they run."""

from __future__ import annotations

from itertools import islice
from typing import Final

from jetsql.errors import StatementError
from jetsql.language import parse
from jetsql.language.statement import DropJob
from jetsql.language.tokens import Token, tokens
from jetsql.output.terminal_text import printable

_KINDS: Final = {"TABLE": "table", "VIEW": "view", "SCHEMA": "schema", "DATABASE": "schema", "NAMESPACE": "schema"}
_MAX_TOKENS: Final = 64


def drop_question(text: str) -> str | None:
    """Return the question before a statement that drops a job, table, view or schema; None for others."""
    leading = list(islice(tokens(text), _MAX_TOKENS))
    if not leading or leading[0].word != "DROP":
        return None
    kind = leading[1].word if len(leading) > 1 else ""
    if kind == "JOB":
        return _drop_job_question(text)
    if kind not in _KINDS:
        return None
    name = printable(_object_name(leading[2:]))
    everything = " with everything in it" if _KINDS[kind] == "schema" and _has_word(leading, "CASCADE") else ""
    return f"Drop {_KINDS[kind]} {name}{everything}?" if name else None


def _drop_job_question(text: str) -> str | None:
    try:
        statement = parse(text)
    except StatementError:
        return None  # the engine says what is wrong with it
    if not isinstance(statement, DropJob):
        return None
    snapshot = statement.with_snapshot
    state = "Its state is lost." if snapshot is None else f"Snapshot {printable(str(snapshot))} keeps its state."
    return f"Stop and drop job {printable(str(statement.name))} for good? {state}"


def _object_name(leading: list[Token]) -> str:
    if len(leading) > 1 and leading[0].word == "IF" and leading[1].word == "EXISTS":
        leading = leading[2:]
    parts: list[str] = []
    for token in leading:
        if token.text == ";" or (parts and parts[-1] != "." and token.text != "."):
            break
        parts.append(token.text)
    return "".join(parts)


def _has_word(leading: list[Token], word: str) -> bool:
    return any(token.word == word for token in leading)
