"""The end of WAIT FOR JOB ... UNTIL IDLE: the rule alone, without a manager."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from jetsql.jobs.manager.job_registry import JobView, RunStats
from jetsql.jobs.model.body_analysis import Analysis
from jetsql.jobs.model.job import Trigger
from jetsql.jobs.statements.wait import IdleGoal
from tests.support.engines.in_memory_engine import analysis, source
from tests.support.models.lifecycle_cases import job

BEGUN = 100.0
TOLD = 5  # triggers reported before the statement began
PLAIN = analysis()
LIMITED = analysis(sources=(source(rate_limited=True),))
DATED = analysis(waits_for_watermark=True)
ENDLESS = analysis(sources=(source(endless=True),))
DATED_ENDLESS = analysis(sources=(source(endless=True),), waits_for_watermark=True)
LIMITED_ENDLESS = analysis(sources=(source(endless=True), source("b", rate_limited=True)))


def reached(of: Analysis, facts: RunStats, *, now: float = BEGUN + 50, trigger: Trigger = Trigger.INTERVAL) -> bool:
    made = job(of=of)
    before = JobView(made.with_plan(replace(made.plan, trigger=trigger)), RunStats(trigger_count=TOLD))
    return IdleGoal.of(before, BEGUN).reached(facts, now)


def batch(time: float, number: int = TOLD + 1) -> RunStats:
    return RunStats(batch_trigger=time, batch_trigger_number=number, trigger_count=number)


def idle(time: float, number: int = TOLD + 1) -> RunStats:
    return RunStats(idle_trigger=time, idle_trigger_number=number, trigger_count=number)


def test_no_trigger_has_been_reported() -> None:
    assert not reached(PLAIN, RunStats())


@pytest.mark.parametrize("of", [PLAIN, LIMITED, DATED, ENDLESS, DATED_ENDLESS, LIMITED_ENDLESS])
def test_a_trigger_that_finds_nothing_has_to_begin_after_the_statement(of: Analysis) -> None:
    assert not reached(of, idle(BEGUN - 0.001))
    assert reached(of, idle(BEGUN))


@pytest.mark.parametrize(
    ("of", "enough"),
    [(PLAIN, True), (LIMITED, False), (DATED, False), (ENDLESS, True), (DATED_ENDLESS, True), (LIMITED_ENDLESS, False)],
)
def test_a_batch_is_enough_where_it_takes_all_that_is_there(of: Analysis, enough: bool) -> None:
    assert reached(of, batch(BEGUN)) is enough
    assert not reached(of, batch(BEGUN - 0.001))


def test_a_batch_that_ends_by_the_clock_is_not_enough() -> None:
    assert not reached(PLAIN, batch(BEGUN + 1), trigger=Trigger.REAL_TIME)
    assert reached(PLAIN, idle(BEGUN + 1), trigger=Trigger.REAL_TIME)


@pytest.mark.parametrize("made", [batch, idle])
def test_with_the_clock_set_back_the_second_trigger_counts(made: Callable[[float, int], RunStats]) -> None:
    assert not reached(PLAIN, made(BEGUN - 40, TOLD + 1), now=BEGUN - 30)
    assert reached(PLAIN, made(BEGUN - 40, TOLD + 2), now=BEGUN - 30)


def test_without_a_clock_set_back_the_number_of_triggers_does_not_count() -> None:
    assert not reached(PLAIN, idle(BEGUN - 40, TOLD + 9), now=BEGUN)


def test_with_the_clock_set_back_a_limited_batch_is_still_not_enough() -> None:
    assert not reached(LIMITED, batch(BEGUN - 40, TOLD + 9), now=BEGUN - 30)
