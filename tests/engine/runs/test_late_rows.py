"""The option lateRows: rows that the watermark has passed are in a table of their own, each once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from jetsql.errors import StatementError
from tests.conftest import Sql
from tests.support.tables.json_files import write_json_files

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 1, 1)
CLICKS = "STREAM clicks WATERMARK ts DELAY OF INTERVAL 30 SECONDS"
LATE_ID: Final = "coalesce(get_json_object(row, '$.id'), get_json_object(row, '$.view'))"
VIEWS: Final = "STREAM views WATERMARK ts DELAY OF INTERVAL 30 SECONDS"


class Clicks:
    """A source with a file for each batch, and a table with the name of its folder. Some rows come late."""

    def __init__(self, sql: Sql, folder: Path, seed: int) -> None:
        self._folder = folder
        self._random = random.Random(seed)
        self.ids = 0
        folder.mkdir()
        columns = "id INT, page STRING, ts TIMESTAMP"
        options = "'maxFilesPerTrigger' = '1'"
        sql(f"CREATE TABLE {folder.name} ({columns}) USING json LOCATION '{folder}' OPTIONS ({options})")

    def add(self, files: int) -> None:
        for _ in range(files):
            number = len(list(self._folder.iterdir()))
            latest = BEGIN + timedelta(minutes=number)
            times = [
                latest - timedelta(seconds=self._random.randrange(400), microseconds=self.ids + n) for n in range(20)
            ]
            rows = [{"id": self.ids + n, "page": "ab"[n % 2], "ts": f"{each}"} for n, each in enumerate(times)]
            self.ids += len(rows)
            write_json_files(self._folder, [rows], number)

    def close(self) -> None:
        """Add a row with the id -1, which lets the watermark pass all others."""
        number = len(list(self._folder.iterdir()))
        write_json_files(self._folder, [[{"id": -1, "page": "z", "ts": "2100-01-01 00:00:00"}]], number)


@pytest.fixture(params=[1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def clicks(request: pytest.FixtureRequest, sql: Sql, tmp_path: Path) -> Iterator[Clicks]:
    yield Clicks(sql, tmp_path / "clicks", request.param)


@pytest.fixture
def views(clicks: Clicks, sql: Sql, tmp_path: Path) -> Clicks:
    """Return a second source."""
    return Clicks(sql, tmp_path / "views", 11)


def late(sql: Sql, table: str = "late_clicks") -> list[int]:
    return sorted(sql.value(f"SELECT collect_list(CAST(get_json_object(row, '$.id') AS INT)) FROM {table}"))


def on_time(sql: Sql, query: str, sources: dict[str, str]) -> list[tuple[Any, ...]]:
    """Return the rows of a query as batch, over the rows that are not late. sources: the streams by `source`."""
    for source, stream in sources.items():
        name = stream.split()[1]
        query = query.replace(
            stream,
            f"(SELECT * FROM {name} WHERE id NOT IN (SELECT {LATE_ID} FROM late_clicks WHERE source <=> {source}))"
            + ("" if f"{stream} AS " in query else f" AS {name}"),
        )
    return sorted(sql(f"SELECT * FROM ({query}) WHERE id >= 0"), key=str)


def test_each_row_is_in_the_result_or_late(sql: Sql, clicks: Clicks) -> None:
    sql("CREATE TABLE pages (page STRING, since TIMESTAMP, ids ARRAY<INT>) USING parquet")
    clicks.add(4)
    options = "'lateRows' = 'TABLE: late_clicks', 'snapshotIntervalMillis' = '100'"
    body = (
        "INSERT INTO pages SELECT page, window.start, collect_list(id) AS ids"
        f" FROM {CLICKS} GROUP BY page, window(ts, '1 minute')"
    )
    schema = sql.value("SELECT current_schema()")
    explained = sql.value(f"EXPLAIN CREATE JOB j OPTIONS ({options}) AS {body}")
    assert f"Late rows:   written to spark_catalog.{schema}.late_clicks" in explained
    sql(f"CREATE JOB j OPTIONS ({options}) AS {body}")
    sql("WAIT FOR JOB j UNTIL IDLE")
    sql("SUSPEND JOB j")
    before = late(sql)
    sql("DROP TABLE late_clicks")
    clicks.add(2)
    sql("RESUME JOB j")
    sql("WAIT FOR JOB j UNTIL IDLE")
    sql(f"CREATE OR REPLACE JOB j OPTIONS ({options}) AS {body} HAVING size(ids) > 0")
    clicks.add(2)
    sql("WAIT FOR JOB j UNTIL IDLE")
    found = sorted([*before, *late(sql)])
    assert len(found) > 20
    assert found == sorted(set(found))
    assert sql.value("SELECT sum(late_rows) > 0 FROM jetsql.metrics WHERE job = 'j'") is True
    assert sql.value("SELECT bool_and(event_time <= watermark) FROM late_clicks") is True
    written = sql.value("SELECT flatten(collect_list(ids)) FROM pages")
    assert not set(written) & set(found)
    # Every other row is in a window that is still open.
    newest = sql.value("SELECT max(ts) FROM clicks")
    open_ids = {row[0] for row in sql(f"SELECT id FROM clicks WHERE ts > TIMESTAMP '{newest}' - INTERVAL '90' SECOND")}
    assert set(range(clicks.ids)) - set(written) - set(found) <= open_ids
    assert "writes late rows to it" in sql.error("DROP TABLE late_clicks").message
    sql("DROP JOB j")


@pytest.mark.slow
def test_a_row_is_late_for_each_window_that_is_closed(sql: Sql, clicks: Clicks) -> None:
    clicks.add(5)
    sql("CREATE TABLE slides (since TIMESTAMP, n BIGINT) USING parquet")
    sql(
        f"CREATE JOB j OPTIONS ('lateRows' = 'table:{sql.value('SELECT current_schema()')}.late_slides',"
        " 'trigger' = 'availableNow') AS INSERT INTO slides"
        f" SELECT window.start, count(*) FROM {CLICKS} GROUP BY window(ts, '2 minutes', '1 minute')"
    )
    sql("WAIT FOR JOB j UNTIL COMPLETED TIMEOUT 120")
    windows = "get_json_object(row, '$.window.start')"
    pairs = sql(f"SELECT get_json_object(row, '$.id'), {windows} FROM late_slides")
    assert len(pairs) == len(set(pairs)) > len({identity for identity, _ in pairs})


@pytest.mark.slow
def test_late_rows_of_the_removal_of_duplicates(sql: Sql, clicks: Clicks) -> None:
    clicks.add(6)
    sql("CREATE TABLE firsts (id INT) USING parquet")
    sql(
        "CREATE JOB j OPTIONS ('lateRows' = 'table:late_clicks', 'trigger' = 'availableNow',"
        " 'processingGuarantee' = 'atLeastOnce') AS INSERT INTO firsts"
        f" SELECT id FROM {CLICKS} QUALIFY row_number() OVER (PARTITION BY id ORDER BY ts) = 1"
    )
    sql("WAIT FOR JOB j UNTIL COMPLETED TIMEOUT 120")
    written = sorted(row[0] for row in sql("SELECT id FROM firsts"))
    assert late(sql) and sorted([*written, *late(sql)]) == list(range(clicks.ids))


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT DISTINCT id, ts FROM {CLICKS}",
        pytest.param(f"SELECT id, ts FROM {CLICKS} UNION SELECT id, ts FROM {CLICKS}", marks=pytest.mark.slow),
        pytest.param(f"SELECT id, ts FROM {CLICKS} GROUP BY id, ts", marks=pytest.mark.slow),
    ],
    ids=["distinct", "union", "group by"],
)
def test_each_distinct_row_is_written_or_late(sql: Sql, clicks: Clicks, query: str) -> None:
    clicks.add(4)
    clicks.close()
    sql("CREATE TABLE firsts (id INT, ts TIMESTAMP) USING parquet")
    options = "'lateRows' = 'table:late_clicks', 'trigger' = 'availableNow'"
    sql(f"CREATE JOB j OPTIONS ({options}) AS INSERT INTO firsts {query}")
    sql("WAIT FOR JOB j UNTIL COMPLETED TIMEOUT 120")
    written = sorted(row[0] for row in sql("SELECT id FROM firsts WHERE id >= 0"))
    found = sorted({*late(sql)})
    assert len(found) > 20 and sorted([*written, *found]) == list(range(clicks.ids))


@pytest.mark.slow
def test_late_rows_of_a_join_below_a_complete_result(sql: Sql, clicks: Clicks, views: Clicks) -> None:
    for source in (clicks, views):
        source.add(3)
        source.close()
    sql("CREATE TABLE pairs (ids ARRAY<INT>) USING parquet")
    body = f"INSERT OVERWRITE pairs SELECT collect_list(id * 1000 + view) FROM ({BOUNDS})"
    sql(f"CREATE JOB j OPTIONS ('lateRows' = 'table:late_clicks', 'trigger' = 'availableNow') AS {body}")
    sql("WAIT FOR JOB j UNTIL COMPLETED TIMEOUT 120")
    expected = on_time(sql, BOUNDS, {"'c'": CLICKS, "'v'": VIEWS})
    found = sorted(pair for pair in sql.value("SELECT ids FROM pairs") if pair >= 0)
    assert found == sorted(clicked * 1000 + viewed for clicked, viewed in expected)
    assert late(sql)


ALIASES: Final = (
    f"SELECT c.id, v.id AS view FROM {CLICKS} AS c LEFT ASOF JOIN {VIEWS} AS v"
    " MATCH_CONDITION (c.ts >= v.ts) ON c.page = v.page AND v.id % 7 > 0"
)
TABLES: Final = (
    f"SELECT clicks.id, views.id AS view FROM {CLICKS} ASOF JOIN {VIEWS}"
    " MATCH_CONDITION (clicks.ts > views.ts) ON views.id % 7 > 0 AND views.id >= 0"
)
SUBQUERIES: Final = (
    f"SELECT id, view FROM (SELECT id, page, ts FROM {CLICKS}) LEFT ASOF JOIN"
    f" (SELECT id AS view, page AS place, ts AS at FROM {VIEWS})"
    " MATCH_CONDITION (at <= ts) ON page = place AND view % 7 > 0"
)
BOUNDS: Final = (
    f"SELECT c.id, v.id AS view FROM {CLICKS} AS c JOIN {VIEWS} AS v"
    " ON c.page = v.page AND v.id % 7 <> 0 AND v.ts BETWEEN c.ts - INTERVAL '9' SECOND AND c.ts"
)


@pytest.mark.needs_spark("4.3")
@pytest.mark.parametrize(
    ("query", "names"),
    [
        pytest.param(ALIASES, ("c", "v"), id="aliases"),
        pytest.param(BOUNDS, ("c", "v"), id="bounds"),
        pytest.param(BOUNDS.replace("JOIN", "LEFT JOIN"), ("c", "v"), id="outer bounds", marks=pytest.mark.slow),
        pytest.param(TABLES, ("clicks", "views"), id="tables", marks=pytest.mark.slow),
        pytest.param(SUBQUERIES, ("left", "right"), id="subqueries", marks=pytest.mark.slow),
    ],
)
def test_rows_of_a_join_by_time_are_joined_or_late(
    sql: Sql, clicks: Clicks, views: Clicks, query: str, names: tuple[str, str]
) -> None:
    for source in (clicks, views):
        source.add(3)
        source.close()
    sql("CREATE TABLE joined (id INT, view INT) USING parquet")
    options = "'lateRows' = 'table:late_clicks', 'trigger' = 'availableNow'"
    sql(f"CREATE JOB j OPTIONS ({options}) AS INSERT INTO joined {query}")
    sql("WAIT FOR JOB j UNTIL COMPLETED TIMEOUT 120")
    found = sql(f"SELECT source, CAST({LATE_ID} AS INT) FROM late_clicks")
    assert {source for source, _ in found} == set(names) and len(found) == len(set(found))
    assert not any(source == names[1] and number % 7 == 0 for source, number in found)  # these can match nothing
    written = sorted(sql("SELECT * FROM joined WHERE id >= 0"), key=str)
    assert len(written) > 10
    assert written == on_time(sql, query, {f"'{names[0]}'": CLICKS, f"'{names[1]}'": VIEWS})
    if "LEFT" in query:
        late_clicks = [number for source, number in found if source == names[0]]
        assert {*(row[0] for row in written), *late_clicks} == set(range(clicks.ids))
    assert sql.value("SELECT bool_and(event_time <= watermark) FROM late_clicks") is True


@pytest.mark.slow
def test_rows_of_a_window_function_are_written_or_late(sql: Sql, clicks: Clicks) -> None:
    query = f"SELECT id, sum(id) OVER (PARTITION BY page ORDER BY ts) AS total, lag(id) OVER w FROM {CLICKS}"
    query += " WINDOW w AS (PARTITION BY page ORDER BY ts)"
    sql("CREATE TABLE totals (id INT, total BIGINT, before INT) USING parquet")
    clicks.add(3)
    options = "'lateRows' = 'table:late_clicks', 'snapshotIntervalMillis' = '100'"
    sql(f"CREATE JOB j OPTIONS ({options}) AS INSERT INTO totals {query}")
    sql("WAIT FOR JOB j UNTIL IDLE")
    sql("SUSPEND JOB j")
    clicks.add(2)
    sql("RESUME JOB j")
    three = f"{options}, 'spark.sql.shuffle.partitions' = '3'"
    sql(f"CREATE OR REPLACE JOB j OPTIONS ({three}) AS INSERT INTO totals {query}")
    clicks.add(1)
    clicks.close()
    sql("WAIT FOR JOB j UNTIL IDLE")
    written = sorted(sql("SELECT * FROM totals"), key=str)
    assert len(late(sql)) > 20
    assert sorted([*(row[0] for row in written), *late(sql)]) == list(range(clicks.ids))
    assert written == on_time(sql, query, {"NULL": CLICKS})


@pytest.mark.slow
def test_each_row_is_in_a_session_or_late(sql: Sql, clicks: Clicks) -> None:
    clicks.add(6)
    clicks.close()
    sql("CREATE TABLE sessions (page STRING, since TIMESTAMP, ids ARRAY<INT>) USING parquet")
    body = (
        "INSERT INTO sessions SELECT page, session_window.start, collect_list(id) AS ids"
        f" FROM {CLICKS} GROUP BY page, session_window(ts, '5 seconds')"
    )
    options = "'lateRows' = 'table:late_clicks', 'trigger' = 'availableNow'"
    merging = "'spark.sql.streaming.sessionWindow.merge.sessions.in.local.partition' = 'true'"  # has no effect
    sql(f"CREATE JOB j OPTIONS ({options}, {merging}) AS {body}")
    sql("WAIT FOR JOB j UNTIL COMPLETED TIMEOUT 120")
    written = sql.value("SELECT flatten(collect_list(ids)) FROM sessions WHERE since < '2100-01-01'")
    assert len(late(sql)) > 20
    assert sorted([*written, *late(sql)]) == list(range(clicks.ids))
    ends = "CAST(get_json_object(row, '$.session_window.end') AS TIMESTAMP)"
    assert sql.value(f"SELECT bool_and({ends} <= watermark) FROM late_clicks") is True


@pytest.mark.slow
def test_late_rows_of_several_streams_in_a_union(sql: Sql, clicks: Clicks, views: Clicks) -> None:
    sql("CREATE TABLE minutes (since TIMESTAMP, ids ARRAY<INT>) USING parquet")
    for source in (clicks, views):
        source.add(4)
        source.close()
    sql(
        "CREATE JOB j OPTIONS ('lateRows' = 'table:late_clicks', 'trigger' = 'availableNow') AS INSERT INTO minutes"
        f" SELECT window.start, collect_list(id) FROM (SELECT id, ts FROM {CLICKS}"
        f" UNION ALL SELECT id + 1000, ts FROM {VIEWS}) GROUP BY window(ts, '1 minute')"
    )
    sql("WAIT FOR JOB j UNTIL COMPLETED TIMEOUT 120")
    written = sql.value("SELECT flatten(collect_list(ids)) FROM minutes WHERE since < '2100-01-01'")
    assert len(late(sql)) > 20
    assert sorted([*written, *late(sql)]) == [*range(clicks.ids), *range(1000, 1000 + views.ids)]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("INSERT INTO t SELECT id FROM STREAM events", "the query keeps no state, so it drops no rows"),
        ("INSERT INTO t SELECT id FROM events", "it reads no stream"),
        (
            "INSERT OVERWRITE t SELECT CAST(count(*) AS INT) FROM STREAM events WATERMARK ts DELAY OF INTERVAL 1 DAY"
            " GROUP BY window(ts, '1 hour')",
            "a complete result drops no rows",
        ),
        (
            "INSERT INTO t SELECT a.id FROM STREAM events AS a JOIN STREAM events AS b ON a.id = b.id",
            "the query has no WATERMARK",
        ),
        (
            "INSERT INTO t SELECT DISTINCT id FROM STREAM events WATERMARK ts DELAY OF INTERVAL 1 DAY",
            "does not drop late rows",
        ),
        (
            "INSERT INTO t SELECT CAST(sum(n) AS INT) FROM (SELECT ts, count(*) OVER (ORDER BY ts) AS n FROM STREAM"
            " events WATERMARK ts DELAY OF INTERVAL 1 DAY) GROUP BY window(ts, '1 hour')",
            "the query keeps state in several operators",
        ),
    ],
)
def test_queries_whose_late_rows_cannot_be_kept(sql: Sql, body: str, reason: str) -> None:
    sql("CREATE TABLE IF NOT EXISTS events (id INT, ts TIMESTAMP) USING json")
    sql("CREATE TABLE IF NOT EXISTS t (id INT) USING parquet")
    with pytest.raises(StatementError, match="INVALID_OPTION_VALUE") as caught:
        sql(f"CREATE JOB j OPTIONS ('lateRows' = 'table:kept') AS {body}")
    assert "The late rows of this job cannot be kept: " in caught.value.message
    assert reason in caught.value.message
    assert sql("SHOW TABLES LIKE 'kept'") == []


def test_a_table_with_other_columns_is_refused(sql: Sql, clicks: Clicks) -> None:
    sql("CREATE TABLE late_clicks (id INT) USING parquet")
    sql("CREATE TABLE n (n BIGINT) USING parquet")
    error = sql.error(
        "CREATE JOB j OPTIONS ('lateRows' = 'table:late_clicks') AS INSERT INTO n"
        f" SELECT count(*) FROM {CLICKS} GROUP BY window(ts, '1 minute')"
    )
    assert error.condition == "JETSQL.UNSUPPORTED_SINK"
    assert "cannot be the table for late rows" in error.message
