"""A run that cannot be stopped, without Spark: it is kept, and the next stop finds it."""

from __future__ import annotations

import threading

import pytest

from jetsql.engine.runs.job_runs import JobRuns
from jetsql.engine.watchdogs.kafka_watchdog import KafkaWatchdog
from jetsql.engine.watchdogs.resource_watchdog import ResourceWatchdog
from jetsql.jobs.model.job import RunId


class Stubborn:
    """A run whose first stop fails, as when a database does not answer."""

    def __init__(self) -> None:
        self.stops = 0

    def stop(self, deadline_seconds: float) -> bool:
        self.stops += 1
        if self.stops == 1:
            raise TimeoutError("the query did not end within 60 s")
        return True


def test_run_that_could_not_be_stopped_is_kept_for_retry() -> None:
    runs = JobRuns.__new__(JobRuns)
    run, stubborn = RunId("j", 1), Stubborn()
    runs._runs, runs._lock = {run: stubborn}, threading.Lock()  # type: ignore[dict-item, misc]
    runs._kafka_watchdog = KafkaWatchdog(None, None)  # type: ignore[arg-type, misc]
    runs._resource_watchdog = ResourceWatchdog(None)  # type: ignore[arg-type, misc]
    with pytest.raises(TimeoutError):
        runs.stop(run, 0.0)
    assert runs.stop(run, 0.0) is True and stubborn.stops == 2
    assert runs.stop(run, 0.0) is True and stubborn.stops == 2
