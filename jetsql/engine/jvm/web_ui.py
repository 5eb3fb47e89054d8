"""Spark's web UI, where a setting turns it on: behind the home's token, for it shows statements with their literals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jetsql.engine.jvm.java_classes import load_classes

FILTER: Final = "dev.jetsql.endpoints.TokenFilter"
_ENABLED: Final = "spark.ui.enabled"
_FILTERS: Final = "spark.ui.filters"


def ui_confs(confs: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that put the token in front of Spark's web UI; none where it is off."""
    if confs[_ENABLED].strip().lower() != "true":
        return {}
    return {_FILTERS: ",".join(filter(None, (FILTER, confs.get(_FILTERS, ""))))}


def close_ui(gateway: Any, confs: Mapping[str, str], token: str) -> None:
    """Give the filter of `ui_confs` the token, before Spark starts the UI with it."""
    if FILTER in confs.get(_FILTERS, ""):
        load_classes(gateway).endpoints.TokenFilter.expect(token)
