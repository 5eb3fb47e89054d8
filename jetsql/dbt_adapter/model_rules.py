"""The rules of a model: those of its configuration, of its contract, and of its data tests, as CONSTRAINT ... EXPECT.

A rule sees one row at a time. A constraint or test that compares rows, such as `unique`, has no rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any, Final

from jetsql.jobs.model.job import quoted_text
from jetsql.language.tokens import quoted_name

_ACTIONS: Final = ("drop row", "fail", "fail update")
_INTO_TABLE: Final = "into table "
_FAIL: Final = "FAIL"
_NOT_NULL: Final = "not_null"
_COMPARES_ROWS: Final = "a rule sees one row at a time"


class InvalidExpectation(ValueError):
    """A rule in the configuration of a model that is not complete, or has a word that no rule has."""


@dataclass(frozen=True)
class Rule:
    """A rule of a job."""

    name: str
    condition: str
    action: str = ""
    """The words after ON VIOLATION; empty to count the rows."""

    @property
    def clause(self) -> str:
        """Return the rule as CREATE JOB has it."""
        text = f"CONSTRAINT {quoted_name(self.name)} EXPECT ({self.condition})"
        return f"{text} ON VIOLATION {self.action}" if self.action else text


@dataclass
class ModelRules:
    """The rules of a model."""

    rules: dict[str, Rule] = field(default_factory=dict)
    """The rules by name."""
    warnings: list[str] = field(default_factory=list)
    """A sentence for each constraint of the contract without a rule."""

    @property
    def clause(self) -> str:
        """Return the rules as a list in parentheses; empty without rules."""
        return f"({', '.join(rule.clause for rule in self.rules.values())})" if self.rules else ""

    def add(self, rule: Rule) -> None:
        """Add a rule. Raises InvalidExpectation for a second rule with a name."""
        if rule.name in self.rules:
            raise InvalidExpectation(f"The model has two rules with the name {rule.name}.")
        self.rules[rule.name] = rule

    def free_name(self, name: str) -> str:
        """Return the name, with a number if another rule has it."""
        names = chain((name,), (f"{name}_{number}" for number in count(2)))
        return next(each for each in names if each not in self.rules)


def model_rules(
    expectations: Mapping[str, Any], contract: Mapping[str, Any] | None, tests: Sequence[Mapping[str, Any]]
) -> ModelRules:
    """Return the rules of a model. Raises InvalidExpectation.

    expectations: the configuration, a condition for each name, or `expect` and `on_violation`. contract: the model, if
    its contract is enforced. tests: the data tests of the model whose conditions are rules that count rows.
    """
    found = ModelRules()
    for name, value in expectations.items():
        found.add(_configured_rule(name, value))
    for column, constraint in _constraints(contract or {}):
        _add_constraint(found, column, constraint)
    for test in tests:
        rule = _test_rule(test)
        if rule is not None:
            found.rules.setdefault(rule.name, rule)
    return found


def _configured_rule(name: str, value: Any) -> Rule:
    if isinstance(value, str):
        return Rule(name, value)
    if not isinstance(value, Mapping) or not value.get("expect") or set(value) - {"expect", "on_violation"}:
        raise InvalidExpectation(f"The rule {name} is not a condition, and not `expect` and `on_violation`.")
    action = " ".join(str(value.get("on_violation") or "").split())
    if action and action.lower() not in _ACTIONS and not action.lower().startswith(_INTO_TABLE):
        valid = ", ".join((*_ACTIONS, f"{_INTO_TABLE}NAME"))
        raise InvalidExpectation(f"Invalid on_violation of the rule {name}: {action}. Expected one of: {valid}")
    return Rule(name, str(value["expect"]), action)


def _constraints(model: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the constraints of a contract, each with its column; without one for a check of the model."""
    for name, column in (model.get("columns") or {}).items():
        yield from ((name, constraint) for constraint in column.get("constraints") or ())
    for constraint in model.get("constraints") or ():
        columns = constraint.get("columns") or ()
        yield from (
            (name, constraint) for name in (columns if _kind(constraint) == _NOT_NULL else [", ".join(columns)])
        )


def _kind(constraint: Mapping[str, Any]) -> str:
    kind = constraint["type"]
    return str(getattr(kind, "value", kind))


def _add_constraint(found: ModelRules, column: str, constraint: Mapping[str, Any]) -> None:
    kind, name = _kind(constraint), constraint.get("name")
    if kind == _NOT_NULL:
        # A constraint of the model can have several columns, and each rule its own name.
        found.add(Rule(f"{name}_{column}" if name else f"{column}_{kind}", f"{quoted_name(column)} IS NOT NULL", _FAIL))
    elif kind == "check" and constraint.get("expression"):
        # As in SQL, a row with NULL in the condition does not violate it.
        condition = f"({constraint['expression']}) IS NOT FALSE"
        found.add(Rule(name or found.free_name(f"check_{column}" if column else kind), condition, _FAIL))
    elif constraint.get("warn_unenforced", True):
        where = f" on {column}" if column else ""
        found.warnings.append(f"The constraint {kind}{where} is not enforced: {_COMPARES_ROWS}.")


def _test_rule(test: Mapping[str, Any]) -> Rule | None:
    """Return the rule for a data test; None for a test that compares rows, or one that checks only some of them."""
    metadata = test.get("test_metadata") or {}
    values, kind, column = metadata.get("kwargs") or {}, metadata.get("name"), test.get("column_name")
    if metadata.get("namespace") or (test.get("config") or {}).get("where") or not column:
        return None
    name = quoted_name(column)
    if kind == _NOT_NULL:
        return Rule(f"{column}_{kind}", f"{name} IS NOT NULL")
    if kind == "accepted_values":
        is_text = values.get("quote", True)
        listed = ", ".join(quoted_text(str(value)) if is_text else str(value) for value in values["values"])
        return Rule(f"{column}_{kind}", f"{name} IN ({listed}) OR {name} IS NULL")
    return None
