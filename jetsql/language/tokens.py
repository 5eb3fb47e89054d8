"""Scan Spark's SQL into tokens, in linear time: for the parser, the script splitter, the variables and the body rules.

The scanner follows the rules of Spark 4.3's own lexer for comments, unclosed quotes, `--` comments that a backslash
continues, and `$$` strings. There is one scanner because two that disagreed would split a script differently from how
it is parsed. It accepts every text: an unknown character is a SYMBOL, and a quote or comment without end is one OPEN
token up to the end of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from itertools import pairwise
from typing import Final, NamedTuple

from jetsql.errors import Span


class Kind(Enum):
    """The kind of a token. As in Spark, the marks of a hint are symbols and its words are words."""

    WORD = auto()
    QUOTED = auto()  # `back-quoted`
    STRING = auto()
    NUMBER = auto()
    SYMBOL = auto()
    COMMENT = auto()
    OPEN = auto()  # a quote or comment that never ends


class Token(NamedTuple):
    """A token of a text."""

    kind: Kind
    text: str  # as written
    start: int  # in characters
    stop: int  # exclusive

    @property
    def place(self) -> Span:
        return Span(self.start, self.stop)

    @property
    def word(self) -> str:
        """Return a plain word in capitals, otherwise '': a back-quoted word or a string is never a keyword."""
        return self.text.upper() if self.kind is Kind.WORD else ""


# All repetitions are possessive: the scanner never backtracks, so its time is linear.
_LEXEME: Final = re.compile(
    r"""
      (?P<space>[\ \t\n\f\r\v\u00a0\u1680\u2000-\u200a\u2028\u202f\u205f\u3000]++)
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
# As in Spark, the beginning of a hint inside a comment does not begin a nested comment.
_BRACKETS: Final = re.compile(r"/\*(?!\+)|\*/")

_SINGLE_WORD: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)

_ESCAPE: Final = re.compile(r"\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\[01][0-7]{2}|\\.|''|\"\"", re.DOTALL)
# Spark keeps the backslash of \% and \_ for LIKE.
_ESCAPED: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def scan(text: str, start: int = 0) -> Iterator[Token]:
    """Yield the tokens of `text` from the offset `start` on, with comments and without white space."""
    position, end = start, len(text)
    while position < end:
        found = _LEXEME.match(text, position)
        if found is None:  # impossible: the last alternative matches any character
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
    """Yield the tokens of `text` as `scan`, without comments; a comment without end, an OPEN token, is included."""
    return (token for token in scan(text, start) if token.kind is not Kind.COMMENT)


def quoted_name(name: str) -> str:
    """Return a name in back quotes, as statements accept it."""
    return f"`{name.replace('`', '``')}`"


def written_name(name: str) -> str:
    """Return a name as a statement can have it: in back quotes unless it is a single word."""
    return name if _SINGLE_WORD.fullmatch(name) else quoted_name(name)


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
    return _ESCAPE.sub(lambda match: _unescape(match.group(), quote), literal[1:-1])


def blank(text: str) -> str:
    """Return a text with a space in place of each character except line breaks, so offsets and lines stay."""
    return re.sub(r"[^\r\n]", " ", text)


def _unescape(escape: str, quote: str) -> str:
    if escape[0] != "\\":  # two quotes: one quote of the literal's own kind, or two of the other kind
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
    closing = text.find(tag, position)
    return None if closing < 0 else closing + len(tag)


def top_level(found: Sequence[Token]) -> Iterator[int]:
    """Yield the indexes of the tokens outside of parentheses; the parentheses themselves count as outside."""
    depth = 0
    for index, token in enumerate(found):
        if token.text == ")":
            depth = max(depth - 1, 0)
        if depth == 0:
            yield index
        if token.text == "(":
            depth += 1


def verb_after_with(found: Sequence[Token]) -> int | None:
    """Return the index of the verb of a statement that begins with WITH, or None when the statement ends before it."""
    for before, index in pairwise(top_level(found)):
        token = found[index]
        if token.text == ";":
            return None
        if found[before].text == ")" and token.word not in ("AS", "MAX") and token.text not in (",", "("):
            return index
    return None


def closing_parenthesis(found: Sequence[Token], opening: int) -> int:
    """Return the index of the parenthesis that closes the one at `opening`; of the last token if none does."""
    depth = 0
    for index in range(opening, len(found)):
        depth += {"(": 1, ")": -1}.get(found[index].text, 0)
        if depth == 0:
            return index
    return len(found) - 1
