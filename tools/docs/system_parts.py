"""The relations of the schema `jetsql`, the metrics for Prometheus, and the resources of Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import yaml

from jetsql.jobs.access.access_records import Right, SecurableKind
from jetsql.jobs.access.rights_table import RIGHTS, RightSpec
from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.jobs.statements.system_tables import SYSTEM_TABLES
from jetsql.server.prometheus import JobsCollector
from tools.docs.markdown import table

_NO_JOBS: Any = SimpleNamespace(
    registry=SimpleNamespace(live=tuple),
    store=SimpleNamespace(ended_jobs=tuple),
    metrics=SimpleNamespace(jobs=tuple),
    access=SimpleNamespace(sees_job=lambda job: True),
)
_DEFINITIONS: Final = Path(__file__).parents[2] / "deploy" / "chart" / "crds"
_SUFFIXES: Final = {"counter": "_total", "info": "_info"}


def relations() -> str:
    """Return a section for each relation."""
    parts = []
    for relation in SYSTEM_TABLES:
        rows = [(f"`{each.name}`", f"`{(each.type or 'string').upper()}`", each.comment) for each in relation.columns]
        parts.append(f"## jetsql.{relation.name}\n\n{relation.comment}\n\n{table(('column', 'type', 'meaning'), rows)}")
    return "\n".join(parts)


def rights() -> str:
    """Return the table of rights."""
    rows = [(f"`{spec.right}`", _grantable_on(spec), spec.lets) for spec in RIGHTS.values()]
    owner = (
        f"`{Right.OWNER}`",
        "who owns the object",
        "do all of these on it, `DROP` and `ALTER` it, and grant rights on it",
    )
    return table(("right", "on", "lets its holder"), (*rows, owner))


def _grantable_on(spec: RightSpec) -> str:
    if spec.objects == (SecurableKind.ENGINE,):
        return "the engine"
    words = {SecurableKind.ENGINE: "`ALL SCHEMAS`", SecurableKind.TABLE: "`TABLE`, `VIEW`"}
    return ", ".join(words.get(kind, f"`{kind}`") for kind in spec.grantable_on)


def metrics() -> str:
    rows = []
    for family in JobsCollector(JobQueries(_NO_JOBS), 0, 0).collect():
        name = family.name + _SUFFIXES.get(family.type, "")
        labels = ", ".join(f"`{label}`" for label in getattr(family, "_labelnames", ()))
        rows.append((f"`{name}`", family.type, labels, family.documentation))
    return table(("metric", "type", "labels", "meaning"), rows)


def resource_fields(kind: str) -> str:
    """Return the fields of a resource of Kubernetes, from its definition. kind: the plural"""
    file = _DEFINITIONS / f"{kind}.yaml"
    [version] = yaml.safe_load(file.read_text(encoding="utf-8"))["spec"]["versions"]
    properties = version["schema"]["openAPIV3Schema"]["properties"]
    rows = [row for part in ("spec", "status") for row in _field_rows(part, properties[part])]
    return table(("field", "type", "default", "meaning"), rows)


def _field_rows(path: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    for name, each in schema["properties"].items():
        field = f"{path}.{name}"
        kind = ", ".join(f"`{value}`" for value in each["enum"]) if "enum" in each else each["type"]
        default = "" if name not in schema.get("required", ()) else "required"
        default = f"`{each['default']}`" if "default" in each else default
        yield f"`{field}`", kind, default, each["description"]
        if "properties" in each:
            yield from _field_rows(field, each)
