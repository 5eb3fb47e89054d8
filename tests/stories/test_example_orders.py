"""The example with Kafka: its messages and the rows of its tables, with made-up messages; and a short run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from examples import verdict
from examples.orders import expected, producer
from examples.orders.producer import Sent
from examples.verdict import Facts
from tools.topics import Message

if TYPE_CHECKING:
    from tests.conftest import Sql
    from tests.support.servers.kafka import Kafka


def sent(number: int, at: str, **more: object) -> Sent:
    order = {"id": number, "customer": "Ada", "amount": 10.5, "ts": f"2026-03-02T{at}+00:00"} | more
    return Sent(str(number).encode(), json.dumps({k: v for k, v in order.items() if v is not None}).encode())


def total(orders: int, amount: str, customer: str = "Ada") -> Message:
    key = {"customer": customer, "minute": "2026-03-02T09:00:00.000000Z"}
    value = json.dumps(key)[:-1] + f', "orders": {orders}, "total": {amount}}}'
    return Message(json.dumps(key).encode(), value.encode())


NINE = 1_772_442_000


def test_messages_are_always_the_same_and_of_all_kinds() -> None:
    parts = [list(producer.made_up(3_000, part, 3_000 * part)) for part in (0, 1)]
    assert parts[1] == list(producer.made_up(3_000, 1, 3_000))
    orders = expected.orders_of(parts)
    assert len(orders.table) + len(orders.broken) == 6_000
    assert len({message[:1] for message in orders.broken}) == 2  # objects and arrays
    counted = orders.table.groupby("part")["too_late"].sum()
    assert (counted[0], counted[1] > 10) == (0, True)
    assert {expected.UNKNOWN, *producer.CUSTOMERS} == set(orders.table["customer"])


def test_totals_include_orders_without_amount_and_exclude_late_ones() -> None:
    first = [sent(1, "09:00:10.5"), sent(2, "09:00:59", amount=None), sent(3, "09:09:00", customer=None)]
    second = [sent(4, "09:00:59"), sent(5, "09:07:00", amount=0.25)]
    orders = expected.orders_of([first, second])
    assert expected.totals(orders) == {
        ("Ada", NINE): (2, 1050, 0),
        ("(unknown)", NINE + 540): (1, 1050, 0),
        ("Ada", NINE + 420): (1, 25, 0),
    }


def test_invalid_and_large_orders() -> None:
    broken = [Sent(b"", text) for text in (b'{"id": 1', b"[1]", sent(2, "09:00:00", amount="a lot").value)]
    orders = expected.orders_of([[*broken, sent(3, "09:00:00", amount=950), sent(4, "09:00:00", amount=949.99)]])
    assert expected.broken(orders) == {(message.value.decode(),): (1,) for message in broken}
    assert expected.large(orders) == {(3,): (95_000,)}


def test_newest_total_counts_and_repeated_ones_are_reported() -> None:
    messages = [total(1, "5.00"), total(2, "7.10"), total(2, "7.10"), total(1, "0.10", "Jun")]
    wanted: Facts = {("Ada", NINE): (2, 710, 0), ("Jun", NINE): (1, 10, 0)}
    found = verdict.verdict("totals", wanted, expected.in_topic(messages))
    assert found.differences == (f"Ada, {NINE}: 2, 710, 1 in the table, 2, 710, 0 in the source",)


def test_repeated_alert_counts_once() -> None:
    alert = Message(b"1", b'{"id": 1, "customer": "Ada", "amount": 951.30}')
    assert expected.by_order([alert, alert]) == [(1, 95_130)]


@pytest.mark.slow
@pytest.mark.spark
def test_the_story_with_few_orders(sql: Sql, kafka: Kafka, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the story on engine and broker of the tests; `make demo-orders` runs it on its own ones."""
    from examples.orders import demo  # here, because it imports PySpark
    from examples.story import Story

    zone = sql.value("SELECT current_timezone()")
    story = Story(sql.engine, demo.FOLDER, {"servers": kafka.servers})
    parts = demo.parts_of(9_000)
    try:
        demo.narrate(story, kafka, parts, rate=None, partitions=1)  # the engine has two cores
        assert demo.check(story, kafka, parts) == 0
    finally:
        sql(f"SET TIME ZONE '{zone}'")
    assert capsys.readouterr().out.count("| same") == 3
