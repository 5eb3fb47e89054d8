"""Protect parts of a query from sqlglot, which would read them as something else or write them otherwise.

A call of a function gets a name that sqlglot does not know, so that it stays a call. A literal that sqlglot changes
becomes a call with its text. After the parse, the tree has the names and texts of the user again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import Token, TokenType, exp

from jetsql.language.keywords import KEYWORDS
from jetsql.language.tokens import Kind, tokens, unquote
from jetsql.sqlglot_dialect.sqlglot_tokens import copy_token, word

_CALL: Final = "__jetsql_call_"
_TEXT: Final = "__jetsql_text"
_TYPED: Final = frozenset({"DATE", "TIME", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"})
UNITS: Final = frozenset(
    f"{unit}{end}"
    for unit in "YEAR QUARTER MONTH WEEK DAY HOUR MINUTE SECOND MILLISECOND MICROSECOND NANOSECOND".split()
    for end in ("", "S")
)
"""The units of intervals."""

# Keywords that name functions before a parenthesis. All other keywords there have a syntax of their own.
_FUNCTIONS: Final = frozenset(
    "ANY_VALUE ARRAY BIGINT BINARY BOOLEAN BYTE CHAR CONTAINS CURRENT_DATABASE CURRENT_DATE CURRENT_SCHEMA CURRENT_TIME"
    " CURRENT_TIMESTAMP CURRENT_USER DATE DATEADD DATEDIFF DATE_ADD DATE_DIFF DAY DAYOFYEAR DECIMAL DOUBLE FIRST FLOAT"
    " GROUPING HOUR IF INT LAST LEFT LEVEL LOCALTIME MAP MAX MEASURE MINUTE MONTH QUARTER REPEAT REPLACE REVERSE RIGHT"
    " SECOND SEQUENCE SESSION_USER SMALLINT SOME STRING STRUCT SUBSTR SUBSTRING TIMEDIFF TIMESTAMP TIMESTAMPADD"
    " TIMESTAMPDIFF TINYINT TRIM USER VERSION WEEK YEAR".split()
)
# Words in these calls are no arguments: the call is left to sqlglot.
_INSIDE: Final = frozenset({"FROM", "BOTH", "LEADING", "TRAILING", "PLACING", "USING"})


@dataclass(frozen=True)
class Protection:
    """The parts of a text that are protected."""

    names: frozenset[str] = frozenset()  # of functions, in capitals
    every_name: bool = False
    literals: bool = False

    def __bool__(self) -> bool:
        return bool(self.names) or self.every_name or self.literals


NO_PROTECTION: Final = Protection()


class ProtectedTokens:
    """Protect the parts of one text."""

    def __init__(self, protection: Protection, sql: str) -> None:
        """Create it. sql: the text that the tokens have their offsets in."""
        self._protection = protection
        self._sql = sql

    def protect(self, found: Sequence[Token]) -> list[Token]:
        """Return the tokens with the protected parts as calls."""
        done: list[Token] = []
        index = 0
        while index < len(found):
            count = self._literal_length(found, index) if self._protection.literals else 0
            if count:
                done += self._literal(found[index : index + count])
                index += count
                continue
            token = found[index]
            if self._is_protected_call(found, index):
                token = copy_token(token, TokenType.VAR, f"{_CALL}{self._text(token, token)}")
            done.append(token)
            index += 1
        return done

    def _literal_length(self, found: Sequence[Token], index: int) -> int:
        """Return the number of tokens of the literal at the index that sqlglot changes; 0 if there is none."""
        token, after = found[index], found[index + 1] if index + 1 < len(found) else None
        if token.token_type is TokenType.RAW_STRING:
            return 1
        if after is None:
            return 0
        if token.token_type is TokenType.NUMBER and after.token_type is TokenType.DCOLON:
            return 3 * (self._sql[after.start : after.end + 1] != "::")  # 1L is three tokens for sqlglot
        if word(token) in _TYPED and after.token_type is TokenType.STRING:
            return 2
        if word(token) == "INTERVAL" and not (index and word(found[index - 1]) in ("OF", "WITHIN")):
            stop = interval_end(found, index)
            return 0 if stop == index + 1 else stop - index
        strings = 0
        while index + strings < len(found) and found[index + strings].token_type is TokenType.STRING:
            strings += 1
        return strings if strings > 1 else 0

    def _literal(self, found: Sequence[Token]) -> Iterator[Token]:
        first = found[0]
        text = self._text(first, found[-1])
        if first.token_type is TokenType.NUMBER:
            text = next(tokens(self._sql, first.start)).text
        read = list(tokens(text))
        if len(read) == 1 and read[0].kind is Kind.STRING:  # 'it''s' is two tokens for sqlglot
            yield copy_token(first, TokenType.STRING, unquote(text))
            return
        yield copy_token(first, TokenType.VAR, _TEXT)
        yield copy_token(first, TokenType.L_PAREN, "(")
        yield copy_token(first, TokenType.STRING, text)
        yield copy_token(found[-1], TokenType.R_PAREN, ")")

    def _text(self, first: Token, last: Token) -> str:
        return self._sql[first.start : last.end + 1]

    def _is_protected_call(self, found: Sequence[Token], index: int) -> bool:
        name = word(found[index])
        if index + 1 >= len(found) or found[index + 1].token_type is not TokenType.L_PAREN or not name.isidentifier():
            return False
        if not self._protection.every_name and name not in self._protection.names:
            return False
        if name in KEYWORDS and name not in _FUNCTIONS:
            return False
        before = found[index - 1] if index else None
        if before is not None and (before.token_type is TokenType.DOT or word(before) in ("AS", "INTO", "TABLE")):
            return False
        return not any(word(token) in _INSIDE for token in _arguments(found, index + 1))


def interval_end(found: Sequence[Token], index: int) -> int:
    """Return the index after the interval at the index, which can have several units."""
    at = index + 1
    while True:
        first = at
        at += at < len(found) and found[at].text in ("-", "+")
        if not (at < len(found) and found[at].token_type in (TokenType.NUMBER, TokenType.STRING)):
            return first
        at += 1
        at += at < len(found) and word(found[at]) in UNITS
        if at + 1 < len(found) and word(found[at]) == "TO" and word(found[at + 1]) in UNITS:
            return at + 2


def _arguments(found: Sequence[Token], opening: int) -> Iterator[Token]:
    """Yield the tokens directly in the parentheses that open at an index."""
    depth = 0
    for token in found[opening:]:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth == 0:
            return
        if depth == 1:
            yield token


def restore(tree: exp.Expression) -> exp.Expression | None:
    """Return a tree with the user's names and texts again; None if sqlglot took a protected name for something else."""
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name == _TEXT:
            text = exp.Var(this=call.expressions[0].name)
            if call is tree:
                return text
            call.replace(text)
        elif call.name.startswith(_CALL):
            call.set("this", call.name.removeprefix(_CALL))
    left = any(node.name.startswith((_CALL, _TEXT)) for node in tree.find_all(exp.Identifier, exp.Var))
    return None if left else tree
