"""A span of OpenTelemetry for each batch of a job, with a child for each of its phases.

The spans are made of the metrics that Spark reports after a batch. It reports how long each phase took and not when it
began: the phases follow each other in the order of Spark's micro-batches. OpenTelemetry's own library sends the spans
from a thread with a bounded queue, so no batch waits for a receiver.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from importlib.util import find_spec
from threading import Thread
from typing import TYPE_CHECKING, Final

from jetsql.errors import EngineError
from jetsql.jobs.model.job import Cause, Job
from jetsql.jobs.model.redaction import redact
from jetsql.jobs.opentelemetry.opentelemetry_settings import OpenTelemetrySettings
from jetsql.jobs.store.metrics import BatchMetrics
from jetsql.version import VERSION

if TYPE_CHECKING:  # an extra, and slow to import
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

_LOG: Final = logging.getLogger(__name__)
_CLOSE_SECONDS: Final = 3.0
_SECOND: Final = 1_000_000_000  # nanoseconds
_MILLISECOND: Final = 1_000_000
_PHASES: Final = {
    "latest offset": "latest_offset_ms",
    "write-ahead log": "wal_commit_ms",
    "get batch": "get_batch_ms",
    "query planning": "query_planning_ms",
    "add batch": "add_batch_ms",
    "commit offsets": "commit_offsets_ms",
}
"""The fields of `BatchMetrics` with the durations of the phases, in their order."""
_VALUES: Final = ("input_rows", "output_rows", "late_rows", "state_rows", "state_bytes", "watermark", "event_time_lag")


class BatchSpans:
    """The spans of one engine. Only the manager's writer thread calls it, except `close`."""

    def __init__(self, settings: OpenTelemetrySettings) -> None:
        """Create it without a receiver. Raises EngineError ENGINE_NOT_STARTED if the extra is not installed."""
        self._endpoint = settings.opentelemetry_endpoint
        self._provider: TracerProvider | None = None
        if self._endpoint is not None and not _is_installed():
            message = "opentelemetry_endpoint is set, but OpenTelemetry is not installed."
            raise EngineError("ENGINE_NOT_STARTED", message, hint="Install jetsql[opentelemetry] next to the engine.")

    def start(self, home: str) -> None:
        """Open the receiver. home: of the engine, which identifies it"""
        if self._endpoint is not None:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            self.open(OTLPSpanExporter(self._endpoint), home)

    def open(self, exporter: SpanExporter, home: str) -> None:
        """Send the spans to an exporter."""
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        own = {"service.name": "jetsql", "service.version": VERSION, "service.instance.id": home}
        given = Resource.create()  # of OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES
        named = not str(given.attributes.get("service.name", "")).startswith("unknown_service")
        resource = Resource(own).merge(given) if named else given.merge(Resource(own))
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))

    def close(self) -> None:
        """Send what waits, within a bounded time."""
        if self._provider is not None:
            # Without the thread, a receiver that hangs would delay the end of the engine.
            closing = Thread(target=self._provider.shutdown, name="opentelemetry-end", daemon=True)
            closing.start()
            closing.join(_CLOSE_SECONDS)
            self._provider = None

    def note_batch(self, job: Job, batch: BatchMetrics) -> None:
        """Report a committed batch."""
        if self._provider is None:
            return
        try:
            self._add(self._provider, job, batch)
        except Exception:  # an error of a span must not affect the job
            _LOG.exception("The span of a batch of job %s could not be made", job.id)

    def note_failure(self, job: Job, run: int, cause: Cause, now: float) -> None:
        """Report a batch that has failed. Its duration is not known."""
        if self._provider is None or cause.batch is None:
            return
        from opentelemetry.trace import SpanKind, Status, StatusCode

        tracer = self._provider.get_tracer("jetsql", VERSION)
        attributes = {**_names(job, run, cause.batch), "error.type": cause.condition or cause.error_class or "_OTHER"}
        at = int(now * _SECOND)
        span = tracer.start_span(f"batch {job.name}", kind=SpanKind.INTERNAL, attributes=attributes, start_time=at)
        span.set_status(Status(StatusCode.ERROR, redact(cause.message, job.plan.options.given)))
        span.end(at)

    def _add(self, provider: TracerProvider, job: Job, batch: BatchMetrics) -> None:
        from opentelemetry.trace import SpanKind, set_span_in_context

        tracer = provider.get_tracer("jetsql", VERSION)
        began = int(batch.time * _SECOND)
        attributes = {**_names(job, batch.run, batch.batch), **dict(_measured(batch))}
        span = tracer.start_span(f"batch {job.name}", kind=SpanKind.INTERNAL, attributes=attributes, start_time=began)
        context = set_span_in_context(span)
        at = began
        for name, field in _PHASES.items():
            millis = getattr(batch, field)
            if millis is None:
                continue
            phase = tracer.start_span(name, context=context, kind=SpanKind.INTERNAL, start_time=at)
            at += millis * _MILLISECOND
            phase.end(at)
        span.end(max(began + (batch.trigger_ms or 0) * _MILLISECOND, at))


def _is_installed() -> bool:
    try:
        return find_spec("opentelemetry.sdk.trace") is not None and (
            find_spec("opentelemetry.exporter.otlp.proto.http.trace_exporter") is not None
        )
    except ModuleNotFoundError:
        return False


def _names(job: Job, run: int, batch: int) -> dict[str, str | int]:
    return {"jetsql.job.name": job.name, "jetsql.job.id": job.id, "jetsql.run": run, "jetsql.batch": batch}


def _measured(batch: BatchMetrics) -> Iterator[tuple[str, int | float]]:
    for name in _VALUES:
        value = getattr(batch, name)
        if value is not None:
            yield f"jetsql.{name}", value
    if batch.lag:
        yield "jetsql.lag_rows", sum(batch.lag.values())
