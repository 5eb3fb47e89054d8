"""Measure how far a stream is behind its sources: in their units, and in seconds.

Sources report their newest offset, but not when it was written. So the tracker stores the newest offsets of each
batch: what was newest then, and is the next to be read now, has waited since then. Pure: from Spark's JSON alone.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

# The number of batches that are remembered; a longer lag is extrapolated from how fast the source grew in them.
_HISTORY_BATCHES: Final = 600

_PartitionOffsets = Mapping[tuple[str, ...], int]


def count_lag(sources: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, int]:
    """Return by source how many of its units the batch is behind; only for sources that report their newest offset.

    sources: the sources of a progress event. names: their names.
    """
    lag_by_source = {}
    for number, source in enumerate(sources):
        lag = _count_behind(_parse_offset(source.get("endOffset")), _parse_offset(source.get("latestOffset")))
        if lag is not None:
            lag_by_source[_name(number, sources, names)] = lag
    return lag_by_source


class LagTracker:
    """Remembers the newest offsets of one run's sources, batch by batch."""

    def __init__(self) -> None:
        self._history: dict[str, deque[tuple[float, _PartitionOffsets]]] = {}

    def measure_seconds(
        self, time: float, sources: Sequence[Mapping[str, Any]], names: Sequence[str]
    ) -> dict[str, float]:
        """Return by source how long the oldest unread unit has waited at `time` (seconds since the epoch).

        A source with unread units is left out of the run's first event: one event is not enough to know.
        """
        lag_by_source = {}
        for number, source in enumerate(sources):
            end, latest = _parse_offset(source.get("endOffset")), _parse_offset(source.get("latestOffset"))
            if _count_behind(end, latest) is None:
                continue
            name, read, newest = (
                _name(number, sources, names),
                dict(_partition_offsets(end)),
                dict(_partition_offsets(latest)),
            )
            history = self._history.setdefault(name, deque(maxlen=_HISTORY_BATCHES))
            history.append((time, newest))
            waiting = [partition for partition, offset in newest.items() if offset > read.get(partition, 0)]
            if not waiting or len(history) > 1:
                lag_by_source[name] = max(
                    (time - _estimate_arrival(history, partition, read.get(partition, 0)) for partition in waiting),
                    default=0.0,
                )
        return lag_by_source


def _estimate_arrival(
    history: Sequence[tuple[float, _PartitionOffsets]], partition: tuple[str, ...], read: int
) -> float:
    """Estimate when a partition of a source came to hold more than was read of it."""
    points = [(time, offsets.get(partition, 0)) for time, offsets in history]
    for (before, fewer), (after, more) in pairwise(points):
        if fewer <= read < more:
            return before + (after - before) * (read - fewer) / (more - fewer)
    (first, fewest), (last, most) = points[0], points[-1]
    if fewest <= read or most == fewest:
        return first
    return first - (fewest - read) * (last - first) / (most - fewest)


def _name(number: int, sources: Sequence[object], names: Sequence[str]) -> str:
    return names[number] if len(names) == len(sources) else f"source {number}"


def _parse_offset(sources: Any) -> Any:
    """Return an offset of a progress event, which is JSON or a text that holds JSON."""
    if not isinstance(sources, str):
        return sources
    try:
        return json.loads(sources)
    except ValueError:
        return None


def _count_behind(end: Any, latest: Any) -> int | None:
    """Return the difference between offsets, or None when they are not comparable.

    Offsets are numbers, or numbers in nested objects of the same shape (Kafka: by topic, by partition).
    """
    if isinstance(latest, int) and not isinstance(latest, bool):
        return max(0, latest - end) if isinstance(end, int) else None
    if not isinstance(latest, Mapping) or not isinstance(end, Mapping):
        return None
    parts = [_count_behind(end.get(key, 0 if isinstance(part, int) else {}), part) for key, part in latest.items()]
    return None if None in parts else sum(part for part in parts if part is not None)


def _partition_offsets(offset: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield each number in an offset with the keys above it."""
    if isinstance(offset, Mapping):
        for key, part in offset.items():
            yield from _partition_offsets(part, (*above, str(key)))
    elif isinstance(offset, int):
        yield above, offset
