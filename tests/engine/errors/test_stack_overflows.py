"""The causes of statements and runs that overflow the stack of a Java thread, without Spark."""

from __future__ import annotations

import pytest

from jetsql.engine.errors.remedies import Trace, explain_cause
from jetsql.jobs.model.job import Cause

OVERFLOW = "java.lang.StackOverflowError"
PLAN = "org.apache.spark.sql.catalyst.trees.TreeNode.transformDown(TreeNode.scala:1)"
MATCHER = "java.util.regex.Pattern$Loop.match(Pattern.java:1)"
FAILED_TASK = "Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times"


@pytest.mark.parametrize(
    ("message", "frames", "innermost"),
    [
        (OVERFLOW, PLAN, OVERFLOW),
        (f"{FAILED_TASK}: {OVERFLOW}\n\tat {PLAN}", "", "org.apache.spark.SparkException"),
    ],
)
def test_a_statement_that_overflows_the_stack_is_too_complex(message: str, frames: str, innermost: str) -> None:
    cause = explain_cause(Cause(message), Trace((message,), frames, (innermost,)), None)
    assert (cause.condition, cause.sqlstate, cause.retryable) == ("JETSQL.STATEMENT_TOO_COMPLEX", "54001", False)
    assert "Overflow" not in cause.message and "WITH clause" in cause.hint


def test_stack_overflow_of_a_regular_expression_is_no_complex_statement() -> None:
    for message, frames in ((OVERFLOW, MATCHER), (f"{FAILED_TASK}: {OVERFLOW}\n\tat {MATCHER}", "")):
        cause = explain_cause(Cause(message), Trace((message,), frames, (OVERFLOW,)), None)
        assert cause.condition == ""
