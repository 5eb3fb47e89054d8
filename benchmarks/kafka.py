"""Compare streams through Kafka as jobs with the same streams written by hand with PySpark.

    latency    the time from a row's due time to its consumer, in batches and in real-time mode
    drain      rows per second from a topic through a filter and projection to a topic
    files      the same to files
    counts     a count per user and minute to a keyed topic
    delivery   exactly once compared with at least once
    recovery   the time without rows after kill -9
    minute     the latency of a job in the minute after a new engine has created it

Without an argument, all parts run, in one engine and on one broker. By hand, a stream runs with the connector's
defaults and with the settings of tables USING kafka. The variants run in turn, and each ratio compares runs of the same
round. The benchmark fails unless all variants write the same rows; in a keyed topic, the same newest row of each key.
"""

from __future__ import annotations

import click

from benchmarks.engines import bench
from benchmarks.kafka_latency import MODES
from benchmarks.reporting import introduce

PARTS = ("latency", "drain", "files", "counts", "delivery", "recovery", "minute")


@click.command(help=__doc__)
@click.argument("parts", nargs=-1, type=click.Choice(PARTS))
@click.option("--rows", type=click.IntRange(1000), default=2_000_000, show_default=True, help="Rows of a topic.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Measured rounds.")
@click.option("--seconds", type=click.IntRange(1), default=30, show_default=True, help="Measured time of each latency.")
@click.option(
    "--rate", "rates", multiple=True, type=click.IntRange(1), default=(1_000, 10_000), help="Rows per second."
)
@click.option("--mode", "modes", multiple=True, type=click.Choice(tuple(MODES)), help="Latency of this mode only.")
@click.option("--by-hand/--no-by-hand", default=True, help="Whether to measure latency by hand, too.")
@click.option("--master", default="local[*]", show_default=True, help="Spark's master.")
@click.option("--memory", default="2g", show_default=True, help="Memory of Spark's driver.")
def main(
    parts: tuple[str, ...],
    rows: int,
    rounds: int,
    seconds: int,
    rates: tuple[int, ...],
    modes: tuple[str, ...],
    by_hand: bool,
    master: str,
    memory: str,
) -> None:
    from benchmarks import kafka_drain
    from benchmarks.kafka_first_minute import first_minute
    from benchmarks.kafka_latency import latency
    from benchmarks.kafka_recovery import recovery
    from benchmarks.kafka_streams import Streams
    from tests.support.servers.kafka import running_kafka

    introduce("kafka: streams through topics", "one local broker, topics of 2 partitions, JSON of 84 bytes")
    drains = {name: getattr(kafka_drain, name) for name in ("drain", "files", "counts", "delivery")}
    selected = parts or PARTS
    with running_kafka() as kafka:
        if not set(selected) <= {"recovery", "minute"}:
            with bench(master, memory) as engine:
                streams = Streams(engine, kafka)
                for part in (each for each in selected if each in drains):
                    drains[part](streams, rows, rounds)
                if "latency" in selected:
                    latency(streams, seconds, rates, modes, by_hand)
        if "recovery" in selected:
            recovery(kafka, seconds, master, memory)
        if "minute" in selected:
            first_minute(kafka, seconds, rounds, modes, master, memory)


if __name__ == "__main__":
    main()
