"""The rows of a streaming select: batches without an end."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any


class LiveMode(Enum):
    """The relation of a batch to the batches before it."""

    APPEND = "append"  # each batch has further rows
    REPLACE = "replace"  # each batch is the complete result and replaces the previous one


@dataclass(frozen=True)
class LiveBatch:
    """One batch of a streaming select."""

    number: int  # from 0
    rows: Iterator[tuple[Any, ...]]  # can be empty; readable until the next batch is requested; reading can raise


@dataclass(frozen=True)
class Live:
    """The result of a streaming select."""

    mode: LiveMode
    batches: Generator[LiveBatch, None, None]  # produced on demand; closing the generator ends the select
