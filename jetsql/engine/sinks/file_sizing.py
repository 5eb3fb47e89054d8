"""Batches as files of a table; a small one becomes one file.

One file appears at once, several appear one after the other, and many small ones slow down every reader. But one file
has one writer. On two cores that can't be noticed up to a quarter of a megabyte; a batch of 1 MB takes a tenth longer
with it, one of 4 MB a quarter, and one of 100 MB almost twice as long. So only what is expected to be small is
gathered.

What is expected follows from what the batch reads, which is exact for files, and from the share of it that the batch
before came to. Spark's own estimate would not do: it knows neither what a filter leaves nor what a grouping comes to,
and takes for every batch of a table what the metastore noted as the size of the whole table when that was made.
"""

from __future__ import annotations

import json

from pyspark.sql import DataFrame

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.catalog import TableFacts

# One quiet batch says little about the next: what a batch comes to is never expected to be less than this share.
_LEAST_SHARE = 0.01

# The empty file _SUCCESS, which nobody looks for: a manifest, or the table's location, says that a batch is whole. On a
# local disk it costs two processes for its permissions.
_NO_MARKER = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}


class BatchFiles:
    """Writes one run's batches. stateful: the query keeps state, whose parts must stay side by side."""

    def __init__(self, single_file_bytes: int, stateful: bool) -> None:
        self._limit = single_file_bytes
        self._stateful = stateful
        self._share = 1.0
        self._newest: int | None = None

    def write(self, rows: DataFrame, table: TableFacts, folder: str) -> int:
        """Write rows as the table's files would be written, into another folder. Returns how many there were."""
        batches, session = java(rows.sparkSession).stream.Batches, rows.sparkSession._jsparkSession
        read = int(batches.inputBytes(rows._jdf))
        writer = self._gathered(rows, read).write.format(table.provider).mode("overwrite")
        writer = writer.options(**_writer_options(table))
        if table.partition_columns:
            writer = writer.partitionBy(*table.partition_columns)
        written = json.loads(batches.write(session, writer._jwrite, folder))
        self._newest = written["bytes"]
        if read > 0:
            self._share = max(written["bytes"] / read, _LEAST_SHARE)
        return int(written["rows"])

    def _gathered(self, rows: DataFrame, read: int) -> DataFrame:
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
