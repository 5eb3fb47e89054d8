"""Measure, cut, wrap and escape text in the cells of a terminal."""

from __future__ import annotations

import unicodedata
from typing import Final

ELLIPSIS: Final = "…"


def width(text: str) -> int:
    """Return the number of terminal cells of a printable text."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth  # imported late: loading its tables takes 30 ms

    return max(wcswidth(text), 0)


def truncate(text: str, size: int) -> str:
    """Cut a printable text to `size` cells, ending with an ellipsis if it is longer. Wide characters are not split."""
    if width(text) <= size:
        return text
    return _prefix(text, size - 1) + ELLIPSIS if size > 0 else ""


def wrap(text: str, size: int) -> list[str]:
    """Break a printable text into lines of `size` cells (2 at least), between words where possible."""
    lines: list[str] = []
    while width(text) > size:
        head = _prefix(text, size) or text[:1]
        blank = head.rfind(" ")
        # Break a word that would leave half the line empty: JSON and paths have few blanks.
        if blank > len(head) // 2 and not text[len(head) :].startswith(" "):
            head = head[:blank]
        lines.append(head.rstrip(" "))
        text = text[len(head) :].lstrip(" ")
    return [*lines, text]


def pad(text: str, size: int, align_right: bool = False) -> str:
    """Pad a printable text to `size` cells."""
    blanks = " " * (size - width(text))
    return blanks + text if align_right else text + blanks


def printable(text: str) -> str:
    """Escape the characters that move the cursor, or hide or reorder other text."""
    if text.isprintable():
        return text
    return "".join(_escape(char) if _is_unprintable(char) else char for char in text)


def printable_lines(text: str) -> str:
    """Escape like `printable`, except line breaks and tabs."""
    if text.isprintable():
        return text
    return "".join(_escape(char) if char not in "\n\t" and _is_unprintable(char) else char for char in text)


def _prefix(text: str, size: int) -> str:
    """Return the longest prefix of `size` cells at most."""
    if text.isascii():
        return text[:size]
    from wcwidth import iter_graphemes

    head, used = "", 0
    for grapheme in iter_graphemes(text):
        used += width(grapheme)
        if used > size:
            break
        head += grapheme
    return head


def _is_unprintable(char: str) -> bool:
    # Keep the joiners of the category Cf, which emoji and several scripts need; escape what reorders or hides text.
    reorders = "\u202a" <= char <= "\u202e" or "\u2066" <= char <= "\u2069" or char in "\u200e\u200f\ufeff"
    return reorders or unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")


def _escape(char: str) -> str:
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return named.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")
