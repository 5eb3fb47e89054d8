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
from jetsql.language.statement_head import QUERY_WORDS
from jetsql.language.tokens import Kind, Token
from jetsql.sqlfiles.formatting.verbatim_parts import fold_hints, property_words

# These stand for a value, unless a column has this name.
_VALUE_WORDS: Final = frozenset(
    "CURRENT_CATALOG CURRENT_DATABASE CURRENT_DATE CURRENT_PATH CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP"
    " CURRENT_USER LOCALTIME LOCALTIMESTAMP SESSION_USER USER".split()
)
# At the beginning of an expression, only these are no names.
_BEGINS: Final = frozenset("ALL CASE DISTINCT FALSE LATERAL NOT NULL TRUE UNBOUNDED".split())
# These are none before a parenthesis, before a query in parentheses, and before a literal.
_BEGINS_CALLS: Final = frozenset("CAST EXTRACT POSITION TRIM TRY_CAST".split())
_BEGINS_QUERIES: Final = frozenset("ANY EXISTS SOME".split())
_BEGINS_LITERALS: Final = frozenset("DATE INTERVAL TIMESTAMP TIMESTAMP_LTZ TIMESTAMP_NTZ".split())
_OPERATORS: Final = ", = == <> != < > <= >= <=> + - * / % || & | ^ ~ -> => ["
_BEFORE_EXPRESSIONS: Final = "AND OR DIV ON WHERE HAVING ELSE WHEN BETWEEN LIMIT OFFSET RETURN VALUES DISTINCT SET"
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
# What comes before the name of a table, a column or a collation, with the keywords that can be there.
_BEFORE_NAMES: Final[dict[str, Sequence[str]]] = {
    "COLLATE": (),
    "COLUMN": ("IF",),
    "DESCRIBE": "CATALOG DATABASE EXTENDED FORMATTED FUNCTION JOB NAMESPACE PROCEDURE QUERY SCHEMA SELECT TABLE"
    " VALUES WITH".split(),
    "INTO": ("TABLE",),
    "OVER": (),
    "OVERWRITE": "DIRECTORY INTO LOCAL TABLE".split(),
    "TABLE": "EXTENDED FORMATTED IF".split(),
    "TO": "DAY HOUR MINUTE MONTH SECOND".split(),
    "UPDATE": ("SET",),
    "USING": (),
}
# These are keywords only if what they begin follows: `SELECT a union FROM t` has a column with this name.
_OPENS: Final = frozenset(
    "ALL AND AS ASOF BETWEEN BY CASE CLUSTER CROSS DESCRIBE DISTINCT DISTRIBUTE DIV ELSE ESCAPE EXCEPT FROM FULL GROUP"
    " HAVING ILIKE IN INNER INSERT INTERSECT INTO IS JOIN LATERAL LEFT LIKE LIMIT MINUS NATURAL NOT OFFSET ON OR ORDER"
    " OVER PARTITION QUALIFY RIGHT RLIKE SELECT SET SORT STREAM TABLESAMPLE THEN UNION USING VALUES WATERMARK WHEN"
    " WHERE WINDOW WITH".split()
)
_CLOSES: Final = frozenset(
    ", ) ] ; ASC DESC EXCEPT FROM GROUP HAVING INTERSECT IS LIMIT NULLS OFFSET ON ORDER UNION USING WHERE".split()
)
_AFTER_INSERT: Final = frozenset("( * INTO OVERWRITE TABLE WITH".split())
# The first word in the parentheses of these is the name of a part of a time.
_PARTS_OF_TIMES: Final = frozenset("DATEADD DATEDIFF DATE_ADD DATE_DIFF EXTRACT TIMESTAMPADD TIMESTAMPDIFF".split())
_BEFORE_STARS: Final = frozenset({"SELECT", "DISTINCT", "ALL", "INSERT", "SET", ",", "(", "."})
_NESTED_TYPES: Final = frozenset({"ARRAY", "MAP", "STRUCT"})
_CASTS: Final = frozenset({"CAST", "TRY_CAST"})
_NAMES_AFTER: Final = (("ALL", "FROM"), ("STREAM", "USING"), ("LATERAL", "SELECT"))
_BEFORE_OUTER: Final = frozenset({"FULL", "LEFT", "RIGHT", "VIEW"})
_NAMES: Final = ","  # of columns, in parentheses
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
            calls.append(_word_before_list(found, index))
        elif token.text == ")" and len(calls) > 1:
            calls.pop()
        if token.word not in KEYWORDS or token.start in properties:
            continue
        if token.word in _VALUE_WORDS or _is_named(before, token, after, types) or _lacks_more(before, token, after):
            continue
        if before is None or token.start in types or _can_follow(found, index, calls):
            places.add(token.start)
    return places


