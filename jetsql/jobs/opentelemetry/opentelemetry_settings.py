"""The setting of OpenTelemetry's spans, a part of the engine's settings."""

from __future__ import annotations

from dataclasses import dataclass

from jetsql.setting_fields import setting
from jetsql.setting_values import parse_receiver


def _parse_endpoint(value: object) -> str:
    return parse_receiver(value, "/v1/traces")


@dataclass(frozen=True)
class OpenTelemetrySettings:
    """Settings of spans."""

    opentelemetry_endpoint: str | None = setting(
        None,
        _parse_endpoint,
        "The receiver of a span for each batch, by OpenTelemetry's protocol OTLP over HTTP. A URL without a path gets"
        " `/v1/traces`. It needs the extra `jetsql[opentelemetry]`, and OpenTelemetry's own variables, such as"
        " `OTEL_EXPORTER_OTLP_HEADERS`, apply.",
        is_secret=True,
    )
