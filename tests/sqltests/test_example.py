"""The example `examples/tested`: the queries are those of the benchmark."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.nexmark.query import NAMES, load
from jetsql.sqltests.read_tests import find_test_files, read_test_file
from tests.support.query_mutations import mutate

EXAMPLES = Path(__file__).parents[2] / "examples" / "tested"


@pytest.mark.parametrize("name", NAMES)
def test_each_query_of_nexmark_has_tests(name: str) -> None:
    text = (EXAMPLES / f"{name}.sql").read_text(encoding="utf-8")
    body = text[text.index("INSERT ") :].rstrip(";\n")
    assert body.split() == load(name).body.split()
    assert read_test_file(str(EXAMPLES / f"{name}.test.sql"), {}).tests


def test_the_example_has_enough_tests_for_the_benchmark() -> None:
    files = [read_test_file(name, {}) for name in find_test_files([str(EXAMPLES)])]
    assert sum(len(file.tests) for file in files) >= 50


def test_mutations_change_operators_bounds_keys_and_functions() -> None:
    text = "SELECT max(a) FROM t WHERE a >= 5 AND b BETWEEN 1 AND 2 GROUP BY a, b -- 7"
    assert [mutation.change for mutation in mutate(text, 0)] == [
        "line 1: max -> min",
        "line 1: >= -> >",
        "line 1: 5 -> 6",
        "line 1: AND -> OR",
        "line 1: 1 -> 2",
        "line 1: 2 -> 3",
        "line 1: GROUP BY a, b -> GROUP BY a",
    ]
    assert [mutation.text for mutation in mutate("INTERVAL '10 seconds'", 0)] == ["INTERVAL '11 seconds'"]
