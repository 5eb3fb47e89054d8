"""The watchdog: what it measures inside Spark, and what it does with a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from jetsql.embedded.engine_instance import EngineInstance
from jetsql.engine.watchdogs import resource_watchdog
from jetsql.engine.watchdogs.resource_reports import Resource, ResourceReport, ShortageLevel
from jetsql.engine.watchdogs.resource_watchdog import ResourceWatchdog
from jetsql.jobs.lifecycle.runtime import ResourceExhausted, ResourceNotice, RuntimeEvent
from jetsql.settings.watchdog_settings import WatchdogSettings
from tests.conftest import until
from tests.support.models.lifecycle_model import new_job

JOB = replace(new_job({}), run=1)
WARNING = ResourceReport(Resource.MEMORY, "", ShortageLevel.WARNING, 800, 1000, 800, {JOB.id: 700})
DANGER = replace(WARNING, level=ShortageLevel.DANGER)


@pytest.fixture
def events() -> list[RuntimeEvent]:
    return []


@pytest.fixture
def watchdog(events: list[RuntimeEvent], monkeypatch: pytest.MonkeyPatch) -> ResourceWatchdog:
    """Return a watchdog of one run, without Spark."""
    monkeypatch.setattr(resource_watchdog, "java", MagicMock())
    result = ResourceWatchdog(MagicMock())
    result.watch(JOB, events.append, "file:/checkpoints/1")
    return result


def test_a_warning_is_reported_once(watchdog: ResourceWatchdog, events: list[RuntimeEvent]) -> None:
    assert [watchdog.handle(WARNING), watchdog.handle(WARNING)] == [False, False]
    assert [type(event) for event in events] == [ResourceNotice]
    assert watchdog.newest_memory_report == WARNING


def test_a_danger_suspends_the_job_until_its_run_has_ended(
    watchdog: ResourceWatchdog, events: list[RuntimeEvent]
) -> None:
    assert watchdog.handle(DANGER)
    [event] = events
    assert isinstance(event, ResourceExhausted) and event.run == JOB.run_id
    watchdog.unwatch(JOB.run_id)
    assert not watchdog.handle(DANGER) and len(events) == 1


def test_without_a_culprit_none_is_suspended(
    watchdog: ResourceWatchdog, events: list[RuntimeEvent], caplog: pytest.LogCaptureFixture
) -> None:
    assert not watchdog.handle(replace(DANGER, amounts={"": 700, JOB.id: 10}))
    assert events == [] and f"Used: no job 700, {JOB.name} 10" in caplog.text
    assert not watchdog.handle(replace(WARNING, level=ShortageLevel.NORMAL, amounts={}))
    assert watchdog.newest_memory_report is None


@pytest.mark.spark
def test_written_bytes_of_tasks_are_counted(engine: EngineInstance, tmp_path: Path) -> None:
    """Set thresholds for which no disk has enough free space."""
    reports: list[ResourceReport] = []

    class Recorder(ResourceWatchdog):
        def handle(self, report: ResourceReport) -> bool:
            reports.append(report)
            return False

    recorder = Recorder(engine.spark)
    recorder.start(WatchdogSettings(disk_warning_bytes=2**62, disk_danger_bytes=2**62), [str(tmp_path)])
    try:
        context = engine.spark.sparkContext
        context.setLocalProperty("spark.scheduler.pool", JOB.id)
        try:
            engine.spark.range(200_000).write.parquet(str(tmp_path / "many"))
        finally:
            context.setLocalProperty("spark.scheduler.pool", None)  # type: ignore[arg-type]
        until(lambda: any(report.amounts.get(JOB.id, 0) > 0 for report in list(reports)))
    finally:
        recorder.start(WatchdogSettings(), [str(tmp_path)])
    assert {(report.resource, report.level) for report in reports} == {(Resource.DISK, ShortageLevel.DANGER)}
