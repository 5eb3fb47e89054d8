"""Measure the latency of the first minute of a job that a new engine has just created; no row is left out."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.kafka_latency import MODES, Latency, Mode
from benchmarks.kafka_streams import COLUMNS, EVERY_ROW, PARTITIONS
from benchmarks.processes import beginning, line, started
from benchmarks.reporting import figure, figures, middle, say, table, text

if TYPE_CHECKING:
    from tests.support.servers.kafka import Kafka

_RATE: Final = 1_000
_SHOWN: Final = (50, 99, 100)


def first_minute(kafka: Kafka, seconds: int, rounds: int, names: tuple[str, ...], master: str, memory: str) -> None:
    """Measure each mode with several new engines, and print the medians. names: the modes; none for the first one"""
    say(f"first minute: milliseconds from due time to consumer, {_RATE:,} rows/s for {seconds} s, {rounds} new engines")
    lines: list[tuple[Any, ...]] = []
    _measure(kafka, "warm", MODES["0ms"], 1, master, memory)  # the broker makes its topics for transactions
    for name in names or ("0ms",):
        measured = []
        for number in range(rounds):
            measured.append(_measure(kafka, f"{name}-{number}", MODES[name], seconds, master, memory))
            say(", ".join(f"p{percent} {measured[-1].at(percent):.0f}" for percent in _SHOWN))
        middles = (middle([each.at(percent) for each in measured]) for percent in _SHOWN)
        lines.append((MODES[name].name, *(figure(each, 0) for each in middles)))
    table((text("mode"), *figures("p50", "p99", "maximum")), lines)


def _measure(kafka: Kafka, name: str, mode: Mode, seconds: int, master: str, memory: str) -> Latency:
    source, sink = (kafka.topic(f"first-{kind}-{name}", PARTITIONS) for kind in ("source", "sink"))
    count = _RATE * seconds
    with (
        tempfile.TemporaryDirectory(prefix="jetsql-bench-") as folder,
        started("kafka_engine", Path(folder) / "home", master, memory, *_statements(kafka, source, sink, mode)),
        beginning("kafka_clients", "receive", kafka.servers, sink, 0, 0, count - 1) as receiver,
        beginning("kafka_clients", "send", kafka.servers, source, _RATE, count, 0) as sender,
    ):
        line(sender)
        return Latency(json.loads(line(receiver))["millis"])


def _statements(kafka: Kafka, source: str, sink: str, mode: Mode) -> tuple[str, ...]:
    return (
        f"CREATE TABLE source ({COLUMNS}) {kafka.options(source, value_format='json')}",
        f"CREATE TABLE sink ({EVERY_ROW.columns}) {kafka.options(sink, value_format='json')}",
        f"CREATE JOB j OPTIONS ({mode.job}) AS INSERT INTO sink {EVERY_ROW.text.format(source='STREAM source')}",
    )
