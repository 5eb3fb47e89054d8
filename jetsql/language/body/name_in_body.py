"""Find names and STREAM in the body of a job, so that an error about it can point there.

Spark's analyzer reports resolved names (`spark_catalog.default.orders`), and users write shorter ones (`orders`). The
longest form of a name that occurs in the body is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from jetsql.errors import Span
from jetsql.language.statement import Body
from jetsql.language.tokens import Kind, Token, tokens, unquote


def find_name(text: str, name_parts: Sequence[str], start: int = 0) -> Span | None:
    """Return the span of the first occurrence of a name from `start` on, ignoring case, or None if it does not occur.

    The full name is tried first, then the name without its first part, and so on. A separate name is preferred to a
    part of a longer one (`t` to `t.a`). Calls of functions are skipped.
    name_parts: the parts of the name, unquoted.
    """
    body = list(tokens(text, start))
    for skipped in range(len(name_parts)):
        wanted = [part.lower() for part in name_parts[skipped:]]
        matches = [index for index in range(len(body)) if _is_at(body, index, wanted)]
        alone = [
            index for index in matches if not _is_symbol(body, index - 1, ".") and not _continues(body, index, wanted)
        ]
        for index in alone or matches:
            return Span(body[index].start, body[index + 2 * len(wanted) - 2].stop)
    return None


def find_function(text: str, name: str, start: int = 0) -> Span | None:
    """Return the span of the name in the first call of a function from `start` on, or None if it is not called.

    name: the function's name without its schema.
    """
    body = list(tokens(text, start))
    for index, token in enumerate(body):
        if _name_part(token) == name.lower() and _is_symbol(body, index + 1, "("):
            return token.place
    return None


def reads_stream(body: Body) -> bool:
    """Return whether a body has the word STREAM. A view without it in the body can read a stream, too."""
    return any(token.word == "STREAM" for token in tokens(body.text))


def _is_at(body: Sequence[Token], index: int, wanted: Sequence[str]) -> bool:
    written = body[index : index + 2 * len(wanted) - 1]
    return (
        [_name_part(token) for token in written[::2]] == list(wanted)
        and all(token.text == "." for token in written[1::2])
        and not _is_symbol(body, index + 2 * len(wanted) - 1, "(")
    )


def _continues(body: Sequence[Token], index: int, wanted: Sequence[str]) -> bool:
    """Return whether the name at `index` has further parts after `wanted`."""
    return _is_symbol(body, index + 2 * len(wanted) - 1, ".")


def _name_part(token: Token) -> str | None:
    if token.kind is Kind.QUOTED:
        return unquote(token.text).lower()
    return token.text.lower() if token.kind is Kind.WORD else None


def _is_symbol(body: Sequence[Token], index: int, symbol: str) -> bool:
    return 0 <= index < len(body) and body[index].kind is Kind.SYMBOL and body[index].text == symbol
