"""The relations of the schema `jetsql`, and the metrics for Prometheus."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

from jetsql.jobs.statements.job_queries import JobQueries
from jetsql.jobs.statements.system_tables import SYSTEM_TABLES
from jetsql.server.prometheus import JobsCollector
from tools.docs.markdown import table

_NO_JOBS: Any = SimpleNamespace(
    registry=SimpleNamespace(live=tuple), store=SimpleNamespace(all_jobs=tuple), metrics=SimpleNamespace(jobs=tuple)
)
_SUFFIXES: Final = {"counter": "_total", "info": "_info"}


def relations() -> str:
    """Return a section for each relation."""
    parts = []
    for relation in SYSTEM_TABLES:
        rows = [(f"`{each.name}`", f"`{(each.type or 'string').upper()}`", each.comment) for each in relation.columns]
        parts.append(f"## jetsql.{relation.name}\n\n{relation.comment}\n\n{table(('column', 'type', 'meaning'), rows)}")
    return "\n".join(parts)


def metrics() -> str:
    rows = []
    for family in JobsCollector(JobQueries(_NO_JOBS), 0, 0).collect():
        name = family.name + _SUFFIXES.get(family.type, "")
        labels = ", ".join(f"`{label}`" for label in getattr(family, "_labelnames", ()))
        rows.append((f"`{name}`", family.type, labels, family.documentation))
    return table(("metric", "type", "labels", "meaning"), rows)
