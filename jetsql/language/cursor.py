"""The statement that a cursor stands in, for completion: its words before, at and behind the cursor.

What is left of the cursor is read on its own, because a quote that was just opened must not swallow the rest; what is
right of it counts as far as the statement goes, so that `SELECT | FROM t` knows its table.
"""

from __future__ import annotations

from dataclasses import dataclass

from jetsql.language.blocks import Blocks
from jetsql.language.tokens import Kind, Token, scan


@dataclass(frozen=True)
class AtCursor:
    """before: the statement's tokens before the one that is being written; `half`: that one, None without it: a word or
    number that ends at the cursor, or a quote that is open there. behind: its tokens right of the cursor and of the
    open quote's end. closed: a closing quote stands right behind the cursor. silent: in a comment, within a word or
    right behind a closed quote, where nothing can be completed. start: where what is being written begins.
    """

    before: tuple[Token, ...]
    half: Token | None
    behind: tuple[Token, ...]
    closed: bool
    silent: bool
    start: int


def at_cursor(text: str, cursor: int) -> AtCursor:
    """What stands around the cursor, an offset of `text`; only the statement (in a block: the inner one) counts."""
    before, blocks, last = _statement_before(text[:cursor])
    half = last if last and last.stop == cursor and last.kind in (Kind.WORD, Kind.NUMBER, Kind.OPEN) else None
    in_comment = last is not None and (
        last.text.startswith("/*")
        if last.kind is Kind.OPEN
        else last.kind is Kind.COMMENT and last.stop == cursor and last.text.startswith("--")
    )
    resume = cursor
    if half is not None and half.kind is Kind.OPEN and not in_comment:
        resume = _quote_end(text, cursor, half.text.lstrip("rR")[0])
    elif text[cursor : cursor + 1].isalnum() or text[cursor : cursor + 1] == "_":
        in_comment = True
    behind_quote = last is not None and last.stop == cursor and last.kind in (Kind.STRING, Kind.QUOTED)
    if half is not None and before and before[-1] is half:
        before.pop()
    return AtCursor(
        before=tuple(before),
        half=half,
        behind=() if in_comment else _behind(text, resume, blocks),
        closed=resume == cursor + 1,
        silent=in_comment or behind_quote,
        start=half.start if half else cursor,
    )


class _Ended:
    """The statements before the last one that was looked at. Whoever types at the end of a script changes none of them,
    so they need not be read again at every key."""

    text = ""


def _statement_before(text: str) -> tuple[list[Token], Blocks, Token | None]:
    """The tokens from the last statement's beginning on, and the very last token, a comment too."""
    ended = _Ended.text
    start = len(ended) if text.startswith(ended) else 0
    found: list[Token] = []
    blocks = Blocks()
    last: Token | None = None
    for last in scan(text, start):
        if last.kind is Kind.COMMENT:
            continue
        begins = blocks.take(last)
        if last.text == ";":
            found.clear()
            start = start if blocks.inside else last.stop
        elif begins:
            found = [last]
        else:
            found.append(last)
    _Ended.text = text[:start]
    return found, blocks, last


def _quote_end(text: str, cursor: int, quote: str) -> int:
    """Behind the quote's end on the cursor's line; the cursor itself when it has none there."""
    line_end = text.find("\n", cursor)
    found = text.find(quote, cursor, line_end if line_end >= 0 else len(text))
    return cursor if found < 0 else found + 1


def _behind(text: str, start: int, blocks: Blocks) -> tuple[Token, ...]:
    found: list[Token] = []
    for token in scan(text, start):
        if token.kind is Kind.COMMENT:
            continue
        if token.text == ";" or (blocks.inside and blocks.take(token)):
            break
        found.append(token)
    return tuple(found)
