"""How far a stream is behind its sources: in their units, and in seconds.

Sources tell what is their newest, and nothing of when it came. So it is noted when they were how far, from batch to
batch: what was newest then, and is the next to be read now, has waited since then. Pure: from Spark's JSON alone.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

# As many batches are remembered; what waits for longer is reckoned by how fast the source grew meanwhile.
_REMEMBERED: Final = 600

_Places = Mapping[tuple[str, ...], int]


def lags(told: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, int]:
    """By source, how many of its units lie behind the batch; only for those that say what is their newest.

    told: the sources of a progress event. names: what they are called.
    """
    found = {}
    for number, source in enumerate(told):
        lag = _behind(_offset(source.get("endOffset")), _offset(source.get("latestOffset")))
        if lag is not None:
            found[_name(number, told, names)] = lag
    return found


class Lateness:
    """When the sources of one run were how far."""

    def __init__(self) -> None:
        self._seen: dict[str, deque[tuple[float, _Places]]] = {}

    def seconds(self, time: float, told: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, float]:
        """By source, how long the oldest of what is not read yet has waited at `time` (seconds since the epoch).

        Not known from a run's first event alone, when something waits.
        """
        found = {}
        for number, source in enumerate(told):
            end, latest = _offset(source.get("endOffset")), _offset(source.get("latestOffset"))
            if _behind(end, latest) is None:
                continue
            name, read, newest = _name(number, told, names), dict(_places(end)), dict(_places(latest))
            seen = self._seen.setdefault(name, deque(maxlen=_REMEMBERED))
            seen.append((time, newest))
            waiting = [place for place, offset in newest.items() if offset > read.get(place, 0)]
            if not waiting or len(seen) > 1:
                found[name] = max((time - _since(seen, place, read.get(place, 0)) for place in waiting), default=0.0)
        return found


def _since(seen: Sequence[tuple[float, _Places]], place: tuple[str, ...], read: int) -> float:
    """About when a place of a source came to hold more than was read of it."""
    points = [(time, offsets.get(place, 0)) for time, offsets in seen]
    for (before, fewer), (after, more) in pairwise(points):
        if fewer <= read < more:
            return before + (after - before) * (read - fewer) / (more - fewer)
    (first, fewest), (last, most) = points[0], points[-1]
    if fewest <= read or most == fewest:
        return first
    return first - (fewest - read) * (last - first) / (most - fewest)


def _name(number: int, told: Sequence[object], names: Sequence[str]) -> str:
    return names[number] if len(names) == len(told) else f"source {number}"


def _offset(told: Any) -> Any:
    """Spark tells an offset as JSON, and as a text that holds JSON."""
    if not isinstance(told, str):
        return told
    try:
        return json.loads(told)
    except ValueError:
        return None


def _behind(end: Any, latest: Any) -> int | None:
    """Offsets are numbers, or numbers within tables of the same shape (Kafka: by topic, by partition)."""
    if isinstance(latest, int) and not isinstance(latest, bool):
        return max(0, latest - end) if isinstance(end, int) else None
    if not isinstance(latest, Mapping) or not isinstance(end, Mapping):
        return None
    parts = [_behind(end.get(key, 0 if isinstance(part, int) else {}), part) for key, part in latest.items()]
    return None if None in parts else sum(part for part in parts if part is not None)


def _places(offset: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    if isinstance(offset, Mapping):
        for key, part in offset.items():
            yield from _places(part, (*above, str(key)))
    elif isinstance(offset, int):
        yield above, offset
