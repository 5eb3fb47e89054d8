"""The MERGE statement that applies the rows of a batch to a table by its key columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from jetsql.engine.jvm.java_classes import java
from jetsql.errors import StatementError
from jetsql.jobs.model.body_analysis import Sink, SinkKind
from jetsql.jobs.model.table_names import quoted_table
from jetsql.language.tokens import quoted_name

DELETED: Final = "__jetsql_deleted"


@dataclass(frozen=True)
class Merge:
    """The changes of a batch. Keys with NULL are equal if they are NULL in both rows."""

    sink: Sink
    """The table."""
    columns: Sequence[str]
    """The columns of the rows that are written."""
    deletes: bool
    """True if the rows have the column `DELETED`. Without it, MERGE has less to do."""
    new_columns: Sequence[str] = ()
    """The columns of the table that the rows do not have."""

    def statement(self, view: str) -> str:
        """Return the MERGE that reads the changes from a view."""
        keys = {key.lower() for key in self.sink.key_columns}
        matches = " AND ".join(f"t.{quoted_name(key)} <=> s.{quoted_name(key)}" for key in self.sink.key_columns)
        changed = [quoted_name(name) for name in self.columns if name.lower() not in keys]
        updates = ", ".join(f"t.{name} = s.{name}" for name in changed)
        names = [quoted_name(name) for name in self.columns]
        values = [f"s.{name}" for name in names]
        if self.sink.kind is SinkKind.ICEBERG:  # Spark's own MERGE has no default for a column that is left out
            names += [quoted_name(name) for name in self.new_columns]
            values += ["NULL" for _ in self.new_columns]
        return " ".join(
            part
            for part in (
                f"MERGE INTO {quoted_table(self.sink.table)} t USING {view} s ON {matches}",
                f"WHEN MATCHED AND s.{DELETED} THEN DELETE" if self.deletes else "",
                f"WHEN MATCHED THEN UPDATE SET {updates}" if updates else "",
                f"WHEN NOT MATCHED{f' AND NOT s.{DELETED}' if self.deletes else ''}",
                f"THEN INSERT ({', '.join(names)}) VALUES ({', '.join(values)})",
            )
            if part
        )


def mark_deletions(rows: DataFrame, condition: str) -> DataFrame:
    """Return the rows with the column `DELETED`. condition: an expression over the rows"""
    return rows.withColumn(DELETED, sf.coalesce(sf.expr(condition).cast("boolean"), sf.lit(False)))


def has_distinct_keys(query: Any, session: SparkSession, sink: Sink) -> bool:
    """Return whether each batch of a query has at most one row for each key of a sink. query: a LogicalPlan"""
    keys = java(session).rewrites.DistinctKeys
    return bool(sink.key_columns) and bool(keys.areProven(query, json.dumps(sink.key_columns)))


def count_unique(rows: DataFrame, sink: Sink, batch: int) -> int:
    """Read all rows of a batch and return their number. Raises StatementError DUPLICATE_KEY for a repeated key."""
    keys = [sf.col(quoted_name(key)) for key in sink.key_columns]
    groups = rows.groupBy(*keys).agg(sf.count(sf.lit(1)).alias("rows"))
    found = groups.agg(sf.sum("rows").alias("rows"), sf.max("rows").alias("most")).first()
    assert found is not None, "an aggregate without groups has one row"
    if (found["most"] or 0) > 1:
        listed = ", ".join(sink.key_columns)
        raise StatementError(
            "DUPLICATE_KEY",
            f"Two rows of batch {batch} have the same key ({listed}), and {sink.table} can keep only one. Nothing of"
            " the batch was written.",
            hint="Group the query by the key columns, so that it returns one row for each key.",
            where=sink.table,
        )
    return int(found["rows"] or 0)
