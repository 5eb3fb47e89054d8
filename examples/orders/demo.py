"""The story of `make demo-orders`: orders come through Kafka, broken and late ones among them; one job keeps totals,
exactly once, another gives out alerts within milliseconds. One is suspended, and Kafka dies and comes back.

At the end everything is compared with what was sent, by another client of Kafka and pandas, and the program ends with 1
if it differs.
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
from examples.story import ROOT, Show, Story, heading, say, told
from examples.verdict import Verdict, report, verdict
from jetsql.settings import Settings
from tools.broker import Broker, BrokerFailed, running
from tools.topics import Message, read

FOLDER = Path(__file__).parent
PARTS = 3
RATE = 400.0
# The job in real-time mode holds one for each partition of its topic, all the time; the others are the other job's.
CORES = 4
PARTITIONS = 2

Parts = Sequence[Sequence[Sent]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo. Returns its exit code, see `told`."""
    flags = argparse.ArgumentParser(description="Orders through Kafka: totals exactly once, alerts at once.")
    flags.add_argument("--orders", type=int, default=9_000, help="messages to send [9000], not fewer")
    flags.add_argument("--home", type=Path, help="an empty folder [build/demo-orders, which is wiped at the start]")
    given = flags.parse_args(arguments)
    if given.orders < 9_000:
        flags.error("--orders takes 9000 or more: in fewer none comes too late")
    return told(flags, given.home, ROOT / "build" / "demo-orders", lambda home: run(home, given.orders))


def run(home: Path, count: int) -> int:
    say("Starting a Kafka broker and Spark (the first time, their packages are fetched) ...")
    settings = Settings(
        home=home / "engine", master=f"local[{CORES}]", kafka=True, spark_conf={"spark.sql.shuffle.partitions": "2"}
    )
    try:
        with running(Broker) as broker, jetsql.open(settings=settings) as engine:
            story = Story(engine, FOLDER, {"servers": broker.servers})
            parts = parts_of(count)
            tell(story, broker, parts, RATE)
            return check(story, broker, parts)
    except BrokerFailed as error:
        say(str(error))
        return 3


def parts_of(count: int) -> Parts:
    sizes = [count // PARTS] * PARTS
    before = [0, *accumulate(sizes)]
    return [list(made_up(size, part, before[part])) for part, size in enumerate(sizes)]


def tell(story: Story, broker: Broker, parts: Parts, rate: float | None, partitions: int = PARTITIONS) -> None:
    """rate: messages a second, None for as fast as it goes."""
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
        say(f"\n{len(messages):,} messages are sent" + (f", {rate:.0f} a second ..." if rate else " ..."))
        send(broker.servers, "orders", messages, rate)

    story.chapter("Orders come in")
    orders(first)
    story.wait(["totals"])
    story.sql("SHOW JOBS")

    story.chapter("totals is suspended; orders keep coming, and the alerts go on")
    story.sql("SUSPEND JOB totals")
    orders(second)
    story.sql("SELECT count(*) AS alerts, max_by(id, _offset) AS newest FROM alerts")
    story.sql("SHOW JOBS")
    story.sql("RESUME JOB totals")
    story.wait(["totals"])

    story.chapter("Kafka is killed, as by a power cut, and comes back; the jobs wait for it")
    orders(third[: len(third) // 2])
    broker.kill()
    say("\nKafka is gone. It is started again ...")
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
    """Compare everything with what was sent. Returns 1 when something differs."""
    heading("Is it right? Compared with what was sent, read by another client (read_committed)")
    orders = expected.orders_of(parts)
    in_totals, in_alerts = read(broker.servers, "totals"), read(broker.servers, "alerts")
    code = report([*verdicts(orders, in_totals, in_alerts), letters(orders, story)])
    late = int(orders.table["too_late"].sum())
    alerts = expected.by_order(in_alerts)
    again = len(in_alerts) - len(alerts)
    say(
        f"\n{len(orders.table):,} orders were sent, and {len(orders.broken):,} messages that were none. {late:,} orders"
        " came too late: their minute was\nclosed, so no total has them. Alerts are delivered at least once:"
        f" {again} of {len(in_alerts):,} came again."
    )
    return code


def verdicts(orders: Orders, in_totals: Sequence[Message], in_alerts: Sequence[Message]) -> Iterator[Verdict]:
    totals = expected.in_topic(in_totals)
    yield verdict("totals by customer and minute, none written twice", expected.totals(orders), totals)
    yield verdict("alerts by order", expected.large(orders), expected.by_order(in_alerts))


def letters(orders: Orders, story: Story) -> Verdict:
    found = story.rows("SELECT decode(value, 'UTF-8'), count(*) FROM broken_orders GROUP BY value")
    return verdict("broken_orders by message", expected.broken(orders), found)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
