"""Act on the reports of the watchdog inside Spark: warn of a job, or have it suspended before the engine ends.

The watchdog is `ResourceWatchdog.java`. It reports when the heap, the open files or a disk are scarce, from a thread of
its own. Each report is judged here without Spark, which may be about to end.
"""

from __future__ import annotations

import json
import logging
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.watchdogs.resource_reports import (
    Resource,
    ResourceReport,
    ShortageLevel,
    danger_cause,
    describe_share,
    find_culprit,
    parse_report,
)
from jetsql.jobs.lifecycle.runtime import Report, ResourceExhausted, ResourceNotice
from jetsql.jobs.model.job import Job, RunId
from jetsql.settings.watchdog_settings import WatchdogSettings

_LOG: Final = logging.getLogger(__name__)
_REPORTED_SECONDS: Final = 600.0


@dataclass(frozen=True)
class _WatchedRun:
    """A run whose use of resources is watched."""

    id: RunId
    name: str  # of its job
    report: Report


class ResourceWatchdog:
    """The watchdog of one engine's runs."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._lock = threading.Lock()
        self._runs: dict[str, _WatchedRun] = {}  # by job id
        self._reported: dict[tuple[Resource, str, ShortageLevel, str | None], float] = {}  # when it was reported
        self._memory: ResourceReport | None = None

    def start(self, settings: WatchdogSettings, folders: Sequence[str]) -> None:
        """Start watching. folders: those on the disks to watch, paths or URIs, besides those of Spark's own files."""
        temporary = self._spark.sparkContext.getConf().get("spark.local.dir", tempfile.gettempdir()).split(",")
        local = [path for path in map(_local_path, (*folders, *temporary)) if path]
        thresholds = {**vars(settings), "folders": local, "temporary": temporary}
        java(self._spark).watchdog.ResourceWatchdog.start(
            self._spark._jsparkSession, json.dumps(thresholds), _Listener(self)
        )

    def watch(self, job: Job, report: Report, checkpoint_folder: str) -> None:
        """Watch the newest run of a job until `unwatch`."""
        with self._lock:
            self._runs[job.id] = _WatchedRun(job.run_id, job.name, report)
        locations = [checkpoint_folder, *(sink.location for sink in job.plan.analysis.sinks)]
        folders = [f"{path}/" for path in map(_local_path, locations) if path]
        java(self._spark).watchdog.ResourceWatchdog.watchJob(job.id, json.dumps(folders))

    def unwatch(self, run: RunId) -> None:
        """Stop watching a run."""
        with self._lock:
            if run.job in self._runs and self._runs[run.job].id == run:
                del self._runs[run.job]

    def handle(self, report: ResourceReport) -> bool:
        """Warn of the job that uses most, or have it suspended. Return whether it is suspended."""
        if report.resource is Resource.MEMORY:
            self._memory = report if report.level is not ShortageLevel.NORMAL else None
        culprit = find_culprit(report)
        with self._lock:
            run = self._runs.get(culprit or "")
        if report.level is ShortageLevel.NORMAL:
            _LOG.info("The engine has enough again: %s", report.state)
        elif run is not None and report.level is ShortageLevel.DANGER:
            cause = danger_cause(report, run.id.job)
            _LOG.error("Job %s is suspended: %s", run.name, cause.message)
            run.report(ResourceExhausted(run.id, cause))
            return True
        elif not self._is_news(report, culprit):
            return False
        elif run is not None:
            message = f"{report.state}. {describe_share(report, run.id.job)}"
            _LOG.warning("Job %s: %s", run.name, message)
            run.report(ResourceNotice(run.id, message))
        elif culprit is None:
            _LOG.warning(
                "%s. No job clearly uses most, so none is suspended. Used: %s", report.state, self._describe(report)
            )
        return False

    def _is_news(self, report: ResourceReport, culprit: str | None) -> bool:
        """Return whether the same was not reported lately, and remember it: a use around a threshold must not flood."""
        key, now = (report.resource, report.place, report.level, culprit), monotonic()
        is_news = now - self._reported.get(key, -_REPORTED_SECONDS) >= _REPORTED_SECONDS
        if is_news:
            self._reported = {each: at for each, at in self._reported.items() if now - at < _REPORTED_SECONDS} | {
                key: now
            }
        return is_news

    def _describe(self, report: ResourceReport) -> str:
        """Return the amounts of a report with the names of the jobs, the highest first."""
        with self._lock:
            names = {job_id: run.name for job_id, run in self._runs.items()}
        amounts = sorted(report.amounts.items(), key=lambda item: -item[1])
        return ", ".join(f"{names.get(owner, owner) or 'no job'} {amount}" for owner, amount in amounts) or "unknown"

    @property
    def newest_memory_report(self) -> ResourceReport | None:
        """Return the newest report about scarce memory; None when it is not scarce."""
        return self._memory


class _Listener:
    """The watchdog in a form that Java can call (java.util.function.Predicate)."""

    def __init__(self, watchdog: ResourceWatchdog) -> None:
        self._watchdog = watchdog

    def test(self, report: str) -> bool:
        return self._watchdog.handle(parse_report(report))

    class Java:
        implements = ("java.util.function.Predicate",)


def _local_path(location: str) -> str:
    """Return the path of a folder on a local disk; empty for another one. location: a path or URI."""
    if location.startswith("/"):
        return location
    return "/" + location.removeprefix("file:").lstrip("/") if location.startswith("file:") else ""
