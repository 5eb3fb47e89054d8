"""Write batches as files of a table, a small batch as one file.

A single file appears atomically; several files appear one after the other, and many small files slow down every reader.
But one file has one writer. On two cores the difference is not measurable up to 256 KB; a batch of 1 MB takes a tenth
longer, one of 4 MB a quarter, and one of 100 MB almost twice as long. So only batches that are expected to be small are
written as one file.

The expected size is the number of bytes that the batch reads, which is exact for files, times the ratio of output to
input in the previous batch. Spark's estimate is not usable: it ignores filters and groupings, and for every batch of a
table it uses the size of the whole table that the metastore stored at its creation.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.catalog import TableFacts
from jetsql.language.tokens import quoted_name

# A batch with few output rows predicts little about the next, so the ratio of output to input has this lower bound.
_MIN_RATIO = 0.01

# The name of the folder of NULL in partitioned tables.
_NULL_TEXT = "__HIVE_DEFAULT_PARTITION__"

# Write no empty file _SUCCESS: a manifest, or the table's location, shows that a batch is complete. On a local disk
# Hadoop would start two processes to set the file's permissions.
_NO_MARKER = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}

# Options of tables that a writer does not take.
_UNSUPPORTED = ("path", "serialization.format")


@dataclass(frozen=True)
class TableFormat:
    """The facts of a table that its files depend on."""

    provider: str
    """The format."""
    partition_columns: tuple[str, ...]
    """The columns whose values are the names of folders."""
    options: dict[str, str]
    """The options of the writer."""

    @classmethod
    def of(cls, table: TableFacts) -> TableFormat:
        options = {key: value for key, value in table.options.items() if key.lower() not in _UNSUPPORTED}
        return cls(table.provider, table.partition_columns, {**_NO_MARKER, **options})


class BatchFiles:
    """The writer of one run's batches.

    single_file_bytes: the expected size up to which a batch is written as one file.
    stateful: whether the query has state, whose partitions must stay separate.
    """

    def __init__(self, single_file_bytes: int, stateful: bool) -> None:
        self._limit = single_file_bytes
        self._stateful = stateful
        self._ratio = 1.0
        self._last_bytes: int | None = None
        self._write: tuple[TableFormat, Any] | None = None

    def write(self, rows: DataFrame, table: TableFacts, folder: str) -> int:
        """Write rows in the table's format and with its options to a folder. Return the row count."""
        read = int(java(rows.sparkSession).stream.Batches.inputBytes(rows._jdf))
        merged = self._merge(rows, read)
        written = json.loads(self._write_for(rows.sparkSession, TableFormat.of(table)).write(merged._jdf, folder))
        self._last_bytes = written["bytes"]
        if read > 0:
            self._ratio = max(written["bytes"] / read, _MIN_RATIO)
        return int(written["rows"])

    def _write_for(self, session: SparkSession, table: TableFormat) -> Any:
        """Return the BatchWrite, another one if the table has another format or other options now."""
        if self._write is None or self._write[0] != table:
            options, partitions = json.dumps(table.options), json.dumps(table.partition_columns)
            self._write = table, java(session).files.BatchWrite.of(table.provider, options, partitions)
        return self._write[1]

    def merge_if_small(self, rows: DataFrame) -> DataFrame:
        """Return the rows in one partition if a small batch is expected."""
        return self._merge(rows, int(java(rows.sparkSession).stream.Batches.inputBytes(rows._jdf)))

    def _merge(self, rows: DataFrame, read: int) -> DataFrame:
        """Return the rows in one partition if a small batch is expected. read: its input bytes; negative if unknown."""
        expected = read * self._ratio if read >= 0 else self._last_bytes
        if (
            expected is None
            or expected > self._limit
            or java(rows.sparkSession).stream.Batches.partitions(rows._jdf) < 2
        ):
            return rows
        if self._stateful or not 0 <= read <= self._limit:
            return rows.repartition(1)
        return rows.coalesce(1)  # without a shuffle: the input is as small as the output, so one task processes both


def check_null_texts(rows: DataFrame, partition_columns: Sequence[str]) -> DataFrame:
    """Return the rows, which fail if a partition column has the text that Hive's folders have for NULL.

    Readers would see NULL. If the same task also writes a NULL, Spark fails because the file already exists.
    """
    texts = {field.name for field in rows.schema.fields if isinstance(field.dataType, StringType)}
    for name in (column for column in partition_columns if column in texts):
        column = sf.col(quoted_name(name))
        message = f"A row has the text {_NULL_TEXT} in the partition column {name}, which is read as NULL."
        rows = rows.withColumn(name, sf.when(column == _NULL_TEXT, sf.raise_error(sf.lit(message))).otherwise(column))
    return rows
