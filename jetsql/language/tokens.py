"""Spark SQL's words: one linear scanner under the parser, the script splitter, the variables and the body rules.

It follows the rules of Spark 4.3's own lexer: where comments lie, where a quote that is never closed opened, `--`
comments that a backslash continues, `$$` strings. Two scanners that disagree would split a script in one place and
parse it in another. It never refuses a text: what it doesn't know is a SYMBOL of one character, and a quote or comment
without end is one OPEN token up to the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import Final, NamedTuple

from jetsql.errors import Span


class Kind(Enum):
    """What a token is. HINT marks are symbols, the words within are words, as in Spark."""

    WORD = auto()
    QUOTED = auto()  # `back-quoted`
    STRING = auto()
    NUMBER = auto()
    SYMBOL = auto()
    COMMENT = auto()
    OPEN = auto()  # a quote or comment that never ends


class Token(NamedTuple):
    """A stretch of a text: offsets in characters, `stop` exclusive; `text` as written."""

    kind: Kind
    text: str
    start: int
    stop: int

    @property
    def place(self) -> Span:
        return Span(self.start, self.stop)

    @property
    def word(self) -> str:
        """A plain word in capitals, '' for everything else: a back-quoted word or a string is never a keyword."""
        return self.text.upper() if self.kind is Kind.WORD else ""


# Possessive repeats throughout: no text makes the scanner go back, so that its time is linear.
_LEXEME: Final = re.compile(
    r"""
      (?P<space>\s++)
    | (?P<comment>--(?:\\\n|[^\r\n])*+)
    | (?P<bracketed>/\*(?!\+))
    | (?P<string>[rR](?:'[^']*+'|"[^"]*+")
               | '(?:[^'\\]++|\\.|'')*+'
               | "(?:[^"\\]++|\\.|"")*+")
    | (?P<quoted>`(?:[^`]++|``)*+`)
    | (?P<dollars>\$[A-Za-z]*+\$(?!\{))
    | (?P<open>[rR]?['"]|`)
    | (?P<number>(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?(?:[bB][dD]|[lsyfdLSYFD])?(?!\w))
    | (?P<word>[^\W\d_]++://[\w/.?=&\#%-]++|\w++)
    | (?P<symbol>/\*\+|\*/|\?::|::|<=>|->|=>|==|\|\||\|>|<>|[<>!]=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS: Final = {
    "comment": Kind.COMMENT,
    "string": Kind.STRING,
    "quoted": Kind.QUOTED,
    "open": Kind.OPEN,
    "number": Kind.NUMBER,
    "word": Kind.WORD,
    "symbol": Kind.SYMBOL,
}
# A hint's opening doesn't nest inside a comment: Spark's rule for bracketed comments leaves it out.
_BRACKETS: Final = re.compile(r"/\*(?!\+)|\*/")

_ESCAPE: Final = re.compile(r"\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\[01][0-7]{2}|\\.|''|\"\"", re.DOTALL)
# Spark keeps the backslash of \% and \_ for LIKE.
_ESCAPED: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def scan(text: str, start: int = 0) -> Iterator[Token]:
    """Return every token of `text` from `start` on, comments included and white space left out; lazily, in order."""
    position, end = start, len(text)
    while position < end:
        found = _LEXEME.match(text, position)
        if found is None:  # can't be: the last alternative takes any character
            raise AssertionError(f"no token at offset {position}")
        group, stop = found.lastgroup or "", found.end()
        if group == "space":
            position = stop
            continue
        if group == "bracketed":
            kind, stop = _close(Kind.COMMENT, _comment_end(text, stop), end)
        elif group == "dollars":
            kind, stop = _close(Kind.STRING, _dollars_end(text, found.group(), stop), end)
        else:
            kind, stop = (Kind.OPEN, end) if group == "open" else (_KINDS[group], stop)
        yield Token(kind, text[position:stop], position, stop)
        position = stop


def tokens(text: str, start: int = 0) -> Iterator[Token]:
    """As `scan`, without comments. A comment without end stays: it hides whatever was meant to follow."""
    return (token for token in scan(text, start) if token.kind is not Kind.COMMENT)


def unquote(literal: str) -> str:
    """Return the value of a string literal or back-quoted name as Spark reads it."""
    if literal[:1] == "`":
        return literal[1:-1].replace("``", "`")
    if literal[:1] in "rR":
        return literal[2:-1]
    if literal[:1] == "$":
        tag = literal.index("$", 1) + 1
        return literal[tag:-tag]
    quote = literal[0]
    return _ESCAPE.sub(lambda found: _unescape(found, quote), literal[1:-1])


def _unescape(found: re.Match[str], quote: str) -> str:
    escape = found.group()
    if escape[0] != "\\":  # a doubled quote, of the literal's own kind or two of the other
        return quote if escape[0] == quote else escape
    if escape[1] in "uU" and len(escape) > 2:
        return _character(int(escape[2:], 16), escape)
    if len(escape) == 4:
        return chr(int(escape[1:], 8))
    return _ESCAPED.get(escape[1], escape[1])


def _character(code: int, escape: str) -> str:
    return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else escape


def _close(kind: Kind, stop: int | None, end: int) -> tuple[Kind, int]:
    return (Kind.OPEN, end) if stop is None else (kind, stop)


def _comment_end(text: str, position: int) -> int | None:
    depth = 1
    for bracket in _BRACKETS.finditer(text, position):
        depth += 1 if bracket.group() == "/*" else -1
        if depth == 0:
            return bracket.end()
    return None


def _dollars_end(text: str, tag: str, position: int) -> int | None:
    found = text.find(tag, position)
    return None if found < 0 else found + len(tag)
