"""Refused queries: each hint is followed, and leads to a query that is accepted.

A hint contains the user's own query, changed so that it is accepted, or says in general what to write.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.conftest import Sql

pytestmark = pytest.mark.spark

DELAY: Final = "DELAY OF INTERVAL 1 MINUTE"
ORDERS: Final = f"STREAM orders WATERMARK ts {DELAY}"
RATES: Final = f"STREAM rates WATERMARK at {DELAY}"
COLUMNS: Final = "SELECT o.id, o.ts, r.rate, r.at"
IN_TIME: Final = "r.k = o.k AND r.at BETWEEN o.ts AND o.ts + INTERVAL 1 HOUR"
BOUND: Final = "and bound the time"


class Refusal(NamedTuple):
    """A refused body, words of the hint or the message, and the body that follows it."""

    body: str
    advice: str
    followed: str


def changed(body: str, *changes: tuple[str, str], advice: str = "This is possible, with") -> Refusal:
    """Return a refusal whose hint has the body with the changes."""
    followed = body
    for old, new in changes:
        assert old in followed
        followed = followed.replace(old, new, 1)
    return Refusal(body, advice, followed)


INTO, OVERWRITE = "INSERT INTO", "INSERT OVERWRITE"
WITH_ORDERS: Final = ("STREAM orders", ORDERS)
WITH_RATES: Final = ("STREAM rates", RATES)
COUNTS: Final = "INSERT INTO counts SELECT k, count(*) FROM STREAM orders GROUP BY k"
SORTED: Final = "INSERT INTO ids SELECT id FROM STREAM orders ORDER BY id"
TEMPORAL: Final = f"INSERT INTO dated {COLUMNS} FROM STREAM orders AS o JOIN STREAM rates FOR SYSTEM_TIME AS OF o.ts"
AS_OF: Final = "FROM STREAM orders AS o ASOF JOIN STREAM rates AS r MATCH_CONDITION (o.ts >= r.at) ON o.k = r.k"
ASOF: Final = f"INSERT INTO dated {COLUMNS} {AS_OF}".replace(*WITH_ORDERS).replace(*WITH_RATES)
JOINED: Final = f"INSERT INTO dated {COLUMNS} FROM {ORDERS} AS o JOIN STREAM rates FOR SYSTEM_TIME AS OF o.ts"
VERSIONS: Final = f"WATERMARK at {DELAY} AS r ON o.k = r.k"

ESSENTIAL: Final = [
    changed(COUNTS, (INTO, OVERWRITE), advice="with INSERT OVERWRITE, which replaces the table with each result"),
    changed(f"{COUNTS}, window(ts, '1 minute')", WITH_ORDERS, advice="with WATERMARK ts for orders:"),
    changed(f"INSERT INTO dated {COLUMNS} {AS_OF}", WITH_ORDERS, WITH_RATES, advice="WATERMARK at for rates"),
    changed(ASOF.replace(">=", "<="), ("<=", ">="), advice="which joins the newest row up to each time"),
    *(
        changed(
            f"{JOINED.replace('AS o JOIN', f'AS o {side} JOIN')} {VERSIONS}",
            (side.split()[0], "LEFT"),
            advice="which keeps all rows of the left side",
        )
        for side in ("RIGHT", "FULL OUTER")
    ),
]
"""The refusals of joins by time, and two others."""

OTHERS: Final = [
    changed(f"INSERT OVERWRITE dated {COLUMNS} {AS_OF}", (OVERWRITE, INTO), WITH_ORDERS, WITH_RATES),
    changed(ASOF.replace("o.ts >= r.at", "r.at > o.ts"), ("r.at >", "r.at <")),
    Refusal(f"{ASOF} AND o.id > r.rate", "ON takes equal columns", f"{ASOF} AND r.rate > 3"),
    Refusal(f"{ASOF.replace('ASOF', 'LEFT ASOF')} AND o.id > 3", "ON takes equal columns", f"{ASOF} AND r.rate > 3"),
    changed(f"{TEMPORAL} AS r ON o.k = r.k", WITH_ORDERS, ("AS OF o.ts", f"AS OF o.ts WATERMARK at {DELAY}")),
    changed(
        f"{TEMPORAL.replace('STREAM rates', 'rates')} AS r ON o.k = r.k",
        WITH_ORDERS,
        ("rates", "STREAM rates"),
        ("AS OF o.ts", f"AS OF o.ts WATERMARK at {DELAY}"),
    ),
    changed("INSERT OVERWRITE ids SELECT id FROM STREAM orders", (OVERWRITE, INTO)),
    changed("WITH o AS (SELECT id FROM STREAM orders) INSERT OVERWRITE ids SELECT id FROM o", (OVERWRITE, INTO)),
    changed(SORTED, (" ORDER BY id", ""), advice="without ORDER BY"),
    changed(SORTED.replace(INTO, OVERWRITE), (OVERWRITE, INTO), (" ORDER BY id", ""), advice="without ORDER BY"),
    Refusal(
        f"{SORTED} LIMIT 5",
        "with QUALIFY row_number() OVER (ORDER BY ...) <= 10",
        "INSERT OVERWRITE ids SELECT id FROM STREAM orders QUALIFY row_number() OVER (ORDER BY id) <= 10",
    ),
    changed("INSERT INTO ids SELECT sum(id) OVER (PARTITION BY k ORDER BY ts) FROM STREAM orders", WITH_ORDERS),
    changed(
        "INSERT OVERWRITE ids SELECT sum(id) OVER (PARTITION BY k ORDER BY ts) FROM STREAM orders",
        (OVERWRITE, INTO),
        WITH_ORDERS,
    ),
    Refusal(
        f"INSERT INTO ids SELECT lead(id) OVER (PARTITION BY k ORDER BY ts) FROM {ORDERS}",
        "Order the window by a column with a WATERMARK, up to the current row",
        f"INSERT INTO ids SELECT lag(id) OVER (PARTITION BY k ORDER BY ts) FROM {ORDERS}",
    ),
    changed(
        "INSERT INTO ids SELECT id FROM STREAM orders QUALIFY row_number() OVER (PARTITION BY k ORDER BY id DESC) = 1",
        (INTO, OVERWRITE),
    ),
    changed("INSERT INTO counts SELECT k, count(DISTINCT id) FROM STREAM orders GROUP BY k", (INTO, OVERWRITE)),
    changed(f"INSERT INTO ids SELECT o.id FROM STREAM orders o LEFT JOIN STREAM rates r ON {IN_TIME}",
            WITH_ORDERS, WITH_RATES),
    Refusal(
        f"INSERT INTO ids SELECT o.id FROM {ORDERS} o LEFT JOIN {RATES} r ON r.k = o.k",
        BOUND,
        f"INSERT INTO ids SELECT o.id FROM {ORDERS} o LEFT JOIN {RATES} r ON {IN_TIME}",
    ),
    changed("INSERT INTO ids SELECT o.id FROM STREAM orders o RIGHT JOIN names n ON o.k = n.k", ("RIGHT", "LEFT")),
    changed("INSERT INTO ids SELECT o.id FROM STREAM orders o FULL JOIN names n ON o.k = n.k", ("FULL", "LEFT")),
    changed("INSERT INTO ids SELECT o.id FROM names n LEFT JOIN STREAM orders o ON o.k = n.k", ("LEFT", "RIGHT")),
    changed("INSERT INTO ids SELECT id FROM STREAM orders UNION ALL SELECT rate FROM rates", ("rates", "STREAM rates")),
    Refusal(
        "INSERT INTO ids SELECT id FROM STREAM orders EXCEPT SELECT rate FROM rates",
        "instead of EXCEPT",
        "INSERT INTO ids SELECT id FROM STREAM orders o WHERE NOT EXISTS (SELECT * FROM rates b WHERE b.rate = o.id)",
    ),
    Refusal(
        "INSERT INTO counts SELECT k, 1 FROM STREAM orders EXCEPT SELECT k, 1 FROM STREAM rates",
        "instead of EXCEPT",
        f"INSERT INTO counts SELECT k, 1 FROM {ORDERS} o WHERE NOT EXISTS (SELECT * FROM {RATES} r WHERE {IN_TIME})",
    ),
    Refusal(
        "INSERT INTO ids SELECT id FROM STREAM orders INTERSECT SELECT rate FROM rates",
        "instead of INTERSECT",
        "INSERT INTO ids SELECT id FROM STREAM orders WHERE id IN (SELECT rate FROM rates)",
    ),
    changed("INSERT INTO ids SELECT id FROM STREAM orders o"
            f" WHERE EXISTS (SELECT 1 FROM STREAM rates r WHERE {IN_TIME})",
            WITH_ORDERS, WITH_RATES),
    changed(f"INSERT INTO ids SELECT o.id FROM STREAM orders o ANTI JOIN STREAM rates r ON {IN_TIME}",
            WITH_ORDERS, WITH_RATES),
    Refusal(
        "INSERT INTO ids SELECT id FROM STREAM orders WHERE k NOT IN (SELECT k FROM STREAM rates)",
        "Write WHERE NOT EXISTS",
        f"INSERT INTO ids SELECT id FROM {ORDERS} o WHERE NOT EXISTS (SELECT * FROM {RATES} r WHERE {IN_TIME})",
    ),
    Refusal(
        "INSERT INTO ids SELECT id FROM orders WHERE k IN (SELECT k FROM STREAM rates)",
        "a bound for the time",
        f"INSERT INTO ids SELECT id FROM {ORDERS} o WHERE k IN (SELECT k FROM {RATES} r WHERE {IN_TIME})",
    ),
    Refusal(
        "INSERT INTO ids SELECT id FROM STREAM orders WHERE id = (SELECT max(rate) FROM STREAM rates)",
        "For other values of a stream, write a join",
        "INSERT INTO ids SELECT o.id FROM STREAM orders o JOIN STREAM rates r ON o.id = r.rate",
    ),
    Refusal(
        "INSERT INTO parts SELECT count(*), k FROM STREAM orders GROUP BY k",
        "Group by a window over a column with a WATERMARK",
        f"INSERT INTO parts SELECT count(*), k FROM {ORDERS} GROUP BY k, window(ts, '1 minute')",
    ),
    Refusal(
        "INSERT OVERWRITE parts SELECT count(*), k FROM STREAM orders GROUP BY k",
        "Write to a table without partitions",
        OVERWRITE + COUNTS.removeprefix(INTO),
    ),
    changed(
        "INSERT OVERWRITE parts SELECT count(*), k FROM STREAM orders GROUP BY k, window(ts, '1 minute')",
        (OVERWRITE, INTO),
        WITH_ORDERS,
    ),
    changed("FROM orders INSERT INTO ids SELECT id INSERT INTO counts SELECT k, 1", ("orders", "STREAM orders")),
    changed(
        "FROM STREAM orders INSERT INTO ids SELECT id ORDER BY id INSERT INTO counts SELECT k, 1",
        (" ORDER BY id", ""),
        advice="without ORDER BY",
    ),
    Refusal(
        "FROM STREAM orders INSERT INTO counts SELECT k, count(*) GROUP BY k INSERT INTO ids SELECT id",
        "or create a job for this table",
        OVERWRITE + COUNTS.removeprefix(INTO),
    ),
]  # fmt: skip


@pytest.fixture
def tables(sql: Sql, tmp_path: Path) -> Iterator[Sql]:
    columns = {
        "orders": "id INT, k STRING, note STRING, ts TIMESTAMP",
        "rates": "k STRING, rate INT, loaded TIMESTAMP, at TIMESTAMP",
        "names": "k STRING, name STRING",
    }
    for table, of in columns.items():
        (tmp_path / table).mkdir()
        sql(f"CREATE TABLE {table} ({of}) USING json LOCATION '{tmp_path / table}'")
    sql("CREATE TABLE dated (id INT, ts TIMESTAMP, rate INT, at TIMESTAMP) USING parquet")
    sql("CREATE TABLE counts (k STRING, n BIGINT) USING parquet")
    sql("CREATE TABLE parts (n BIGINT, k STRING) USING parquet PARTITIONED BY (k)")
    sql("CREATE TABLE ids (id INT) USING parquet")
    yield sql


@pytest.mark.parametrize("refusals", [ESSENTIAL, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["some", "others"])
def test_each_hint_leads_to_a_query_that_is_accepted(tables: Sql, refusals: list[Refusal]) -> None:
    for body, advice, followed in refusals:
        error = tables.error(f"EXPLAIN CREATE JOB j AS {body}")
        assert error.condition in ("JETSQL.NO_OUTPUT_MODE", "JETSQL.UNSUPPORTED_QUERY"), body
        assert advice in f"{error.message} {error.hint}", body
        if "This is possible" in error.hint:
            assert error.hint.endswith(f": {followed}"), (body, error.hint)
        assert error.line == 1 and error.column is not None
        tables(f"EXPLAIN CREATE JOB j AS {followed}")


@pytest.mark.slow
def test_the_query_of_a_new_table_is_changed_too(tables: Sql) -> None:
    query = "SELECT k, count(*) AS n FROM STREAM orders GROUP BY k, window(ts, '1 minute')"
    for start in (
        "CREATE JOB j AS CREATE TABLE t USING parquet PARTITIONED BY (k) AS",
        "CREATE STREAMING TABLE t USING parquet PARTITIONED BY (k) AS",
    ):
        error = tables.error(f"{start} {query}")
        assert error.condition == "JETSQL.NO_OUTPUT_MODE"
        statement = error.hint.partition("WATERMARK ts for orders: ")[2]
        prefix = "CREATE JOB j AS " if "JOB" in start else ""
        assert prefix + statement == f"{start} {query.replace('STREAM orders', ORDERS)}"
        tables(f"EXPLAIN {prefix}{statement}")


def test_options_that_need_a_stream(tables: Sql) -> None:
    body = "INSERT INTO ids SELECT id FROM orders"
    error = tables.error(f"EXPLAIN CREATE JOB j OPTIONS ('trigger' = 'interval') AS {body}")
    assert error.condition == "JETSQL.TRIGGER_NOT_POSSIBLE"
    followed = body.replace("orders", "STREAM orders")
    assert error.hint.endswith(f"This is possible, with STREAM before orders: {followed}")
    tables(f"EXPLAIN CREATE JOB j OPTIONS ('trigger' = 'interval') AS {followed}")


WITH_X: Final = f"(SELECT *, {{value}} AS x FROM {ORDERS}) AS o"
UNKEPT: Final = {
    "over": f"INSERT INTO counts SELECT k, count(x) OVER (PARTITION BY k ORDER BY ts) FROM {WITH_X}",
    "asof join": f"INSERT INTO texts SELECT CAST(x AS STRING) FROM {WITH_X} ASOF JOIN {RATES} AS r"
    " MATCH_CONDITION (o.ts >= r.at) ON o.k = r.k",
    "distinct": "INSERT INTO texts SELECT CAST(x AS STRING) FROM (SELECT DISTINCT id, x FROM"
    f" {WITH_X.replace(ORDERS, 'STREAM orders')})",
    "join": f"INSERT INTO texts SELECT CAST(x AS STRING) FROM {WITH_X} JOIN STREAM names AS n ON n.k = o.k",
}


def test_a_type_that_the_state_cannot_keep(tables: Sql) -> None:
    tables("CREATE TABLE texts (t STRING) USING parquet")
    for name, body in UNKEPT.items():
        options = "OPTIONS ('stateTtlMillis' = '60000') " if name in ("distinct", "join") else ""
        value = "ts - TIMESTAMP '2020-01-01'"
        error = tables.error(f"EXPLAIN CREATE JOB j {options}AS {body.format(value=value)}")
        assert error.condition == "JETSQL.NO_OUTPUT_MODE", name
        assert "x has the type INTERVAL DAY TO SECOND, which the state cannot keep" in error.message, name
        assert error.hint.endswith("convert it where it is computed: CAST(a.x AS STRING) AS x."), name
        tables(f"EXPLAIN CREATE JOB j {options}AS {body.format(value=f'CAST({value} AS STRING)')}")
