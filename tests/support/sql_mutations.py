"""Random scripts for tests of what reads and writes SQL: the project's statements, changed in many ways."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from jetsql.language import split
from jetsql.language.keywords import KEYWORDS
from jetsql.language.tokens import Kind, scan
from tests.support.paths import ROOT
from tests.support.sql_corpus import accepted_statements, document_statements

_GAPS: Final = (" ", "  ", "\n", "\r\n", "\r", "\n\n\n", "\t", "\u00a0", "\u2028", "\x1c", "\x0c", "/* c */", "")
_COMMENTS: Final = (
    *(" -- c\n", "-- c:\\\r\n", "-- c:\\\n d\n", "\n-- own\r", "/* a\r\n b */", "/* /* n */ */", "-- ; '\n", "/**/"),
    *("--\n", "\n/* a\n   b */\n", " -- ${x}\n", "/* ; */", "-- /*\n", "-- */\r\n"),
)
_PIECES: Final = (
    *("a.b", "Date", "date", "`a b`", "'it''s'", "'a' 'b'", '"x"', "r'\\d'", "X'1F'", "1.", ".5", "1e5", "1L", "2.3W"),
    *("1.e5", "a.1b", "-1", "- -1", ">>", "> >", ">>>", "<<", "<=>", "!>", "!=", "<>", "==", "||", "|>", "->", "=>"),
    *("::", "?", ":x", ": x", "@v1", "@ v1", "${v}", "${v:-a b}", "$${", "${v}.5", "x${v}", "${v} 'a'", "s3 : //a"),
    *("s3://a/b-c?d=1", "/a/b", "a=b", "-Da=b", "a / b", "/*+ HINT(a,  b) */", "/*+ h(a\n b) */", "$$ x  y $$"),
    *("INTERVAL '1'  DAY", "TIMESTAMP'2020-01-01'", "map('a')", "CAST(a AS Int)", "struct<Date: int>", "$a$ $$ $a$"),
    *("[1]", "{", "}", "(", ")", ",", ";", ".", "*", "\\", "#", "\u00df", "\u017felect", "\u0131", "a\u00b2", "\u200b"),
    *("'", "`", "/*", "a -> a.Date", "Date => 1", "OPTIONS (Date 1, a.B true)", "ARRAY<ARRAY<int>>", "CURRENT_user"),
    *("TBLPROPERTIES (Location 'x', k='v')", "\U0001f600"),
)
RAW_STATEMENTS: Final = (
    "SET spark.sql.session.timeZone=Europe/Berlin",
    "SET a.b = -Da=b  true",
    "set time zone  'UTC'",
    "RESET spark.sql.shuffle.partitions",
    "add jar  /tmp/a b-c.jar",
    "LIST JARS a/b",
    "REFRESH /tmp/a/b c",
    "refresh table Date",
    "refresh table\fTable\fDate",
    "refresh Function  Date . `a`",
    "refresh table identifier ( 'a' )",
    "EXPLAIN EXTENDED SET a = b/c",
    "USE catalog.Date",
    "use namespace a.b",
    "SET VARIABLE x = (select 1)",
    "GRANT ALL ON a.b TO c",
    "CREATE NAMESPACE n LOCATION 'a/b' WITH DBPROPERTIES (a.B = 'c')",
    "ALTER TABLE t SET TBLPROPERTIES (a.Date = 1, 'x' = true)",
    "SELECT /*+ BROADCAST(a),  REPARTITION(3) */ * FROM a",
    "DFS -ls /a",
    "select * from a @v11",
    "select * from a@v11 . b",
    "select * from@v11. b",
)
"""Statements of which Spark reads a part as text."""


def base_statements() -> list[str]:
    """Return the statements of the grammar, of the documentation, of the examples and of the golden tests."""
    golden = (ROOT / "tests" / "golden").glob("*.sql")
    texts = [fragment.text for path in sorted(golden) for fragment in split(path.read_text(encoding="utf-8"))]
    return [*accepted_statements(), *document_statements(), *texts, *RAW_STATEMENTS]


class Mutations:
    """Make random scripts."""

    def __init__(self, statements: Sequence[str], seed: int) -> None:
        """Create it. The same seed gives the same scripts."""
        self._statements = statements
        self._random = Random(seed)
        self._keywords = sorted(KEYWORDS)

    def script(self) -> str:
        """Return the next script."""
        choice = self._random
        pieces = []
        for _ in range(choice.choice((1, 1, 1, 2, 3))):
            pieces += [self._statement(), choice.choice((";", " ;", ";;", ";\n", ";\r\n", "; -- c\n", ""))]
            pieces.append(choice.choice(("", "\n", "\r\n", *_COMMENTS)))
        return "".join(pieces)

    def _statement(self) -> str:
        choice = self._random
        text = choice.choice(self._statements)
        if len(text) > 2_000:
            text = text[: choice.randrange(2_000)]
        parts = self._parts(text)
        for _ in range(choice.choice((0, 1, 1, 2, 4))):
            self._change(parts)
        if choice.random() < 0.2:
            other = self._parts(choice.choice(self._statements)[:500])
            parts = parts[: choice.randrange(len(parts) + 1)] + other[choice.randrange(len(other) + 1) :]
        return "".join(parts)

    def _parts(self, text: str) -> list[str]:
        """Return the tokens of a text and what is between them."""
        choice = self._random
        changes = choice.random() < 0.7
        parts, stop = [], 0
        for token in scan(text):
            gap = text[stop : token.start]
            if changes and gap and choice.random() < 0.5:
                gap = choice.choice(_GAPS)
            elif changes and choice.random() < 0.1:
                gap = choice.choice((*_GAPS, *_COMMENTS))
            word = token.kind is Kind.WORD and changes and choice.random() < 0.4
            parts += [gap, token.text.swapcase() if word else token.text]
            stop = token.stop
        return parts

    def _change(self, parts: list[str]) -> None:
        choice = self._random
        at = choice.randrange(len(parts) + 1)
        kind = choice.randrange(6)
        if kind == 0:
            del parts[at : at + choice.randrange(1, 4)]
        elif kind == 1:
            parts[at:at] = parts[at : at + choice.randrange(1, 6)]
        elif kind == 2:
            parts[at : at + choice.randrange(2)] = [f" {choice.choice(self._keywords)} "]
        elif kind == 3:
            parts[at : at + choice.randrange(2)] = [f" {choice.choice(self._keywords).lower()} "]
        elif kind == 4:
            parts[at : at + choice.randrange(2)] = [choice.choice(_PIECES)]
        else:
            parts[at:at] = [choice.choice((*_COMMENTS, *_GAPS))]
