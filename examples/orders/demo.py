"""The demo of `make demo-orders`: two jobs read orders from Kafka, some of which are broken or late.

One job writes totals exactly once, the other sends alerts within milliseconds. The first is suspended and resumed, and
Kafka is killed and restarted. At the end another Kafka client and pandas compare the topics with the messages that were
sent; the demo exits with 1 if they differ.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import jetsql
from examples.orders import expected
from examples.orders.expected import Orders
from examples.orders.producer import Sent, made_up, send
from examples.story import ROOT, Show, Story, heading, run_demo, say
from examples.verdict import Verdict, report, verdict
from jetsql.settings.engine_settings import Settings
from tools.broker import Broker, BrokerFailed, running
from tools.topics import Message, read

FOLDER = Path(__file__).parent
PARTS = 3
RATE = 400.0
# The job in real-time mode occupies a core for each partition of its topic; the other job uses the others.
CORES = 4
PARTITIONS = 2

Parts = Sequence[Sequence[Sent]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo. Returns its exit code, see `run_demo`."""
    flags = argparse.ArgumentParser(
        description="Orders through Kafka: totals exactly once, alerts within milliseconds."
    )
    flags.add_argument("--orders", type=int, default=9_000, help="messages to send, at least 9000 [9000]")
    flags.add_argument(
        "--home", type=Path, help="an empty folder for all files [build/demo-orders, emptied at the start]"
    )
    given = flags.parse_args(arguments)
    if given.orders < 9_000:
        flags.error("--orders must be at least 9000: with fewer messages no order is late")
    return run_demo(flags, given.home, ROOT / "build" / "demo-orders", lambda home: run(home, given.orders))


def run(home: Path, count: int) -> int:
    """Run the demo with its files in `home`. Returns its exit code."""
    say("Starting a Kafka broker and Spark (the first start downloads their packages) ...")
    settings = Settings(
        home=home / "engine", master=f"local[{CORES}]", kafka=True, spark_conf={"spark.sql.shuffle.partitions": "2"}
    )
    try:
        with running(Broker) as broker, jetsql.open(settings=settings) as engine:
            story = Story(engine, FOLDER, {"servers": broker.servers})
            parts = parts_of(count)
            narrate(story, broker, parts, RATE)
            return check(story, broker, parts)
    except BrokerFailed as error:
        say(str(error))
        return 3


def parts_of(count: int) -> Parts:
    """Return about `count` messages in parts of the same size."""
    sizes = [count // PARTS] * PARTS
    before = [0, *accumulate(sizes)]
    return [list(made_up(size, part, before[part])) for part, size in enumerate(sizes)]


def narrate(story: Story, broker: Broker, parts: Parts, rate: float | None, partitions: int = PARTITIONS) -> None:
    """Run all chapters but the check. rate: messages a second, or None for no limit."""
    first, second, third = parts

    story.chapter("Topics and tables (setup.sql)")
    broker.topic("orders", partitions)
    broker.topic("totals", partitions, cleanup_policy="compact")
    broker.topic("alerts", 1)
    say(f"\nKafka is at {broker.servers}. It has the topics orders, totals (compacted) and alerts.")
    story.file("setup.sql", Show.STATEMENTS)

    story.chapter("Two jobs (jobs.sql)")
    story.file("jobs.sql")

    def orders(messages: Sequence[Sent]) -> None:
        say(f"\nSending {len(messages):,} messages" + (f", {rate:.0f} per second ..." if rate else " ..."))
        send(broker.servers, "orders", messages, rate)

    story.chapter("Orders arrive")
    orders(first)
    story.wait(["totals"])
    story.sql("SHOW JOBS")

    story.chapter("totals is suspended; orders keep arriving, and the job alerts continues")
    story.sql("SUSPEND JOB totals")
    orders(second)
    story.sql("SELECT count(*) AS alerts, max_by(id, _offset) AS newest FROM alerts")
    story.sql("SHOW JOBS")
    story.sql("RESUME JOB totals")
    story.wait(["totals"])

    story.chapter("Kafka is killed, as by a power failure, and restarted; the jobs wait for it")
    orders(third[: len(third) // 2])
    broker.kill()
    say("\nKafka is killed. Starting it again ...")
    broker.start()
    orders(third[len(third) // 2 :])
    story.wait(["totals", "alerts"])
    story.sql("SHOW JOBS")

    story.chapter("Results (results.sql)")
    story.file("results.sql")

    story.chapter("The jobs are dropped; topics and tables stay")
    story.sql("DROP JOB totals; DROP JOB alerts", Show.STATEMENTS)
    story.sql("SHOW ALL JOBS")


def check(story: Story, broker: Broker, parts: Parts) -> int:
    """Compare topics and tables with the sent messages. Returns 1 if something differs, otherwise 0."""
    heading("Check: topics are compared with the sent messages, by another client (read_committed)")
    orders = expected.orders_of(parts)
    in_totals, in_alerts = read(broker.servers, "totals"), read(broker.servers, "alerts")
    code = report([*verdicts(orders, in_totals, in_alerts), dead_letters(orders, story)])
    late = int(orders.table["too_late"].sum())
    alerts = expected.by_order(in_alerts)
    repeated = len(in_alerts) - len(alerts)
    say(
        f"\n{len(orders.table):,} orders and {len(orders.broken):,} broken messages were sent. {late:,} orders arrived"
        " after their minute was closed,\nso they are in no total. Alerts are delivered at least once:"
        f" {repeated} of {len(in_alerts):,} were delivered again."
    )
    return code


def verdicts(orders: Orders, in_totals: Sequence[Message], in_alerts: Sequence[Message]) -> Iterator[Verdict]:
    """Yield the verdicts on the two topics."""
    totals = expected.in_topic(in_totals)
    yield verdict("totals by customer and minute, none written twice", expected.totals(orders), totals)
    yield verdict("alerts by order", expected.large(orders), expected.by_order(in_alerts))


def dead_letters(orders: Orders, story: Story) -> Verdict:
    """Return the verdict on the dead-letter table."""
    rows = story.rows("SELECT decode(value, 'UTF-8'), count(*) FROM broken_orders GROUP BY value")
    return verdict("broken_orders by message", expected.broken(orders), rows)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
