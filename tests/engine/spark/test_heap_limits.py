"""The limits of Spark that follow from the size of the heap."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetsql.engine.jvm.launch import SparkStart
from jetsql.engine.spark.startup import heap_limits


def heap_bytes(memory: str) -> int | None:
    return SparkStart(Path("home"), "warehouse", "local[1]", memory).heap_bytes


@pytest.mark.parametrize(
    ("memory", "limit"),
    [
        ("1g", "262144k"),
        ("2GB", "524288k"),
        ("900m", "230400k"),
        ("2048", "524288k"),
        ("1t", "268435456k"),
        ("1k", "1k"),
    ],
)
def test_a_quarter_of_the_heap(memory: str, limit: str) -> None:
    assert heap_limits(heap_bytes(memory)) == {
        "spark.driver.maxResultSize": limit,
        "spark.sql.maxBroadcastTableSize": limit,
    }


def test_an_invalid_size_is_left_to_spark() -> None:
    assert heap_limits(heap_bytes("much")) == {}
