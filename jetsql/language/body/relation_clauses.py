"""Refuse clauses of a relation in a wrong order, and incomplete ones, with the words to write instead.

Spark never accepts these, and its error is at a word after them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.language.tokens import Kind, Token, closing_parenthesis, top_level

# After these, the next word is a name: FROM emit changes reads a table with an alias.
BEFORE_NAMES: Final = frozenset({"FROM", "JOIN", "STREAM", "TABLE", "AS", ".", ","})

_BEFORE_RELATIONS: Final = (BEFORE_NAMES - {"AS"}) | {"INTO", "OF"}
_NO_ALIASES: Final = BEFORE_NAMES | {"INTO"}
_AFTER_RELATIONS: Final = frozenset({"WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "ON", "USING"})
_ENDS_OF_TIMES: Final = _AFTER_RELATIONS | {"FROM", "JOIN", "SELECT"}
_AS_OF: Final = ["SYSTEM_TIME", "AS", "OF"]
_WATERMARK: Final = "WATERMARK ts DELAY OF INTERVAL 1 MINUTE"
_EXAMPLES: Final = {
    "FOR SYSTEM_TIME": "FOR SYSTEM_TIME AS OF s.ts",
    "WITH": "WITH ('key' = 'value')",
    "TABLESAMPLE": "TABLESAMPLE (10 PERCENT)",
    "WATERMARK": _WATERMARK,
    "MATCH_RECOGNIZE": "MATCH_RECOGNIZE (...)",
}
"""The clauses of a relation in their order, with examples. A result of MATCH_RECOGNIZE can have a watermark."""
_ORDER: Final = tuple(_EXAMPLES)
_TABLE_CLAUSES: Final = ("FOR SYSTEM_TIME", "WITH")
_TARGET_ORDER: Final = ("WITH", "PARTITION", "the list of columns", "BY NAME")
_ORDERED: Final = frozenset({"GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "PARTITION", "PARTITIONED", "SEQUENCE"})
_UNITS: Final = frozenset(
    f"{unit}{end}"
    for unit in ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR")
    for end in ("", "S")
)
_HAS_UNIT: Final = re.compile(r"[A-Za-z]{3}")
_LONGEST: Final = 1_000  # tokens between a clause and the relation, and of the expression after WATERMARK


def refuse_wrong_relations(found: Sequence[Token]) -> None:
    """Refuse wrong clauses of relations. found: the tokens of a query, without comments.

    Raises StatementError PARSE_SYNTAX_ERROR, or UNSUPPORTED_QUERY for a clause that streams do not have.
    """
    for index in range(2, len(found)):
        if found[index].word == "WATERMARK":
            _refuse_incomplete_watermark(found, index)
        elif [token.word for token in found[index : index + 3]] == ["DELAY", "OF", "INTERVAL"]:
            _refuse_delay_alone(found, index)
        if clause := _relation_clause(found, index):
            _refuse_wrong_order(found, index, clause)


def refuse_wrong_target(found: Sequence[Token], at: int) -> None:
    """Refuse the clauses after the table of an INSERT in a wrong order. at: the index after the table's name

    Raises StatementError PARSE_SYNTAX_ERROR.
    """
    before = ""
    while clause := _target_clause(found, at):
        if clause == before or {clause, before} == {"BY NAME", "the list of columns"}:
            raise _misplaced_target(found[at], f"{_sentence(clause)} follows {before}. Write one of them.")
        if before and _TARGET_ORDER.index(clause) < _TARGET_ORDER.index(before):
            raise _misplaced_target(found[at], f"{_sentence(clause)} is written after {before}.")
        before = clause
        parenthesis = at + (clause != "the list of columns")
        at = at + 2 if clause == "BY NAME" else closing_parenthesis(found, parenthesis) + 1
    by = len(found) - 2
    if by > at and [token.word for token in found[by:]] == ["BY", "NAME"] and found[by - 1].word not in _ORDERED:
        raise _misplaced_target(found[by], "BY NAME is written after the query.")


def _target_clause(found: Sequence[Token], at: int) -> str:
    """Return the clause of the table of an INSERT that begins at the index; '' for the query."""
    words = [token.word or token.text for token in found[at : at + 2]]
    if words == ["BY", "NAME"]:
        return "BY NAME"
    if words == ["WITH", "("] and at + 2 < len(found) and found[at + 2].kind is Kind.STRING:
        return "WITH"
    if words == ["PARTITION", "("]:
        return "PARTITION"
    is_query = words[1:] == ["("] or words[1:2] in (["SELECT"], ["VALUES"], ["FROM"], ["WITH"], ["TABLE"])
    return "the list of columns" if words[:1] == ["("] and not is_query else ""


def _sentence(clause: str) -> str:
    return clause[:1].upper() + clause[1:]


def _misplaced_target(token: Token, message: str) -> StatementError:
    hint = "The order is: table, WITH (...), PARTITION (...), columns in parentheses or BY NAME, query."
    return StatementError("PARSE_SYNTAX_ERROR", message, place=token.place, hint=hint)


def _refuse_wrong_order(found: Sequence[Token], index: int, clause: str) -> None:
    start = _relation_start(found, index)
    if clause == "TABLESAMPLE" and start is not None and found[start].word == "STREAM":
        raise StatementError(
            "UNSUPPORTED_QUERY",
            "TABLESAMPLE reads tables, and no streams.",
            place=found[index].place,
            hint="For a tenth of the rows, write WHERE pmod(xxhash64(id), 10) = 0.",
        )
    if clause in _TABLE_CLAUSES and _follows_query(found, index):
        message = f"{clause} is a clause of a table, and not of a query in parentheses."
        raise _misplaced(found[index], message, f"FROM STREAM t {_EXAMPLES[clause]}, without parentheses")
    if index < 3:
        return
    example, before = _EXAMPLES[clause], _clause_before(found, index)
    if before == clause:
        raise _misplaced(found[index], f"{clause} is written twice.", f"one {clause}")
    if before in _ORDER[_ORDER.index(clause) + 1 :] and (clause, before) != ("WATERMARK", "MATCH_RECOGNIZE"):
        raise _misplaced(found[index], f"{clause} is written after {before}.", f"{example} {_EXAMPLES[before]}")
    if before in _AFTER_RELATIONS:
        raise _misplaced(found[index], f"{clause} is written after {before}.", f"FROM STREAM t {example}")
    alias, previous = found[index - 1], _symbol_or_word(found, index - 2)
    if alias.kind not in (Kind.WORD, Kind.QUOTED) or alias.word in _NO_ALIASES or previous in _BEFORE_RELATIONS:
        return
    raise _misplaced(alias, f"The alias {alias.text} is written before {clause}.", f"{example} AS {alias.text}")


def _relation_clause(found: Sequence[Token], index: int) -> str:
    """Return the clause of a relation that begins at the index; '' for another token."""
    word = found[index].word
    if word == "FOR" and [token.word for token in found[index + 1 : index + 4]] == _AS_OF:
        return "FOR SYSTEM_TIME"
    if word == "WITH" and _begins_options(found, index):
        return "WITH"
    if word == "TABLESAMPLE" and _begins_sample(found, index):
        return "TABLESAMPLE"
    return "WATERMARK" if _is_watermark(found, index) else ""


def _begins_options(found: Sequence[Token], index: int) -> bool:
    """Return whether WITH ('key' = 'value' begins at the index."""
    words = [token.word or token.text for token in found[index : index + 4]]
    if words[:2] != ["WITH", "("] or words[3:] != ["="]:
        return False
    return found[index + 2].kind is Kind.STRING


def _begins_sample(found: Sequence[Token], index: int) -> bool:
    """Return whether TABLESAMPLE is a clause at the index, and not an alias with columns in parentheses."""
    inside = found[index + 1 : index + 4]
    return len(inside) == 3 and inside[0].text == "(" and Kind.NUMBER in (inside[1].kind, inside[2].kind)


def _clause_before(found: Sequence[Token], index: int) -> str:
    """Return the clause before the index, at the same depth; '' for the name of a relation."""
    depth, is_same_relation = 0, True
    for at in range(index - 1, max(index - _LONGEST, 0), -1):
        depth += (found[at].text == ")") - (found[at].text == "(")
        if depth < 0 or (not depth and found[at].word in ("FROM", "JOIN", "INTO")):
            return ""
        if depth:
            continue
        is_same_relation = is_same_relation and found[at].text != ","
        if found[at].word in _AFTER_RELATIONS:
            return found[at].word
        clause = "MATCH_RECOGNIZE" if _begins_pattern(found, at) else _relation_clause(found, at)
        if clause and is_same_relation:
            return clause
    return ""


def _begins_pattern(found: Sequence[Token], index: int) -> bool:
    return found[index].word == "MATCH_RECOGNIZE" and _symbol_or_word(found, index + 1) == "("


def _relation_start(found: Sequence[Token], index: int) -> int | None:
    """Return the index of the first token of the relation before a token; None if there is none."""
    depth, comma = 0, -1
    for at in range(index - 1, max(index - _LONGEST, -1), -1):
        depth += (found[at].text == ")") - (found[at].text == "(")
        if depth < 0:
            return None
        if depth:
            continue
        if found[at].text == "," and comma < 0:
            comma = at
        if found[at].word in ("FROM", "JOIN"):
            start = (at if comma < 0 else comma) + 1
            return start if start < index else None
        if found[at].word in _ENDS_OF_TIMES:
            return None
    return None


def _follows_query(found: Sequence[Token], index: int) -> bool:
    """Return whether a query in parentheses is before the index, as a relation without an alias."""
    start = _relation_start(found, index)
    if start is None or found[start].text != "(":
        return False
    return closing_parenthesis(found, start) == index - 1


def _refuse_incomplete_watermark(found: Sequence[Token], index: int) -> None:
    """Refuse WATERMARK after a relation without its column, DELAY OF or an interval. It can also be an alias."""
    if _symbol_or_word(found, index - 1) in BEFORE_NAMES or _relation_start(found, index) is None:
        return
    if found[index - 1].word == "WITH":
        raise _incomplete(found[index - 1].place, "WATERMARK is written without WITH.")
    rest, end = _time(found, index)
    words = [token.word for token in rest]
    at = next((at for at in range(len(words)) if words[at : at + 2] == ["DELAY", "OF"]), None)
    if at is not None:
        _check_delay(rest, at)
    elif at_delay := next((at for at in range(1, len(words) - 1) if words[at] == "DELAY"), None):
        if _begins_interval(rest[at_delay + 1]):
            raise _incomplete(rest[at_delay].place, "OF is missing after DELAY.")
    elif "INTERVAL" in words or _has_arguments(found, index) or _is_column_alone(rest, end):
        raise _incomplete(found[index].place, "WATERMARK needs a column, and a delay with DELAY OF.")


def _time(found: Sequence[Token], index: int) -> tuple[list[Token], str]:
    """Return the tokens after WATERMARK up to the end of its clause, at its depth, and the word or sign there."""
    part = found[index + 1 : index + _LONGEST]
    rest: list[Token] = []
    for at in top_level(part):
        if part[at].text in (")", ",", ";") or part[at].word in _ENDS_OF_TIMES:
            return rest, part[at].word or part[at].text
        rest.append(part[at])
    return rest, ""


def _check_delay(rest: Sequence[Token], at: int) -> None:
    """Raise StatementError if DELAY OF has no column before it, or no interval after it. at: the index of DELAY"""
    if at == 0:
        raise _incomplete(rest[at].place, "A column is missing between WATERMARK and DELAY.")
    delay = rest[at + 2 : at + 5]
    if not delay or delay[0].kind in (Kind.NUMBER, Kind.STRING):
        raise _incomplete((delay[0] if delay else rest[at + 1]).place, "DELAY OF needs an INTERVAL.")
    if delay[0].word != "INTERVAL" or len(delay) < 2 or delay[1].kind is not Kind.STRING:
        return
    has_unit_after = len(delay) > 2 and delay[2].word in _UNITS
    if _HAS_UNIT.search(delay[1].text) and not has_unit_after:
        raise _incomplete(delay[1].place, "The unit of the delay is written without quotes.")


def _begins_interval(token: Token) -> bool:
    return token.word == "INTERVAL" or token.kind in (Kind.NUMBER, Kind.STRING)


def _has_arguments(found: Sequence[Token], index: int) -> bool:
    """Return whether WATERMARK has a string or an interval in parentheses, as a function has."""
    if _symbol_or_word(found, index + 1) != "(":
        return False
    inside = found[index + 2 : closing_parenthesis(found, index + 1)]
    return any(token.kind is Kind.STRING or token.word == "INTERVAL" for token in inside)


def _is_column_alone(rest: Sequence[Token], end: str) -> bool:
    """Return whether only a column follows WATERMARK. end: the word or sign after it"""
    return len(rest) == 1 and rest[0].kind in (Kind.WORD, Kind.QUOTED) and end not in (",", "JOIN", "SELECT", "FROM")


def _refuse_delay_alone(found: Sequence[Token], index: int) -> None:
    """Refuse DELAY OF INTERVAL after a relation without WATERMARK."""
    start = _relation_start(found, index)
    if start is not None and all(token.word != "WATERMARK" for token in found[start:index]):
        raise _incomplete(found[index].place, "DELAY OF is written after WATERMARK and its column.")


def _incomplete(place: Span, message: str) -> StatementError:
    return StatementError("PARSE_SYNTAX_ERROR", message, place=place, hint=f"Write {_WATERMARK}.")


def _misplaced(token: Token, message: str, order: str) -> StatementError:
    hint = (
        "The order is: table, FOR SYSTEM_TIME, WITH (...), TABLESAMPLE (...), WATERMARK, AS alias, MATCH_RECOGNIZE."
        f" Write {order}."
    )
    return StatementError("PARSE_SYNTAX_ERROR", message, place=token.place, hint=hint)


def _is_watermark(found: Sequence[Token], index: int) -> bool:
    """Return whether WATERMARK is at the index, and DELAY OF INTERVAL follows in the same parentheses."""
    if found[index].word != "WATERMARK":
        return False
    rest, _ = _time(found, index)
    words = [token.word for token in rest]
    return any(words[at : at + 2] == ["DELAY", "OF"] for at in range(1, len(words)))


def _symbol_or_word(found: Sequence[Token], index: int) -> str:
    if not 0 <= index < len(found):
        return ""
    return found[index].text if found[index].kind is Kind.SYMBOL else found[index].word
