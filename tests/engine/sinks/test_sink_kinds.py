"""The tables of sinks: each kind has its traits, and its functions in the engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jetsql.engine.session.catalog import TableFacts
from jetsql.engine.sinks import sink_kinds
from jetsql.engine.sinks.sink_kinds import SINK_KINDS, find_kind
from jetsql.jobs.model.body_analysis import SinkKind
from jetsql.jobs.planning.sink_traits import SINK_PROVIDERS, SINK_TRAITS
from tests.support.engines.in_memory_runtime import analysis, sink


def table(provider: str, identity: str = "") -> TableFacts:
    return TableFacts("t", provider, "", 0, ("id",), (), {}, False, False, identity=identity)


@pytest.mark.parametrize("kind", SinkKind)
def test_each_kind_has_traits_and_functions(kind: SinkKind) -> None:
    assert SINK_TRAITS[kind].exactly_once and SINK_TRAITS[kind].providers
    assert callable(SINK_KINDS[kind].choose)


def test_a_format_belongs_to_one_kind() -> None:
    assert len(set(SINK_PROVIDERS)) == len(SINK_PROVIDERS)
    found = {find_kind(table(provider, identity="a")) for provider in SINK_PROVIDERS}
    assert found == set(SinkKind)


@pytest.mark.parametrize("provider", ["delta", "iceberg", "hive", ""])
def test_a_table_without_identity_or_known_format_is_no_sink(provider: str) -> None:
    assert find_kind(table(provider)) is None


@pytest.mark.parametrize(("stands_in", "expected"), [(False, ["url of out"]), (True, [])])
def test_only_sinks_in_other_systems_are_connected(
    monkeypatch: pytest.MonkeyPatch, stands_in: bool, expected: list[str]
) -> None:
    connected: list[str] = []

    class Database:
        def __init__(self, spark: object, options: dict[str, str]) -> None:
            self.url = options["url"]

        def connect(self) -> None:
            connected.append(self.url)

    class Tables:
        def table(self, name: str) -> TableFacts:
            return replace(table("jdbc"), options={"url": f"url of {name}"}, stands_in=stands_in)

    monkeypatch.setattr(sink_kinds, "Database", Database)
    sinks = (sink("files"), sink("out", kind=SinkKind.JDBC), sink("topic", kind=SinkKind.KAFKA))
    sink_kinds.connect_to_sinks(None, Tables(), analysis(sinks=sinks))  # type: ignore[arg-type]  # no Spark, no catalogue
    assert connected == expected
