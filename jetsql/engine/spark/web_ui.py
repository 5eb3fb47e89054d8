"""Protect Spark's web UI with the home's token, if a setting turns the UI on: it shows statements with literals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jetsql.engine.jvm.java_classes import load_classes

FILTER: Final = "dev.jetsql.endpoints.TokenFilter"
_ENABLED: Final = "spark.ui.enabled"
_FILTERS: Final = "spark.ui.filters"


def ui_confs(confs: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that make Spark's web UI require the token; none when the UI is off."""
    if confs[_ENABLED].strip().lower() != "true":
        return {}
    return {_FILTERS: ",".join(filter(None, (FILTER, confs.get(_FILTERS, ""))))}


def close_ui(gateway: Any, confs: Mapping[str, str], token: str) -> None:
    """Set the token of the filter in `ui_confs` before Spark starts the UI."""
    if FILTER in confs.get(_FILTERS, ""):
        load_classes(gateway).endpoints.TokenFilter.expect(token)
