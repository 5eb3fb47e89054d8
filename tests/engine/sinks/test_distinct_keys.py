"""Queries that have one row for each key in each batch, so that a MERGE needs no check."""

from __future__ import annotations

from typing import Any

import pytest

from jetsql.embedded.engine_instance import EngineInstance
from jetsql.engine.sinks.lake.merge import has_distinct_keys
from jetsql.jobs.model.body_analysis import Sink, SinkKind

pytestmark = pytest.mark.spark
TENS = "SELECT value % 10 AS K, value % 3 AS j, count(*) AS n FROM s GROUP BY value % 10, value % 3"
JOINED = f"SELECT a.K, a.j, b.n FROM ({TENS}) a JOIN ({TENS}) b ON a.K = b.K AND a.j = b.j"


@pytest.fixture
def stream(engine: EngineInstance) -> None:
    engine.spark.readStream.format("rate").load().createOrReplaceTempView("s")


@pytest.mark.parametrize(
    ("query", "keys", "proven"),
    [
        (TENS, ("k", "j"), True),
        (TENS, ("k", "j", "n"), True),
        (TENS, ("k",), False),
        (f"SELECT j AS a, K AS b, n FROM ({TENS}) WHERE n > 1", ("a", "b"), True),
        (f"SELECT K + 0 AS k, j, n FROM ({TENS})", ("k", "j"), False),
        (f"SELECT explode(array(1, 2)) AS e, K, j FROM ({TENS})", ("k", "j"), False),
        ("SELECT count(*) AS n FROM s", ("n",), True),
        ("SELECT value AS k FROM s", ("k",), False),
        (JOINED, ("k", "j"), False),  # update mode: a batch can have several states of a group
    ],
)
def test_an_aggregate_by_key_columns_is_proven(
    engine: EngineInstance, stream: None, query: str, keys: tuple[str, ...], proven: bool
) -> None:
    sink = Sink("lake.t", SinkKind.DELTA, "delta", "", 0, keys, key_columns=keys)
    rows: Any = engine.spark.sql(query)
    assert has_distinct_keys(rows._jdf.queryExecution().analyzed(), engine.spark, sink) is proven
