"""OpenLineage's own JSON schemas, to which events are compared.

The schemas are not part of this repository. They are read from the folder `spec` of a checkout of OpenLineage that
JETSQL_OPENLINEAGE_SPEC names, otherwise they are fetched from openlineage.io.
"""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from referencing.exceptions import NoSuchResource

SPEC: Final = "https://openlineage.io/spec/"
_SECONDS: Final = 20.0


def validate_event(event: dict[str, Any]) -> None:
    """Check an event and each of its facets by the schemas that they name. Skip the test if these are out of reach."""
    for schema, value in ((event["schemaURL"], event), *_facets(event)):
        validator = Draft202012Validator({"$ref": schema}, registry=_registry(), format_checker=FormatChecker())
        errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]
        assert not errors, (schema, errors, value)


def _facets(value: object) -> Iterator[tuple[str, object]]:
    """Yield the objects that name a schema of their own."""
    if isinstance(value, dict):
        if "_schemaURL" in value:
            yield value["_schemaURL"], value
        for each in value.values():
            yield from _facets(each)
    elif isinstance(value, list):
        for each in value:
            yield from _facets(each)


@cache
def _registry() -> Any:
    return Registry(retrieve=_retrieve)  # type: ignore[call-arg]  # it is made by attrs


def _retrieve(uri: str) -> Resource[Any]:
    contents = _read(uri)
    if contents.get("$id") != uri:
        raise NoSuchResource(uri)  # another version than the event names
    return Resource.from_contents(contents)


@cache
def _read(uri: str) -> dict[str, Any]:
    folder = os.environ.get("JETSQL_OPENLINEAGE_SPEC")
    if folder:
        parts = uri.removeprefix(SPEC).split("/")
        path = Path(folder, *(part for part in parts if not part[0].isdigit()))
        return dict(json.loads(path.read_text()))
    try:
        with urllib.request.urlopen(uri, timeout=_SECONDS) as response:
            return dict(json.load(response))
    except OSError as error:
        pytest.skip(f"The schemas of OpenLineage are out of reach: {error}")
