"""The settings of OpenLineage events, a part of the engine's settings. No statement can change them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from jetsql.loopback import is_loopback
from jetsql.secret_references import is_reference, resolved
from jetsql.setting_fields import setting
from jetsql.setting_values import (
    parse_file,
    parse_positive_count,
    parse_positive_seconds,
    parse_receiver,
    parse_reference,
    refusal,
)

_PATH: Final = "/api/v1/lineage"


def _parse_url(value: object) -> str:
    return value if isinstance(value, str) and is_reference(value) else parse_receiver(value, _PATH)


def _parse_namespace(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError("a name")
    return value.strip()


@dataclass(frozen=True)
class HttpReceiver:
    """A receiver over HTTP."""

    url: str
    api_key: str = ""  # empty for none

    @property
    def name(self) -> str:
        """Return what is shown of it: not its parameters, which can be secrets."""
        return self.url.partition("?")[0]


@dataclass(frozen=True)
class OpenLineageSettings:
    """Settings of the events about runs of jobs."""

    openlineage_url: str | None = setting(
        None,
        _parse_url,
        "The receiver of OpenLineage events over HTTP. A URL without a path gets `/api/v1/lineage`.",
        is_secret=True,
    )
    openlineage_api_key: str | None = setting(
        None, parse_reference, "The API key that the receiver wants, sent as a bearer token.", is_secret=True
    )
    openlineage_file: Path | None = setting(
        None, parse_file, "A file to which OpenLineage events are appended, one JSON object a line.", is_path=True
    )
    openlineage_namespace: str = setting(
        "jetsql", _parse_namespace, "The namespace of the jobs in OpenLineage events, such as the name of the engine."
    )
    openlineage_running_seconds: float = setting(
        60.0,
        parse_positive_seconds,
        "The shortest time between two OpenLineage events `RUNNING` of a run, each of which follows a batch.",
        is_advanced=True,
    )
    openlineage_events_most: int = setting(
        1000,
        parse_positive_count,
        "The limit of OpenLineage events that wait for a receiver; further ones are dropped.",
        is_advanced=True,
    )

    @property
    def is_on(self) -> bool:
        """Return whether there is a receiver."""
        return self.openlineage_url is not None or self.openlineage_file is not None

    def receiver(self) -> HttpReceiver | None:
        """Return the receiver over HTTP, or None. Raises EngineError SECRET_NOT_READABLE, INVALID_SETTING."""
        if self.openlineage_url is None:
            return None
        try:
            url = parse_receiver(resolved(self.openlineage_url, "openlineage_url"), _PATH)
        except ValueError as expected:
            raise refusal("The secret of openlineage_url is wrong.", f"It must be {expected}.") from None
        if self.openlineage_api_key is None:
            return HttpReceiver(url)
        parts = urlsplit(url)
        if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
            message = "openlineage_api_key is set, but openlineage_url has no TLS."
            raise refusal(message, "Use a URL with https://, or no API key.")
        key = resolved(self.openlineage_api_key, "openlineage_api_key")
        if not key.isascii() or not key.isprintable():
            raise refusal("The secret of openlineage_api_key has a sign that is not printable ASCII.")
        return HttpReceiver(url, key)
