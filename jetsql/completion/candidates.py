"""The candidates of completion, and the collector that keeps those that match the half-written word.

Keywords are offered in the case in which the user types, and names get back quotes if they need them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from jetsql.completion.statement_at_cursor import AtCursor
from jetsql.jobs.model.job import quoted_text
from jetsql.language.tokens import Kind, quoted_name


class CandidateKind(Enum):
    """The kinds of candidates; the value is shown in the menu."""

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
    ALERT = "alert"
    OPTION = "option"
    VALUE = "value"
    CONF = "Spark setting"
    COMMAND = "command"
    SETTING = "setting"


@dataclass(frozen=True)
class Candidate:
    """A completion of the text at the cursor."""

    text: str  # replaces the text from `start` up to the cursor
    start: int
    display: str  # in the menu
    kind: CandidateKind
    description: str = ""  # one line


_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Words that the parser of Spark or JetSQL reads as keywords where a name is allowed.
_RESERVED: Final = frozenset(
    "ALL AND ANTI ANY AS BETWEEN BOTH BY CASE CAST CHECK COLLATE COLUMN CONSTRAINT CREATE CROSS DISTINCT ELSE END"
    " ESCAPE EXCEPT EXISTS EXTENDED FALSE FETCH FILTER FOR FROM FULL GRANT GROUP HAVING IF IN INNER INTERSECT"
    " INTERVAL INTO IS JOIN LATERAL LEADING LEFT LIKE LIMIT MINUS NATURAL NOT NULL OFFSET ON ONLY OR ORDER OUTER"
    " OVERLAPS PRIMARY QUALIFY REFERENCES RIGHT SELECT SEMI SET SOME STREAM TABLE THEN TO TRAILING TRUE UNION"
    " UNIQUE UNKNOWN USER USING VALUES WHEN WHERE WINDOW WITH WITHIN".split()
)


class CandidateCollector:
    """Collect the candidates at a position.

    lower: offer keywords in lower case unless the half-written word decides.
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
        cased = [letter for letter in self.prefix if letter.isalpha()]
        self._lower = all(letter.islower() for letter in cased) if cased and not self.quote else lower
        self._upper = bool(cased) and all(letter.isupper() for letter in cased)
        self._candidates: dict[tuple[str, CandidateKind], Candidate] = {}

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Return the candidates in the order in which they were added."""
        return tuple(self._candidates.values())

    def add_keywords(self, words: Iterable[str], description: str = "") -> None:
        """Add keywords, given in capitals."""
        for word in words:
            if not self.quote and self._matches(word):
                self._add(word.lower() if self._lower else word, word, CandidateKind.KEYWORD, description)

    def add_names(self, names: Iterable[str], kind: CandidateKind, description: str = "") -> None:
        for name in names:
            self.add_name(name, kind, description)

    def add_name(self, name: str, kind: CandidateKind, description: str = "") -> None:
        """Add a name, in back quotes if it needs them or begins with one."""
        if self.quote in ("'", '"') or not self._matches(name) or not name:
            return
        if self.quote:
            self._add(quoted_name(name)[: -1 if self._closed else None], name, kind, description)
        else:
            self._add(quote_if_needed(name), name, kind, description)

    def add_functions(self, names: Iterable[tuple[str, str]]) -> None:
        """Add functions, given with their descriptions; an opening parenthesis follows the name."""
        for name, description in names:
            if not self.quote and _PLAIN.fullmatch(name) and self._matches(name):
                self._add((name.upper() if self._upper else name) + "(", name, CandidateKind.FUNCTION, description)

    def add_string(self, value: str, kind: CandidateKind, description: str = "", suffix: str = "") -> None:
        """Add a string value in quotes. suffix: follows it, unless the closing quote is already there."""
        if self.quote == "`" or not self._matches(value):
            return
        if self.quote:
            closing = "" if self._closed else self.quote + suffix
            escaped = quoted_text(value)[1:-1] if self.quote == "'" else value.replace("\\", "\\\\").replace('"', '\\"')
            self._add(self.quote + escaped + closing, value, kind, description)
        elif not self.prefix:
            self._add(quoted_text(value) + suffix, value, kind, description)

    def add_plain(self, text: str, kind: CandidateKind, description: str = "") -> None:
        """Add a text unchanged."""
        if not self.quote and self._matches(text):
            self._add(text, text, kind, description)

    def _matches(self, text: str) -> bool:
        return text[: len(self.prefix)].lower() == self.prefix.lower()

    def _add(self, text: str, display: str, kind: CandidateKind, description: str) -> None:
        self._candidates.setdefault((text, kind), Candidate(text, self.start, display, kind, description))


def quote_if_needed(name: str) -> str:
    """Return a name as statements take it, quoted only if necessary."""
    plain = _PLAIN.fullmatch(name) is not None and name.upper() not in _RESERVED
    return name if plain else quoted_name(name)
