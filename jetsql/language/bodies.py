"""Where a name stands in a body, so that an error about it can point there. Read only, from tokens alone.

Spark's analyzer names what it resolved (`spark_catalog.default.orders`), users write less (`orders`): a name is found
in its longest form that occurs.
"""

from __future__ import annotations

from collections.abc import Sequence

from jetsql.errors import Span
from jetsql.language.tokens import Kind, Token, tokens, unquote


def find_name(text: str, name_parts: Sequence[str], start: int = 0) -> Span | None:
    """Return the first place from `start` on where a name is written, compared without case; None when nowhere.

    name_parts: its parts, unquoted. Tried as given, then without its first parts one by one; of one form, a name of its
    own comes before a part of a longer one (`t` before `t.a`), and neither is a function's call.
    """
    found = list(tokens(text, start))
    for skipped in range(len(name_parts)):
        wanted = [part.lower() for part in name_parts[skipped:]]
        places = [index for index in range(len(found)) if _is_at(found, index, wanted)]
        alone = [index for index in places if not _sign(found, index - 1, ".") and not _goes_on(found, index, wanted)]
        for index in alone or places:
            return Span(found[index].start, found[index + 2 * len(wanted) - 2].stop)
    return None


def find_function(text: str, name: str, start: int = 0) -> Span | None:
    """Return the first place from `start` on where a function of this name, in any schema, is called; None when
    nowhere."""
    found = list(tokens(text, start))
    for index, token in enumerate(found):
        if _value(token) == name.lower() and _sign(found, index + 1, "("):
            return token.place
    return None


def _is_at(found: Sequence[Token], index: int, wanted: Sequence[str]) -> bool:
    written = found[index : index + 2 * len(wanted) - 1]
    return (
        [_value(token) for token in written[::2]] == list(wanted)
        and all(token.text == "." for token in written[1::2])
        and not _sign(found, index + 2 * len(wanted) - 1, "(")
    )


def _goes_on(found: Sequence[Token], index: int, wanted: Sequence[str]) -> bool:
    return _sign(found, index + 2 * len(wanted) - 1, ".")


def _value(token: Token) -> str | None:
    if token.kind is Kind.QUOTED:
        return unquote(token.text).lower()
    return token.text.lower() if token.kind is Kind.WORD else None


def _sign(found: Sequence[Token], index: int, sign: str) -> bool:
    return 0 <= index < len(found) and found[index].kind is Kind.SYMBOL and found[index].text == sign
