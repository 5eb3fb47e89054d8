"""Compare the query that a job was created with and the one that it starts with, without Spark."""

from __future__ import annotations

from dataclasses import replace

from jetsql.engine.runs.start_checks import check_same_query
from jetsql.errors import StatementError
from jetsql.jobs.model.body_analysis import Rewrite
from tests.support.engines.in_memory_runtime import analysis
from tests.support.golden_reports import raises
from tests.support.models.lifecycle_cases import job


def test_state_of_an_earlier_rule_version_is_not_continued() -> None:
    rule = Rewrite("rows by time", 1)
    old = job(of=analysis(rewrites=(rule,)))
    check_same_query(old, old.plan.analysis, accepts_functions=False)
    with raises(StatementError) as caught:
        check_same_query(old, analysis(rewrites=(replace(rule, version=2),)), accepts_functions=False)
    assert caught.value.condition == "JETSQL.STATE_NOT_COMPATIBLE"
