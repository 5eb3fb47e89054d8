"""The definitions of the resources, compared with what the controller reads and writes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from jetsql.job_resources.engine_statements import ResourceError
from jetsql.job_resources.job_statement import SQL_MOST
from jetsql.job_resources.reconcile_job import Reconciliation
from jetsql.job_resources.resource import API_GROUP, API_VERSION, CustomResource, ResourceKind
from jetsql.job_resources.resource_status import job_status
from tests.support.paths import ROOT

BODY = {"metadata": {"name": "a", "namespace": "b", "generation": 3}}


def definition(kind: ResourceKind) -> dict[str, Any]:
    text = (ROOT / "deploy" / "chart" / "crds" / f"{kind}.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)["spec"]
    return found


@pytest.mark.parametrize("kind", ResourceKind)
def test_definitions_have_the_names_of_the_controller(kind: ResourceKind) -> None:
    spec = definition(kind)
    assert (spec["group"], spec["names"]["plural"], spec["scope"]) == (API_GROUP, kind.value, "Namespaced")
    assert [each["name"] for each in spec["versions"]] == [API_VERSION]
    assert spec["versions"][0]["subresources"] == {"status": {}}


def test_definition_has_all_fields_of_a_status() -> None:
    schema = definition(ResourceKind.JOB)["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    error = ResourceError("A", "B", "C", "D", 1, 2)
    status = job_status(
        CustomResource(ResourceKind.JOB, BODY), Reconciliation("X", "y", is_stalled=True, error=error), None, None
    )
    assert set(status) == set(schema["status"]["properties"])
    assert set(status["error"]) == set(schema["status"]["properties"]["error"]["properties"])
    fields = schema["status"]["properties"]["conditions"]["items"]["properties"]
    assert all(set(each) == set(fields) for each in status["conditions"])
    assert schema["spec"]["properties"]["sql"]["maxLength"] == SQL_MOST
