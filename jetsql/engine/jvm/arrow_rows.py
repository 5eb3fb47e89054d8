"""Rows of a DataFrame as an Arrow stream: Spark makes it, and Python only hands it on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Final

from pyspark.sql import DataFrame

from jetsql.engine.jvm import row_stream
from jetsql.engine.jvm.java_classes import java
from jetsql.resultset import Column

_END: Final = b"\xff\xff\xff\xff\x00\x00\x00\x00"


def pieces(frame: DataFrame, columns: tuple[Column, ...]) -> Iterator[bytes]:
    """The stream, at least one batch of rows a piece; memory holds one.

    The schema comes with the first rows, so that most errors come before everything else. The columns with Spark's
    types stand in its metadata, under `jetsql.columns`. Raises Spark's errors.
    """
    return pieces_of(frame, [frame] if columns else (), columns)


def pieces_of(shape: DataFrame, parts: Iterable[DataFrame], columns: tuple[Column, ...]) -> Iterator[bytes]:
    """As `pieces`, with rows that come in parts. shape: one with their schema."""
    waiting = bytes(
        java(shape.sparkSession).rows.ArrowSchemas.message(
            shape._jdf, json.dumps([asdict(column) for column in columns])
        )
    )
    for part in parts:
        for batch in row_stream.arrow_batches(part):
            yield waiting + batch
            waiting = b""
    yield waiting + _END
