"""Measure the rows per second and per CPU second at which a topic is drained, as a job and by hand in turn."""

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

GOAL_FOR_DEFAULTS = Goal(least=1.3)
GOAL_FOR_SETTINGS = Goal(least=0.98)
_WAYS = (EXACTLY_ONCE, AT_LEAST_ONCE, BY_HAND, SAME_SETTINGS)


class Contest:
    """Variants of one query over one topic. into_files: whether they write parquet files instead of a topic."""

    def __init__(self, streams: Streams, query: Query, source: str, ways: Sequence[Way], into_files: bool) -> None:
        self._streams = streams
        self._query = query
        self._source = source
        self._ways = ways
        self._into_files = into_files

    def run(self, rounds: int, warm_ups: int) -> dict[Way, list[Drained]]:
        """Run the rounds, each of which begins with another variant, and return the measured runs.

        Raises ClickException when two variants of a round wrote different rows; for a keyed query, different newest
        rows of a key.
        """
        measured: dict[Way, list[Drained]] = {way: [] for way in self._ways}
        for number in range(-warm_ups, rounds):
            first = number % len(self._ways)
            runs = {way: self._drain(way) for way in (*self._ways[first:], *self._ways[:first])}
            require_equal({way.name: run.written for way, run in runs.items()})
            for way, run in runs.items() if number >= 0 else ():
                measured[way].append(run)
            say(f"{f'round {number + 1}' if number >= 0 else 'warm-up'}: {self._describe(runs)}")
        return measured

    @staticmethod
    def _describe(runs: dict[Way, Drained]) -> str:
        return ", ".join(f"{way.name} {run.busy:.1f} s" for way, run in runs.items())

    def _drain(self, way: Way) -> Drained:
        return self._streams.drain(way, self._query, self._source, self._into_files)


def report(measured: dict[Way, list[Drained]], rows: int) -> None:
    """Print the medians of each variant."""
    lines = []
    for way, runs in measured.items():
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
    columns = figures("rows/s", "minimum", "maximum", "rows/CPU s", "s, batches", "s, total")
    table((text("variant"), *columns), lines)


def ratio(measured: dict[Way, list[Drained]], way: Way, reference: Way) -> float:
    """Return the median ratio of the rows per second of two variants in the same round."""
    return middle(b.busy / a.busy for a, b in zip(measured[way], measured[reference], strict=True))


def compare(measured: dict[Way, list[Drained]], goals: bool = True) -> None:
    """Print the ratios of the jobs to the other variants. goals: whether the goals apply."""
    lines = []
    goal_of = {BY_HAND: GOAL_FOR_DEFAULTS, SAME_SETTINGS: GOAL_FOR_SETTINGS}
    for way in (each for each in measured if each.job is not None):
        for reference in measured if way is EXACTLY_ONCE else goal_of:
            if reference in measured and reference is not way:
                value = ratio(measured, way, reference)
                verdict = goal_of[reference].describe(value) if goals and reference in goal_of else ""
                lines.append((way.name, reference.name, figure(value, 2), verdict))
    table((text("variant"), text("compared with"), *figures("median ratio"), text("goal")), lines)


def _contest(
    streams: Streams, query: Query, rows: int, rounds: int, ways: Sequence[Way] = _WAYS, into_files: bool = False
) -> None:
    source = _source(streams, rows)
    say(f"{query.name}, from a topic to {'parquet files' if into_files else 'a topic'}, {rows:,} rows")
    measured = Contest(streams, query, source, ways, into_files).run(rounds, warm_ups=1)
    report(measured, rows)
    compare(measured, goals=not into_files and not query.keyed)


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
    """Measure the cost of exactly once compared with at least once."""
    _contest(streams, PROJECTION, rows, rounds, (EXACTLY_ONCE, AT_LEAST_ONCE))


def counts(streams: Streams, rows: int, rounds: int) -> None:
    _contest(streams, COUNTS, rows, rounds)
