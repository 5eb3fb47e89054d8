"""The places of a graph's nodes in an SVG: in columns from left to right, each after those that it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

_WIDTH: Final = 230
_HEIGHT: Final = 78
_GAP_X: Final = 64
_GAP_Y: Final = 18
_MARGIN: Final = 6
_CHARS: Final = 25
"""The number of characters that fit into a node."""


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


def place(
    nodes: Mapping[str, GraphNode], edges: Sequence[tuple[str, str]], depth: Mapping[str, int] | None = None
) -> JobGraph:
    """Return the graph with a place for each node.

    nodes: by their keys; edges: pairs of keys; depth: the column of each node, by default that of `depths`.
    """
    column = depths(nodes, edges) if depth is None else depth
    columns: list[list[tuple[str, GraphNode]]] = [[] for _ in range(max(column.values(), default=0) + 1)]
    for key, node in nodes.items():
        columns[column[key]].append((key, node))
    return _place_columns(columns, edges)


def depths(names: Iterable[str], edges: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return the column of each node: one after the last of those before it. In a circle, one edge leads back."""
    depth = dict.fromkeys(names, 0)
    before: dict[str, list[str]] = {}
    for one, other in edges:
        before.setdefault(other, []).append(one)
    done: set[str] = set()
    for name in depth:
        _set_depth(name, before, depth, done)
    return depth


def _set_depth(start: str, before: Mapping[str, Sequence[str]], depth: dict[str, int], done: set[str]) -> None:
    path, on_path = [(start, iter(before.get(start, ())))], {start}
    while path:
        name, rest = path[-1]
        following = next((each for each in rest if each not in done and each not in on_path), None)
        if following is not None:
            path.append((following, iter(before.get(following, ()))))
            on_path.add(following)
            continue
        known = (depth[each] + 1 for each in before.get(name, ()) if each in done)
        depth[name] = max(known, default=0)
        done.add(name)
        on_path.discard(name)
        path.pop()


def _place_columns(columns: Sequence[Sequence[tuple[str, GraphNode]]], edges: Iterable[tuple[str, str]]) -> JobGraph:
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
