"""The HTTP endpoint agrees with its OpenAPI description, for all requests."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from http.client import HTTPConnection
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from tests.support.engines.server_engine import ServedEngine
from tests.support.servers.http_server import TOKEN, RunningServer, run_server

DESCRIPTION = json.loads(resources.files("jetsql.server").joinpath("openapi.json").read_text(encoding="utf-8"))
# A text may be a good request and no statement; and the token that a bad request was to lack is added to each.
NOT_OURS = [positive_data_acceptance, negative_data_rejection]
SCHEMA = schemathesis.openapi.from_dict(DESCRIPTION)


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with run_server(ServedEngine(), sessions_most=100_000) as server:
        yield server


LONG_RUN = "JETSQL_OPENAPI_EXAMPLES"
"""The variable of the environment that has so many examples tried of each operation, other ones each time."""
EXAMPLES = int(os.environ.get(LONG_RUN, "15"))


@SCHEMA.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=LONG_RUN not in os.environ,
    suppress_health_check=list(HealthCheck),
)
def test_responses_match_the_description(case: schemathesis.Case[Any], server: RunningServer) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    case.call_and_validate(base_url=server.url, headers=headers, timeout=30, excluded_checks=list(NOT_OURS))


def test_the_description_names_every_path(server: RunningServer) -> None:
    described = {(path, method.upper()) for path, item in DESCRIPTION["paths"].items() for method in item}
    served = {
        (route.path, method)
        for route in server.http_server._routes()
        for method in route.methods or ()
        if method != "HEAD"
    }
    assert served - {("/openapi.json", "GET")} == described


def test_description_is_served(server: RunningServer) -> None:
    connection = HTTPConnection(urlsplit(server.url).netloc, timeout=30)
    connection.request("GET", "/openapi.json", headers={"Authorization": f"Bearer {TOKEN}"})
    response = connection.getresponse()
    assert json.loads(response.read()) == DESCRIPTION
    assert response.headers["content-type"] == "application/json"
    connection.close()
