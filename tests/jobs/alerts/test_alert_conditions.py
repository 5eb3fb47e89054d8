"""The conditions of alerts and the states that follow from them, as pure functions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jetsql.jobs.alerts.alert_conditions import Evaluation, JobFacts, condition_text, evaluate, next_state
from jetsql.jobs.alerts.alert_records import AlertState, MessageKind
from jetsql.jobs.model.job import CANCELLED, Cause, Job, RuleCount, Status
from jetsql.language import parse
from jetsql.language.objects.alert_statement import AlertCondition, CreateAlert, span_text
from tests.support.engines.jobs_harness import changed
from tests.support.models.lifecycle_model import new_job

NOW = 1000.0


def condition(text: str) -> AlertCondition:
    statement = parse(f"CREATE ALERT a ON JOB j {text} CALL COMMAND c")
    assert isinstance(statement, CreateAlert)
    return statement.condition


def job(status: Status = Status.RUNNING, cause: Cause | None = None) -> Job:
    return changed(new_job({}), name="j", status=status, cause=cause)


def facts(status: Status = Status.RUNNING, **known: object) -> JobFacts:
    return replace(JobFacts(job(status), active_since=100.0), **known)  # type: ignore[arg-type]


def is_met(text: str, about: JobFacts, now: float = NOW) -> bool | None:
    return evaluate(condition(text), about, now).is_met


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("STATUS failed, Suspended, FAILED", "STATUS FAILED, SUSPENDED"),
        ("LAG > 10 ROWS", "LAG > 10 ROWS"),
        ("LAG > 90 SECONDS", "LAG > 90 SECONDS"),
        ("LAG > 120 SECONDS", "LAG > 2 MINUTES"),
        ("LAG > 0 SECONDS", "LAG > 0 SECONDS"),
        ("NO COMMIT FOR 24 HOURS", "NO COMMIT FOR 1 DAY"),
        ("EXPECTATION", "EXPECTATION > 0"),
        ("EXPECTATION r > 5", "EXPECTATION r > 5"),
        ("EXPECTATION `a rule`", "EXPECTATION `a rule` > 0"),
    ],
)
def test_condition_is_shown_as_it_is_written(text: str, expected: str) -> None:
    shown = condition_text(condition(text))
    assert shown == expected
    assert condition(shown) == condition(text)


def test_times_are_shown_in_the_longest_unit() -> None:
    assert [span_text(each) for each in (0, 1, 60, 5400, 7200)] == [
        *("0 seconds", "1 second", "1 minute", "90 minutes", "2 hours")
    ]


def test_status_is_met_by_each_of_the_names() -> None:
    assert is_met("STATUS FAILED, SUSPENDED", facts(Status.SUSPENDED))
    assert is_met("STATUS FAILED", facts(Status.FAILED))
    assert not is_met("STATUS FAILED", facts(Status.RUNNING))


def test_status_is_not_met_by_a_dropped_job() -> None:
    assert not is_met("STATUS FAILED", replace(facts(), job=job(Status.FAILED, CANCELLED)))


def test_lag_is_unknown_before_the_first_batch() -> None:
    assert is_met("LAG > 10 ROWS", facts()) is None
    assert is_met("LAG > 1 SECOND", facts()) is None
    assert is_met("LAG > 1 SECOND", facts(lag_rows=5)) is None


@pytest.mark.parametrize(("rows", "expected"), [(10, False), (11, True)])
def test_lag_in_rows_is_met_above_the_limit(rows: int, expected: bool) -> None:
    assert is_met("LAG > 10 ROWS", facts(lag_rows=rows)) is expected


def test_lag_in_time_grows_until_the_next_batch() -> None:
    about = facts(lag_rows=1, lag_seconds=20.0, measured=NOW)
    finding = evaluate(condition("LAG > 1 MINUTE"), about, NOW)
    assert finding.is_met is False and finding.due == NOW + 40
    assert is_met("LAG > 1 MINUTE", about, NOW + 40)
    assert not is_met("LAG > 1 MINUTE", replace(about, lag_rows=0, lag_seconds=0.0), NOW + 99)


@pytest.mark.parametrize("text", ["LAG > 1 ROWS", "LAG > 1 SECOND", "NO COMMIT FOR 1 SECOND"])
@pytest.mark.parametrize("status", [Status.SUSPENDED, Status.FAILED, Status.COMPLETED])
def test_job_without_work_has_no_lag(text: str, status: Status) -> None:
    assert is_met(text, facts(status, lag_rows=9, lag_seconds=9.0, committed=0.0)) is False


def test_time_without_a_commit_begins_with_the_newest_commit() -> None:
    text = "NO COMMIT FOR 10 SECONDS"
    assert evaluate(condition(text), facts(), 109.9) == Evaluation(
        False, "Job j has committed no batch for 10 seconds.", 110.0
    )
    assert is_met(text, facts(), 110.0)
    assert not is_met(text, facts(committed=500.0), 509.0)
    assert is_met(text, facts(committed=500.0), 510.0)
    assert not is_met(text, facts(committed=500.0, active_since=600.0), 609.0)


def test_violations_are_those_of_the_newest_batch() -> None:
    counts = (RuleCount("Positive", "a > 0", "WARN", 100, 7, 3, 0), RuleCount("small", "a < 9", "WARN", 100, 2, 3, 2))
    assert is_met("EXPECTATION", facts()) is None
    assert is_met("EXPECTATION", facts(counts=counts))
    assert not is_met("EXPECTATION > 2", facts(counts=counts))
    assert not is_met("EXPECTATION positive", facts(counts=counts))
    finding = evaluate(condition("EXPECTATION SMALL"), facts(counts=counts), NOW)
    assert finding.text == "Job j: 2 rows of batch 3 violate the rule small."


# --- states -----------------------------------------------------------------------------------------------------------


def run(*steps: tuple[float, bool], every: int = 100) -> list[tuple[float, MessageKind, int]]:
    """Return the messages of evaluations at their times, with the suppressed firings of each."""
    state, messages = AlertState(), []
    for now, met in steps:
        following = next_state(state, met, every, now)
        state = following.state
        if following.message is not None:
            messages.append((now, following.message, following.suppressed))
    return messages


FIRING, RESOLVED = MessageKind.FIRING, MessageKind.RESOLVED


def test_firing_and_its_end_have_one_message_each() -> None:
    assert run((1, False), (2, True), (3, True), (4, False), (5, False)) == [(2, FIRING, 0), (4, RESOLVED, 0)]


def test_second_firing_within_the_time_has_no_messages() -> None:
    steps = [(0, True), (1, False), (2, True), (3, False), (4, True), (5, False), (101, True)]
    assert run(*steps) == [(0, FIRING, 0), (1, RESOLVED, 0), (101, FIRING, 2)]


def test_lasting_firing_gets_its_message_after_the_time() -> None:
    waiting = next_state(AlertState(message_time=0.0), True, 100, 50.0)
    assert waiting.message is None and waiting.due == 100.0
    assert run((0, True), (1, False), (2, True), (99, True), (100, True), (101, False)) == [
        *((0, FIRING, 0), (1, RESOLVED, 0), (100, FIRING, 0), (101, RESOLVED, 0))
    ]


def test_clock_that_is_set_back_keeps_no_message_back() -> None:
    assert run((1000, True), (1001, False), (10, True)) == [(1000, FIRING, 0), (1001, RESOLVED, 0), (10, FIRING, 0)]


def test_alert_without_a_limit_reports_each_firing() -> None:
    assert len(run((0, True), (0, False), (0, True), (0, False), every=0)) == 4
