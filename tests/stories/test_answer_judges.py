"""The judge of the answers of many clients finds every contradiction: without Spark, on handmade histories."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import Job, Status
from tests.faults.answers import Answer, Histories, row_faults
from tests.support.models.lifecycle_model import new_job

FIRST = replace(new_job({}), id="1", name="a", submission_time=10.0, end_time=30.0, status=Status.COMPLETED)
SECOND = replace(FIRST, id="2", submission_time=40.0, end_time=None, status=Status.SUSPENDED)
ROWS = {
    "1": ((10.0, Status.NOT_RUNNING), (12.0, Status.RUNNING), (30.0, Status.COMPLETED)),
    "2": ((40.0, Status.NOT_RUNNING), (42.0, Status.RUNNING), (50.0, Status.SUSPENDED)),
}


def faults(answer: Answer, *jobs: Job) -> list[str]:
    rows = {
        job: tuple(HistoryRow(job, time, "", None, status, 1, "") for time, status in each)
        for job, each in ROWS.items()
    }
    return Histories(jobs or (FIRST, SECOND), rows).faults([answer])


@pytest.mark.parametrize(
    "answer",
    [
        Answer("CREATE JOB a AS SELECT 1", "a", 9.0, 13.0, "1", "RUNNING"),
        Answer("CREATE JOB IF NOT EXISTS a AS SELECT 1", "a", 14.0, 15.0, "1", "RUNNING"),
        Answer("SUSPEND JOB a", "a", 49.0, 51.0, "2", "SUSPENDED"),
        Answer("SUSPEND JOB a", "a", 60.0, 61.0, "2", "SUSPENDED"),
        Answer("RESTART JOB a", "a", 41.0, 43.0, "2", "RUNNING"),
        Answer("DROP JOB a", "a", 29.0, 31.0, "1", "COMPLETED"),
        Answer("DROP JOB a", "a", 35.0, 36.0, condition="JETSQL.JOB_NOT_FOUND"),
        Answer("DROP JOB a", "a", 29.0, 31.0, condition="JETSQL.JOB_NOT_FOUND"),
        Answer("CREATE JOB a AS SELECT 1", "a", 29.0, 31.0, condition="JETSQL.JOB_ALREADY_EXISTS"),
    ],
)
def test_answers_explained_by_the_history_are_accepted(answer: Answer) -> None:
    assert faults(answer) == []


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (Answer("CREATE JOB a", "a", 1.0, 2.0, "3", "RUNNING"), "which is not in the store"),
        (Answer("CREATE JOB a", "a", 20.0, 21.0, "1", "RUNNING"), "created at another time"),
        (Answer("SUSPEND JOB a", "a", 43.0, 44.0, "2"), "the job was only RUNNING"),
        (Answer("RESUME JOB a", "a", 51.0, 52.0, "2"), "the job was only SUSPENDED"),
        (Answer("RESTART JOB a", "a", 43.0, 44.0, "2", "SUSPENDED"), "was answered with SUSPENDED"),
        (Answer("DROP JOB a", "a", 20.0, 21.0, "1"), "the job had not ended"),
        (Answer("DROP JOB a", "a", 43.0, 44.0, "2"), "the job had not ended"),
        (Answer("DROP JOB a", "a", 20.0, 21.0, condition="JETSQL.JOB_NOT_FOUND"), "there all the time"),
        (Answer("CREATE JOB a", "a", 35.0, 36.0, condition="JETSQL.JOB_ALREADY_EXISTS"), "that was not there"),
    ],
)
def test_a_contradiction_is_found(answer: Answer, fault: str) -> None:
    [found] = faults(answer)
    assert fault in found


def test_two_jobs_of_one_name_at_one_time_are_found() -> None:
    answer = Answer("SUSPEND JOB a", "a", 49.0, 51.0, "2", "SUSPENDED")
    overlapping = replace(FIRST, end_time=41.0)
    assert faults(answer, overlapping, SECOND) == ["there were two jobs a at one time: 1 and 2"]


@pytest.mark.parametrize(
    ("ids", "fault"),
    [
        ([0, 1, 0, 1, 2], ""),
        ([0, 1, 0, 2, 1], ""),
        ([0, 1], "1 ids are missing, for example 2"),
        ([0, 0, 0, 1, 2], "an id is there 3 times, and there were 2 jobs"),
        ([0, 1, 1, 2], "id 1 is there more often than id 0"),
    ],
)
def test_rows_that_are_missing_or_too_many_are_found(ids: list[int], fault: str) -> None:
    found = list(row_faults(ids, incarnations=2, expected=3))
    assert (found == []) == (fault == "")
    assert all(each.startswith(fault) for each in found)
