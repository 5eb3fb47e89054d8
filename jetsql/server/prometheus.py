"""The response of `GET /metrics`: metrics of the engine and its jobs in Prometheus's format.

Names and units follow Prometheus's conventions: seconds and bytes, and counters that end in `_total`. Every series of a
job has the labels `name` and `id`; a name may be used again after a DROP, an id is not. Counters count from the start
of the engine. The response has the jobs that have not ended and, for every other name, the newest job, so that a failed
job can raise an alert.
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

from jetsql.jobs.model.job import SHOWN_STATUSES, RuleCount
from jetsql.jobs.statements.job_metrics import JobMetrics
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.jobs.store.metrics import BatchMetrics
from jetsql.version import VERSION

# `job` is `name` again, and deprecated: Prometheus has a label `job` of its own. Release 0.4 removes it.
_LABELS: Final = ("name", "job", "id")


@dataclass(frozen=True)
class _Gauge:
    """A gauge of a job."""

    name: str
    help: str
    value: Callable[[JobMetrics], float | None]  # None leaves out the job's series


def _of_latest(value: Callable[[BatchMetrics], float | None]) -> Callable[[JobMetrics], float | None]:
    return lambda reading: None if reading.latest is None else value(reading.latest)


_COUNTERS: Final = (
    ("input_rows", "Rows read.", lambda totals: totals.input_rows),
    ("output_rows", "Rows written, where the sink counts them.", lambda totals: totals.output_rows),
    ("late_rows", "Rows dropped because they arrived after the watermark.", lambda totals: totals.late_rows),
)
_GAUGES: Final = (
    _Gauge("restart_attempts", "Consecutive restarts without a committed batch.", lambda reading: reading.attempts),
    _Gauge(
        "input_rows_per_second", "Rows arriving per second.", _of_latest(lambda latest: latest.input_rows_per_second)
    ),
    _Gauge(
        "last_commit_timestamp_seconds",
        "Time of the newest committed batch.",
        _of_latest(lambda latest: latest.committed),
    ),
    _Gauge("watermark_delay_seconds", "Delay of the watermark.", lambda reading: reading.watermark_delay),
    _Gauge(
        "event_time_lag_seconds",
        "Time from the newest event of the newest batch to its trigger.",
        _of_latest(lambda latest: latest.event_time_lag),
    ),
    _Gauge("state_rows", "Rows in the state store.", _of_latest(lambda latest: latest.state_rows)),
    _Gauge("state_bytes", "Memory used by the state store.", _of_latest(lambda latest: latest.state_bytes)),
)


class JobsCollector(Collector):
    """A collector of the current metrics of the jobs.

    sessions, statements: the current numbers of the HTTP endpoint's clients.
    """

    def __init__(self, queries: JobQueries, sessions: int, statements: int) -> None:
        self._queries = queries
        self._sessions = sessions
        self._statements = statements

    def collect(self) -> Iterator[Metric]:
        jobs = self._queries.all_metrics()
        yield GaugeMetricFamily("jetsql_engine_up", "1 while the engine answers.", value=1)
        yield InfoMetricFamily("jetsql_engine", "The engine's version.", value={"version": VERSION})
        yield GaugeMetricFamily("jetsql_sessions", "Open sessions of the HTTP endpoint.", value=self._sessions)
        yield GaugeMetricFamily("jetsql_statements", "Running statements of the HTTP endpoint.", value=self._statements)
        yield _statuses(jobs)
        yield _status(jobs)
        yield _family(CounterMetricFamily, "runs", "Runs started, including the first.", jobs, lambda r: r.runs)
        yield _batches(jobs)
        for name, description, value in _COUNTERS:
            yield _family(CounterMetricFamily, name, description, jobs, lambda r, value=value: value(r.totals))
        for gauge in _GAUGES:
            yield _family(GaugeMetricFamily, gauge.name, gauge.help, jobs, gauge.value)
        yield _rules("rule_rows", "Rows checked by a rule.", jobs, lambda count: count.rows)
        yield _rules("rule_violations", "Rows that violate a rule.", jobs, lambda count: count.violations)
        yield _source_lag(jobs)
        yield _source_lag_seconds(jobs)


def _labels(reading: JobMetrics) -> tuple[str, str, str]:
    return reading.name, reading.name, reading.id


def _family(
    kind: type[CounterMetricFamily] | type[GaugeMetricFamily],
    name: str,
    description: str,
    jobs: Sequence[JobMetrics],
    value: Callable[..., float | None],
) -> Metric:
    family: Any = kind(f"jetsql_job_{name}", description, labels=_LABELS)
    for reading in jobs:
        number = value(reading)
        if number is not None:
            family.add_metric(_labels(reading), number)
    return family  # type: ignore[no-any-return]


def _statuses(jobs: Sequence[JobMetrics]) -> Metric:
    family = GaugeMetricFamily("jetsql_jobs", "Jobs by status.", labels=["status"])
    for status in SHOWN_STATUSES:
        family.add_metric([status], sum(reading.status == status for reading in jobs))
    return family


def _status(jobs: Sequence[JobMetrics]) -> Metric:
    family = GaugeMetricFamily("jetsql_job_status", "1 for the job's current status.", labels=[*_LABELS, "status"])
    for reading in jobs:
        for status in SHOWN_STATUSES:
            family.add_metric([*_labels(reading), status], float(reading.status == status))
    return family


def _batches(jobs: Sequence[JobMetrics]) -> Metric:
    family = SummaryMetricFamily("jetsql_job_batch_seconds", "Committed batches and their duration.", labels=_LABELS)
    for reading in jobs:
        family.add_metric(_labels(reading), reading.totals.batches, reading.totals.seconds)
    return family


def _rules(name: str, description: str, jobs: Sequence[JobMetrics], value: Callable[[RuleCount], int]) -> Metric:
    """Return a counter for each rule. It counts over restarts of the engine, while the rule stays the same."""
    family = CounterMetricFamily(f"jetsql_job_{name}", description, labels=[*_LABELS, "rule"])
    for reading in jobs:
        for count in reading.rules:
            family.add_metric([*_labels(reading), count.rule], value(count))
    return family


def _source_lag(jobs: Sequence[JobMetrics]) -> Metric:
    description = "Unread rows of the source, in its own units; the least number for a job that does not run."
    family = GaugeMetricFamily("jetsql_job_source_lag", description, labels=[*_LABELS, "source"])
    for reading in jobs:
        for source, lag in ({} if reading.lag is None else reading.lag.by_source).items():
            family.add_metric([*_labels(reading), source], lag)
    return family


def _source_lag_seconds(jobs: Sequence[JobMetrics]) -> Metric:
    description = "Approximate time for which the oldest unread row of the source has waited."
    family = GaugeMetricFamily("jetsql_job_source_lag_seconds", description, labels=[*_LABELS, "source"])
    for reading in jobs:
        for source, seconds in ({} if reading.lag is None else reading.lag.seconds_by_source).items():
            family.add_metric([*_labels(reading), source], seconds)
    return family


@dataclass(frozen=True)
class PrometheusResponse:
    """A response for Prometheus."""

    content: bytes
    content_type: str  # names Prometheus's text format and its version


def prometheus_response(queries: JobQueries, sessions: int, statements: int) -> PrometheusResponse:
    """Return the metrics of the engine and its jobs. sessions, statements: see `JobsCollector`."""
    registry = CollectorRegistry()
    registry.register(JobsCollector(queries, sessions, statements))
    return PrometheusResponse(generate_latest(registry), CONTENT_TYPE_LATEST)
