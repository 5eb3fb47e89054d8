"""Dashboard and alerts query metrics and labels that the engine exports; the dashboard follows Grafana's schema."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
from prometheus_client.parser import text_string_to_metric_families

from jetsql.jobs.lifecycle.runtime import BatchCommitted
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.jobs.store.metrics import BatchMetrics
from jetsql.language.objects.expectation import Expectation
from jetsql.server.prometheus import prometheus_response
from tests.support.chart import CHART
from tests.support.engines.jobs_harness import run_manager
from tests.support.paths import ROOT

DASHBOARD: dict[str, Any] = json.loads((ROOT / "docs/operate/grafana-dashboard.json").read_text(encoding="utf-8"))
VARIABLES = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
EXPRESSIONS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
QUERIES = [variable["query"]["query"] for variable in VARIABLES.values() if variable["type"] == "query"]
ALERTS = [
    rule
    for group in yaml.safe_load((CHART / "files" / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]
SCRAPE_LABELS = {"job", "instance"}
"""The labels that Prometheus adds. They replace exported ones, which have the prefix `exported_` then."""

_MISSING = object()


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Return the labels of each sample that an engine exports for a job with every measure, by the sample's name."""
    folder: Path = tmp_path_factory.mktemp("world")
    with run_manager(folder) as jobs:
        jobs.runtime.analysis = replace(jobs.runtime.analysis, expectations=(Expectation("valid", "id > 0"),))
        job_id = jobs.make()
        run = jobs.runtime.run_id(job_id)
        measures = BatchMetrics(
            run.run,
            1,
            time=100.0,
            trigger_ms=500,
            input_rows=20,
            input_rows_per_second=40.0,
            event_time_lag=1.5,
            watermark=90.0,
            state_rows=3,
            state_bytes=4096,
            lag={"orders (kafka)": 7},
            lag_seconds={"orders (kafka)": 2.5},
        )
        jobs.runtime.report(job_id, BatchCommitted(run, 1, 100.0, 20, 40.0, metrics=measures))
        jobs.sql("WAIT FOR JOB j UNTIL BATCH 1")
        text = prometheus_response(JobQueries(jobs.manager), sessions=1, statements=1).content.decode()
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels.keys() | SCRAPE_LABELS)
    return labels


@pytest.mark.parametrize("expression", EXPRESSIONS + QUERIES + [alert["expr"] for alert in ALERTS])
def test_metrics_and_labels_are_exported(expression: str, exported: dict[str, set[str]]) -> None:
    selectors = re.findall(r"\b(jetsql_\w+)(?:\{([^}]*)\})?", expression)
    assert selectors
    for metric, matchers in selectors:
        assert metric in exported
        assert set(re.findall(r"(\w+)\s*[=!]", matchers)) <= exported[metric]
        assert set(re.findall(r"^label_values\(.*, (\w+)\)$", expression)) <= exported[metric]


def test_legends_name_labels(exported: dict[str, set[str]]) -> None:
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            [metric, *_] = re.findall(r"\bjetsql_\w+", target["expr"])
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= exported[metric] - SCRAPE_LABELS


def test_summaries_of_alerts_name_labels(exported: dict[str, set[str]]) -> None:
    for alert in ALERTS:
        [metric] = re.findall(r"\bjetsql_\w+", alert["expr"])
        used = re.findall(r"\$labels\.(\w+)", alert["annotations"]["summary"])
        assert set(used) <= exported[metric] - SCRAPE_LABELS


def test_every_exported_metric_is_shown(exported: dict[str, set[str]]) -> None:
    shown = set(re.findall(r"\bjetsql_\w+", " ".join(EXPRESSIONS)))
    assert {name for name in exported if not name.endswith("_created")} == shown


def test_variables_are_defined() -> None:
    used = set(re.findall(r"\$\{?(\w+)", json.dumps([DASHBOARD["panels"], QUERIES])))
    assert used - {"__rate_interval"} <= VARIABLES.keys()


def test_fields_are_those_of_grafanas_schema() -> None:
    """Check the fields with the SDK, which is generated from Grafana's schema and omits unknown fields."""
    register_default_plugins()
    assert _unknown_fields(DASHBOARD) == []
    panel = next(panel for panel in DASHBOARD["panels"] if panel["type"] == "timeseries")
    wrong_panel = {**panel, "options": {**panel["options"], "legends": True}}
    assert _unknown_fields({**DASHBOARD, "panels": [wrong_panel], "titel": ""}) == ["panels.0.options.legends", "titel"]


def _unknown_fields(dashboard: dict[str, Any]) -> list[str]:
    """Return the paths of the fields that the SDK changes or leaves out."""
    encoded = json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))
    return sorted(path.removeprefix(".") for path in _differences(dashboard, encoded, ""))


def _differences(written: Any, encoded: Any, path: str) -> Iterator[str]:
    if isinstance(written, dict) and isinstance(encoded, dict):
        for name, value in written.items():
            yield from _differences(value, encoded.get(name, _MISSING), f"{path}.{name}")
    elif isinstance(written, list) and isinstance(encoded, list) and len(written) == len(encoded):
        for number, (value, other) in enumerate(zip(written, encoded, strict=True)):
            yield from _differences(value, other, f"{path}.{number}")
    elif written != encoded:
        yield path


def test_panels_do_not_overlap() -> None:
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    cells = [(x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
    assert len(set(cells)) == len(cells)
    assert all(x < 24 for x, _ in cells)
