"""Decide whether a text that sqlglot generated has the meaning of the text that it read.

Both texts are compared token by token, in order: keywords, names with their case, values of literals, symbols. What
sqlglot writes otherwise without a change for Spark is in this module, and nothing else is allowed. Each rule brings
both texts to one form; a rule that cannot be sure leaves them different.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from jetsql.jobs.model.job import quoted_text
from jetsql.language.keywords import KEYWORDS
from jetsql.language.tokens import Kind, Token, tokens, unquote

_SYMBOLS: Final = {"!=": "<>", "==": "="}
_OPERATORS: Final = {"REGEXP": "RLIKE"}
"""Words that Spark's grammar takes for one operator."""

_PROPERTIES: Final = ("OPTIONS", "TBLPROPERTIES")
TYPE_SYNONYMS: Final = {
    "INTEGER": "INT",
    "LONG": "BIGINT",
    "SHORT": "SMALLINT",
    "BYTE": "TINYINT",
    "REAL": "FLOAT",
    "DEC": "DECIMAL",
    "NUMERIC": "DECIMAL",
}
"""Names of types that Spark reads as others."""

_UNITS: Final = frozenset("YEAR QUARTER MONTH WEEK DAY HOUR MINUTE SECOND MILLISECOND MICROSECOND NANOSECOND".split())
_AMOUNT: Final = re.compile(r"([+-]?[0-9]+) +([A-Za-z]+)")
_OPEN: Final = ("(", "[", "{")
_CLOSE: Final = (")", "]", "}")
# An expression of Spark's grammar with a predicate ends, and begins, at these words.
_BOUNDARIES: Final = frozenset(
    "AND AS ASC BY CASE CROSS DESC DISTINCT ELSE END EXCEPT FROM FULL GROUP HAVING INNER INTERSECT JOIN LEFT LIMIT NOT"
    " NULLS ON OR ORDER QUALIFY RIGHT SELECT SET THEN UNION VALUES WHEN WHERE WINDOW".split()
)
_NEGATED: Final = frozenset("IN BETWEEN LIKE ILIKE RLIKE".split())
_COMPARISONS: Final = frozenset(["=", "<>", "<", ">", "<=", ">=", "<=>"])


class _Item(NamedTuple):
    """A token in the form that is compared."""

    kind: str  # word (in capitals), name, call (in capitals), string, number, symbol
    text: str

    def is_word(self, *words: str) -> bool:
        return self.kind == "word" and self.text in words


_END: Final = _Item("symbol", "")


def is_same(written: str, generated: str) -> bool:
    """Return whether Spark reads the same in both texts. generated: by sqlglot, from what it read in `written`."""
    first, second = _items(tokens(written)), _items(tokens(generated))
    return len(first) == len(second) and all(map(_is_equal, first, second))


def called_names(text: str) -> list[str]:
    """Return the names before parentheses in a text, in capitals."""
    found = list(tokens(text))
    return [token.word for token, after in pairwise(found) if after.text == "(" and token.kind is Kind.WORD]


def _is_equal(written: _Item, generated: _Item) -> bool:
    if written == generated:
        return True
    # The dialect quotes names of tables that sqlglot takes for keywords.
    return written.kind == "word" and generated.kind == "name" and written.text == generated.text.upper()


def _items(found: Iterable[Token]) -> list[_Item]:
    read = _properties(list(found))
    after = [*read[1:], None]
    items = [_item(token, "" if follows is None else follows.text) for token, follows in zip(read, after, strict=True)]
    items = _intervals(_words_left_out(_formats(items)))
    return _negations(_null_safe_comparisons(_casts(items)))


def _properties(found: Sequence[Token]) -> list[Token]:
    """Write the keys of properties as strings, without = after them."""
    done: list[Token] = []
    index = depth = 0  # depth: 1 in the parentheses of properties
    while index < len(found):
        token = found[index]
        if token.text == "(" and (depth or (done and done[-1].word in _PROPERTIES)):
            depth += 1
        elif token.text == ")" and depth:
            depth -= 1
        elif depth == 1 and done[-1].text in ("(", ","):
            stop = index + 1
            while stop + 1 < len(found) and found[stop].text == ".":
                stop += 2
            names = [each for each in found[index:stop:2]]
            if all(each.kind in (Kind.WORD, Kind.QUOTED) for each in names):
                key = ".".join(unquote(each.text) if each.kind is Kind.QUOTED else each.text for each in names)
                token = Token(Kind.STRING, quoted_text(key), token.start, found[stop - 1].stop)
                index = stop - 1
            index += index + 1 < len(found) and found[index + 1].text == "="
        done.append(token)
        index += 1
    return done


