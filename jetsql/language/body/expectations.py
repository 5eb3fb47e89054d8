"""Read the rules for the rows of a job: CONSTRAINT name EXPECT (condition) ON VIOLATION ..."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from jetsql.errors import Span, StatementError
from jetsql.language.body.named_tokens import name_of, token_place
from jetsql.language.objects.expectation import Expectation, ViolationAction
from jetsql.language.objects.object_names import Name
from jetsql.language.statement import Body, NewTable
from jetsql.language.tokens import written_name

if TYPE_CHECKING:
    from lark import Token

MOST_EXPECTATIONS: Final = 60
"""The most rules of a job: a row has one bit for each."""

_ACTIONS: Final = {
    "DROP": ViolationAction.DROP_ROW,
    "FAIL": ViolationAction.FAIL,
    "INTO": ViolationAction.INTO_TABLE,
}


def read_expectations(tokens: Sequence[Token]) -> tuple[Expectation, ...]:
    """Return the rules in the tokens of a statement.

    Raises StatementError PARSE_SYNTAX_ERROR for two rules of one name or too many rules, and INVALID_NAME.
    """
    starts = [at for at, token in enumerate(tokens) if token.type == "CONSTRAINT"]
    rules: dict[str, Expectation] = {}
    for start, stop in pairwise([*starts, len(tokens)]):
        rule = _read(tokens[start:stop])
        if rule.name.casefold() in rules:
            raise StatementError(
                "PARSE_SYNTAX_ERROR",
                f"Two rules have the name {rule.name}.",
                place=rule.name_place,
                hint="Choose another name for one of them: rows are counted by the names of rules.",
            )
        rules[rule.name.casefold()] = rule
        if len(rules) > MOST_EXPECTATIONS:
            raise StatementError(
                "PARSE_SYNTAX_ERROR",
                f"A job has at most {MOST_EXPECTATIONS} rules.",
                place=rule.name_place,
                hint="Combine conditions with AND.",
            )
    return tuple(rules.values())


def _read(tokens: Sequence[Token]) -> Expectation:
    """Return the rule that begins with CONSTRAINT, and which other clauses can follow."""
    name = name_of(next(token for token in tokens if token.type == "NEW_EXPECTATION"))
    condition = next(token for token in tokens if token.type == "CONDITION")
    rule = Expectation(name.text, str(condition), name_place=name.place, place=token_place(condition))
    violation = next((at for at, token in enumerate(tokens) if token.type == "VIOLATION"), None)
    if violation is None:
        return replace(rule, action_place=rule.place)
    verb = tokens[violation + 1]
    table = list(_table(tokens[violation:]))
    if not table:
        return replace(rule, action=_ACTIONS[verb.type], action_place=token_place(verb))
    place = Span(table[0].place.start, table[-1].place.stop)
    text = ".".join(written_name(part.text) for part in table)
    return replace(rule, action=ViolationAction.INTO_TABLE, table=text, action_place=place)


def _table(tokens: Sequence[Token]) -> Iterator[Name]:
    """Return the parts of the name after INTO TABLE."""
    return (name_of(token) for token in tokens if token.type == "VIOLATIONS_TABLE")


def rule_text(rule: Expectation) -> str:
    """Return a rule as a clause."""
    clause = f"CONSTRAINT {written_name(rule.name)} EXPECT ({rule.condition})"
    return clause if rule.action is ViolationAction.WARN else f"{clause} ON VIOLATION {rule.action_text}"


def with_expectations(body: Body, table: NewTable, expectations: tuple[Expectation, ...]) -> tuple[Body, NewTable]:
    """Return the bodies of a new table with rules."""
    inserts = tuple(replace(insert, expectations=expectations) for insert in table.inserts)
    return replace(body, expectations=expectations), replace(table, inserts=inserts)
