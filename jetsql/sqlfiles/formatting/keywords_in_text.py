"""Find the words of a statement that are keywords: only their case means nothing to Spark.

Spark's keywords can be names as well, and the case of a column's name is that of the result. What comes before and
after a word decides, so nothing depends on how sqlglot reads the statement. A keyword that is not found keeps its case.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from jetsql.errors import StatementError
from jetsql.language import parse
from jetsql.language.keywords import KEYWORDS
from jetsql.language.parser import terminals
from jetsql.language.tokens import Kind, Token
from jetsql.sqlfiles.formatting.verbatim_parts import fold_hints, property_words

# These stand for a value, unless a column has this name.
_VALUE_WORDS: Final = frozenset(
    "CURRENT_CATALOG CURRENT_DATABASE CURRENT_DATE CURRENT_PATH CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP"
    " CURRENT_USER LOCALTIME LOCALTIMESTAMP SESSION_USER USER".split()
)
# At the beginning of an expression, only these are no names.
_BEGINS: Final = frozenset("ALL CASE DISTINCT EXISTS FALSE LATERAL NOT NULL TRUE UNBOUNDED".split())
# These are none before a parenthesis or a literal.
_BEGINS_CALLS: Final = frozenset(
    "ANY ARRAY CAST DATE EXTRACT FIRST GROUPING INTERVAL LAST MAP POSITION SOME STRUCT TIMESTAMP TIMESTAMP_LTZ"
    " TIMESTAMP_NTZ TRIM TRY_CAST".split()
)
_OPERATORS: Final = ", = == <> != < > <= >= <=> + - * / % || & | ^ ~ -> => ["
_BEFORE_EXPRESSIONS: Final = "AND OR ON WHERE HAVING ELSE WHEN BETWEEN LIMIT OFFSET RETURN VALUES DISTINCT SET"
# What comes before an expression or a name, with the further keywords that can be there.
_EXPECTS: Final[dict[str, Sequence[str]]] = {
    **dict.fromkeys(f"{_OPERATORS} {_BEFORE_EXPRESSIONS}".split(), ()),
    "(": "BOTH BUCKET CLUSTER DEFINE DISTRIBUTE FROM LEADING MEASURES ORDER PARTITION RANGE REDUCE ROWS SELECT SORT"
    " TABLE TRAILING VALUES WHERE WITH".split(),
    "AS": "AUTO DELETE DIRECTORIES FROM IDENTITY INPUTFORMAT INSERT JSON OF REDUCE SCD SELECT SERDE SINK TABLE VALUES"
    " WITH".split(),
    "BY": "CUBE DEFAULT NAME ROLLUP SOURCE TARGET".split(),
    "CASE": ("WHEN",),
    "FROM": ("STREAM", "TABLE", "VALUES"),
    "IS": ("UNKNOWN",),
    "JOIN": ("STREAM", "TABLE", "VALUES"),
    "NOT": "BETWEEN DETERMINISTIC ENFORCED ILIKE IN LIKE MATCHED RLIKE".split(),
    "SELECT": ("TRANSFORM",),
    "THEN": ("DELETE", "INSERT", "UPDATE"),
    "WHEN": ("MATCHED",),
}
_BEFORE_STARS: Final = frozenset({"SELECT", "DISTINCT", "ALL", "INSERT", "SET", ",", "(", "."})
_NESTED_TYPES: Final = frozenset({"ARRAY", "MAP", "STRUCT"})
_CASTS: Final = frozenset({"CAST", "TRY_CAST"})
_QUERY_PARTS: Final = ("BODY", "TABLE_CLAUSES")


def keyword_places(text: str, found: Sequence[Token]) -> set[int]:
    """Return the places of the words in a statement that are keywords, and no names.

    found: its tokens, without comments.
    """
    found = fold_hints(text, found)
    try:
        statement = parse(text)
    except StatementError:
        return set()
    if statement is None:
        return _keywords_of_spark(found)
    places, leaves = set(), terminals(text)
    for name, place in leaves:
        if name in _QUERY_PARTS:
            places |= _keywords_of_spark([token for token in found if place.start <= token.start < place.stop])
        elif text[place.start : place.stop].upper() == name:
            places.add(place.start)
    return places


def _keywords_of_spark(found: Sequence[Token]) -> set[int]:
    """Return the places of the keywords in tokens of Spark's SQL."""
    properties, types = property_words(found), _type_words(found)
    places = set()
    calls: list[str] = [""]  # the words before the open parentheses
    for index, token in enumerate(found):
        before, after = _at(found, index - 1), _at(found, index + 1)
        if token.text == "(":
            calls.append(before.word if before else "")
        elif token.text == ")" and len(calls) > 1:
            calls.pop()
        if token.word not in KEYWORDS or token.start in properties:
            continue
        if token.word in _VALUE_WORDS or _is_named(before, token, after, types):
            continue
        if before is not None and token.start not in types and not _begins_expression(token, after):
            further = None if _is_star(found, index - 1) else _EXPECTS.get(before.word or before.text)
            is_cast = before.word == "AS" and calls[-1] in _CASTS
            if further is not None and token.word not in further and not is_cast:
                continue
        places.add(token.start)
    return places


def _is_star(found: Sequence[Token], index: int) -> bool:
    """Return whether a token is the star for all columns, and no multiplication. A hint can be before it."""
    before = _at(found, index - 1)
    if found[index].text != "*" or before is None:
        return False
    return before.text.upper() in _BEFORE_STARS or before.text.startswith("/*+")


def _begins_expression(token: Token, after: Token | None) -> bool:
    if token.word not in _BEGINS_CALLS:
        return token.word in _BEGINS
    return after is not None and (after.kind in (Kind.STRING, Kind.NUMBER) or after.text in ("(", "-", "+"))


def _type_words(found: Sequence[Token]) -> set[int]:
    """Return the places of the words between < and > of types."""
    places, depth = set(), 0
    for index, (before, token) in enumerate(pairwise(found), start=1):
        if token.text == "<" and (depth or (before.word in _NESTED_TYPES and _can_be_type(_at(found, index - 2)))):
            depth += 1
        elif token.text == ">":
            depth = max(depth - 1, 0)
        elif depth and token.kind is Kind.WORD:
            places.add(token.start)
    return places


def _can_be_type(before: Token | None) -> bool:
    """Return whether a type can follow a token. At the beginning of an expression, STRUCT < is a comparison."""
    return before is not None and (before.word == "AS" or (before.word or before.text) not in _EXPECTS)


def _is_named(before: Token | None, token: Token, after: Token | None, types: set[int]) -> bool:
    """Return whether the signs next to a word make a name of it. types: the places of words in types."""
    if before is not None and (before.text == "." or (before.text == ":" and token.start not in types)):
        return True
    return after is not None and after.text in (".", "=>", "->")


def _at(found: Sequence[Token], index: int) -> Token | None:
    return found[index] if 0 <= index < len(found) else None
