"""Text in the cells of a terminal: how many it takes, how it is cut to fewer, and what in it has to be escaped."""

from __future__ import annotations

import unicodedata
from typing import Final

ELLIPSIS: Final = "…"


def width(text: str) -> int:
    """How many cells of a terminal a printable text takes."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth  # its tables take 30 ms to load, which `--help` and plain results need not wait for

    return max(wcswidth(text), 0)


def cut(text: str, size: int) -> str:
    """A printable text in no more than `size` cells, with an ellipsis where it was longer; no character is halved."""
    if width(text) <= size:
        return text
    return _head(text, size - 1) + ELLIPSIS if size > 0 else ""


def wrapped(text: str, size: int) -> list[str]:
    """A printable text as lines of no more than `size` cells (from 2), broken between words where there are any."""
    lines: list[str] = []
    while width(text) > size:
        head = _head(text, size) or text[:1]
        blank = head.rfind(" ")
        # A word that would leave half the line empty is broken instead: JSON and paths have few blanks.
        if blank > len(head) // 2 and not text[len(head) :].startswith(" "):
            head = head[:blank]
        lines.append(head.rstrip(" "))
        text = text[len(head) :].lstrip(" ")
    return [*lines, text]


def padded(text: str, size: int, to_right: bool = False) -> str:
    """A printable text in at least `size` cells. to_right: the blanks stand before it."""
    blanks = " " * (size - width(text))
    return blanks + text if to_right else text + blanks


def printable(text: str) -> str:
    """The text with everything escaped that would move the cursor, hide or reorder what stands in the line."""
    if text.isprintable():
        return text
    return "".join(_escaped(char) if _unprintable(char) else char for char in text)


def printable_lines(text: str) -> str:
    """Return a text of several lines with everything escaped that `printable` escapes, but its line breaks and tabs."""
    if text.isprintable():
        return text
    return "".join(_escaped(char) if char not in "\n\t" and _unprintable(char) else char for char in text)


def _head(text: str, size: int) -> str:
    """As many of its first characters as go into so many cells."""
    if text.isascii():
        return text[:size]
    from wcwidth import iter_graphemes

    head, taken = "", 0
    for grapheme in iter_graphemes(text):
        taken += width(grapheme)
        if taken > size:
            break
        head += grapheme
    return head


def _unprintable(char: str) -> bool:
    # Joiners (Cf) stay: emoji and several scripts need them. Of Cf only what reorders or hides text is escaped.
    reorders = "\u202a" <= char <= "\u202e" or "\u2066" <= char <= "\u2069" or char in "\u200e\u200f\ufeff"
    return reorders or unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")


def _escaped(char: str) -> str:
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return named.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")
