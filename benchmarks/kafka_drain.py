"""How fast a topic is drained: rows a second and rows a CPU second, as a job and by hand, in turn."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.contents import require_equal
from benchmarks.kafka_streams import (
    AT_LEAST_ONCE,
    BY_HAND,
    COUNTS,
    EXACTLY_ONCE,
    PROJECTION,
    SAME_SETTINGS,
    Drained,
    Query,
    Streams,
    Way,
)
from benchmarks.reporting import Goal, figure, figures, middle, say, table, text

BESIDE_DEFAULTS = Goal(least=1.3)
BESIDE_SETTINGS = Goal(least=0.98)
_WAYS = (EXACTLY_ONCE, AT_LEAST_ONCE, BY_HAND, SAME_SETTINGS)


class Contest:
    """Ways to run one query over one topic. into_files: a parquet table or folder, else another topic."""

    def __init__(self, streams: Streams, query: Query, source: str, ways: Sequence[Way], into_files: bool) -> None:
        self._streams = streams
        self._query = query
        self._source = source
        self._ways = ways
        self._into_files = into_files

    def run(self, rounds: int, warm_ups: int) -> dict[Way, list[Drained]]:
        """Run the rounds, each of which begins with another way. Raises ClickException when two ways of a round wrote
        different rows; of a keyed query, other newest rows of a key."""
        found: dict[Way, list[Drained]] = {way: [] for way in self._ways}
        for number in range(-warm_ups, rounds):
            first = number % len(self._ways)
            runs = {way: self._drain(way) for way in (*self._ways[first:], *self._ways[:first])}
            require_equal({way.name: run.written for way, run in runs.items()})
            for way, run in runs.items() if number >= 0 else ():
                found[way].append(run)
            say(f"round {number + 1 if number >= 0 else 'before'}: {self._told(runs)}")
        return found

    @staticmethod
    def _told(runs: dict[Way, Drained]) -> str:
        return ", ".join(f"{way.name} {run.busy:.1f} s" for way, run in runs.items())

    def _drain(self, way: Way) -> Drained:
        return self._streams.drain(way, self._query, self._source, self._into_files)


def report(found: dict[Way, list[Drained]], rows: int) -> None:
    """Medians of each way."""
    lines = []
    for way, runs in found.items():
        rates = [rows / run.busy for run in runs]
        lines.append(
            (
                way.name,
                figure(middle(rates), 0),
                figure(min(rates), 0),
                figure(max(rates), 0),
                figure(middle(rows / run.cpu for run in runs), 0),
                figure(middle(run.busy for run in runs), 2),
                figure(middle(run.whole for run in runs), 2),
            )
        )
    columns = figures("rows/s", "least", "most", "rows/CPU s", "s, batches", "s, whole")
    table((text("way"), *columns), lines)


def ratio(found: dict[Way, list[Drained]], way: Way, beside: Way) -> float:
    """Of the rows a second, round by round."""
    return middle(b.busy / a.busy for a, b in zip(found[way], found[beside], strict=True))


def compare(found: dict[Way, list[Drained]], goals: bool = True) -> None:
    """Each job beside what is by hand."""
    lines = []
    goal_of = {BY_HAND: BESIDE_DEFAULTS, SAME_SETTINGS: BESIDE_SETTINGS}
    for way in (each for each in found if each.job is not None):
        for beside in found if way is EXACTLY_ONCE else goal_of:
            if beside in found and beside is not way:
                value = ratio(found, way, beside)
                words = goal_of[beside].words(value) if goals and beside in goal_of else ""
                lines.append((way.name, beside.name, figure(value, 2), words))
    table((text("way"), text("beside"), *figures("median ratio"), text("goal")), lines)


def _contest(
    streams: Streams, query: Query, rows: int, rounds: int, ways: Sequence[Way] = _WAYS, into_files: bool = False
) -> None:
    source = _source(streams, rows)
    say(f"{query.name}, from a topic into {'parquet files' if into_files else 'a topic'}, {rows:,} rows")
    found = Contest(streams, query, source, ways, into_files).run(rounds, warm_ups=1)
    report(found, rows)
    compare(found, goals=not into_files and not query.keyed)


def _source(streams: Streams, rows: int) -> str:
    name = f"source_{rows}"
    if name not in streams.sources:
        streams.fill(streams.source(name), rows)
    return name


def drain(streams: Streams, rows: int, rounds: int) -> None:
    _contest(streams, PROJECTION, rows, rounds)


def files(streams: Streams, rows: int, rounds: int) -> None:
    _contest(streams, PROJECTION, rows, rounds, (EXACTLY_ONCE, BY_HAND, SAME_SETTINGS), into_files=True)


def delivery(streams: Streams, rows: int, rounds: int) -> None:
    """What exactly once costs beside at least once."""
    _contest(streams, PROJECTION, rows, rounds, (EXACTLY_ONCE, AT_LEAST_ONCE))


def counts(streams: Streams, rows: int, rounds: int) -> None:
    _contest(streams, COUNTS, rows, rounds)
