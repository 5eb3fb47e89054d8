"""The graph of a job: its sources, the operators that keep state, and its sinks, as an SVG.

It is drawn from the lines of EXPLAIN CREATE JOB, so a job has the same graph before and after it is created. The line
`Flow` says which operator reads which source or operator. Without it, as for jobs of earlier releases, the operators
are a chain, the last one first, because they are listed from the result on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from jetsql.console.jobs.graph_layout import GraphNode, JobGraph, depths, place
from jetsql.jobs.model.job import Plan
from jetsql.jobs.model.redaction import redact
from jetsql.jobs.statements.explain import decisions
from jetsql.jobs.statements.job_metrics import JobMetrics
from jetsql.jobs.store.job_lag import short_lag
from jetsql.jobs.store.metrics import BatchMetrics
from jetsql.output.counts import counted
from jetsql.output.short_numbers import format_bytes, format_count, format_seconds

_LINE: Final = re.compile(r"(Source|Sink|State|Flow|Lookup|Late rows): +(.*)")
_STATE: Final = re.compile(r"(?:^|; )state (\d+): (\w+)")
_READS: Final = re.compile(r"(state \d+|result) reads (.*)")
_WATERMARK: Final = "EventTimeWatermark"


@dataclass
class _Drawing:
    """The nodes of a graph by their keys, and what leads to what."""

    nodes: dict[str, GraphNode] = field(default_factory=dict)
    reads: dict[str, list[str]] = field(default_factory=dict)  # the inputs of each operator, and those of `result`

    def keys(self, *kinds: str) -> list[str]:
        """Return the keys of the nodes of these kinds, such as `source` and `state`."""
        return [key for key in self.nodes if key.split()[0] in kinds]

    def add(self, kind: str, node: GraphNode) -> None:
        self.nodes[f"{kind} {len(self.keys(kind))}"] = node

    @property
    def edges(self) -> list[tuple[str, str]]:
        """Return the pairs of keys, from sources to sinks. Lookups read the result, and sinks are after them."""
        states, lookups, sinks = self.keys("state"), self.keys("lookup"), self.keys("sink")
        edges = [(one, other) for other in states for one in self.reads.get(other, ()) if one in self.nodes]
        if "result" in self.reads:
            last = [key for key in self.reads["result"] if key in self.nodes]
        else:
            chain = [self.keys("source"), *([key] for key in reversed(states))]
            edges = [(one, other) for before, after in pairwise(chain) for one in before for other in after]
            last = chain[-1]
        for key in lookups:
            edges += ((one, key) for one in last)
            last = [key]
        return edges + [(one, other) for other in sinks for one in last]

    def placed(self) -> JobGraph:
        """Return the graph: sources are next to what reads them, and all sinks are at its end."""
        edges = self.edges
        depth = depths(self.nodes, edges)
        for key in self.keys("source"):
            depth[key] = max(min((depth[other] for one, other in edges if one == key), default=1) - 1, 0)
        end = max(depth.values(), default=0)
        depth.update(dict.fromkeys(self.keys("sink"), end))
        return place(self.nodes, edges, depth)


def job_graph(plan: Plan, metrics: JobMetrics | None = None) -> JobGraph:
    """Return the graph of a job. metrics: those of the job; None without numbers"""
    text = redact("\n".join(decisions(plan)), plan.options.given)
    return _with_numbers(_drawing(text.splitlines()), metrics).placed()


def explained_graph(text: str) -> JobGraph | None:
    """Return the graph of the text of EXPLAIN CREATE JOB; None for another text."""
    drawing = _drawing(text.partition("\n\n")[0].splitlines())
    return drawing.placed() if drawing.keys("sink") else None


def _drawing(lines: Iterable[str]) -> _Drawing:
    drawing = _Drawing()
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is not None:
            _add(drawing, *match.groups())
    return drawing


def _add(drawing: _Drawing, kind: str, value: str) -> None:
    """Add the nodes of a line. kind: its title"""
    if kind in ("Source", "Sink"):
        name, _, detail = value.partition(" (")
        drawing.add(kind.casefold(), GraphNode(kind.casefold(), name, detail.replace(")", "", 1)))
    elif kind == "State":
        for number, name in _STATE.findall(value):
            detail = "watermark of event time" if name == _WATERMARK else "keeps state"
            drawing.nodes[f"state {number}"] = GraphNode("operator", name, detail)
    elif kind == "Flow":
        for name, inputs in _READS.findall(value.replace("; ", "\n")):
            drawing.reads[name] = inputs.split(", ")
    elif kind == "Lookup":
        drawing.add("lookup", GraphNode("operator", "Lookup", value))
    else:
        drawing.add("sink", GraphNode("sink", value.removeprefix("written to "), "late rows"))


def _with_numbers(drawing: _Drawing, metrics: JobMetrics | None) -> _Drawing:
    if metrics is None or metrics.latest is None:
        return drawing
    latest = metrics.latest
    states = drawing.keys("state")
    # The first one is next to the result. Spark reports the state of all operators together, and one watermark.
    with_state = next((key for key in states if drawing.nodes[key].name != _WATERMARK), None)
    with_watermark = next((key for key in states if drawing.nodes[key].name == _WATERMARK), with_state)
    for key, node in drawing.nodes.items():
        if node.kind == "operator":
            numbers = [*_state_numbers(latest)] if key == with_state else []
            if key == with_watermark and metrics.watermark_delay is not None:
                numbers.append(f"watermark {format_seconds(max(metrics.watermark_delay, 0.0))} ago")
        else:
            numbers = [*_numbers(node, metrics, latest, [*drawing.nodes.values()])]
        drawing.nodes[key] = replace(node, numbers=tuple(numbers))
    return drawing


def _state_numbers(latest: BatchMetrics) -> Iterable[str]:
    if latest.state_rows is not None:
        rows = counted(latest.state_rows, "row", format_count(latest.state_rows))
        yield f"state {rows}, {format_bytes(latest.state_bytes)}"


def _numbers(node: GraphNode, metrics: JobMetrics, latest: BatchMetrics, nodes: Sequence[GraphNode]) -> Iterable[str]:
    only = sum(each.kind == node.kind for each in nodes) == 1
    if node.kind == "source":
        if only and metrics.runs_now and latest.input_rows_per_second is not None:
            yield f"{format_count(latest.input_rows_per_second)} rows/s"
        lag = metrics.lag
        rows = None if lag is None else _of(lag.by_source, node.name, only)
        if lag is not None and rows is not None:
            yield f"lag {short_lag(lag.part(rows, _of(lag.seconds_by_source, node.name, only)))}"
    elif latest.output_rows is not None or latest.sink_rows:
        rows = _of(latest.sink_rows, node.name, False)
        rows = latest.output_rows if rows is None and only else rows
        if rows is not None:
            yield f"{counted(rows, 'row', format_count(rows))} in batch {latest.batch}"


def _of(values: Mapping[str, float], name: str, only: bool) -> float | None:
    """Return the value of a source or sink by its name; the only one belongs to the only node."""
    if name in values:
        return values[name]
    return next(iter(values.values())) if only and len(values) == 1 else None
