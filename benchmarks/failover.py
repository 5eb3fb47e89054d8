"""Measure the time without rows when a standby takes over, and compare it with a restart of the same engine.

A job copies 1,000 rows a second from Kafka to Kafka, exactly once, in batches of a second. In each round the leader is
killed with -9, or stopped with `jetsql stop`, or killed without a standby and started again immediately. The time is
the longest one without rows for a reader of committed messages. The median of the rounds counts.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from benchmarks.kafka_streams import COLUMNS, EVERY_ROW, PARTITIONS
from benchmarks.processes import beginning, line
from benchmarks.reporting import figure, figures, introduce, middle, say, table, text

if TYPE_CHECKING:
    from tests.support.engines.service_engine import ServiceEngine
    from tests.support.servers.kafka import Kafka
    from tests.support.servers.postgres import Postgres

_RATE: Final = 1_000
_BEFORE_SECONDS: Final = 12
_START_SECONDS: Final = 120.0
_OPTIONS: Final = "'processingGuarantee' = 'exactlyOnce', 'snapshotIntervalMillis' = '1000'"


@dataclass(frozen=True)
class Outcome:
    """The result of one round."""

    seconds: float
    """The longest time without rows."""
    lost: int
    """The number of rows that did not arrive."""
    twice: int
    """The number of rows that arrived again."""


class Flow:
    """The job, and the numbered rows that flow through it."""

    def __init__(self, kafka: Kafka, engine: ServiceEngine, seconds: int) -> None:
        self._kafka = kafka
        self._seconds = seconds
        self._source, self._sink = kafka.topic("source", PARTITIONS), kafka.topic("sink", PARTITIONS)
        self._first = 0
        for statement in (
            f"CREATE TABLE source ({COLUMNS}) {kafka.options(self._source, value_format='json')}",
            f"CREATE TABLE sink ({EVERY_ROW.columns}) {kafka.options(self._sink, value_format='json')}",
            f"CREATE JOB j OPTIONS ({_OPTIONS}) AS INSERT INTO sink {EVERY_ROW.text.format(source='STREAM source')}",
        ):
            engine("-e", statement)

    def measure(self, act: Callable[[], object]) -> Outcome:
        """Let rows flow, and act after some seconds."""
        first, count = self._first, _RATE * (_BEFORE_SECONDS + self._seconds)
        self._first += count
        servers = self._kafka.servers
        with (
            beginning("kafka_clients", "receive", servers, self._sink, first, first, first + count - 1) as receiver,
            beginning("kafka_clients", "send", servers, self._source, _RATE, count, first) as sender,
        ):
            time.sleep(_BEFORE_SECONDS)
            act()
            line(sender)
            result = json.loads(line(receiver))
        return Outcome(result["gap"], result["lost"], result["twice"])


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Rounds of each event.")
@click.option("--seconds", type=click.IntRange(10), default=20, show_default=True, help="Seconds after each event.")
def main(rounds: int, seconds: int) -> None:
    """Measure the time without rows when a standby takes over, and compare it with a restart of the same engine."""
    introduce("failover", f"{_RATE:,} rows/s, Kafka to Kafka, exactly once, batches of 1 s; {rounds} rounds")
    with _pair(seconds) as (first, second, flow):
        outcomes = {
            "kill -9, with a standby": [_take_over(flow, first, second, "kill", at) for at in range(rounds)],
            "stop, with a standby": [_take_over(flow, first, second, "stop", rounds + at) for at in range(rounds)],
        }
        leader, other = _roles(first, second)
        other("stop")
        outcomes["kill -9, started again"] = [flow.measure(lambda: _restart(leader)) for _ in range(rounds)]
    columns = figures("s without rows", "worst", "rows lost", "rows twice")
    table((text("event"), *columns), [_line(event, results) for event, results in outcomes.items()])


def _line(event: str, outcomes: list[Outcome]) -> list[object]:
    seconds = [outcome.seconds for outcome in outcomes]
    lost, twice = sum(outcome.lost for outcome in outcomes), sum(outcome.twice for outcome in outcomes)
    return [event, figure(middle(seconds), 2), figure(max(seconds), 2), lost, twice]


def _take_over(flow: Flow, first: ServiceEngine, second: ServiceEngine, event: str, number: int) -> Outcome:
    leader, standby = _roles(first, second)
    outcome = flow.measure(leader.kill if event == "kill" else lambda: leader("stop"))
    if standby.role != "leader":
        raise click.ClickException(f"The standby does not lead; see {standby.home}/engine.log.")
    leader("start")
    say(f"round {number + 1}, {event}: {outcome.seconds:.2f} s, {outcome.lost} lost, {outcome.twice} twice")
    return outcome


def _restart(engine: ServiceEngine) -> None:
    engine.kill()
    engine("start")


def _roles(first: ServiceEngine, second: ServiceEngine) -> tuple[ServiceEngine, ServiceEngine]:
    """Return the leader and the standby, when the standby is warm."""
    until = time.monotonic() + _START_SECONDS
    while {first.role, second.role} != {"leader", "standby"} or not (first.is_warm or second.is_warm):
        if time.monotonic() > until:
            raise click.ClickException(f"The engines have the roles {first.role} and {second.role}.")
        time.sleep(0.5)
    return (first, second) if first.role == "leader" else (second, first)


@contextmanager
def _pair(seconds: int) -> Iterator[tuple[ServiceEngine, ServiceEngine, Flow]]:
    from tests.support.engines.service_engine import ServiceEngine, share_token
    from tests.support.servers.kafka import running_kafka
    from tests.support.servers.postgres import USER, running_postgres

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jetsql-bench-")))
        server: Postgres = stack.enter_context(running_postgres())
        kafka = stack.enter_context(running_kafka())
        settings = {
            "store": f"postgresql://{USER}@127.0.0.1:{server.port}/postgres?schema=pair",
            "store_password": "secret:env:STORE_PASSWORD",
            "catalog": "postgresql",
            "storage": str(folder / "shared"),
            "kafka": "true",
        }
        first, second = (ServiceEngine(folder / name, **settings) for name in ("first", "second"))
        for engine in (first, second):
            stack.callback(engine.kill)
        share_token(first, second)
        first("start")
        second("start")
        yield first, second, Flow(kafka, first, seconds)


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.failover")
