"""The changes of a result: rows that are new or different, and a deletion for each key that is gone.

A topic, or a Delta or Iceberg table receives them.

Each batch has the complete result. It is stored as Parquet in the job's folder before anything is sent, and compared
with the stored result of the batch before. A replay sends the changes of the stored result, so a static table that has
changed meanwhile cannot split a batch into two results.

The name of a stored result has the version of the job and the batch: a version that the job returns from may have
stored results that are not in the topic, and a new version may count its batches from 0. Its first batch is compared
with the newest result of the version before. Without a guarantee, each run counts as a version.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from jetsql.engine.sinks import BatchWriter, ComparedWriter, SinkContext, WrappingSink, consume_rows, is_ahead
from jetsql.failpoints import failpoint
from jetsql.jobs.model.job import Job
from jetsql.jobs.model.job_options import Guarantee
from jetsql.jobs.planning.sink_traits import traits_of

_NAME: Final = re.compile(r"(?P<version>\d+)-(?P<batch>\d+)")
_DELETED: Final = "__jetsql_deleted"


@dataclass(frozen=True, order=True)
class _Result:
    """A stored result."""

    version: int
    batch: int

    def __str__(self) -> str:
        return f"{self.version:06d}-{self.batch:09d}"


class ResultChanges(WrappingSink, ComparedWriter):
    """A sink that passes the changes of a result to the sink of a topic or a lake table."""

    def __init__(self, context: SinkContext, writer: BatchWriter) -> None:
        super().__init__(writer)
        self._context = context
        self._files = context.checkpoints.files
        self._sink = context.sink_plan.sink
        self._folder = context.checkpoints.results_folder(context.job.id)

    def is_ahead(self, batch: int) -> bool:
        return is_ahead(self._writer, batch)

    def encode_rows(self, rows: DataFrame) -> DataFrame:
        return rows  # the changes are encoded, after the result was stored

    def write(self, rows: DataFrame, batch: int) -> int | None:
        named = rows if traits_of(self._sink).writes_by_name else rows.toDF(*self._sink.columns)
        current, kept = self._result(batch), self._stored()
        previous = max((result for result in kept if result < current), default=None)
        self._store(named, current)
        now = self._read(current, named)
        before = now.limit(0) if previous is None else self._read(previous, named)
        changes = compare(before, now, self._sink.key_columns)
        failpoint("result-stored", self._context.job.name)
        written = self._writer.write(self._writer.encode_rows(changes), batch)
        for result in kept:
            if result not in (previous, current):
                self._files.delete(self._path(result))
        return written

    def _store(self, rows: DataFrame, result: _Result) -> None:
        """Store the rows of a result unless an earlier attempt has stored it."""
        if self._files.exists(f"{self._path(result)}/_SUCCESS"):
            consume_rows(rows)
        else:
            rows.write.mode("overwrite").parquet(self._path(result))

    def _stored(self) -> list[_Result]:
        """Return the results that were stored whole."""
        names = filter(None, map(_NAME.fullmatch, self._files.list_names(self._folder)))
        results = [_Result(int(name["version"]), int(name["batch"])) for name in names]
        return [result for result in results if self._files.exists(f"{self._path(result)}/_SUCCESS")]

    def _result(self, batch: int) -> _Result:
        return _result(self._context.job, batch)

    def _read(self, result: _Result, rows: DataFrame) -> DataFrame:
        return rows.sparkSession.read.schema(rows.schema).parquet(self._path(result))

    def _path(self, result: _Result) -> str:
        return f"{self._folder}/{result}"


def discard_result(context: SinkContext, batch: int) -> None:
    """Delete the stored result of a batch that is not in the sink, so that no later result is compared with it."""
    folder = context.checkpoints.results_folder(context.job.id)
    context.checkpoints.files.delete(f"{folder}/{_result(context.job, batch)}")


def _result(job: Job, batch: int) -> _Result:
    """Return the stored result of a batch of the job's current version."""
    unnumbered = job.plan.guarantee is Guarantee.NONE
    return _Result(job.run if unnumbered else job.version.checkpoint, batch)


def compare(before: DataFrame, now: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return the rows of `now` that `before` lacks, and the rows of `before` whose keys `now` lacks.

    The last column marks the latter. Both results have the same columns. If a key has several rows, reading the
    changes raises Spark's error USER_RAISED_EXCEPTION.
    """
    old, new = (_by_key(rows, keys, name) for rows, name in ((before, "old"), (now, "new")))
    same_key = reduce(and_, (sf.col(f"old.k{n}").eqNullSafe(sf.col(f"new.k{n}")) for n in range(len(keys))))
    row = sf.coalesce("new.row", "old.row")
    columns = [row.getField(field).alias(name) for field, name in zip(_fields(now), now.columns, strict=True)]
    differs = ~_comparable("old.row", now.schema).eqNullSafe(_comparable("new.row", now.schema))
    # A merge join keeps the tasks of a replay those of the first attempt, whatever the sizes of the results are.
    joined = old.join(new.hint("merge"), same_key, "full_outer").where(differs)
    return joined.select(*columns, sf.col("new.row").isNull().alias(_DELETED))


def _by_key(rows: DataFrame, keys: Sequence[str], name: str) -> DataFrame:
    """Return one row for each key: the columns of the key, k0 and so on, and the whole row."""
    numbered = rows.toDF(*_fields(rows))
    at = {column.lower(): field for column, field in zip(rows.columns, _fields(rows), strict=True)}
    grouped = numbered.groupBy(*(sf.col(at[key.lower()]).alias(f"k{n}") for n, key in enumerate(keys))).agg(
        sf.first(sf.struct(*numbered.columns)).alias("row"), sf.count(sf.lit(1)).alias("rows")
    )
    several = sf.lit(f"The result has several rows with the same {', '.join(keys)}, the 'key.columns' of the table.")
    once = sf.when(sf.col("rows") == 1, sf.col("row")).otherwise(sf.raise_error(several))
    return grouped.withColumn("row", once).alias(name)


def _fields(rows: DataFrame) -> list[str]:
    return [f"c{n}" for n in range(len(rows.columns))]


def _comparable(row: str, schema: StructType) -> Column:
    """Return a row in a form that Spark can compare: maps and variants have no equality."""
    return sf.to_json(row) if _has_no_equality(schema) else sf.col(row)


def _has_no_equality(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(_has_no_equality(field.dataType) for field in kind)
    if isinstance(kind, ArrayType):
        return _has_no_equality(kind.elementType)
    return isinstance(kind, MapType | VariantType)
