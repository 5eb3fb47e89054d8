"""The lineage of tables: which jobs read and write them, as a graph across jobs. It reads memory only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from jetsql.console.jobs.graph_layout import GraphNode, JobGraph, place
from jetsql.jobs.model.job import Job
from jetsql.jobs.statements.lookup import HIDDEN_SINK, HIDDEN_TABLE

NODES_MOST: Final = 120
"""A graph with more nodes is not readable."""


@dataclass(frozen=True)
class TableUse:
    """A table, and the live jobs that use it."""

    name: str
    kind: str  # such as `kafka topic` or `streaming table`, a phrase
    readers: Sequence[Job]
    writers: Sequence[Job]

    @property
    def is_stream(self) -> bool:
        """Return whether jobs read it as a stream, or fill it continuously."""
        return bool(self.readers) or any(job.plan.analysis.streaming for job in self.writers)


def used_tables(jobs: Iterable[Job]) -> list[TableUse]:
    """Return the tables that jobs read as streams or write, by name."""
    jobs = list(jobs)
    kinds = _kinds(jobs)
    readers: dict[str, list[Job]] = {}
    writers: dict[str, list[Job]] = {}
    for job in jobs:
        for name in _read(job):
            readers.setdefault(name, []).append(job)
        for name in _written(job):
            writers.setdefault(name, []).append(job)
    names = sorted(readers.keys() | writers.keys())
    return [TableUse(name, kinds[name], readers.get(name, ()), writers.get(name, ())) for name in names]


def _kinds(jobs: Iterable[Job]) -> dict[str, str]:
    """Return the kind of each table, by name: what it belongs to is more than its format."""
    kinds: dict[str, str] = {}
    for job in jobs:
        for source in job.plan.analysis.sources:
            kinds.setdefault(source.name, table_kind(source.format))
    for job in jobs:
        owned = job.version.table_kind
        for sink in job.plan.analysis.sinks:
            kinds[sink.table] = table_kind(sink.provider) if owned is None else owned.value.casefold()
    return kinds


def table_kind(provider: str) -> str:
    """Return the kind of a table as a phrase. provider: its format; empty if unknown."""
    return "kafka topic" if provider.casefold() == "kafka" else f"{provider.casefold()} table".strip()


def lineage(jobs: Sequence[Job], around: str | None = None) -> JobGraph | None:
    """Return the graph of jobs and tables, or None if there is none, or it is too large.

    around: a table; the graph has only what its rows come from and go to. None for all jobs.
    """
    edges = [(f"table {name}", f"job {job.id}") for job in jobs for name in _read(job)]
    edges += [(f"job {job.id}", f"table {name}") for job in jobs for name in _written(job)]
    if around is not None:
        start = f"table {around}"
        kept = _reachable(start, edges) | _reachable(start, [(after, before) for before, after in edges])
        edges = [edge for edge in edges if kept.issuperset(edge)]
    names = dict.fromkeys(name for edge in edges for name in edge)
    if not names or len(names) > NODES_MOST:
        return None
    by_id = {f"job {job.id}": job for job in jobs}
    kinds = _kinds(jobs)
    return place({name: _node(name, by_id, kinds) for name in names}, edges)


def _node(name: str, jobs: Mapping[str, Job], kinds: Mapping[str, str]) -> GraphNode:
    job = jobs.get(name)
    if job is None:
        table = name.removeprefix("table ")
        return GraphNode("source", table, kinds[table], link=f"/console/catalog/table?name={quote(table)}")
    return GraphNode("operator", job.name, f"job, {job.shown_status}", link=f"/console/jobs/{job.id}")


def _reachable(start: str, edges: Iterable[tuple[str, str]]) -> set[str]:
    after: dict[str, list[str]] = {}
    for one, other in edges:
        after.setdefault(one, []).append(other)
    found, left = {start}, [start]
    while left:
        for name in after.get(left.pop(), ()):
            if name not in found:
                found.add(name)
                left.append(name)
    return found


def _read(job: Job) -> list[str]:
    """Return the tables that a job reads, as far as the user may see them."""
    names = (source.name for source in job.plan.analysis.sources)
    return [name for name in dict.fromkeys(names) if name != HIDDEN_TABLE]


def _written(job: Job) -> list[str]:
    """Return the tables that a job writes, as far as the user may see them."""
    names = (sink.table for sink in job.plan.analysis.sinks)
    return [name for name in dict.fromkeys(names) if name != HIDDEN_SINK]