def _can_follow(found: Sequence[Token], index: int, calls: Sequence[str]) -> bool:
    """Return whether a word can be a keyword after the token before it. calls: the words before open parentheses."""
    token, before = found[index], found[index - 1]
    name = before.word or before.text
    following = _at(found, index + 1)
    if name in _BEFORE_NAMES:
        is_named_table = token.word == "TABLE" and following is not None and following.word in QUERY_WORDS
        return token.word in _BEFORE_NAMES[name] and not is_named_table
    if before.text in ("(", ",") and calls[-1] == _NAMES:
        return False
    if before.text == "(" and calls[-1] in _PARTS_OF_TIMES:
        return False
    if token.word == "AS" and following is not None and following.word == "SELECT" and found[index - 2].word == "FROM":
        return False  # the alias in FROM t as SELECT a
    if ("UNPIVOT" in calls and name == "FOR") or (name, token.word) in _NAMES_AFTER:
        return False
    if _begins_expression(found, index) and "UNPIVOT" not in calls:
        return True
    further = None if _is_star(found, index - 1) else _EXPECTS.get(name)
    is_cast = before.word == "AS" and calls[-1] in _CASTS
    return further is None or token.word in further or is_cast


def _word_before_list(found: Sequence[Token], index: int) -> str:
    """Return the word before a parenthesis, or _NAMES if names of columns are in it."""
    before = index - 1
    if index and found[before].word in ("PARTITION", "PARTITIONED", "USING"):
        return _NAMES
    if index > 1 and found[before].word == "BY" and found[before - 1].word == "PARTITIONED":
        return _NAMES
    while before > 1 and found[before - 1].text == ".":
        before -= 2
    if before > 0 and found[before - 1].word in ("INTO", "TABLE", "OVERWRITE", "EXISTS", "VIEW"):
        return _NAMES
    if index and found[index - 1].word == "INSERT":
        return _NAMES
    return found[index - 1].word if index else ""


def _lacks_more(before: Token | None, token: Token, after: Token | None) -> bool:
    """Return whether a word cannot be a keyword because what it would begin does not follow."""
    follows = "" if after is None else after.word or after.text
    if token.word == "ALL" and before is not None and before.word == "BY":
        return False  # it stands for columns, as a column with this name does
    if token.word == "INSERT":
        return follows not in _AFTER_INSERT
    if token.word == "OUTER":
        return before is None or before.word not in _BEFORE_OUTER
    if token.word == "TABLESAMPLE":
        return follows != "("
    if token.word == "VALUES" and before is not None and before.word in ("FROM", "JOIN"):
        return after is None or after.kind in (Kind.WORD, Kind.QUOTED)  # a table with an alias
    if (token.word, follows) in (("AS", "JOIN"), ("LATERAL", "SELECT"), ("DISTINCT", "WITH")):
        return True  # an alias, a table and a column with these names
    return token.word in _OPENS and (not follows or follows in _CLOSES)


def _is_star(found: Sequence[Token], index: int) -> bool:
    """Return whether a token is the star for all columns, and no multiplication. A hint can be before it."""
    before = _at(found, index - 1)
    if found[index].text != "*" or before is None:
        return False
    return before.text.upper() in _BEFORE_STARS or before.text.startswith("/*+")


def _begins_expression(found: Sequence[Token], index: int) -> bool:
    """Return whether a word is a keyword at the beginning of an expression. Functions keep their case."""
    token, after, next_but_one = found[index], _at(found, index + 1), _at(found, index + 2)
    if token.word in _BEGINS:
        return True
    if after is None:
        return False
    if token.word in _BEGINS_LITERALS:
        return after.kind in (Kind.STRING, Kind.NUMBER) or after.text in ("-", "+")
    if after.text != "(":
        return False
    is_query = next_but_one is not None and next_but_one.word in QUERY_WORDS
    return token.word in _BEGINS_CALLS or (token.word in _BEGINS_QUERIES and is_query)


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
