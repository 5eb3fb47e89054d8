"""Jobs are counted in one way."""

from __future__ import annotations

import pytest

from jetsql.jobs.model.job import DROPPED, SHOWN_STATUSES, Status
from jetsql.jobs.model.job_counts import (
    JobCounts,
    JobGroup,
    count_jobs,
    describe_counts,
    group_of,
    has_ended,
    needs_attention,
    newest_of_names,
)


def test_each_status_has_a_group() -> None:
    assert {group_of(status, False) for status in SHOWN_STATUSES} == set(JobGroup) - {JobGroup.SUSPENDED_BY_ERROR}
    assert [status for status in SHOWN_STATUSES if has_ended(status)] == ["FAILED", "COMPLETED", "DROPPED"]


@pytest.mark.parametrize(
    ("status", "has_error", "needs"),
    [
        (Status.RUNNING, False, False),
        (Status.RUNNING, True, True),
        (Status.NOT_RUNNING, True, True),
        (Status.SUSPENDED, False, False),
        (Status.SUSPENDED, True, True),
        (Status.FAILED, False, True),
        (DROPPED, True, False),
        (Status.COMPLETED, True, False),
    ],
)
def test_a_job_is_in_trouble_by_its_error(status: str, has_error: bool, needs: bool) -> None:
    assert needs_attention(status, has_error) is needs


def test_counts_are_described_in_words() -> None:
    counts = count_jobs([("RUNNING", False), ("SUSPENDED", True), ("SUSPENDED", False), (DROPPED, True)])
    assert counts == JobCounts(running=1, suspended=1, suspended_by_error=1, dropped=1)
    assert [text for _, text in describe_counts(counts)] == ["1 running", "2 suspended (1 by an error)", "1 dropped"]


def test_an_ended_job_counts_until_its_name_is_used() -> None:
    assert list(newest_of_names(["B", "a", "b", "A", "c"], str, taken=["C"])) == ["B", "a"]
