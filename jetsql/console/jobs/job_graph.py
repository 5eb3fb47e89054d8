"""The graph of a job: its sources, the operators that keep state, and its sinks, as an SVG.

It is drawn from the lines of EXPLAIN CREATE JOB, so a job has the same graph before and after it is created. The
operators are a chain, in the order in which Spark numbers their state.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from jetsql.jobs.model.job import Plan
from jetsql.jobs.model.redaction import redact
from jetsql.jobs.statements.explain import decisions
from jetsql.jobs.store.metrics import BatchMetrics
from jetsql.output.short_numbers import format_bytes, format_count, format_seconds

_WIDTH: Final = 230
_HEIGHT: Final = 78
_GAP_X: Final = 64
_GAP_Y: Final = 18
_MARGIN: Final = 6
_CHARS: Final = 25
"""The number of characters that fit into a node."""

_LINE: Final = re.compile(r"(Source|Sink|State|Lookup|Late rows): +(.*)")
_STATE: Final = re.compile(r"(?:^|; )(?:state \d+: (\w+)|rule )")


@dataclass(frozen=True)
class GraphNode:
    """A node of the graph."""

    kind: str  # source, operator or sink
    name: str
    detail: str  # a phrase
    numbers: tuple[str, ...] = ()  # its current metrics
    link: str = ""  # the page about it
    x: int = 0  # the left edge, in the SVG's units
    y: int = 0  # the upper edge

    @property
    def label(self) -> str:
        """Return the name as far as it fits; its end distinguishes tables more than its beginning."""
        return self.name if len(self.name) <= _CHARS else f"…{self.name[1 - _CHARS :]}"

    @property
    def short_detail(self) -> str:
        return self.detail if len(self.detail) <= _CHARS + 4 else f"{self.detail[: _CHARS + 3]}…"


@dataclass(frozen=True)
class JobGraph:
    """A graph with the places of its nodes."""

    nodes: Sequence[GraphNode]
    edges: Sequence[str]  # the paths of its arrows
    width: int
    height: int
    node_width: int = _WIDTH
    node_height: int = _HEIGHT

    @property
    def has_links(self) -> bool:
        return any(node.link for node in self.nodes)

    @property
    def description(self) -> str:
        """Return the graph as a sentence, for those who do not see it."""
        names = {
            kind: [node.name for node in self.nodes if node.kind == kind] for kind in ("source", "operator", "sink")
        }
        through = f" through {', '.join(names['operator'])}" if names["operator"] else ""
        return f"From {', '.join(names['source']) or 'tables'}{through} to {', '.join(names['sink'])}."


def job_graph(plan: Plan, latest: BatchMetrics | None = None, watermark_delay: float | None = None) -> JobGraph:
    """Return the graph of a job. latest: its newest batch; watermark_delay: in seconds."""
    text = redact("\n".join(decisions(plan)), plan.options)
    return _placed(_with_numbers(_nodes(text.splitlines()), latest, watermark_delay))


def explained_graph(text: str) -> JobGraph | None:
    """Return the graph of the text of EXPLAIN CREATE JOB; None for another text."""
    lines = text.partition("\n\n")[0].splitlines()
    nodes = _nodes(lines)
    return _placed(nodes) if any(node.kind == "sink" for node in nodes) else None


def _nodes(lines: Iterable[str]) -> list[GraphNode]:
    nodes: list[GraphNode] = []
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        kind, value = match.groups()
        if kind in ("Source", "Sink"):
            name, _, detail = value.partition(" (")
            nodes.append(GraphNode(kind.casefold(), name, detail.replace(")", "", 1)))
        elif kind == "State":
            nodes += (GraphNode("operator", each, "keeps state") for each in _STATE.findall(value) if each)
        elif kind == "Lookup":
            nodes.append(GraphNode("operator", "Lookup", value))
        else:
            nodes.append(GraphNode("sink", value.removeprefix("written to "), "late rows"))
    return nodes


def _with_numbers(
    nodes: Sequence[GraphNode], latest: BatchMetrics | None, watermark_delay: float | None
) -> list[GraphNode]:
    if latest is None:
        return list(nodes)
    operators = [index for index, node in enumerate(nodes) if node.kind == "operator"]
    with_state = operators[-1] if operators else None
    return [
        replace(node, numbers=tuple(_numbers(node, latest, watermark_delay, nodes, index == with_state)))
        for index, node in enumerate(nodes)
    ]


def _numbers(
    node: GraphNode, latest: BatchMetrics, watermark_delay: float | None, nodes: Sequence[GraphNode], has_state: bool
) -> Iterable[str]:
    only = sum(each.kind == node.kind for each in nodes) == 1
    if node.kind == "source":
        lag = _of(latest.lag, node.name, only)
        seconds = _of(latest.lag_seconds, node.name, only)
        if only and latest.input_rows_per_second is not None:
            yield f"{format_count(latest.input_rows_per_second)} rows/s"
        if lag is not None:
            yield f"lag {format_count(lag)} rows" + (f", {format_seconds(seconds)}" if lag and seconds else "")
    elif node.kind == "operator":
        if has_state and latest.state_rows is not None:
            yield f"state {format_count(latest.state_rows)} rows, {format_bytes(latest.state_bytes)}"
        if has_state and watermark_delay is not None:
            yield f"watermark {format_seconds(max(watermark_delay, 0.0))} ago"
    elif latest.output_rows is not None or latest.sink_rows:
        rows = _of(latest.sink_rows, node.name, False)
        rows = latest.output_rows if rows is None and only else rows
        if rows is not None:
            yield f"{format_count(rows)} rows in batch {latest.batch}"


def _of(values: Mapping[str, float], name: str, only: bool) -> float | None:
    """Return the value of a source or sink by its name; the only one belongs to the only node."""
    if name in values:
        return values[name]
    return next(iter(values.values())) if only and len(values) == 1 else None


def _placed(nodes: Sequence[GraphNode]) -> JobGraph:
    """Return the graph in which each column leads to the next one."""
    operators = [[node] for node in nodes if node.kind == "operator"]
    sources, sinks = ([node for node in nodes if node.kind == kind] for kind in ("source", "sink"))
    keyed = [(str(number), node) for number, node in enumerate([*sources, *(each[0] for each in operators), *sinks])]
    rest = iter(keyed)
    columns = [[next(rest) for _ in column] for column in (sources, *operators, sinks) if column]
    edges = [(one, other) for before, after in pairwise(columns) for one, _ in before for other, _ in after]
    return place_columns(columns, edges)


def place_columns(columns: Sequence[Sequence[tuple[str, GraphNode]]], edges: Iterable[tuple[str, str]]) -> JobGraph:
    """Return the graph with a place for each node. columns: the nodes with their keys; edges: pairs of keys."""
    height = max((len(column) for column in columns), default=1) * (_HEIGHT + _GAP_Y) - _GAP_Y + 2 * _MARGIN
    placed = {
        key: replace(node, x=_MARGIN + number * (_WIDTH + _GAP_X), y=_top(len(column), row, height))
        for number, column in enumerate(columns)
        for row, (key, node) in enumerate(column)
    }
    width = len(columns) * (_WIDTH + _GAP_X) - _GAP_X + 2 * _MARGIN
    return JobGraph(list(placed.values()), [_edge(placed[one], placed[other]) for one, other in edges], width, height)


def _top(rows: int, row: int, height: int) -> int:
    used = rows * (_HEIGHT + _GAP_Y) - _GAP_Y
    return (height - used) // 2 + row * (_HEIGHT + _GAP_Y)


def _edge(one: GraphNode, other: GraphNode) -> str:
    x1, y1, x2, y2 = one.x + _WIDTH, one.y + _HEIGHT // 2, other.x - 7, other.y + _HEIGHT // 2
    middle = (x1 + x2) // 2
    return f"M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}"
