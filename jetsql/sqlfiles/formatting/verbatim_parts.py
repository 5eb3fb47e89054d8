"""Find what Spark reads as text, or where white space and case count: it stays as the user wrote it.

From SqlBaseParser.g4 of Spark 4.3. Its rules with raw text (`.*?`) are SET, RESET, ADD, LIST, REFRESH and the
statements of Hive that Spark refuses. The keys of properties are the text of their tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from jetsql.language.statement_head import after_explain
from jetsql.language.tokens import Kind, Token, closing_parenthesis

_HEAD: Final = 100  # tokens and comments up to the object of a statement
_RAW_VERBS: Final = frozenset(
    "ADD COMMIT DFS EXPORT GRANT IMPORT LIST LOCK REFRESH RESET REVOKE ROLLBACK SET UNLOCK USE".split()
)
_PROPERTY_LISTS: Final = frozenset("OPTIONS TBLPROPERTIES DBPROPERTIES PROPERTIES SERDEPROPERTIES WITH".split())
# Operators of Spark of which the scanner makes several tokens.
_OPERATORS: Final = frozenset({"<<", ">>", "!>", "!<"})
_PUNCTUATION: Final = frozenset("(),;[]")


def raw_start(text: str, found: Sequence[Token]) -> int | None:
    """Return the place of what Spark reads as text in a statement, up to its end; None if there is no such part.

    Comments belong to this text. found: the tokens of the statement, with comments.
    """
    plain = after_explain([token for token in found[:_HEAD] if token.kind is not Kind.COMMENT])
    if _word(plain, 0) not in _RAW_VERBS:
        return None
    if _word(plain, 0) == "REFRESH" and _refreshes_relation(plain, 1):
        return None
    stop = plain[0].stop
    start = next((token.start for token in found if token.start >= stop), None)
    # Spark trims the text, but not of spaces that are no ASCII.
    return start if start is None or text[stop:start].isascii() else stop


def fold_hints(text: str, found: Sequence[Token]) -> list[Token]:
    """Return the tokens with each hint as one token, because a hint stays as it is."""
    folded: list[Token] = []
    start: int | None = None
    for token in found:
        if token.text == "/*+" and start is None:
            start = token.start
        if start is None:
            folded.append(token)
        elif token.text == "*/":
            folded.append(Token(Kind.SYMBOL, text[start : token.stop], start, token.stop))
            start = None
    if start is not None:
        folded.append(Token(Kind.SYMBOL, text[start : found[-1].stop], start, found[-1].stop))
    return folded


def property_words(found: Sequence[Token]) -> set[int]:
    """Return the places of the words in lists of properties: keys without quotes keep their case."""
    places: set[int] = set()
    stop = 0
    for index, (before, token) in enumerate(pairwise(found), start=1):
        if index >= stop and token.text == "(" and before.word in _PROPERTY_LISTS:
            stop = closing_parenthesis(found, index)
            places.update(each.start for each in found[index:stop] if each.kind is Kind.WORD)
    return places


def gaps_that_count(found: Sequence[Token], variable: str) -> Iterator[tuple[Token, bool]]:
    """Yield each token before which white space counts for Spark, and whether there is none.

    found: the tokens of a statement; a comment is as white space. variable: a text that is in each word in which a
    variable is, whose value is not known; empty if there are none. With a value, everything around it that is written
    without spaces can be one token.
    """
    plain = [token for token in found if token.kind is not Kind.COMMENT]
    run: list[Token] = []  # the tokens without spaces between them and without a variable
    in_run = False  # the run has a variable
    in_version = False  # after @: a dot is a part of the number of a version, as in @v1.
    for before, token in pairwise(plain):
        is_glued = before.stop == token.start
        in_version = before.text == "@" or (in_version and "." in (before.text, token.text))
        if before.text in _PUNCTUATION or token.text in _PUNCTUATION:
            run, in_run = [], False
            continue
        if not is_glued:
            run, in_run = [], False
        has_variable = _has_variable(before, variable) or _has_variable(token, variable)
        if has_variable and is_glued:
            yield from ((each, True) for each in run)
            run, in_run = [], True
        if has_variable or in_run or in_version or _is_operator(before, token):
            yield token, is_glued
        elif is_glued:
            run.append(token)


def _is_operator(before: Token, token: Token) -> bool:
    return before.kind is token.kind is Kind.SYMBOL and (before.text + token.text)[:2].upper() in _OPERATORS


def _has_variable(token: Token, variable: str) -> bool:
    return bool(variable) and token.kind is Kind.WORD and variable in token.text


def _word(found: Sequence[Token], index: int) -> str:
    return found[index].word if index < len(found) else ""


def _refreshes_relation(found: Sequence[Token], at: int) -> bool:
    """Return whether a table, a view or a function is refreshed, and not a path.

    Spark takes `TABLE a b` for a path, because more than one name follows TABLE.
    """
    if (_word(found, at), _word(found, at + 1)) in (("STREAMING", "TABLE"), ("MATERIALIZED", "VIEW")):
        return True
    return _word(found, at) in ("TABLE", "FUNCTION") and _is_one_name(found[at + 1 :])


def _is_one_name(found: Sequence[Token]) -> bool:
    """Return whether tokens are a name, with or without qualifiers, or a call of IDENTIFIER."""
    if _word(found, 0) == "IDENTIFIER" and len(found) > 1 and found[1].text == "(":
        return closing_parenthesis(found, 1) >= len(found) - 1
    names, dots = found[::2], found[1::2]
    is_complete = len(names) == len(dots) + 1
    return is_complete and all(map(_is_part_of_name, names)) and all(dot.text == "." for dot in dots)


def _is_part_of_name(token: Token) -> bool:
    return token.kind is Kind.WORD or (token.kind is Kind.QUOTED and token.text.startswith("`"))
