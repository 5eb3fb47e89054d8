"""Streams through Kafka as jobs, beside the same by hand with PySpark, in one engine and on one broker.

    latency    from when a row is due to its consumer, in batches and in real-time mode
    drain      rows a second from a topic through a filter and projection into a topic
    files      the same into files
    counts     a count per user and minute into a keyed topic
    delivery   exactly once beside at least once
    recovery   how long no rows come after kill -9

Without a part, all of them. By hand once with the connector's defaults, once with the settings that tables USING kafka
have. What is compared runs in turn, and a ratio is of runs that stood side by side. All ways have to write the same
rows, or the benchmark fails; into a keyed topic, the same newest row of each key.
"""

from __future__ import annotations

import click

from benchmarks.engines import bench
from benchmarks.kafka_latency import MODES
from benchmarks.reporting import introduce

PARTS = ("latency", "drain", "files", "counts", "delivery", "recovery")


@click.command(help=__doc__)
@click.argument("parts", nargs=-1, type=click.Choice(PARTS))
@click.option("--rows", type=click.IntRange(1000), default=2_000_000, show_default=True, help="In a topic.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Of each way that count.")
@click.option("--seconds", type=click.IntRange(1), default=30, show_default=True, help="That latency is measured.")
@click.option("--rate", "rates", multiple=True, type=click.IntRange(1), default=(1_000, 10_000), help="Rows a second.")
@click.option("--mode", "modes", multiple=True, type=click.Choice(tuple(MODES)), help="Latency of this one only.")
@click.option("--by-hand/--no-by-hand", default=True, help="Whether latency is measured by hand as well.")
@click.option("--master", default="local[*]", show_default=True, help="Spark's master.")
@click.option("--memory", default="2g", show_default=True, help="Of Spark's driver.")
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
    from benchmarks.kafka_latency import latency
    from benchmarks.kafka_recovery import recovery
    from benchmarks.kafka_streams import Streams
    from tests.support.kafka import running_kafka

    introduce("kafka: streams through topics", "one broker beside it, topics of 2 partitions, JSON of 84 bytes")
    drains = {name: getattr(kafka_drain, name) for name in ("drain", "files", "counts", "delivery")}
    asked = parts or PARTS
    with running_kafka() as kafka:
        if set(asked) != {"recovery"}:
            with bench(master, memory) as engine:
                streams = Streams(engine, kafka)
                for part in (each for each in asked if each in drains):
                    drains[part](streams, rows, rounds)
                if "latency" in asked:
                    latency(streams, seconds, rates, modes, by_hand)
        if "recovery" in asked:
            recovery(kafka, seconds, master, memory)


if __name__ == "__main__":
    main()
