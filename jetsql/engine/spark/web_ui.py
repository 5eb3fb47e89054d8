"""Protect Spark's web UI with the home's token, if a setting turns the UI on: it shows statements with literals.

Without it, Spark need not describe each plan for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jetsql.engine.jvm.java_classes import load_classes

FILTER: Final = "dev.jetsql.endpoints.TokenFilter"
_ENABLED: Final = "spark.ui.enabled"
_FILTERS: Final = "spark.ui.filters"
_DESCRIPTION: Final = "spark.sql.ui.explainMode"


def ui_confs(confs: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that make Spark's web UI require the token, or that save work when the UI is off.

    Spark describes the plan of each statement and batch for the UI and its event logs. A detailed description takes
    some milliseconds.
    """
    if not _is_on(confs, _ENABLED):
        is_seen = _is_on(confs, "spark.eventLog.enabled") or _DESCRIPTION in confs
        return {} if is_seen else {_DESCRIPTION: "simple"}
    return {_FILTERS: ",".join(filter(None, (FILTER, confs.get(_FILTERS, ""))))}


def _is_on(confs: Mapping[str, str], name: str) -> bool:
    return confs.get(name, "").strip().lower() == "true"


def close_ui(gateway: Any, confs: Mapping[str, str], token: str) -> None:
    """Set the token of the filter in `ui_confs` before Spark starts the UI."""
    if FILTER in confs.get(_FILTERS, ""):
        load_classes(gateway).endpoints.TokenFilter.expect(token)
