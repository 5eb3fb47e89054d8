"""Measure the time without rows when an engine under load is killed with -9 and another one starts immediately."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.kafka_latency import MODES, Mode
from benchmarks.kafka_streams import COLUMNS, EVERY_ROW, PARTITIONS
from benchmarks.processes import beginning, kill, line, started
from benchmarks.reporting import figure, figures, say, table, text

if TYPE_CHECKING:
    from tests.support.servers.kafka import Kafka

_BEFORE_SECONDS: Final = 20
_RATE: Final = 1_000
_MODES: Final = ("1s", "async", "realtime-60s")


def recovery(kafka: Kafka, seconds: int, master: str, memory: str) -> None:
    """Measure each mode. Rows are sent for 20 s before the kill and for some seconds after it."""
    say(f"recovery: kill -9 under {_RATE:,} rows/s, and an immediate start of another engine")
    lines = [(MODES[name].name, *_measure(kafka, name, MODES[name], seconds, master, memory)) for name in _MODES]
    columns = figures("s to the engine", "s without rows", "rows lost", "rows twice")
    table((text("mode"), *columns), lines)


def _measure(kafka: Kafka, name: str, mode: Mode, seconds: int, master: str, memory: str) -> list[object]:
    source = kafka.topic(f"recovery-{name}", PARTITIONS)
    sink = kafka.topic(f"recovered-{name}", PARTITIONS)
    last = _RATE * (_BEFORE_SECONDS + seconds) - 1
    statements = (
        f"CREATE TABLE source ({COLUMNS}) {kafka.options(source, value_format='json')}",
        f"CREATE TABLE sink ({EVERY_ROW.columns}) {kafka.options(sink, value_format='json')}",
        f"CREATE JOB j OPTIONS ({mode.job}) AS INSERT INTO sink {EVERY_ROW.text.format(source='STREAM source')}",
    )
    with tempfile.TemporaryDirectory(prefix="jetsql-bench-") as folder:
        engine = (Path(folder) / "home", master, memory)
        with started("kafka_engine", *engine, *statements) as first:
            with (
                beginning("kafka_clients", "receive", kafka.servers, sink, 0, 0, last) as receiver,
                beginning("kafka_clients", "send", kafka.servers, source, _RATE, last + 1, 0) as sender,
            ):
                time.sleep(_BEFORE_SECONDS)
                kill(first)
                killed = time.perf_counter()
                with started("kafka_engine", *engine):
                    up = time.perf_counter() - killed
                    line(sender)
                    result = json.loads(line(receiver))
    return [figure(up, 1), figure(result["gap"], 1), result["lost"], result["twice"]]