def _item(token: Token, after: str) -> _Item:
    if token.kind is Kind.WORD:
        word = token.word
        if word in KEYWORDS:
            return _Item("word", word if after == "(" else _OPERATORS.get(word, word))
        return _Item("call", word) if after == "(" else _Item("name", token.text)
    if token.kind is Kind.QUOTED:
        return _Item("name", unquote(token.text))
    if token.kind is Kind.STRING:
        return _Item("string", unquote(token.text))
    if token.kind is Kind.NUMBER:
        return _Item("number", token.text.lower())
    return _Item("word", "NOT") if token.text == "!" else _Item("symbol", _SYMBOLS.get(token.text, token.text))


def _formats(items: Sequence[_Item]) -> list[_Item]:
    """Write the format after USING in capitals: Spark compares its short name without case."""
    done: list[_Item] = []
    for index, item in enumerate(items):
        after = items[index + 1].text if index + 1 < len(items) else ""
        is_format = bool(done) and done[-1].is_word("USING") and item.kind == "name" and after not in (".", "-")
        done.append(item._replace(text=item.text.upper()) if is_format else item)
    return done


def _words_left_out(items: Sequence[_Item]) -> list[_Item]:
    """Leave out AS before a name, INNER before JOIN, OUTER of a join, and TABLE of an INSERT.

    A keyword can be an alias too, but there AS decides whether Spark takes it for one.
    """
    kept: list[_Item] = []
    for index, item in enumerate(items):
        after = items[index + 1] if index + 1 < len(items) else _END
        before = kept[-1] if kept else _END
        if item.is_word("AS") and after.kind == "name":
            continue
        if item.is_word("INNER") and after.is_word("JOIN") and not before.is_word("AS"):
            continue
        if item.is_word("OUTER") and after.is_word("JOIN") and before.is_word("LEFT", "RIGHT", "FULL"):
            continue
        if item.is_word("TABLE") and before.is_word("INTO", "OVERWRITE") and after.kind == "name":
            continue
        kept.append(item)
    return kept


def _intervals(items: Sequence[_Item]) -> list[_Item]:
    """Write INTERVAL 5 MINUTES and INTERVAL '5 minutes' as INTERVAL '5' MINUTE. Further units stay as they are."""
    done: list[_Item] = []
    index = 0
    while index < len(items):
        item = items[index]
        done.append(item)
        index += 1
        if not item.is_word("INTERVAL") or index >= len(items):
            continue
        sign = items[index].text if items[index].text in ("+", "-") else ""
        value = items[index + 1] if sign and index + 1 < len(items) else items[index]
        unit = items[index + 1 + bool(sign)] if index + 1 + bool(sign) < len(items) else _END
        amount = _AMOUNT.fullmatch(value.text) if value.kind == "string" else None
        if value.kind == "number" or (value.kind == "string" and not sign):
            if _unit(unit.text) in _UNITS and unit.kind == "word":
                done += _Item("string", sign + value.text), _Item("word", _unit(unit.text))
                index += 2 + bool(sign)
            elif amount is not None and _unit(amount[2].upper()) in _UNITS:
                done += _Item("string", amount[1]), _Item("word", _unit(amount[2].upper()))
                index += 1
    return done


def _unit(word: str) -> str:
    return word.removesuffix("S")


def _casts(items: Sequence[_Item]) -> list[_Item]:
    """Write x::T as CAST(x AS T), and types by one of their names."""
    done: list[_Item] = []
    index = 0
    while index < len(items):
        item = items[index]
        if item.text == "::" and item.kind == "symbol":
            start = _operand_start(done)
            stop = _type_stop(items, index + 1)
            if start is not None:
                kind = _type(items[index + 1 : stop])
                head = (_Item("word", "CAST"), _Item("symbol", "("))
                done[start:] = [*head, *done[start:], _Item("word", "AS"), *kind, _Item("symbol", ")")]
                index = stop
                continue
        done.append(item)
        index += 1
        if item.is_word("CAST", "TRY_CAST"):
            index = _copy_cast(items, index, done)
    return done


def _copy_cast(items: Sequence[_Item], index: int, done: list[_Item]) -> int:
    """Copy the parentheses after CAST, with its type by one name; return the index after them."""
    stop = _closing(items, index)
    inner = _casts(items[index:stop])
    depth = at = 0
    for place, item in enumerate(inner):
        depth += (item.text in _OPEN) - (item.text in _CLOSE) if item.kind == "symbol" else 0
        if depth == 1 and item.is_word("AS"):
            at = place + 1
    done += [*inner[:at], *_type(inner[at:])]
    return stop


def _closing(items: Sequence[_Item], index: int) -> int:
    """Return the index of the parenthesis that closes the one at the index; of the end if none does."""
    depth = 0
    for at in range(index, len(items)):
        if items[at].kind == "symbol":
            depth += (items[at].text in _OPEN) - (items[at].text in _CLOSE)
            if depth == 0:
                return at
    return len(items)


