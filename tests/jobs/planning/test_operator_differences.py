"""Differences between stateful operators, in the words of the query."""

from __future__ import annotations

import pytest

from jetsql.jobs.model.body_analysis import Operator
from jetsql.jobs.planning.compatibility import describe_operator_differences

K, COUNT = "`source0.k`: string", "count(1): bigint"
SUM, AVG = "sum(`source0.v`): bigint", "avg(`source0.v`): double"


def aggregate(*parts: str) -> Operator:
    return Operator("Aggregate", "; ".join(parts))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ((K, K, SUM), (K, K, SUM), []),
        ((K, K, SUM), (K, K, AVG), ["avg(v) replaced sum(v) in the aggregate"]),
        (
            (K, K, SUM, COUNT),
            (K, K, COUNT, SUM),
            [
                "the order of the expressions of the aggregate changed: k, sum(v), count(*) before, k, count(*), sum(v)"
                " now"
            ],
        ),
        ((K, K, SUM), (K, K, SUM, COUNT), ["the aggregate gained count(*)"]),
        ((K, K, SUM, COUNT), (K, K, SUM), ["the aggregate lost count(*)"]),
        (
            (K, SUM),
            (K, "sum(`source0.v`): decimal(20,2)"),
            ["the type of sum(v) in the aggregate changed: bigint before, decimal(20,2) now"],
        ),
        (
            (K, K, SUM),
            ("upper(`source0.k`): string", "upper(`source0.k`): string", AVG),
            ["upper(k) replaced k in the aggregate", "avg(v) replaced sum(v) in the aggregate"],
        ),
        (("`source0.a``b`: int",), ("`source1.c d`: int",), ["c d replaced a``b in the aggregate"]),
    ],
)
def test_differences_are_described_in_the_words_of_the_query(
    old: tuple[str, ...], new: tuple[str, ...], expected: list[str]
) -> None:
    assert list(describe_operator_differences([aggregate(*old)], [aggregate(*new)])) == expected


def test_operators_of_other_kinds_are_not_compared() -> None:
    assert list(describe_operator_differences([aggregate(K)], [Operator("Deduplicate", K)])) == []
    assert list(describe_operator_differences([aggregate(K)], [aggregate(K), aggregate(SUM)])) == []
