"""The verdict on an update of a job, from the text of EXPLAIN. It needs no dbt."""

import pytest

from jetsql.dbt_adapter.job_verdict import UpdateOutcome, Verdict, parse_verdict, refused_by

PLAN = "Job:         streaming\nTrigger:     interval: every 500 ms\n{}\n== Physical Plan ==\nUpdate"


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("", Verdict(UpdateOutcome.UPDATED, "")),
        ("Update:      none: the job has it", Verdict(UpdateOutcome.UNCHANGED, "the job has it")),
        ("Update:      possible: the state is kept", Verdict(UpdateOutcome.UPDATED, "possible: the state is kept")),
        ("Update:      refused: a source is new", Verdict(UpdateOutcome.REFUSED, "a source is new")),
    ],
)
def test_explain(line: str, verdict: Verdict) -> None:
    assert parse_verdict(PLAN.format(line)) == verdict


def test_a_table_with_other_columns_refuses_the_update_and_other_errors_are_errors() -> None:
    assert refused_by("JETSQL.TABLE_ALREADY_EXISTS", "why") == Verdict(UpdateOutcome.REFUSED, "why")
    assert refused_by("PARSE_SYNTAX_ERROR", "why") is None
