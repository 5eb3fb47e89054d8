"""The rules of a dbt model: from its configuration, its contract, and its data tests."""

from __future__ import annotations

from typing import Any

import pytest

from jetsql.dbt_adapter.model_rules import InvalidExpectation, model_rules
from jetsql.language import parse


def test_configured_rules_have_a_condition_and_an_action() -> None:
    rules = model_rules(
        {
            "known": "id IS NOT NULL",
            "valid": {"expect": "age BETWEEN 0 AND 120", "on_violation": "drop row"},
            "of age": {"expect": "age >= 18", "on_violation": "into table minors"},
        },
        None,
        (),
    )
    assert rules.clause == (
        "(CONSTRAINT `known` EXPECT (id IS NOT NULL),"
        " CONSTRAINT `valid` EXPECT (age BETWEEN 0 AND 120) ON VIOLATION drop row,"
        " CONSTRAINT `of age` EXPECT (age >= 18) ON VIOLATION into table minors)"
    )
    parse(f"CREATE JOB j {rules.clause} AS INSERT INTO t SELECT * FROM STREAM s")
    assert model_rules({}, None, ()).clause == ""


@pytest.mark.parametrize(
    ("expectations", "message"),
    [
        ({"a": 1}, "The rule a is not a condition"),
        ({"a": {"on_violation": "fail"}}, "The rule a is not a condition"),
        ({"a": {"expect": "id > 0", "action": "fail"}}, "The rule a is not a condition"),
        ({"a": {"expect": "id > 0", "on_violation": "ignore"}}, "Invalid on_violation of the rule a: ignore."),
    ],
)
def test_rules_that_are_not_complete_are_refused(expectations: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidExpectation, match=message):
        model_rules(expectations, None, ())


def test_constraints_of_a_contract_fail_the_job() -> None:
    contract = {
        "columns": {
            "id": {"constraints": [{"type": "not_null"}, {"type": "unique"}, {"type": "primary_key"}]},
            "age": {"constraints": [{"type": "check", "expression": f"age {each}"} for each in ("> 0", "< 120")]},
            "name": {"constraints": []},
        },
        "constraints": [
            {"type": "not_null", "columns": ["name", "age"], "name": "named"},
            {"type": "check", "expression": "id <> age", "name": "differ"},
            {"type": "foreign_key", "columns": ["id"], "warn_unenforced": False},
        ],
    }
    rules = model_rules({}, contract, ())
    assert [(rule.name, rule.condition, rule.action) for rule in rules.rules.values()] == [
        ("id_not_null", "`id` IS NOT NULL", "FAIL"),
        ("check_age", "(age > 0) IS NOT FALSE", "FAIL"),
        ("check_age_2", "(age < 120) IS NOT FALSE", "FAIL"),
        ("named_name", "`name` IS NOT NULL", "FAIL"),
        ("named_age", "`age` IS NOT NULL", "FAIL"),
        ("differ", "(id <> age) IS NOT FALSE", "FAIL"),
    ]
    assert rules.warnings == [
        "The constraint unique on id is not enforced: a rule sees one row at a time.",
        "The constraint primary_key on id is not enforced: a rule sees one row at a time.",
    ]


def test_two_rules_with_one_name_are_refused() -> None:
    contract = {"columns": {"id": {"constraints": [{"type": "not_null", "name": "known"}]}}}
    with pytest.raises(InvalidExpectation, match="two rules with the name known_id"):
        model_rules({"known_id": "id > 0"}, contract, ())


def test_tests_of_single_rows_count_them() -> None:
    def test(kind: str, column: str | None = "id", where: str | None = None, **values: Any) -> dict[str, Any]:
        metadata = {"name": kind, "kwargs": {"column_name": column, **values}}
        return {"test_metadata": metadata, "column_name": column, "config": {"where": where}}

    contract = {"columns": {"id": {"constraints": [{"type": "not_null"}]}}}
    tests = [
        test("not_null"),
        test("not_null", "name"),
        test("not_null", "age", where="id > 5"),
        test("accepted_values", "name", values=["it's", "b"]),
        test("accepted_values", "age", values=[1, 2], quote=False),
        test("unique"),
        test("relationships", to="ref('x')", field="id"),
        {"test_metadata": None, "column_name": None},
        {"test_metadata": {"name": "not_null", "namespace": "other"}, "column_name": "id"},
    ]
    rules = model_rules({}, contract, tests)
    assert [(rule.name, rule.condition, rule.action) for rule in rules.rules.values()] == [
        ("id_not_null", "`id` IS NOT NULL", "FAIL"),
        ("name_not_null", "`name` IS NOT NULL", ""),
        ("name_accepted_values", "`name` IN ('it\\'s', 'b') OR `name` IS NULL", ""),
        ("age_accepted_values", "`age` IN (1, 2) OR `age` IS NULL", ""),
    ]
