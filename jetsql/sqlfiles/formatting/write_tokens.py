"""Write the tokens of a statement with a layout, and its comments where they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from jetsql.language.tokens import Kind, Token, scan

_CLOSING: Final = (",", ")", ";")
_LONGEST_OPERATOR: Final = 3
_STEP: Final = 2
"""The width of an indentation."""


@dataclass(frozen=True)
class Gap:
    """The white space before a token."""

    is_break: bool = False  # the token begins a line
    indent: int = 0  # of that line
    spaces: int = 1  # without a break


SPACE: Final = Gap()
GLUED: Final = Gap(spaces=0)


def break_at(indent: int) -> Gap:
    """Return the gap before a token that begins a line."""
    return Gap(is_break=True, indent=indent)


def gap_of(white_space: str) -> Gap:
    """Return the gap that is some white space."""
    if "\n" in white_space:
        return break_at(len(white_space) - white_space.rfind("\n") - 1)
    return SPACE if white_space else GLUED


def line_end_after(text: str, line_end: str) -> str:
    """Return the end of a line after a text. After a comment that ends with a backslash, LF alone would continue it."""
    return "\r\n" if text.startswith("--") and text.endswith("\\") else line_end


def write_tokens(
    text: str, found: Sequence[Token], gaps: Mapping[int, Gap], words: Mapping[int, str], line_end: str
) -> str:
    """Return the text of a statement in its new layout.

    found: its tokens, with comments. gaps: by the start of each token but the first and comments. words: the new
    spelling of tokens, by their start.
    """
    writer = _Writer(text, line_end)
    for token in found:
        if token.kind is Kind.COMMENT:
            writer.add_comment(token)
        else:
            writer.add(token, words.get(token.start, token.text), gaps.get(token.start, SPACE))
    return writer.text()


class _Writer:
    """The text so far."""

    def __init__(self, source: str, line_end: str) -> None:
        self._source = source
        self._line_end = line_end
        self._pieces: list[str] = []
        self._indent = 0  # of the current line
        self._comments: list[tuple[Token, bool]] = []  # those before the next token, and whether each begins a line
        self._stop = 0  # the end of the last token or comment in the source

    def add_comment(self, token: Token) -> None:
        own_line = not {"\n", "\r"}.isdisjoint(self._source[self._stop : token.start])
        self._comments.append((token, own_line))
        self._stop = token.stop

    def add(self, token: Token, text: str, gap: Gap) -> None:
        must_break = self._add_comments(gap)
        if not self._pieces:
            pass
        elif gap.is_break or must_break:
            self._break(gap.indent if gap.is_break else self._indent + _STEP * (not self._continues))
        elif gap.spaces or (self._comments and text not in _CLOSING) or self._would_join(token, text):
            self._pieces.append(" ")
        self._continues = must_break and not gap.is_break
        self._comments.clear()
        self._pieces.append(text)
        self._stop = token.stop

    _continues = False  # the current line continues the one before only because of a comment

    def _add_comments(self, gap: Gap) -> bool:
        """Write the comments before a token, and return whether the token must begin a line."""
        must_break = False
        for comment, own_line in self._comments:
            if own_line or must_break:
                self._break(gap.indent if gap.is_break else self._indent + _STEP * (not self._continues))
                self._continues = not gap.is_break
                must_break = True
            else:
                self._pieces.append(" ")
            self._pieces.append(comment.text)
            must_break = must_break or comment.text.startswith("--")
        return must_break

    def _break(self, indent: int) -> None:
        self._indent = indent
        line_end = line_end_after(self._pieces[-1], self._line_end) if self._pieces else self._line_end
        self._pieces.append(f"{line_end}{' ' * indent}")

    def _would_join(self, token: Token, text: str) -> bool:
        """Return whether the piece before would be read otherwise without a space, and the source has a space."""
        before = self._pieces[-1]
        return self._stop != token.start and next(scan(before + text[:_LONGEST_OPERATOR])).text != before

    def text(self) -> str:
        return "".join(self._pieces)
