"""Flink's and Hazelcast's windows and joins by processing time: each has the rows of Spark's spelling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from jetsql.engine.jvm.spark_version import lacking_clauses
from tests.conftest import Sql

pytestmark = pytest.mark.spark


@pytest.fixture
def bids(sql: Sql) -> Sql:
    sql("CREATE TABLE bids (k STRING, price INT, ts TIMESTAMP) USING json")
    sql(
        "INSERT INTO bids VALUES ('a', 1, TIMESTAMP'2026-01-01 00:00:01'), ('a', 2, TIMESTAMP'2026-01-01 00:00:04'),"
        " ('b', 3, TIMESTAMP'2026-01-01 00:00:12'), ('a', 4, TIMESTAMP'2026-01-01 00:00:31')"
    )
    sql("CREATE TABLE names (k STRING, name STRING) USING parquet")
    sql("INSERT INTO names VALUES ('a', 'Anna')")
    return sql


TUMBLE = "TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND)"
HOP = "HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)"
SESSION = "SESSION(TABLE bids PARTITION BY k, DESCRIPTOR(ts), INTERVAL '10' SECOND)"


SPELLINGS = [
    (
        f"SELECT k, window_start, window_end, sum(price) FROM TABLE({TUMBLE}) GROUP BY k, window_start, window_end",
        "SELECT k, window.start, window.end, sum(price) FROM bids GROUP BY k, window(ts, '10 seconds')",
    ),
    (
        f"SELECT w.k, count(*) AS n FROM {TUMBLE} AS w WHERE w.price > 1 GROUP BY w.k, w.window_end"
        " HAVING w.window_end > TIMESTAMP'2026-01-01 00:00:10'",
        "SELECT k, count(*) FROM bids WHERE price > 2 GROUP BY k, window(ts, '10 seconds')",
    ),
    (
        f"SELECT k, price, window_start, window_end, window_time FROM TABLE({HOP})",
        "SELECT k, price, w.start, w.end, w.end - INTERVAL '0.000001' SECOND FROM"
        " (SELECT *, window(ts, '10 seconds', '5 seconds') AS w FROM bids)",
    ),
    (
        f"SELECT count(*) FROM TABLE({TUMBLE}) WHERE window_start > TIMESTAMP'2026-01-01' GROUP BY window_start",
        "SELECT count(*) FROM bids WHERE ts >= TIMESTAMP'2026-01-01 00:00:10' GROUP BY window(ts, '10 seconds')",
    ),
    (
        f"SELECT window_time, max(price) FROM TABLE({TUMBLE}) GROUP BY window_start, window_end, window_time",
        "SELECT window.end - INTERVAL '0.000001' SECOND, max(price) FROM bids GROUP BY window(ts, '10 seconds')",
    ),
    (
        "SELECT window_start, max(price) FROM TABLE(TUMBLE(DATA => TABLE bids, TIMECOL => DESCRIPTOR(ts),"
        " SIZE => INTERVAL '10' SECOND, OFFSET => INTERVAL '2' SECOND)) GROUP BY window_start, window_end",
        "SELECT window.start, max(price) FROM bids GROUP BY window(ts, '10 seconds', '10 seconds', '2 seconds')",
    ),
    (  # Hazelcast's order: the size before the slide
        "SELECT window_start, sum(price) FROM TABLE(HOP(TABLE(bids), DESCRIPTOR(ts), INTERVAL 10 SECONDS,"
        " INTERVAL 5 SECONDS)) GROUP BY 1, window_end",
        "SELECT window.start, sum(price) FROM bids GROUP BY window(ts, '10 seconds', '5 seconds')",
    ),
    (
        f"SELECT k, window_start, window_end, sum(price) FROM TABLE({SESSION}) GROUP BY k, window_start, window_end",
        "SELECT k, session_window.start, session_window.end, sum(price) FROM bids"
        " GROUP BY k, session_window(ts, '10 seconds')",
    ),
    (
        "WITH b AS (SELECT * FROM bids WHERE price > 1) SELECT window_end, count(*) FROM TABLE(TUMBLE(TABLE b,"
        " DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_end",
        "SELECT window.end, count(*) FROM bids WHERE price > 1 GROUP BY window(ts, '1 minute')",
    ),
    (
        "SELECT * FROM TABLE(IMPOSE_ORDER(TABLE bids, DESCRIPTOR(ts), INTERVAL '2' SECOND))",
        "SELECT * FROM bids",
    ),
    (
        "SELECT b.k, n.name FROM (SELECT *, PROCTIME() AS p FROM bids) b"
        " LEFT JOIN names FOR SYSTEM_TIME AS OF b.p AS n ON b.k = n.k",
        "SELECT b.k, n.name FROM bids b LEFT JOIN names n ON b.k = n.k",
    ),
    (
        "WITH b AS (SELECT k, proctime() AS p FROM bids)"
        " SELECT k, name FROM b JOIN names FOR SYSTEM_TIME AS OF b.p USING (k)",
        "SELECT k, name FROM bids JOIN names USING (k)",
    ),
    (
        "SELECT b.k, n.name FROM bids b JOIN names FOR SYSTEM_TIME AS OF PROCTIME() AS n ON b.k = n.k",
        "SELECT b.k, n.name FROM bids b JOIN names n ON b.k = n.k",
    ),
]
"""Queries as Flink or Hazelcast writes them, each with the same query as Spark writes it."""

ERRORS = [
    (f"SELECT * FROM TABLE({SESSION})", "SESSION", "GROUP BY window_start, window_end"),
    (f"SELECT count(*) FROM TABLE({SESSION}) GROUP BY window_start, window_end", "SESSION", "PARTITION BY"),
    (
        "SELECT * FROM TABLE(CUMULATE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '1' DAY))",
        "CUMULATE",
        "TUMBLE with the step",
    ),
    ("SELECT * FROM TUMBLE(TABLE bids, DESCRIPTOR(ts))", "TUMBLE", "needs the argument SIZE"),
    ("SELECT * FROM TUMBLE(TABLE bids, DESCRIPTOR(ts), 'x')", "TUMBLE", "needs an interval"),
    ("SELECT * FROM TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL 0 DAYS)", "TUMBLE", "above zero"),
    ("SELECT * FROM TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL 1 MONTH)", "TUMBLE", "days to seconds"),
    ("SELECT * FROM TUMBLE(TABLE bids, DESCRIPTOR(ts, k), INTERVAL 1 DAY)", "TUMBLE", "one column"),
    ("SELECT * FROM TUMBLE(bids, DESCRIPTOR(ts), INTERVAL 1 DAY)", "TUMBLE", "a table as its first argument"),
    (
        "SELECT * FROM TUMBLE(TABLE bids PARTITION BY k, DESCRIPTOR(ts), INTERVAL 1 DAY)",
        "TUMBLE",
        "without PARTITION BY",
    ),
    ("SELECT * FROM TUMBLE(TABLE bids, DESCRIPTOR(ts), SIZES => INTERVAL 1 DAY)", "TUMBLE", "no argument SIZES"),
    ("SELECT * FROM TUMBLE(TABLE bids, DESCRIPTOR(nope), INTERVAL 1 DAY)", "nope", "`nope`"),
    ("SELECT * FROM TABLE(TUMBLE(TABLE nope, DESCRIPTOR(ts), INTERVAL 1 DAY))", "nope", "`nope`"),
    ("SELECT * FROM bids b JOIN names FOR SYSTEM_TIME AS OF b.ts AS n ON b.k = n.k", "FOR", "no processing time"),
    ("SELECT * FROM bids FOR SYSTEM_TIME AS OF ts", "FOR", "right side of a JOIN only"),
    (
        "SELECT *, PROCTIME() AS p FROM bids b\nJOIN names FOR SYSTEM_TIME\n  AS OF\n  b.p AS n\nON b.k = n.nope",
        "n.nope",
        "`n`.`nope`",
    ),
]
"""Queries with the word at which each error points, and a part of its message."""


@pytest.mark.slow
def test_the_rows_are_those_of_sparks_spelling(bids: Sql) -> None:
    for flink, spark in SPELLINGS:
        rows = sorted(bids(flink), key=str)
        assert rows == sorted(bids(spark), key=str), flink
        assert rows, flink


LOCAL: Final = {
    # Each day begins at midnight, also those with 23 and 25 hours.
    "TUMBLE(TABLE times, DESCRIPTOR(ts), INTERVAL 1 DAY)": [
        ("2018-03-24 00:00:00", "2018-03-25 00:00:00", [1]),
        ("2018-03-25 00:00:00", "2018-03-26 00:00:00", [2, 3, 4]),
        ("2018-10-28 00:00:00", "2018-10-29 00:00:00", [5, 6, 7]),
    ],
    # The hour that the clock shows twice is in one window.
    "TUMBLE(TABLE times, DESCRIPTOR(ts), INTERVAL 1 HOUR)": [
        ("2018-03-24 23:00:00", "2018-03-25 00:00:00", [1]),
        ("2018-03-25 00:00:00", "2018-03-25 01:00:00", [2]),
        ("2018-03-25 04:00:00", "2018-03-25 05:00:00", [3]),
        ("2018-03-25 23:00:00", "2018-03-26 00:00:00", [4]),
        ("2018-10-28 03:00:00", "2018-10-28 04:00:00", [5, 6]),
        ("2018-10-28 23:00:00", "2018-10-29 00:00:00", [7]),
    ],
    "HOP(TABLE times, DESCRIPTOR(ts), INTERVAL 1 DAY, INTERVAL 2 DAYS)": [
        ("2018-03-23 00:00:00", "2018-03-25 00:00:00", [1]),
        ("2018-03-24 00:00:00", "2018-03-26 00:00:00", [1, 2, 3, 4]),
        ("2018-03-25 00:00:00", "2018-03-27 00:00:00", [2, 3, 4]),
        ("2018-10-27 00:00:00", "2018-10-29 00:00:00", [5, 6, 7]),
        ("2018-10-28 00:00:00", "2018-10-30 00:00:00", [5, 6, 7]),
    ],
}
"""Windows of Vilnius, which is three hours before UTC in summer and two in winter, with the ids of their rows."""


@pytest.fixture
def times(sql: Sql) -> Iterator[Sql]:
    sql("SET TIME ZONE 'Europe/Vilnius'")
    sql("CREATE TABLE times (id INT, ts TIMESTAMP) USING json")
    utc = ("03-24 21:59:59", "03-24 22:00:00", "03-25 01:30:00", "03-25 20:59:59", "10-28 00:30:00", "10-28 01:30:00")
    rows = [f"({n}, TIMESTAMP'2018-{at}Z')" for n, at in enumerate((*utc, "10-28 21:59:59"), start=1)]
    sql(f"INSERT INTO times VALUES {', '.join(rows)}, (8, NULL)")
    yield sql
    sql("RESET spark.sql.session.timeZone")


def test_windows_begin_at_local_times_as_those_of_flink(times: Sql) -> None:
    texts = "CAST(window_start AS STRING), CAST(window_end AS STRING)"
    for call, expected in LOCAL.items():
        query = f"SELECT {texts}, array_sort(collect_list(id)) FROM {call} GROUP BY window_start, window_end ORDER BY 1"
        assert times(query) == expected, call
    by_row = f"SELECT {texts}, CAST(window_time AS STRING) FROM TUMBLE(TABLE times, DESCRIPTOR(ts), INTERVAL 1 DAY)"
    assert times(f"{by_row} WHERE id = 3") == [
        ("2018-03-25 00:00:00", "2018-03-26 00:00:00", "2018-03-25 23:59:59.999999")
    ]
    spark = "SELECT CAST(window(ts, '1 day').start AS STRING) FROM times WHERE id = 1"
    assert times(spark) == [("2018-03-24 02:00:00",)]
    local = "TUMBLE(TABLE (SELECT CAST(ts AS TIMESTAMP_NTZ) AS ts FROM times), DESCRIPTOR(ts), INTERVAL 1 DAY)"
    assert times(f"SELECT DISTINCT CAST(window_start AS STRING) FROM {local} ORDER BY 1")[0] == ("2018-03-24 00:00:00",)


@pytest.mark.needs_spark("4.2")
def test_a_job_closes_windows_that_begin_at_local_times(times: Sql) -> None:
    times("CREATE TABLE days (start STRING, n BIGINT) USING parquet")
    times("INSERT INTO times VALUES (9, TIMESTAMP'2018-10-29 22:00:01Z')")
    query = (
        "SELECT CAST(window_start AS STRING), count(*) FROM STREAM TUMBLE(TABLE times, DESCRIPTOR(ts), INTERVAL 1 DAY)"
        " WATERMARK ts DELAY OF INTERVAL 1 SECOND AS w GROUP BY window_start, window_end"
    )
    closed = rows_of_job(times, "days", query)
    assert closed == [("2018-03-24 00:00:00", 1), ("2018-03-25 00:00:00", 3), ("2018-10-28 00:00:00", 3)]


def test_an_error_points_at_its_place(bids: Sql) -> None:
    for query, word, message in ERRORS:
        error = bids.error(query)
        assert message in error.message
        assert error.line is not None and error.column is not None
        assert query.splitlines()[error.line - 1][error.column - 1 :].startswith(word), query


def test_an_error_names_only_clauses_that_spark_has(bids: Sql) -> None:
    error = bids.error("SELECT * FROM bids b JOIN names FOR SYSTEM_TIME AS OF b.ts AS n ON b.k = n.k")
    assert ("ASOF JOIN" in error.message) == ("ASOF" not in lacking_clauses())


@pytest.mark.needs_spark("4.2")
def test_an_error_suggests_columns_of_the_user(times: Sql) -> None:
    query = "SELECT w1.start, count(*) FROM STREAM TUMBLE(TABLE times, DESCRIPTOR(ts), INTERVAL '1' DAY) AS w"
    error = times.error(f"EXPLAIN CREATE STREAMING TABLE days AS {query} GROUP BY window_start, window_end")
    assert "`w`.`ts`" in error.message and "__jetsql" not in error.message


def test_a_view_keeps_the_text_of_its_user(bids: Sql) -> None:
    query = f"SELECT k, window_start FROM TABLE({TUMBLE})"
    for kind in ("VIEW", "TEMPORARY VIEW"):
        bids(f"CREATE {kind} windows AS {query}")
        assert len(bids("SELECT * FROM windows")) == 4
        assert query in bids.value("SHOW CREATE TABLE windows") if kind == "VIEW" else True
        bids(f"DROP {kind.removeprefix('TEMPORARY ')} windows")


def test_a_function_of_the_user_goes_before_proctime(bids: Sql) -> None:
    bids("CREATE TEMPORARY FUNCTION proctime() RETURNS INT RETURN 7")
    assert bids("SELECT proctime()") == [(7,)]
    bids("DROP TEMPORARY FUNCTION proctime")
    assert bids("SELECT proctime() = current_timestamp()") == [(True,)]


@pytest.mark.needs_spark("4.2")
def test_a_job_of_an_earlier_release_keeps_its_windows(times: Sql) -> None:
    times("CREATE TABLE days (start STRING, n BIGINT) USING parquet")
    body = (
        "AS INSERT INTO days SELECT CAST(window_start AS STRING), count(*) FROM STREAM TUMBLE(TABLE times,"
        " DESCRIPTOR(ts), INTERVAL 1 DAY) WATERMARK ts DELAY OF INTERVAL 1 SECOND AS w"
        " GROUP BY window_start, window_end"
    )
    times("SET spark.jetsql.localWindows = false")  # which the plans of earlier releases lack
    times(f"CREATE JOB old OPTIONS ('snapshotIntervalMillis' = '100') {body}")
    times("RESET spark.jetsql.localWindows")
    times("WAIT FOR JOB old UNTIL IDLE")
    closed = [("2018-03-24 02:00:00", 2), ("2018-03-25 02:00:00", 2)]
    assert times("SELECT * FROM days ORDER BY start") == closed
    times("SUSPEND JOB old")
    times("RESUME JOB old")
    for millis, expected in ((100, "The job already has this statement"), (110, "The state is kept.")):
        update = f"CREATE OR REPLACE JOB old OPTIONS ('snapshotIntervalMillis' = '{millis}') {body}"
        assert expected in str(times(update)), millis
    times("INSERT INTO times VALUES (9, TIMESTAMP'2018-10-30 22:00:01Z')")
    times("WAIT FOR JOB old UNTIL IDLE")
    assert times("SELECT * FROM days ORDER BY start") == [*closed, ("2018-10-28 03:00:00", 3)]
    times("CREATE SNAPSHOT of_utc FOR JOB old")
    options = "OPTIONS ('initialSnapshotName' = 'of_utc')"
    error = times.error(f"CREATE JOB new {options} {body}")
    assert error.condition == "JETSQL.STATE_NOT_COMPATIBLE"
    assert (
        "the windows of TUMBLE and HOP begin at local times now, and those of the state at times in UTC"
        in error.message
    )


def rows_of_job(sql: Sql, name: str, query: str, verb: str = "INSERT INTO") -> list[Any]:
    sql(f"CREATE JOB {name} OPTIONS ('snapshotIntervalMillis' = '100') AS {verb} {name} {query}")
    sql(f"WAIT FOR JOB {name} UNTIL IDLE")
    sql(f"DROP JOB {name}")
    sql(f"REFRESH TABLE {name}")
    return sorted(sql(f"SELECT * FROM {name}"))


@pytest.mark.slow
def test_jobs_close_their_windows(bids: Sql) -> None:
    bids("CREATE TABLE tumbled (k STRING, start TIMESTAMP, n BIGINT) USING parquet")
    bids("CREATE TABLE sessions (k STRING, start TIMESTAMP, ends TIMESTAMP, n BIGINT) USING parquet")
    bids("CREATE VIEW ordered AS SELECT * FROM STREAM bids WATERMARK ts DELAY OF INTERVAL 1 SECOND")
    tumbled = rows_of_job(
        bids,
        "tumbled",
        "SELECT k, window_start, count(*) FROM TABLE(TUMBLE(TABLE ordered, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
        " GROUP BY k, window_start, window_end",
    )
    assert [(k, n) for k, _, n in tumbled] == [("a", 2), ("b", 1)]
    sessions = rows_of_job(
        bids,
        "sessions",
        "SELECT k, window_start, window_end, count(*) FROM TABLE(SESSION(TABLE ordered PARTITION BY k, DESCRIPTOR(ts),"
        " INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end",
    )
    assert [(k, n) for k, *_, n in sessions] == [("a", 2), ("b", 1)]


@pytest.mark.needs_spark("4.2")
def test_stream_before_the_function_reads_its_table_as_a_stream(bids: Sql) -> None:
    bids("CREATE TABLE hopped (start TIMESTAMP, n BIGINT) USING parquet")
    hopped = rows_of_job(
        bids,
        "hopped",
        "SELECT window_start, count(*) FROM STREAM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '20' SECOND))"
        " GROUP BY window_start, window_end",
        verb="INSERT OVERWRITE",
    )
    assert [n for _, n in hopped] == [3, 1]
    error = bids.error(
        "CREATE JOB j AS INSERT INTO hopped SELECT window_start, 1 FROM STREAM TUMBLE(TABLE (SELECT * FROM bids),"
        " DESCRIPTOR(ts), INTERVAL '20' SECOND)"
    )
    assert "Write STREAM into the query" in error.message


@pytest.mark.slow
def test_clauses_of_a_stream_apply_to_its_rows(bids: Sql) -> None:
    bids("CREATE TABLE closed (start TIMESTAMP, n BIGINT) USING parquet")
    closed = rows_of_job(
        bids,
        "closed",
        "SELECT window_start, count(*) FROM STREAM TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND)"
        " WATERMARK ts DELAY OF INTERVAL 1 SECOND AS w GROUP BY window_start",
    )
    assert [n for _, n in closed] == [2, 1]


@pytest.mark.slow
def test_a_job_joins_a_table_by_processing_time(bids: Sql) -> None:
    bids("CREATE TABLE named (k STRING, name STRING) USING parquet")
    named = rows_of_job(
        bids,
        "named",
        "SELECT b.k, n.name FROM (SELECT *, PROCTIME() AS p FROM STREAM bids) b"
        " JOIN names FOR SYSTEM_TIME AS OF b.p AS n ON b.k = n.k",
    )
    assert named == [("a", "Anna")] * 3
