"""Streaming selects: SELECT statements over streams that JetSQL's endpoints run without a job.

`StreamingSelectPlan.java` and `StreamingCursor.java` plan the query and decide whether a batch appends rows or replaces
the whole result. This module turns the batches into rows, on the statement's thread. A streaming select ends with its
statement: its query is stopped and its folder is deleted. Folders of a killed engine are deleted at the next start.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from jetsql import request
from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.job_sessions import streaming_confs
from jetsql.live_rows import Live, LiveBatch, LiveMode

_MAX_PARTITIONS = 4

ReadRows = Callable[[DataFrame], Iterator[tuple[Any, ...]]]


def connect(spark: SparkSession, folder: str, seconds: float) -> None:
    """Configure streaming selects and empty their folder.

    folder: the folder of their checkpoints.
    seconds: the duration of a streaming select without a cursor.
    """
    location = FileSystem(spark).qualify(folder)
    partitions = min(spark.sparkContext.defaultParallelism, _MAX_PARTITIONS)
    confs = {
        **streaming_confs(location),
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.streaming.minBatchesToRetain": "2",
        "spark.sql.streaming.stopTimeout": "10s",
    }
    java(spark).stream.StreamingSelects.connect(spark._jsparkSession, location, json.dumps(confs), int(seconds * 1000))


def stop_all(spark: SparkSession) -> None:
    """Stop all running streaming selects."""
    java(spark).stream.StreamingSelects.closeAll()


class StreamingSelect:
    """A streaming select that has not been started. frame: the statement's rows.

    Raises Spark's errors for operations that streams do not support, and STREAM_WITHOUT_LIMIT.
    """

    def __init__(self, frame: DataFrame, live: bool) -> None:
        self._spark = frame.sparkSession
        self._java = java(self._spark).stream.StreamingSelects.create(frame._jdf, live)
        self._mode = LiveMode.REPLACE if self._java.replaces() else LiveMode.APPEND

    def open_cursor(self, read: ReadRows) -> Live:
        """Open a streaming cursor, which ends only at a limit on appended rows. read: reads the rows of a batch."""
        return Live(self._mode, self._batches(read))

    def _batches(self, read: ReadRows) -> Generator[LiveBatch, None, None]:
        remaining = self._java.limit() if self._mode is LiveMode.APPEND else -1
        with self._running():
            while remaining != 0 and (frame := self._next_frame(self._java.next)) is not None:
                limited = _LimitedRows(self._read_in_query(read(frame)), remaining)
                yield LiveBatch(self._java.batchId(), limited)
                for _ in limited:  # Spark fails when not every row of a state is read
                    pass
                remaining = limited.remaining

    def iterate_parts(self) -> Generator[DataFrame, None, None]:
        """Yield the rows within the limit and the time, in parts. A part is readable until the next part is read."""
        with self._running():
            while (frame := self._next_frame(self._java.nextPart)) is not None:
                yield frame

    def _next_frame(self, next_batch: Callable[[], Any]) -> DataFrame | None:
        batch = next_batch()
        request.current().cancellation.check()
        return None if batch is None else DataFrame(batch, self._spark)

    def _read_in_query(self, rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows. The Spark thread that sends them starts at the first and inherits the properties."""
        self._java.enterQuery()
        try:
            first = list(islice(rows, 1))
        finally:
            self._java.leaveQuery()
        yield from first
        yield from rows

    @contextmanager
    def _running(self) -> Iterator[None]:
        try:
            with request.current().cancellation.on_cancel(self._java.wake):
                self._java.start()
                yield
        finally:
            self._java.close()


class _LimitedRows(Iterator[tuple[Any, ...]]):
    """The rows of an iterator up to a limit."""

    def __init__(self, rows: Iterator[tuple[Any, ...]], remaining: int) -> None:
        self.remaining = remaining  # the rows until the limit; negative without a limit
        self._rows = rows

    def __next__(self) -> tuple[Any, ...]:
        if self.remaining == 0:
            raise StopIteration
        row = next(self._rows)
        self.remaining -= 1
        return row
