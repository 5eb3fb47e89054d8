"""What the topics and tables must hold, worked out from the messages that were sent, with pandas alone."""

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
NOBODY = "(nobody)"
LARGE = 950


@dataclass(frozen=True)
class Orders:
    """table: id, customer, cents, ts, minute, part; too_late marks those that no total may count.

    broken: the messages that are no orders.
    """

    table: pd.DataFrame
    broken: tuple[bytes, ...]


def orders_of(parts: Sequence[Sequence[Sent]]) -> Orders:
    """parts: what was sent; each part after the one before it had been read."""
    rows, broken = [], []
    for part, messages in enumerate(parts):
        for message in messages:
            try:
                rows.append({**_order(message.value), "part": part})
            except ValueError:
                broken.append(message.value)
    table = pd.DataFrame(rows)
    table["minute"] = table["ts"].dt.floor("min")
    # A part's messages find the watermark that the parts before it have left: the newest time seen, less the delay.
    newest = table.groupby("part")["ts"].max().cummax().shift(1)
    table["too_late"] = table["minute"] + MINUTE <= table["part"].map(newest) - DELAY
    return Orders(table, tuple(broken))


def _order(value: bytes) -> dict[str, Any]:
    """Raises ValueError for a message that is no order."""
    found = json.loads(value, parse_float=Decimal)
    if not isinstance(found, dict) or isinstance(found.get("amount"), str):
        raise ValueError("no order")
    return {
        "id": found["id"],
        "customer": found.get("customer", NOBODY),
        "cents": int(found.get("amount", 0) * 100),
        "ts": pd.Timestamp(found["ts"]),
    }


def totals(orders: Orders) -> Facts:
    """(customer, minute in seconds since 1970): orders, cents, how many totals were written again: none."""
    counted = orders.table[~orders.table["too_late"]]
    groups = counted.groupby(["customer", "minute"])["cents"].agg(["count", "sum"])
    return {(who, int(when.timestamp())): (n, cents, 0) for (who, when), n, cents in groups.itertuples(name=None)}


def broken(orders: Orders) -> Facts:
    """(message,): how often it is there."""
    return {(value.decode(),): (count,) for value, count in Counter(orders.broken).items()}


def large(orders: Orders) -> Facts:
    """(id,): cents, of the orders that must be told at once."""
    found = orders.table[orders.table["cents"] >= LARGE * 100]
    return {(number,): (cents,) for number, cents in zip(found["id"], found["cents"], strict=True)}


def in_topic(messages: Iterable[Message]) -> Iterator[tuple[object, ...]]:
    """The newest totals in a topic: customer, minute, orders, cents; and how many of that key were written again.

    messages: partition by partition. A total that is written once counts more orders than the one of its key before.
    """
    newest: dict[bytes, dict[str, Any]] = {}
    again: Counter[bytes] = Counter()
    for message in messages:
        key, found = message.key or b"", json.loads(message.value or b"", parse_float=Decimal)
        again[key] += key in newest and found["orders"] <= newest[key]["orders"]
        newest[key] = found
    for key, found in newest.items():
        who = json.loads(key)
        minute = int(pd.Timestamp(who["minute"]).timestamp())
        yield who["customer"], minute, found["orders"], int(found["total"] * 100), again[key]


def by_order(messages: Iterable[Message]) -> list[tuple[object, ...]]:
    """The alerts in a topic: id, cents; each once, since they may be there more than once."""
    found = (json.loads(message.value or b"", parse_float=Decimal) for message in messages)
    return sorted({(alert["id"], int(alert["amount"] * 100)) for alert in found})
