"""Write batches as files of a table, a small batch as one file.

One file appears atomically, several appear one after the other, and many small ones slow down every reader. But one
file has one writer. On two cores that is not noticeable up to a quarter of a megabyte; a batch of 1 MB takes a tenth
longer with it, one of 4 MB a quarter, and one of 100 MB almost twice as long. So only batches that are expected to be
small are written as one file.

The expected size follows from the bytes that the batch reads, which is exact for files, and from the ratio of output
to input of the batch before. Spark's own estimate is not usable: it knows the effect of neither filters nor groupings,
and takes for every batch of a table the size of the whole table that the metastore stored at its creation.
"""

from __future__ import annotations

import json

from pyspark.sql import DataFrame

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.catalog import TableFacts

# One quiet batch says little about the next: what a batch comes to is never expected to be less than this share.
_LEAST_SHARE = 0.01

# No empty file _SUCCESS: a manifest, or the table's location, shows that a batch is complete. On a local disk the file
# would cost two processes for its permissions.
_NO_MARKER = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}


class BatchFiles:
    """Writes one run's batches. stateful: the query keeps state, whose partitions must stay separate."""

    def __init__(self, single_file_bytes: int, stateful: bool) -> None:
        self._limit = single_file_bytes
        self._stateful = stateful
        self._share = 1.0
        self._newest: int | None = None

    def write(self, rows: DataFrame, table: TableFacts, folder: str) -> int:
        """Write rows with the table's format and options into another folder. Return the row count."""
        batches, session = java(rows.sparkSession).stream.Batches, rows.sparkSession._jsparkSession
        read = int(batches.inputBytes(rows._jdf))
        writer = self._gather_small(rows, read).write.format(table.provider).mode("overwrite")
        writer = writer.options(**_writer_options(table))
        if table.partition_columns:
            writer = writer.partitionBy(*table.partition_columns)
        written = json.loads(batches.write(session, writer._jwrite, folder))
        self._newest = written["bytes"]
        if read > 0:
            self._share = max(written["bytes"] / read, _LEAST_SHARE)
        return int(written["rows"])

    def _gather_small(self, rows: DataFrame, read: int) -> DataFrame:
        expected = read * self._share if read >= 0 else self._newest
        if (
            expected is None
            or expected > self._limit
            or java(rows.sparkSession).stream.Batches.partitions(rows._jdf) < 2
        ):
            return rows
        if self._stateful or not 0 <= read <= self._limit:
            return rows.repartition(1)
        return rows.coalesce(1)  # no exchange: reading is as small as writing, so one task does both


def _writer_options(table: TableFacts) -> dict[str, str]:
    own = {key: value for key, value in table.options.items() if key.lower() not in ("path", "serialization.format")}
    return {**_NO_MARKER, **own}
