"""Convert offsets in a text to the positions of the Language Server Protocol, and back.

A position is a line and a column, both from 0. The column counts code units of the encoding that client and server
agreed on, UTF-16 by default, so a character such as an emoji counts as two. Lines end with LF, CR LF or CR and with no
other character, unlike those of `str.splitlines`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import Final

UTF_16: Final = "utf-16"
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
# The bytes of a code unit, and the codec that counts them. A client may send half of a pair of surrogates.
_UNITS: Final = {"utf-8": (1, "utf-8"), UTF_16: (2, "utf-16-le"), "utf-32": (4, "utf-32-le")}


class TextPositions:
    """The positions in a text."""

    def __init__(self, text: str, encoding: str = UTF_16) -> None:
        """Create them. encoding: the code units that columns count: utf-8, utf-16 or utf-32."""
        self._text = text
        self._size, self._codec = _UNITS.get(encoding, _UNITS[UTF_16])

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(end.end() for end in _LINE_END.finditer(self._text))]

    @property
    def lines(self) -> int:
        """Return the number of lines; the last one may be empty."""
        return len(self._starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of an offset."""
        offset = min(max(offset, 0), len(self._text))
        line = bisect_right(self._starts, offset) - 1
        return line, self._units(self._text[self._starts[line] : offset])

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a position; of the end of its line for a column after it."""
        if line < 0:
            return 0
        if line >= len(self._starts):
            return len(self._text)
        start = self._starts[line]
        content = self._content(line)
        if content.isascii():
            return start + min(max(column, 0), len(content))
        at, units = 0, 0
        while at < len(content) and units < column:
            units += self._units(content[at])
            at += 1
        return start + at

    def _content(self, line: int) -> str:
        """Return a line without its end."""
        start = self._starts[line]
        stop = self._starts[line + 1] if line + 1 < len(self._starts) else len(self._text)
        return self._text[start:stop].rstrip("\r\n")

    def _units(self, part: str) -> int:
        if part.isascii():
            return len(part)
        return len(part.encode(self._codec, errors="surrogatepass")) // self._size
