"""The expected contents of topics and tables, computed from the sent messages with pandas alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pandas as pd

from examples.orders.producer import Sent
from examples.verdict import Facts
from tools.topics import Message

DELAY = pd.Timedelta(minutes=2)
MINUTE = pd.Timedelta(minutes=1)
UNKNOWN = "(unknown)"
LARGE = 950


@dataclass(frozen=True)
class Orders:
    """The sent messages."""

    table: pd.DataFrame  # id, customer, cents, ts, minute, part, and too_late: not to be counted in totals
    broken: tuple[bytes, ...]  # the messages that are not orders


def orders_of(parts: Sequence[Sequence[Sent]]) -> Orders:
    """Return the sent messages as orders. parts: each was sent after the jobs had read the one before."""
    rows, broken = [], []
    for part, messages in enumerate(parts):
        for message in messages:
            try:
                rows.append({**_order(message.value), "part": part})
            except ValueError:
                broken.append(message.value)
    table = pd.DataFrame(rows)
    table["minute"] = table["ts"].dt.floor("min")
    # The watermark of a part is the newest time of the earlier parts minus the delay.
    newest = table.groupby("part")["ts"].max().cummax().shift(1)
    table["too_late"] = table["minute"] + MINUTE <= table["part"].map(newest) - DELAY
    return Orders(table, tuple(broken))


def _order(value: bytes) -> dict[str, Any]:
    """Return a row of `Orders.table`. Raises ValueError for a message that is not an order."""
    order = json.loads(value, parse_float=Decimal)
    if not isinstance(order, dict) or isinstance(order.get("amount"), str):
        raise ValueError("not an order")
    return {
        "id": order["id"],
        "customer": order.get("customer", UNKNOWN),
        "cents": int(order.get("amount", 0) * 100),
        "ts": pd.Timestamp(order["ts"]),
    }


def totals(orders: Orders) -> Facts:
    """Return by (customer, minute in seconds since 1970): orders, cents, and repeated totals, which must be 0."""
    counted = orders.table[~orders.table["too_late"]]
    groups = counted.groupby(["customer", "minute"])["cents"].agg(["count", "sum"])
    return {(name, int(minute.timestamp())): (n, cents, 0) for (name, minute), n, cents in groups.itertuples(name=None)}


def broken(orders: Orders) -> Facts:
    """Return by (message,): its number of occurrences."""
    return {(value.decode(),): (count,) for value, count in Counter(orders.broken).items()}


def large(orders: Orders) -> Facts:
    """Return by (id,), for the orders that need an alert: cents."""
    alerts = orders.table[orders.table["cents"] >= LARGE * 100]
    return {(number,): (cents,) for number, cents in zip(alerts["id"], alerts["cents"], strict=True)}


def in_topic(messages: Iterable[Message]) -> Iterator[tuple[object, ...]]:
    """Yield the newest totals in a topic: customer, minute, orders, cents, and the number of repeated totals.

    messages: partition by partition. A total that is not repeated counts more orders than the previous one of its key.
    """
    newest: dict[bytes, dict[str, Any]] = {}
    repeated: Counter[bytes] = Counter()
    for message in messages:
        key, total = message.key or b"", json.loads(message.value or b"", parse_float=Decimal)
        repeated[key] += key in newest and total["orders"] <= newest[key]["orders"]
        newest[key] = total
    for key, total in newest.items():
        group = json.loads(key)
        minute = int(pd.Timestamp(group["minute"]).timestamp())
        yield group["customer"], minute, total["orders"], int(total["total"] * 100), repeated[key]


def by_order(messages: Iterable[Message]) -> list[tuple[object, ...]]:
    """Return the alerts in a topic without repetitions: id, cents."""
    alerts = (json.loads(message.value or b"", parse_float=Decimal) for message in messages)
    return sorted({(alert["id"], int(alert["amount"] * 100)) for alert in alerts})
