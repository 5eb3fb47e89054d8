"""What the engine knows of its jobs as Prometheus reads it: `GET /metrics`.

Names and units are by Prometheus's conventions: seconds and bytes, counters end in `_total`. Every series of a job has
its name and its id as labels; a name may come again after a DROP, an id never. Counters count from the engine's start.
Shown are the jobs that have not ended, and of each other name the newest, so that a job that failed can raise an alarm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, SummaryMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.job import Status
from jetsql.jobs.statements.job_metrics import JobMetrics, job_metrics
from jetsql.jobs.store.metrics import BatchMetrics
from jetsql.version import VERSION

_LABELS: Final = ("job", "id")


@dataclass(frozen=True)
class _Gauge:
    """A gauge of a job; a value of None is not shown."""

    name: str
    words: str
    value: Callable[[JobMetrics], float | None]


def _of_latest(value: Callable[[BatchMetrics], float | None]) -> Callable[[JobMetrics], float | None]:
    return lambda reading: None if reading.latest is None else value(reading.latest)


def _last_commit(measure: BatchMetrics) -> float:
    return measure.time + (measure.trigger_ms or 0) / 1000


_COUNTERS: Final = (
    ("input_rows", "Rows read.", lambda totals: totals.input_rows),
    ("output_rows", "Rows written, where the sink counts them.", lambda totals: totals.output_rows),
    ("late_rows", "Rows dropped because they came behind the watermark.", lambda totals: totals.late_rows),
)
_GAUGES: Final = (
    _Gauge("restart_attempts", "Restarts in a row without a committed batch.", lambda reading: reading.attempts),
    _Gauge("input_rows_per_second", "Rows as they came in.", _of_latest(lambda latest: latest.input_rows_per_second)),
    _Gauge("last_commit_timestamp_seconds", "When the newest batch was committed.", _of_latest(_last_commit)),
    _Gauge("watermark_delay_seconds", "How far the watermark is behind.", lambda reading: reading.watermark_delay),
    _Gauge(
        "event_time_lag_seconds",
        "From the newest event of the newest batch to its trigger.",
        _of_latest(lambda latest: latest.event_time_lag),
    ),
    _Gauge("state_rows", "Rows kept from batch to batch.", _of_latest(lambda latest: latest.state_rows)),
    _Gauge("state_bytes", "Memory that the state takes.", _of_latest(lambda latest: latest.state_bytes)),
)


class JobsCollector(Collector):
    """The jobs of a manager, read anew each time. sessions, statements: of clients at this moment."""

    def __init__(self, manager: Manager, sessions: int, statements: int) -> None:
        self._manager = manager
        self._sessions = sessions
        self._statements = statements

    def collect(self) -> Iterator[Metric]:
        jobs = job_metrics(self._manager)
        yield GaugeMetricFamily("jetsql_engine_up", "1 while the engine answers.", value=1)
        yield InfoMetricFamily("jetsql_engine", "What this engine is.", value={"version": VERSION})
        yield GaugeMetricFamily("jetsql_sessions", "Sessions of clients at the HTTP endpoint.", value=self._sessions)
        yield GaugeMetricFamily("jetsql_statements", "Statements that clients have running.", value=self._statements)
        yield _statuses(jobs)
        yield _status(jobs)
        yield _family(CounterMetricFamily, "runs", "Runs started, the first included.", jobs, lambda r: r.runs)
        yield _batches(jobs)
        for name, words, value in _COUNTERS:
            yield _family(CounterMetricFamily, name, words, jobs, lambda r, value=value: value(r.totals))
        for gauge in _GAUGES:
            yield _family(GaugeMetricFamily, gauge.name, gauge.words, jobs, gauge.value)
        yield _source_lag(jobs)
        yield _source_lag_seconds(jobs)


def _labels(reading: JobMetrics) -> tuple[str, str]:
    return reading.name, reading.id


def _family(
    kind: type[CounterMetricFamily] | type[GaugeMetricFamily],
    name: str,
    words: str,
    jobs: Sequence[JobMetrics],
    value: Callable[..., float | None],
) -> Metric:
    family: Any = kind(f"jetsql_job_{name}", words, labels=_LABELS)
    for reading in jobs:
        found = value(reading)
        if found is not None:
            family.add_metric(_labels(reading), found)
    return family  # type: ignore[no-any-return]


def _statuses(jobs: Sequence[JobMetrics]) -> Metric:
    family = GaugeMetricFamily("jetsql_jobs", "Jobs by status.", labels=["status"])
    for status in Status:
        family.add_metric([status.value], sum(reading.status is status for reading in jobs))
    return family


def _status(jobs: Sequence[JobMetrics]) -> Metric:
    family = GaugeMetricFamily("jetsql_job_status", "1 for the status that the job has.", labels=[*_LABELS, "status"])
    for reading in jobs:
        for status in Status:
            family.add_metric([*_labels(reading), status.value], float(reading.status is status))
    return family


def _batches(jobs: Sequence[JobMetrics]) -> Metric:
    words = "Committed batches and the time they took."
    family = SummaryMetricFamily("jetsql_job_batch_seconds", words, labels=_LABELS)
    for reading in jobs:
        family.add_metric(_labels(reading), reading.totals.batches, reading.totals.seconds)
    return family


def _source_lag(jobs: Sequence[JobMetrics]) -> Metric:
    words = "How much lies behind the newest batch, in the source's own units."
    family = GaugeMetricFamily("jetsql_job_source_lag", words, labels=[*_LABELS, "source"])
    for reading in jobs:
        for source, lag in ({} if reading.latest is None else reading.latest.lag).items():
            family.add_metric([*_labels(reading), source], lag)
    return family


def _source_lag_seconds(jobs: Sequence[JobMetrics]) -> Metric:
    words = "About how long the oldest of what lies behind the newest batch had waited."
    family = GaugeMetricFamily("jetsql_job_source_lag_seconds", words, labels=[*_LABELS, "source"])
    for reading in jobs:
        for source, seconds in ({} if reading.latest is None else reading.latest.lag_seconds).items():
            family.add_metric([*_labels(reading), source], seconds)
    return family


@dataclass(frozen=True)
class PrometheusResponse:
    """What Prometheus is told, and in which of its forms."""

    content: bytes
    content_type: str


def prometheus_response(manager: Manager, sessions: int, statements: int) -> PrometheusResponse:
    """All of it. sessions, statements: of clients at this moment."""
    registry = CollectorRegistry()
    registry.register(JobsCollector(manager, sessions, statements))
    return PrometheusResponse(generate_latest(registry), CONTENT_TYPE_LATEST)
