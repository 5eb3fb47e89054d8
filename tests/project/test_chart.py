"""The Helm chart, as far as it can be checked without Helm: values, their schema, names of settings, versions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import pytest
import yaml

from jetsql.jobs.model.job_settings import JobSettings
from jetsql.settings.engine_settings import SPECS
from jetsql.version import VERSION
from tests.support.chart import CHART, CLIENT_VARIABLES, EXAMPLES, SCHEMA, TEMPLATES, VALUES, merged
from tests.support.paths import ROOT

VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
FREE = {"affinity", "global"}
"""The objects whose fields Kubernetes or Helm defines."""
MINIMUM = EXAMPLES["volume"]


def schema_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the definition that a schema refers to."""
    return SCHEMA["definitions"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def objects_of(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the objects of the values, by their path."""
    schema = schema_of(schema)
    for part in schema.get("allOf", ()) if "properties" not in schema else ():
        yield from objects_of(part, path)
    if schema.get("type") == "object":
        yield path, schema
    for name, each in schema.get("properties", {}).items():
        yield from objects_of(each, f"{path}.{name}".removeprefix("."))


def names(values: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the paths of all values that have no values of their own."""
    for key, value in values.items():
        name = f"{path}.{key}".removeprefix(".")
        if isinstance(value, dict) and value and not is_free(name):
            yield from names(value, name)
        else:
            yield name


def is_free(name: str) -> bool:
    return name.rpartition(".")[2] in {"requests", "limits", "labels"}


def test_versions_are_those_of_the_project() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert (chart["version"], chart["appVersion"]) == (VERSION, VERSION)


def test_schema_is_a_schema() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_valid(example: str) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(merged(EXAMPLES[example]))] == []


def test_unknown_values_are_refused_everywhere() -> None:
    for path, schema in objects_of(SCHEMA):
        assert path.rpartition(".")[2] in FREE or "additionalProperties" in schema, path
        if "properties" in schema:
            assert schema["additionalProperties"] is False, path


def test_all_values_have_a_default() -> None:
    described = {
        f"{path}.{name}".removeprefix(".")
        for path, schema in objects_of(SCHEMA)
        for name, each in schema.get("properties", {}).items()
        if schema_of(each).get("type") != "object" or "properties" not in schema_of(each)
    }
    given = set(names(VALUES))
    assert {name for name in described - given if not name.endswith((".claims", "global"))} <= {"image"}
    assert {name for name in given if not is_free(name)} <= described | given & {"image.repository"}


@pytest.mark.parametrize(
    "given",
    [
        {"image": {"repository": ""}},
        {"token": {"existingSecret": ""}},
        {"store": {"existingSecret": "store"}},
        {"storage": {"uri": "s3a://lake/jetsql", "existingClaim": "lake"}},
        {"storage": {"uri": "lake"}},
        {"engine": {"driverMemory": "2Gi"}},
        {"engine": {"replicas": 0}},
        {"executors": {"core": 1}},
        {"apply": {"files": {"tables.txt": ""}}},
        {"secrets": [""]},
        {"replicas": 2},
    ],
)
def test_wrong_values_are_refused(given: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(merged(given, merged(MINIMUM)))


def test_templates_use_values_that_exist() -> None:
    used = set(re.findall(r"(?<![\w.])\$?\.Values\.([A-Za-z0-9.]+)", "\n".join(TEMPLATES.values())))
    assert used
    for path in used:
        value: Any = VALUES
        for name in path.split("."):
            assert name in value, path
            value = value[name]


def test_only_settings_that_exist_are_set() -> None:
    used = set(re.findall(r"JETSQL_[A-Z0-9_]+", "\n".join(TEMPLATES.values()))) - CLIENT_VARIABLES
    settings = {name.removeprefix("JETSQL_").lower() for name in used} - {"config", "conf"}
    assert settings <= set(SPECS)
    guarded = set(re.findall(r'"(\w+)"', TEMPLATES["_pod.tpl"].partition("$own := list")[2].partition("range $own")[0]))
    assert guarded == settings, "config.toml cannot contain a setting that the environment overrides"


def test_pods_wait_for_a_graceful_stop() -> None:
    seconds = JobSettings.stop_deadline_seconds + JobSettings.close_wait_seconds
    assert VALUES["engine"]["terminationGracePeriodSeconds"] > seconds


def test_probes_distinguish_liveness_and_readiness() -> None:
    probes = re.findall(r'(\w+)Probe:.*\n.*"path" "(\S+)"', TEMPLATES["_pod.tpl"])
    assert probes == [("startup", "/healthz"), ("liveness", "/healthz"), ("readiness", "/readyz")]


def test_the_guide_has_the_alerts() -> None:
    alerts = (CHART / "files" / "alerts.yaml").read_text(encoding="utf-8")
    guide = (ROOT / "docs" / "operate" / "monitoring.md").read_text(encoding="utf-8")
    assert f"```yaml\n{alerts}```" in guide
