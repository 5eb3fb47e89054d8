"""Changes of a refused body's text. Which of them is offered is decided by the engine, see `test_refusals`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetsql.errors import StatementError
from jetsql.language import parse
from jetsql.language.body.query_edits import changed_texts
from jetsql.language.statement import Body, CreateJob

TIMES: Final = {"orders": ("made", "ts"), "a.b": ("ts",), "`my orders`": ("the time",), "dim": ()}
DELAY: Final = "DELAY OF INTERVAL 1 MINUTE"


def body(text: str) -> Body:
    statement = parse(f"CREATE JOB j AS {text}")
    assert isinstance(statement, CreateJob)
    return statement.body


def times(name: str) -> Sequence[str]:
    return TIMES.get(name, ())


def texts(text: str) -> list[str]:
    return [changed.text for changed in changed_texts(body(text), times)]


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("INSERT INTO t SELECT 1", "INSERT OVERWRITE t SELECT 1"),
        ("INSERT INTO t SELECT 1", "SINK INTO t SELECT 1"),
        ("insert  into t SELECT 1", "INSERT OVERWRITE t SELECT 1"),
        ("SINK INTO t SELECT 1", "INSERT INTO t SELECT 1"),
        ("WITH o AS (SELECT 1) INSERT INTO t SELECT 1", "WITH o AS (SELECT 1) INSERT OVERWRITE t SELECT 1"),
        (
            "INSERT INTO t SELECT ts FROM STREAM orders o",
            f"INSERT INTO t SELECT ts FROM STREAM orders WATERMARK ts {DELAY} o",
        ),
        (
            "INSERT INTO t SELECT 1 FROM STREAM orders",
            f"INSERT INTO t SELECT 1 FROM STREAM orders WATERMARK made {DELAY}",
        ),
        ("INSERT INTO t SELECT 1 FROM STREAM a . b", f"INSERT INTO t SELECT 1 FROM STREAM a . b WATERMARK ts {DELAY}"),
        (
            "INSERT INTO t SELECT 1 FROM STREAM `my orders` WITH (x = 1) AS o",
            f"INSERT INTO t SELECT 1 FROM STREAM `my orders` WITH (x = 1) WATERMARK `the time` {DELAY} AS o",
        ),
        (
            "INSERT INTO t SELECT 1 FROM dim JOIN STREAM orders FOR SYSTEM_TIME AS OF x.ts AS o",
            f"INSERT INTO t SELECT 1 FROM dim JOIN STREAM orders FOR SYSTEM_TIME AS OF x.ts WATERMARK ts {DELAY} AS o",
        ),
        ("INSERT INTO t SELECT 1 FROM orders", "INSERT INTO t SELECT 1 FROM STREAM orders"),
        ("INSERT INTO t SELECT ts FROM orders", f"INSERT INTO t SELECT ts FROM STREAM orders WATERMARK ts {DELAY}"),
        ("INSERT INTO t SELECT 1 FROM a ORDER BY 1", "INSERT INTO t SELECT 1 FROM a"),
        (
            "FROM STREAM a INSERT INTO t SELECT 1 ORDER BY x INSERT INTO u SELECT 2 ORDER BY y",
            "FROM STREAM a INSERT INTO t SELECT 1 INSERT INTO u SELECT 2",
        ),
        ("INSERT INTO t SELECT 1 FROM a FULL OUTER JOIN b", "INSERT INTO t SELECT 1 FROM a LEFT OUTER JOIN b"),
        (
            "INSERT INTO t SELECT 1 FROM a ASOF JOIN b MATCH_CONDITION (a.x < f(b.y)) ON a.k = b.k",
            "INSERT INTO t SELECT 1 FROM a ASOF JOIN b MATCH_CONDITION (a.x > f(b.y)) ON a.k = b.k",
        ),
    ],
)  # fmt: skip
def test_a_text_is_changed(text: str, changed: str) -> None:
    assert changed in texts(text)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (f"INSERT INTO t SELECT 1 FROM STREAM orders WATERMARK ts {DELAY}", "WATERMARK made"),
        ("INSERT INTO t SELECT 1 FROM STREAM dim", "WATERMARK"),
        ("INSERT INTO t SELECT 'FROM STREAM orders' -- FROM STREAM orders", "WATERMARK"),
        ("WITH dim AS (SELECT 1) INSERT INTO t SELECT 1 FROM dim", "STREAM"),
        ("INSERT INTO t SELECT 1 FROM range(5)", "STREAM"),
        ("INSERT INTO t SELECT 1 FROM (SELECT 1) WHERE 1 IS DISTINCT FROM a", "STREAM"),
        ("AUTO CDC INTO t FROM STREAM a KEYS (id) SEQUENCE BY n STORED AS SCD TYPE 1", "INSERT"),
        ("INSERT INTO t SELECT 1 FROM a LEFT SEMI JOIN b", "RIGHT"),
    ],
)
def test_a_text_is_not_changed(text: str, word: str) -> None:
    assert not [changed for changed in texts(text) if word in changed.replace(text, "")]


def test_an_order_before_a_limit_stays() -> None:
    assert all("ORDER BY 1 LIMIT 5" in text for text in texts("INSERT INTO t SELECT 1 FROM a ORDER BY 1 LIMIT 5"))


def test_few_changes_come_first() -> None:
    found = list(changed_texts(body("INSERT OVERWRITE t SELECT ts FROM STREAM orders ORDER BY ts"), times))
    meanings = [changed.meaning for changed in found]
    assert meanings[0] == "with WATERMARK ts for orders"
    assert [meaning.count(", and with") for meaning in meanings] == sorted(
        meaning.count(", and with") for meaning in meanings
    )
    assert found[-1].text == f"INSERT INTO t SELECT ts FROM STREAM orders WATERMARK made {DELAY}"


WORDS: Final = (
    *"FROM JOIN STREAM orders dim . , ( ) WITH AS WATERMARK LEFT OUTER ORDER BY LIMIT MATCH_CONDITION < >= x".split(),
    *"'a' DISTINCT FOR SYSTEM_TIME OF INSERT INTO SELECT".split(),
    "`my orders`",
)


@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_every_text_can_be_read(words: list[str]) -> None:
    text = f"INSERT INTO t SELECT {' '.join(words)}"
    try:
        read = body(text)
    except StatementError:
        return
    for changed, _ in zip(changed_texts(read, times), range(20), strict=False):
        assert changed.text != text and changed.meaning
