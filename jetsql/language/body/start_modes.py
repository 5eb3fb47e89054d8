"""Read the clause START_MODE = ... of a statement that creates a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from jetsql.errors import StatementError
from jetsql.language.body.named_tokens import token_place
from jetsql.language.objects.start_mode import RESUMING, StartMode, StartPosition
from jetsql.language.tokens import Kind, tokens

if TYPE_CHECKING:
    from lark import Token

_WORDS: Final = {position.value: position for position in StartPosition}
_LITERALS: Final = {
    StartPosition.NOW: "an interval, such as INTERVAL '7' DAY",
    StartPosition.TIMESTAMP: "a timestamp, such as TIMESTAMP '2026-03-02 09:00:00'",
    StartPosition.OFFSETS: 'the offsets of each topic as JSON, such as \'{"orders": {"0": 17}}\'',
}
_FIRST_WORDS: Final = {
    StartPosition.NOW: ("INTERVAL",),
    StartPosition.TIMESTAMP: ("TIMESTAMP", "TIMESTAMP_LTZ"),
    StartPosition.OFFSETS: (),
}


def read_start_mode(found: Sequence[Token]) -> StartMode | None:
    """Return the clause in the tokens of a statement, or None without one.

    Raises StatementError PARSE_SYNTAX_ERROR at an argument of another kind than its word takes.
    """
    word = next((token for token in found if token.type.removeprefix(RESUMING) in _WORDS), None)
    if word is None:
        return None
    position, resumes = _WORDS[word.type.removeprefix(RESUMING)], word.type.startswith(RESUMING)
    value = next((token for token in found if token.type == "START_VALUE"), None)
    if value is None:
        return StartMode(position, resumes, place=token_place(word), argument_place=token_place(word))
    _check_literal(position, value)
    return StartMode(position, resumes, str(value), token_place(word), token_place(value))


def _check_literal(position: StartPosition, value: Token) -> None:
    """Raise StatementError for an argument that cannot be a literal of the position. The engine reads its value."""
    parts = list(tokens(str(value)))
    is_text = parts[0].kind is Kind.STRING and len(parts) == 1 and position is not StartPosition.NOW
    if is_text or parts[0].word in _FIRST_WORDS[position]:
        return
    raise StatementError(
        "PARSE_SYNTAX_ERROR",
        f"{position.value} takes {_LITERALS[position]}.",
        place=token_place(value),
        hint="Write a literal: the position is decided once, when the statement runs.",
    )
