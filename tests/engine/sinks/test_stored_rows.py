"""Rows of a batch that a sink stores, because it reads them more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import DataFrame

from jetsql.engine.sinks import stored_rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Sql

pytestmark = pytest.mark.spark


def test_rows_that_are_sorted_by_their_source(sql: Sql, tmp_path: Path) -> None:
    """Read sorted rows, in which the largest text of each group is found. Spark then names a column that they lack."""
    sql("CREATE TABLE numbers (k BIGINT, id BIGINT) USING parquet")
    sql("INSERT INTO numbers SELECT id % 3, id FROM range(0, 100, 1, 2)")
    read = []

    def read_twice(rows: DataFrame, _: int) -> None:
        with stored_rows(rows) as stored:
            assert stored.is_cached
            both = stored.join(stored.toDF("same", "last"), on=[stored["k"] == 0], how="inner")
            read.append(sorted(row.last for row in both.collect()))

    groups = sql.engine.spark.sql("SELECT k, max(string(id)) AS text FROM STREAM numbers GROUP BY k")
    query = (
        groups.writeStream.outputMode("complete")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .foreachBatch(read_twice)
        .start()
    )
    query.awaitTermination()
    assert read == [["97", "98", "99"]]
