"""The watchdog inside Spark: it finds the job whose tasks fill a disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jetsql.embedded.embedded_engine import EmbeddedEngine
from jetsql.engine.runs.resource_watchdog import ResourceWatchdog
from jetsql.jobs.lifecycle.engine_api import EngineEndangered, EngineEvent
from jetsql.settings.watchdog_settings import WatchdogSettings
from tests.conftest import until
from tests.support.models.lifecycle_model import new_job

pytestmark = pytest.mark.spark


def test_the_job_that_fills_a_disk_is_found(engine: EmbeddedEngine, tmp_path: Path) -> None:
    """No disk has as much free space as the thresholds ask for."""
    events: list[EngineEvent] = []
    watchdog = ResourceWatchdog(engine.spark)
    job = replace(new_job({}), run=1)
    watchdog.watch(job, events.append, str(tmp_path))
    watchdog.start(WatchdogSettings(disk_warning_bytes=2**62, disk_danger_bytes=2**62), [str(tmp_path)])
    try:
        context = engine.spark.sparkContext
        context.setLocalProperty("spark.scheduler.pool", job.id)
        try:
            engine.spark.range(200_000).write.parquet(str(tmp_path / "many"))
        finally:
            context.setLocalProperty("spark.scheduler.pool", None)  # type: ignore[arg-type]
        until(lambda: bool(events))
    finally:
        watchdog.start(WatchdogSettings(), [str(tmp_path)])
    [event, *_] = events
    assert isinstance(event, EngineEndangered) and event.run == job.run_id
    assert "are free on the disk of" in event.cause.message and "has written" in event.cause.message
