"""Measure a stream's lag behind its sources, in the sources' units and in seconds.

Sources report their newest offset, but not the time when it was written. The tracker therefore stores the newest
offsets of each batch: if an offset was the newest then and is the next to be read now, it has waited since then. The
functions depend only on Spark's JSON.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

# The number of batches in the history. A longer lag is extrapolated from the source's growth in these batches.
_HISTORY_BATCHES: Final = 600

_PartitionOffsets = Mapping[tuple[str, ...], int]


def count_lag(sources: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, int]:
    """Return the lag of a batch by source, in the source's units; only for sources that report their newest offset.

    sources: the sources of a progress event.
    names: the names of the sources.
    """
    lag_by_source = {}
    for number, source in enumerate(sources):
        lag = _subtract_offsets(_parse_offset(source.get("latestOffset")), _parse_offset(source.get("endOffset")))
        if lag is not None:
            lag_by_source[_name(number, sources, names)] = lag
    return lag_by_source


class LagTracker:
    """The history of the newest offsets of one run's sources, by batch."""

    def __init__(self) -> None:
        self._history: dict[str, deque[tuple[float, _PartitionOffsets]]] = {}

    def measure_seconds(
        self, time: float, sources: Sequence[Mapping[str, Any]], names: Sequence[str]
    ) -> dict[str, float]:
        """Return by source the seconds for which its oldest unread unit has waited at `time`.

        The run's first event is not enough to measure a source with unread units, so the source is omitted.
        time: seconds since the epoch.
        """
        lag_by_source = {}
        for number, source in enumerate(sources):
            end, latest = _parse_offset(source.get("endOffset")), _parse_offset(source.get("latestOffset"))
            if _subtract_offsets(latest, end) is None:
                continue
            name, read, newest = (
                _name(number, sources, names),
                dict(_partition_offsets(end)),
                dict(_partition_offsets(latest)),
            )
            history = self._history.setdefault(name, deque(maxlen=_HISTORY_BATCHES))
            history.append((time, newest))
            unread = [partition for partition, offset in newest.items() if offset > read.get(partition, 0)]
            if not unread or len(history) > 1:
                lag_by_source[name] = max(
                    (time - _estimate_arrival(history, partition, read.get(partition, 0)) for partition in unread),
                    default=0.0,
                )
        return lag_by_source


def _estimate_arrival(
    history: Sequence[tuple[float, _PartitionOffsets]], partition: tuple[str, ...], read: int
) -> float:
    """Estimate the time when the first unread unit of a partition arrived. read: the partition's read offset."""
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


def _parse_offset(offset: Any) -> Any:
    """Return an offset of a progress event as an object; the event has it as an object or as JSON text."""
    if not isinstance(offset, str):
        return offset
    try:
        return json.loads(offset)
    except ValueError:
        return None


def _subtract_offsets(latest: Any, end: Any) -> int | None:
    """Return the difference between two offsets, or None when they are not comparable.

    Offsets are numbers, or nested objects of numbers with the same shape (Kafka: by topic and partition).
    """
    if isinstance(latest, int) and not isinstance(latest, bool):
        return max(0, latest - end) if isinstance(end, int) else None
    if not isinstance(latest, Mapping) or not isinstance(end, Mapping):
        return None
    parts = [_subtract_offsets(part, end.get(key, 0 if isinstance(part, int) else {})) for key, part in latest.items()]
    return None if None in parts else sum(part for part in parts if part is not None)


def _partition_offsets(offset: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield each number in an offset with its path of keys."""
    if isinstance(offset, Mapping):
        for key, part in offset.items():
            yield from _partition_offsets(part, (*above, str(key)))
    elif isinstance(offset, int):
        yield above, offset
