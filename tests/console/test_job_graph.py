"""The graph of a job: a tree of its query, from the lines of EXPLAIN CREATE JOB."""

from __future__ import annotations

import pytest

from jetsql.console.jobs.graph_layout import GraphNode, JobGraph
from jetsql.console.jobs.job_graph import explained_graph

TREE = """Job:         streaming
Source:      shop.orders (kafka), replayable: yes
Source:      shop.payments (kafka), replayable: yes
Source:      shop.refunds (json, file:/refunds), replayable: yes
Sink:        shop.totals (parquet, file:/totals); rows are added
State:       state 0: Aggregate; sum(amount) by id; state 1: Join; state 2: EventTimeWatermark; state 3: EventTimeWatermark
Flow:        state 0 reads state 1; state 1 reads state 2, state 3; state 2 reads source 0; state 3 reads source 1; result reads state 0, source 2

== Physical Plan =="""  # noqa: E501


def graph_of(text: str) -> JobGraph:
    graph = explained_graph(text)
    assert graph is not None
    return graph


def column(graph: JobGraph, node: GraphNode) -> int:
    return sorted({each.x for each in graph.nodes}).index(node.x)


def arrows(graph: JobGraph) -> list[str]:
    """Return the ends of each arrow by their names, from the coordinates of its path."""
    found = []
    for path in graph.edges:
        numbers = [int(part) for part in path.replace("M", "").replace("C", "").split()]
        middle = graph.node_height // 2
        one = next(each for each in graph.nodes if [each.x + graph.node_width, each.y + middle] == numbers[:2])
        other = next(each for each in graph.nodes if [each.x - 7, each.y + middle] == numbers[-2:])
        found.append(f"{one.name} > {other.name}")
    return sorted(found)


def test_a_query_is_a_tree() -> None:
    graph = graph_of(TREE)
    assert arrows(graph) == [
        "Aggregate > shop.totals",
        "EventTimeWatermark > Join",
        "EventTimeWatermark > Join",
        "Join > Aggregate",
        "shop.orders > EventTimeWatermark",
        "shop.payments > EventTimeWatermark",
        "shop.refunds > shop.totals",
    ]
    columns = {node.name: column(graph, node) for node in graph.nodes}
    # A source is next to what reads it, and no node is on the way of an arrow.
    assert columns == {
        "shop.orders": 0,
        "shop.payments": 0,
        "EventTimeWatermark": 1,
        "Join": 2,
        "Aggregate": 3,
        "shop.refunds": 3,
        "shop.totals": 4,
    }
    assert graph.description == (
        "From shop.orders, shop.payments, shop.refunds through EventTimeWatermark, EventTimeWatermark, Join, Aggregate"
        " to shop.totals."
    )


def test_graph_without_flow_is_a_chain_of_operators() -> None:
    graph = graph_of("\n".join(line for line in TREE.splitlines() if not line.startswith("Flow")))
    assert [node.name for node in sorted(graph.nodes, key=lambda node: node.x)][3:] == [
        "EventTimeWatermark", "EventTimeWatermark", "Join", "Aggregate", "shop.totals",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "== Physical Plan ==\nScan", "Source: x"])
def test_other_texts_have_no_graph(text: str) -> None:
    assert explained_graph(text) is None


def test_lookups_and_side_tables_follow_the_result() -> None:
    text = TREE.replace("\n\n", "\nLookup:      prices by id\nLate rows:   written to shop.late\n\n")
    found = set(arrows(graph_of(text)))
    assert {"Aggregate > Lookup", "shop.refunds > Lookup", "Lookup > shop.totals", "Lookup > shop.late"} <= found


def test_names_that_look_like_a_flow_change_nothing() -> None:
    hostile = TREE.replace("sum(amount) by id", "concat('; state 9 reads source 7', 'result reads state 8')")
    assert arrows(graph_of(hostile)) == arrows(graph_of(TREE))
