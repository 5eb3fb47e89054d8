"""The Helm chart of `deploy/chart`: its values, its templates as texts, and the examples in its folder `ci`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from tests.support.paths import ROOT

CHART = ROOT / "deploy" / "chart"
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
EXAMPLES = {
    file.name.removesuffix("-values.yaml"): yaml.safe_load(file.read_text(encoding="utf-8"))
    for file in sorted((CHART / "ci").glob("*-values.yaml"))
}
"""The values that a user gives, by the name of the example."""
TEMPLATES = {file.name: file.read_text(encoding="utf-8") for file in (CHART / "templates").rglob("*") if file.is_file()}
CLIENT_VARIABLES = {"JETSQL_URL", "JETSQL_TOKEN", "JETSQL_CA_FILE"}


def merged(given: Mapping[str, Any], defaults: Mapping[str, Any] = VALUES) -> dict[str, Any]:
    """Return values with the defaults of the chart, as Helm merges them."""
    result = dict(defaults)
    for key, value in given.items():
        known = result.get(key)
        result[key] = merged(value, known) if isinstance(value, dict) and isinstance(known, dict) else value
    return result