def _operand_start(done: Sequence[_Item]) -> int | None:
    """Return where the operand of a :: at the end begins; None if this is not sure."""
    at = len(done) - 1
    while at >= 0:
        item, before = done[at], done[at - 1] if at else _END
        if item.kind == "symbol" and item.text in _CLOSE:
            at = _opening(done, at)
            before = done[at - 1] if at > 0 else _END
            is_call = before.kind in ("call", "name") or (before.kind == "word" and before.text not in _BOUNDARIES)
            if done[at].text != "[" and not is_call:
                return None if at < 0 else at
            at -= 1
        elif item.kind in ("number", "string"):
            is_part = before.text == "-" or before.kind in ("word", "string", "name")
            return None if is_part and not before.is_word(*_BOUNDARIES) else at
        elif item.kind == "symbol" or item.is_word("END"):
            return None
        elif before.text == "." and before.kind == "symbol":
            at -= 2
        else:
            return None if before.text == ":" else at
    return None


def _opening(items: Sequence[_Item], index: int) -> int:
    """Return the index of the parenthesis that the one at the index closes; -1 if it closes none."""
    depth = 0
    for at in range(index, -1, -1):
        if items[at].kind == "symbol":
            depth += (items[at].text in _CLOSE) - (items[at].text in _OPEN)
            if depth == 0:
                return at
    return -1


def _type_stop(items: Sequence[_Item], index: int) -> int:
    """Return the index after the type at the index: a word, with what is in parentheses or angle brackets."""
    at = index + 1
    if at < len(items) and items[at].text == "(":
        return _closing(items, at) + 1
    depth = 0
    while at < len(items) and (depth or items[at].text == "<"):
        depth += (items[at].text == "<") - (items[at].text == ">")
        at += 1
        if depth == 0:
            break
    return at


def _type(items: Sequence[_Item]) -> list[_Item]:
    """Return a type by one of its names, without the colons after the names of fields."""
    done: list[_Item] = []
    is_name = False  # of a field: LONG can be one
    structs: list[bool] = []
    for index, item in enumerate(items):
        before = items[index - 1].text if index else ""
        if item.text == "<":
            structs.append(before == "STRUCT")
        elif item.text == ">" and structs:
            structs.pop()
        is_name = bool(structs) and structs[-1] and before in ("<", ",")
        if item.text == ":" and structs and structs[-1]:
            continue
        done.append(
            _Item("word", TYPE_SYNONYMS[item.text])
            if item.kind == "word" and not is_name and item.text in TYPE_SYNONYMS
            else item
        )
    return done


def _null_safe_comparisons(items: Sequence[_Item]) -> list[_Item]:
    """Write a <=> b as a IS NOT DISTINCT FROM b, where nothing else is compared: both bind differently."""
    done: list[_Item] = []
    for index, item in enumerate(items):
        if item.kind == "symbol" and item.text == "<=>":
            start, stop = _left(items, index), _right(items, index)
            others = sum(
                each.text in _COMPARISONS or each.is_word("IS", *_NEGATED) for each in _flat(items, start, stop)
            )
            if others == 1:
                done += (_Item("word", word) for word in ("IS", "NOT", "DISTINCT", "FROM"))
                continue
        done.append(item)
    return done


def _negations(items: Sequence[_Item]) -> list[_Item]:
    """Write x NOT IN (...) as NOT x IN (...), and x IS NOT NULL as NOT x IS NULL."""
    done: list[_Item] = []
    for index, item in enumerate(items):
        after = items[index + 1] if index + 1 < len(items) else _END
        before = done[-1] if done else _END
        is_null = before.is_word("IS") and after.is_word("NULL")
        if item.is_word("NOT") and (after.is_word(*_NEGATED) or is_null) and done:
            done.insert(_left(done, len(done)), item)
            continue
        done.append(item)
    return done


def _flat(items: Sequence[_Item], start: int, stop: int) -> Iterable[_Item]:
    """Yield the items between two indexes that are outside of parentheses."""
    depth = 0
    for item in items[start:stop]:
        depth += (item.text in _OPEN) - (item.text in _CLOSE) if item.kind == "symbol" else 0
        if depth == 0:
            yield item


def _left(items: Sequence[_Item], index: int) -> int:
    """Return where the expression that ends before the index begins."""
    depth = 0
    for at in range(index - 1, -1, -1):
        item = items[at]
        if item.kind == "symbol":
            depth += (item.text in _CLOSE) - (item.text in _OPEN)
        if depth < 0 or (depth == 0 and _is_boundary(item)):
            return at + 1
    return 0


def _right(items: Sequence[_Item], index: int) -> int:
    """Return where the expression that begins after the index ends."""
    depth = 0
    for at in range(index + 1, len(items)):
        item = items[at]
        if item.kind == "symbol":
            depth += (item.text in _OPEN) - (item.text in _CLOSE)
        if depth < 0 or (depth == 0 and _is_boundary(item)):
            return at
    return len(items)


def _is_boundary(item: _Item) -> bool:
    if item.kind == "symbol":
        return item.text in (",", ";", "->", "=>", "|>")
    return item.kind == "word" and item.text in _BOUNDARIES
