"""Format documents, and parts of them, as `jetsql format` does."""

from __future__ import annotations

from lsprotocol import types

from jetsql.errors import Span
from jetsql.language import split
from jetsql.language_server.open_documents import Document
from jetsql.sqlfiles.formatting.format_script import format_fragment, format_script


def format_document(document: Document) -> list[types.TextEdit]:
    """Return the changes that format a document; none if it is formatted.

    Raises StatementError for a quote or comment without end.
    """
    formatted = format_script(document.script, document.file.line_ends).text
    return _edits(document, Span(0, len(document.text)), formatted)


def format_range(document: Document, place: types.Range) -> list[types.TextEdit]:
    """Return the changes that format the statements which a range touches."""
    wanted = document.span(place)
    edits = []
    for fragment in split(document.text):
        span = Span(fragment.start, fragment.start + len(fragment.text))
        if fragment.closed and span.start <= wanted.stop and wanted.start <= span.stop:
            edits += _edits(document, span, format_fragment(fragment, document.file.line_ends).text)
    return edits


def _edits(document: Document, place: Span, text: str) -> list[types.TextEdit]:
    """Return the change of a part of a document, without what stays the same at its beginning and its end.

    An editor keeps the cursor where text stays.
    """
    before = document.text[place.start : place.stop]
    if before == text:
        return []
    start = _same_start(before, text)
    if before[start - 1 : start] == "\r":  # no position is between CR and LF
        start -= 1
    limit = min(len(before), len(text)) - start
    stop = _same_start(before[::-1][:limit], text[::-1][:limit])
    if stop and before[len(before) - stop] == "\n" and before[: len(before) - stop].endswith("\r"):
        stop -= 1
    changed = Span(place.start + start, place.start + len(before) - stop)
    return [types.TextEdit(document.range(changed), text[start : len(text) - stop])]


def _same_start(first: str, second: str) -> int:
    """Return the length of the common beginning of two texts."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(first), len(second)))
