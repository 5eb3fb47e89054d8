"""The end of WAIT FOR JOB ... UNTIL IDLE: the rule alone, without a manager."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from jetsql.jobs.manager.job_registry import JobView, ReportedTrigger, RunStats
from jetsql.jobs.model.body_analysis import Analysis
from jetsql.jobs.model.job_options import Options, Trigger
from jetsql.jobs.statements.wait import IdleGoal
from tests.support.engines.in_memory_runtime import analysis, source
from tests.support.models.lifecycle_cases import job

NUMBER = 5  # of the statement
PLAIN = analysis()
LIMITED = analysis(sources=(source(rate_limited=True),))
DATED = analysis(waits_for_watermark=True)
ENDLESS = analysis(sources=(source(endless=True),))
DATED_ENDLESS = analysis(sources=(source(endless=True),), waits_for_watermark=True)
LIMITED_ENDLESS = analysis(sources=(source(endless=True), source("b", rate_limited=True)))


def reached(of: Analysis, facts: RunStats, *, trigger: Trigger = Trigger.INTERVAL) -> bool:
    waiting_job = job(of=of)
    before = JobView(waiting_job.with_plan(replace(waiting_job.plan, options=Options(trigger=trigger))))
    return IdleGoal.of(before, NUMBER).reached(facts)


def batch(begun_after: int, began: float = 1e9) -> RunStats:
    return RunStats(batch_trigger=ReportedTrigger(began, begun_after))


def idle(begun_after: int, began: float = 1e9) -> RunStats:
    return RunStats(idle_trigger=ReportedTrigger(began, begun_after))


def test_no_trigger_has_been_reported() -> None:
    assert not reached(PLAIN, RunStats())


@pytest.mark.parametrize("of", [PLAIN, LIMITED, DATED, ENDLESS, DATED_ENDLESS, LIMITED_ENDLESS])
def test_idle_trigger_counts_only_if_it_began_after_the_statement(of: Analysis) -> None:
    assert not reached(of, idle(NUMBER - 1))
    assert reached(of, idle(NUMBER))
    assert reached(of, idle(NUMBER + 1))


@pytest.mark.parametrize(
    ("of", "enough"),
    [(PLAIN, True), (LIMITED, False), (DATED, False), (ENDLESS, True), (DATED_ENDLESS, True), (LIMITED_ENDLESS, False)],
)
def test_batch_suffices_where_it_reads_all_rows(of: Analysis, enough: bool) -> None:
    assert reached(of, batch(NUMBER)) is enough
    assert not reached(of, batch(NUMBER - 1))


def test_a_batch_that_ends_by_the_clock_is_not_enough() -> None:
    assert not reached(PLAIN, batch(NUMBER), trigger=Trigger.REAL_TIME)
    assert reached(PLAIN, idle(NUMBER), trigger=Trigger.REAL_TIME)


@pytest.mark.parametrize("make_stats", [batch, idle])
@pytest.mark.parametrize("began", [0.0, 1e12])
def test_the_clock_decides_nothing(make_stats: Callable[[int, float], RunStats], began: float) -> None:
    assert not reached(PLAIN, make_stats(NUMBER - 1, began))
    assert reached(PLAIN, make_stats(NUMBER, began))
