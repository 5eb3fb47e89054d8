"""Measure the time from a row's due time to its consumer, through a job and through the same stream by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

import click

from benchmarks.kafka_streams import Streams
from benchmarks.processes import beginning, line
from benchmarks.reporting import Goal, figure, figures, say, table, text

_WARM_UP_SECONDS: Final = 10
# On two cores the JVM needs a minute to compile the code of a batch. Until then, batches take twice as long.
_FIRST_SECONDS: Final = 50
_FIRST_RATE: Final = 1_000
_ASYNC: Final = {"asyncProgressTrackingEnabled": "true"}


@dataclass(frozen=True)
class Mode:
    """One way of triggering a stream."""

    name: str
    """The name in the table."""
    job: str
    """The OPTIONS of the job."""
    trigger: dict[str, str]
    """The trigger of the stream by hand."""
    options: dict[str, str]
    """The options of the writer by hand."""
    goals: dict[float, Goal]
    """The goals of the job by percentile, in milliseconds at 1,000 rows/s."""


def _interval(millis: int, goals: dict[float, Goal]) -> Mode:
    job = f"'snapshotIntervalMillis' = '{max(millis, 1)}'"
    return Mode(f"{millis} ms, exactly once", job, {"processingTime": f"{millis} milliseconds"}, {}, goals)


def _real_time(seconds: int, goals: dict[float, Goal]) -> Mode:
    job = f"'trigger' = 'realTime', 'snapshotIntervalMillis' = '{seconds}000'"
    return Mode(f"real time, {seconds} s", job, {"realTime": f"{seconds} seconds"}, {}, goals)


MODES: Final = {
    "0ms": _interval(0, {50: Goal(most=250)}),
    "async": Mode(
        "0 ms, at least once",
        "'snapshotIntervalMillis' = '1', 'processingGuarantee' = 'atLeastOnce'",
        {"processingTime": "0 milliseconds"},
        _ASYNC,
        {50: Goal(most=120)},
    ),
    "100ms": _interval(100, {}),
    "1s": _interval(1000, {}),
    "realtime-5s": _real_time(5, {}),
    "realtime-60s": _real_time(60, {50: Goal(most=3), 99: Goal(most=20)}),
}
_SHOWN: Final = (50, 99, 99.9, 100)


@dataclass(frozen=True)
class Latency:
    """The latencies of one run."""

    millis: list[float]
    """The sorted latencies of all rows."""

    def at(self, percent: float) -> float:
        """Return a percentile in milliseconds."""
        return self.millis[min(len(self.millis) - 1, int(len(self.millis) * percent / 100))]


def latency(streams: Streams, seconds: int, rates: tuple[int, ...], names: tuple[str, ...], by_hand: bool) -> None:
    """Measure each mode at each rate, and print each result immediately and all of them at the end."""
    say(f"latency: milliseconds from due time to consumer, warm engine, {seconds} s after {_WARM_UP_SECONDS} s")
    lines: list[tuple[Any, ...]] = []
    _warm_up(streams, by_hand)
    for name in names or tuple(MODES):
        for rate in rates:
            mode = MODES[name]
            number = len(lines) + 1
            source = streams.source(f"flow{number}")
            sink = f"flowed{number}"
            with streams.flowing_job(sink, mode.job, source):
                job = measure_latency(streams, source, sink, rate, seconds)
            goals = _goals(mode, job) if rate == min(rates) else ""
            lines.append(_print_line((mode.name, "job", rate, *_figures(job), goals)))
            if by_hand:
                with streams.flowing_by_hand(f"{sink}h", mode.trigger, mode.options, source):
                    hand = measure_latency(streams, source, f"{sink}h", rate, seconds)
                lines.append(_print_line((mode.name, "by hand", rate, *_figures(hand), "")))
    columns = (*figures("rows/s", "p50", "p99", "p99.9", "maximum"), text("goal"))
    table((text("mode"), text("variant"), *columns), lines)


def _warm_up(streams: Streams, by_hand: bool) -> None:
    """Run both variants for the same time without reporting them, so that the JVM compiles the code of both."""
    source = streams.source("warm")
    with streams.flowing_job("warmed", MODES["0ms"].job, source):
        measure_latency(streams, source, "warmed", _FIRST_RATE, _FIRST_SECONDS)
    if by_hand:
        with streams.flowing_by_hand("warmedh", MODES["0ms"].trigger, {}, source):
            measure_latency(streams, source, "warmedh", _FIRST_RATE, _FIRST_SECONDS)


def _print_line(line: tuple[Any, ...]) -> tuple[Any, ...]:
    """Print a line of the table and return it."""
    say(", ".join(str(part) for part in line if part != ""))
    return line


def _figures(measured: Latency) -> list[Any]:
    return [figure(measured.at(percent), 1) for percent in _SHOWN]


def _goals(mode: Mode, measured: Latency) -> str:
    return ", ".join(f"p{percent:g} {goal.describe(measured.at(percent))}" for percent, goal in mode.goals.items())


def measure_latency(streams: Streams, source: str, sink: str, rate: int, seconds: int) -> Latency:
    """Return the latency of a running stream. Raises ClickException when rows are missing."""
    warm, count = rate * _WARM_UP_SECONDS, rate * (_WARM_UP_SECONDS + seconds)
    first = streams.next_id(count)
    servers = streams.kafka.servers
    with (
        beginning("kafka_clients", "receive", servers, sink, first, first + warm, first + count - 1) as receiver,
        beginning("kafka_clients", "send", servers, source, rate, count, first) as sender,
    ):
        line(sender)
        result = json.loads(line(receiver))
    if result["lost"]:
        raise click.ClickException(f"{result['lost']} of {count - warm} rows were lost.")
    return Latency(result["millis"])
