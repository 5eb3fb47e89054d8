"""What completion offers: candidates, and the gathering of those that fit what is half-written.

The user's own way of writing decides: words come in the case that is being typed, names get back quotes where they need
them, and nothing is offered that does not begin as the half-written word does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from jetsql.jobs.model.job import quoted_name, quoted_text
from jetsql.language import AtCursor
from jetsql.language.tokens import Kind


class Sort(Enum):
    """What a candidate is; the value is what people call it."""

    KEYWORD = "keyword"
    COLUMN = "column"
    ALIAS = "alias"
    CTE = "CTE"
    TABLE = "table"
    VIEW = "view"
    SCHEMA = "schema"
    FUNCTION = "function"
    JOB = "job"
    SNAPSHOT = "snapshot"
    OPTION = "option"
    VALUE = "value"
    CONF = "Spark setting"
    COMMAND = "command"
    FAVOURITE = "favourite"
    SETTING = "setting"


@dataclass(frozen=True)
class Candidate:
    """One thing that could stand at the cursor. text: goes in the place of what stands from `start` up to the cursor.

    display: its name for the menu. about: a line that explains it, may be empty.
    """

    text: str
    start: int
    display: str
    sort: Sort
    about: str = ""


_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Words that a parser takes for something else where a name could stand, Spark's and ours.
_RESERVED: Final = frozenset(
    "ALL AND ANTI ANY AS BETWEEN BOTH BY CASE CAST CHECK COLLATE COLUMN CONSTRAINT CREATE CROSS DISTINCT ELSE END"
    " ESCAPE EXCEPT EXISTS EXTENDED FALSE FETCH FILTER FOR FROM FULL GRANT GROUP HAVING IF IN INNER INTERSECT"
    " INTERVAL INTO IS JOIN LATERAL LEADING LEFT LIKE LIMIT MINUS NATURAL NOT NULL OFFSET ON ONLY OR ORDER OUTER"
    " OVERLAPS PRIMARY QUALIFY REFERENCES RIGHT SELECT SEMI SET SOME STREAM TABLE THEN TO TRAILING TRUE UNION"
    " UNIQUE UNKNOWN USER USING VALUES WHEN WHERE WINDOW WITH WITHIN".split()
)


class Offers:
    """Gathers the candidates of one place.

    lower: words are offered in lower case where nothing half-written tells.
    """

    def __init__(self, at: AtCursor, *, lower: bool) -> None:
        half = at.half
        self.start = at.start
        self.quote = half.text.lstrip("rR")[0] if half is not None and half.kind is Kind.OPEN else ""
        written = half.text if half is not None else ""
        self.prefix = written.removeprefix(self.quote).replace("``", "`") if self.quote == "`" else written
        if self.quote in ("'", '"'):
            self.prefix = written.lstrip("rR")[1:]
        self._closed = at.closed
        letters = [letter for letter in self.prefix if letter.isalpha()]
        self._lower = all(letter.islower() for letter in letters) if letters and not self.quote else lower
        self._upper = bool(letters) and all(letter.isupper() for letter in letters)
        self._found: dict[tuple[str, Sort], Candidate] = {}

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        return tuple(self._found.values())

    def words(self, words: Iterable[str], about: str = "") -> None:
        """Keywords, given in capitals."""
        for word in words:
            if not self.quote and self._fits(word):
                self._add(word.lower() if self._lower else word, word, Sort.KEYWORD, about)

    def names(self, names: Iterable[str], sort: Sort, about: str = "") -> None:
        for name in names:
            self.name(name, sort, about)

    def name(self, name: str, sort: Sort, about: str = "") -> None:
        """A name, in back quotes where it needs them or has begun with one."""
        if self.quote in ("'", '"') or not self._fits(name) or not name:
            return
        if self.quote:
            self._add(quoted_name(name)[: -1 if self._closed else None], name, sort, about)
        else:
            self._add(name_text(name), name, sort, about)

    def functions(self, names: Iterable[tuple[str, str]]) -> None:
        """Functions with what is to be said of them; an opening parenthesis comes with the name."""
        for name, about in names:
            if not self.quote and _PLAIN.fullmatch(name) and self._fits(name):
                self._add((name.upper() if self._upper else name) + "(", name, Sort.FUNCTION, about)

    def text(self, value: str, sort: Sort, about: str = "", behind: str = "") -> None:
        """A string's value, in quotes. behind: is written after it, unless the string's end stands there already."""
        if self.quote == "`" or not self._fits(value):
            return
        if self.quote:
            closing = "" if self._closed else self.quote + behind
            escaped = quoted_text(value)[1:-1] if self.quote == "'" else value.replace("\\", "\\\\").replace('"', '\\"')
            self._add(self.quote + escaped + closing, value, sort, about)
        elif not self.prefix:
            self._add(quoted_text(value) + behind, value, sort, about)

    def plain(self, text: str, sort: Sort, about: str = "") -> None:
        """A text as it is."""
        if not self.quote and self._fits(text):
            self._add(text, text, sort, about)

    def _fits(self, text: str) -> bool:
        return text[: len(self.prefix)].lower() == self.prefix.lower()

    def _add(self, text: str, display: str, sort: Sort, about: str) -> None:
        self._found.setdefault((text, sort), Candidate(text, self.start, display, sort, about))


def name_text(name: str) -> str:
    """A name as a statement takes it: plain where it can be."""
    plain = _PLAIN.fullmatch(name) is not None and name.upper() not in _RESERVED
    return name if plain else quoted_name(name)
