"""The HTTP API, from its OpenAPI description."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from tools.docs.markdown import table


def operations() -> str:
    """Return a section for each operation."""
    parts = []
    for path, methods in _description()["paths"].items():
        for method, operation in methods.items():
            parts.append(_operation(method.upper(), path, operation))
    return "\n".join(parts)


def schemas() -> str:
    """Return a section for each object of requests and responses."""
    return "\n".join(_schema(name, schema) for name, schema in _description()["components"]["schemas"].items())


@cache
def _description() -> dict[str, Any]:
    text = resources.files("jetsql.server").joinpath("openapi.json").read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    text = f"### {method} {path}\n\n{operation['summary']}\n"
    if operation.get("security") == []:
        text += "\nNeeds no token.\n"
    body = operation.get("requestBody")
    if body is not None:
        text += f"\nBody: {_link(body['content']['application/json']['schema'])}.\n"
    parameters = [_resolved(each) for each in operation.get("parameters", ())]
    if parameters:
        rows = [(f"`{each['name']}`", each["in"], each.get("description", "")) for each in parameters]
        text += f"\n{table(('parameter', 'in', 'meaning'), rows)}"
    rows = [
        (status, _meaning(_resolved(response)), _body(_resolved(response))) for status, response in _good(operation)
    ]
    text += f"\n{table(('status', 'meaning', 'body'), rows)}"
    errors = [
        f"`{status}`" for status in operation["responses"] if status >= "400" and status not in dict(_good(operation))
    ]
    return text + (f"\nErrors: {', '.join(errors)}, with an [Error](#error) as body.\n" if errors else "")


def _good(operation: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the responses with a meaning of their own."""
    return [(status, each) for status, each in operation["responses"].items() if "$ref" not in each]


def _meaning(response: dict[str, Any]) -> str:
    return str(response["description"])


def _body(response: dict[str, Any]) -> str:
    kinds = []
    for kind, content in response.get("content", {}).items():
        schema = content["schema"]
        kinds.append(_link(schema) if "$ref" in schema else f"`{kind}`")
    return ", ".join(kinds)


def _resolved(part: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in part:
        return part
    found: Any = _description()
    for key in part["$ref"].removeprefix("#/").split("/"):
        found = found[key]
    return found  # type: ignore[no-any-return]


def _link(schema: dict[str, Any]) -> str:
    name = str(schema["$ref"]).rpartition("/")[2]
    return f"[{name}](#{name.lower()})"


def _schema(name: str, schema: dict[str, Any]) -> str:
    text = f"### {name}\n\n"
    if "description" in schema:
        text += f"{schema['description']}\n\n"
    required = schema.get("required", ())
    rows = [
        (f"`{field}`", _type(each), "yes" if field in required else "", each.get("description", ""))
        for field, each in schema.get("properties", {}).items()
    ]
    return text + (table(("field", "type", "always", "meaning"), rows) if rows else "")


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return _link(schema)
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    kinds = schema.get("type", "any")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    items = schema.get("items")
    of = f" of {_type(items)}" if isinstance(items, dict) and "array" in kinds else ""
    return " or ".join(kinds) + of
