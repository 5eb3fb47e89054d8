"""The option idleTimeoutMillis: a source without rows does not hold back the watermark of the others."""

from __future__ import annotations

import pytest

from tests.conftest import Sql, until

pytestmark = pytest.mark.spark

BOTH = " UNION ALL ".join(
    f"SELECT * FROM STREAM {table} WATERMARK ts DELAY OF INTERVAL 0 SECONDS" for table in ("busy", "quiet")
)
BY_MINUTE = f"INSERT INTO minutes SELECT window.start, count(*) FROM ({BOTH}) GROUP BY window(ts, '1 minute')"
OPTIONS = "OPTIONS ('idleTimeoutMillis' = '2000', 'snapshotIntervalMillis' = '100')"


@pytest.fixture
def sources(sql: Sql) -> Sql:
    """Return two streams, of which `quiet` has one row, and a table for counts by minute."""
    for name in ("busy", "quiet"):
        sql(f"CREATE TABLE {name} (ts TIMESTAMP) USING parquet")
    sql("CREATE TABLE minutes (since TIMESTAMP, n BIGINT) USING parquet")
    add(sql, "quiet", "09:00:10")
    return sql


def add(sql: Sql, table: str, *times: str) -> None:
    rows = ", ".join(f"(TIMESTAMP'2026-03-02 {time}')" for time in times)
    sql(f"INSERT INTO {table} VALUES {rows}")


def minutes(sql: Sql, table: str = "minutes") -> list[tuple[str, int]]:
    return sql(f"SELECT date_format(since, 'HH:mm') AS minute, n FROM {table} ORDER BY minute")


@pytest.mark.slow
def test_an_idle_source_does_not_hold_back_the_watermark(sources: Sql) -> None:
    sql = sources
    sql("CREATE TABLE held (since TIMESTAMP, n BIGINT) USING parquet")
    sql(f"CREATE JOB held OPTIONS ('snapshotIntervalMillis' = '100') AS {BY_MINUTE.replace('minutes', 'held')}")
    explained = sql.value(f"EXPLAIN CREATE JOB j {OPTIONS} AS {BY_MINUTE}")
    assert "Idle source: does not hold back the watermark after 2000 ms without rows" in explained
    options = f"{OPTIONS.removesuffix(')')}, 'lateRows' = 'table:late_rows')"
    sql(f"CREATE JOB j {options} AS {BY_MINUTE}")
    add(sql, "busy", "09:00:20", "09:01:30", "09:03:00")
    until(lambda: minutes(sql) == [("09:00", 2), ("09:01", 1)])
    assert minutes(sql, "held") == []
    # The first row of the source that was idle is late now. With the second, its watermark counts again.
    add(sql, "quiet", "09:02:30", "09:03:20")
    sql("WAIT FOR JOB j UNTIL IDLE")
    add(sql, "busy", "09:05:00")
    until(lambda: minutes(sql) == [("09:00", 2), ("09:01", 1), ("09:03", 2)])
    assert sql("SELECT date_format(event_time, 'HH:mm:ss') FROM late_rows") == [("09:02:30",)]
    sql("WAIT FOR JOB held UNTIL IDLE")
    assert minutes(sql, "held") == [("09:00", 2), ("09:01", 1), ("09:02", 1)]


@pytest.mark.slow
def test_the_option_can_be_changed_and_left_out(sources: Sql) -> None:
    sql = sources
    sql(f"CREATE JOB j OPTIONS ('snapshotIntervalMillis' = '100') AS {BY_MINUTE}")
    add(sql, "busy", "09:00:20", "09:01:30")
    sql("WAIT FOR JOB j UNTIL IDLE")
    sql("SUSPEND JOB j")
    assert minutes(sql) == []
    sql(f"ALTER JOB j {OPTIONS} RESUME")
    add(sql, "busy", "09:01:40")
    until(lambda: minutes(sql) == [("09:00", 2)])
    sql("SUSPEND JOB j")
    sql("RESUME JOB j")
    # The row of 09:00:30 stays late, although the watermark of its source is earlier.
    sql(f"CREATE OR REPLACE JOB j AS {BY_MINUTE}")
    add(sql, "quiet", "09:00:30")
    add(sql, "busy", "09:02:00")
    sql("WAIT FOR JOB j UNTIL IDLE")
    assert minutes(sql) == [("09:00", 2)]
    add(sql, "quiet", "09:02:00")
    sql("WAIT FOR JOB j UNTIL IDLE")
    assert minutes(sql) == [("09:00", 2), ("09:01", 2)]


REFUSED = [
    (f"INSERT INTO minutes SELECT ts, 1 FROM ({BOTH})", "the query keeps no state"),
    (BY_MINUTE.replace(BOTH, BOTH.partition(" UNION")[0]), "the query has one WATERMARK"),
    (BY_MINUTE.replace("WATERMARK ts DELAY OF INTERVAL 0 SECONDS", "").replace("INTO", "OVERWRITE"), "no WATERMARK"),
    ("INSERT INTO minutes SELECT ts, 1 FROM busy", "it reads no stream"),
]
"""Bodies with the reason why the option is refused."""


def test_queries_that_no_idle_source_holds_back(sources: Sql) -> None:
    for body, reason in REFUSED:
        text = f"CREATE JOB j {OPTIONS} AS {body}"
        error = sources.error(text)
        assert (error.condition, error.column) == ("JETSQL.INVALID_OPTION_VALUE", text.index("'2000'") + 1)
        assert reason in error.message
