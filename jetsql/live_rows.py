"""Rows of a stream while somebody looks at it: they come in batches, and there is no last one."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any


class LiveMode(Enum):
    """APPEND: each batch has further rows. REPLACE: each batch is the whole result, in place of the one before."""

    APPEND = "append"
    REPLACE = "replace"


@dataclass(frozen=True)
class LiveBatch:
    """number: from 0. rows: may be none; can be read until the next batch is asked for, and may raise."""

    number: int
    rows: Iterator[tuple[Any, ...]]


@dataclass(frozen=True)
class Live:
    """An answer without an end. batches: come as they are read; the look ends when they are closed."""

    mode: LiveMode
    batches: Generator[LiveBatch, None, None]
