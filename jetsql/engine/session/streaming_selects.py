"""Looks: a SELECT over a stream as the doors of JetSQL answer it, without a job.

What Spark does for one, and how it is shown (rows appended, or the whole result anew), is in
`StreamingSelectPlan.java` and `StreamingCursor.java`. Here its batches become rows, on the thread of the statement that
asked. A look ends with the statement, however that ends: its query is stopped and its folder is deleted; what a killed
engine left goes at the next start.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from jetsql import cancellation
from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.job_sessions import delivery_confs
from jetsql.live_rows import Live, LiveBatch, LiveMode

_PARTITIONS_MOST = 4

Read = Callable[[DataFrame], Iterator[tuple[Any, ...]]]


def connect(spark: SparkSession, folder: str, seconds: float) -> None:
    """Let looks be had. folder: for what Spark notes of them, which is emptied. seconds: of one that is not live."""
    place = FileSystem(spark).qualified(folder)
    partitions = min(spark.sparkContext.defaultParallelism, _PARTITIONS_MOST)
    confs = {
        **delivery_confs(place),
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.streaming.minBatchesToRetain": "2",
        "spark.sql.streaming.stopTimeout": "10s",
    }
    java(spark).stream.StreamingSelects.connect(spark._jsparkSession, place, json.dumps(confs), int(seconds * 1000))


def close_all(spark: SparkSession) -> None:
    """End all looks that are under way."""
    java(spark).stream.StreamingSelects.closeAll()


class Look:
    """A look that has not begun. frame: of the statement.

    Raises Spark's errors for what can't be done over a stream, and STREAM_WITHOUT_LIMIT.
    """

    def __init__(self, frame: DataFrame, live: bool) -> None:
        self._spark = frame.sparkSession
        self._java = java(self._spark).stream.StreamingSelects.create(frame._jdf, live)
        self._mode = LiveMode.REPLACE if self._java.replaces() else LiveMode.APPEND

    def live(self, read: Read) -> Live:
        """Without an end, but for a limit on rows that are appended. read: the rows of a batch."""
        return Live(self._mode, self._batches(read))

    def _batches(self, read: Read) -> Generator[LiveBatch, None, None]:
        left = self._java.limit() if self._mode is LiveMode.APPEND else -1
        with self._running():
            while left != 0 and (frame := self._next_of(self._java.next)) is not None:
                counted = _Counted(self._begun(read, frame), left)
                yield LiveBatch(self._java.batchId(), counted)
                for _ in counted:  # Spark fails where not every row of a state is read
                    pass
                left = counted.left

    def frames(self) -> Generator[DataFrame, None, None]:
        """The rows within the limit and the time, part by part; each can be read until the next one is asked for."""
        with self._running():
            while (frame := self._next_of(self._java.nextPart)) is not None:
                yield frame

    def _next_of(self, ask: Callable[[], Any]) -> DataFrame | None:
        batch = ask()
        cancellation.current().check()
        return None if batch is None else DataFrame(batch, self._spark)

    def _begun(self, read: Read, frame: DataFrame) -> Iterator[tuple[Any, ...]]:
        """Spark's thread that serves the rows is made here, and takes over what this one has then."""
        self._java.enterQuery()
        try:
            return read(frame)
        finally:
            self._java.leaveQuery()

    @contextmanager
    def _running(self) -> Iterator[None]:
        try:
            with cancellation.current().waking(self._java.wake):
                self._java.start()
                yield
        finally:
            self._java.close()


class _Counted(Iterator[tuple[Any, ...]]):
    """Rows up to a number of them, and how many are then left to come; below 0 there is no such number."""

    def __init__(self, rows: Iterator[tuple[Any, ...]], left: int) -> None:
        self.left = left
        self._rows = rows

    def __next__(self) -> tuple[Any, ...]:
        if self.left == 0:
            raise StopIteration
        row = next(self._rows)
        self.left -= 1
        return row
