"""The option lateRows: rows that the watermark has passed are in a table of their own, each once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from jetsql.errors import StatementError
from tests.conftest import Sql
from tests.support.json_files import write_json_files

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 1, 1)
CLICKS = "STREAM clicks WATERMARK ts DELAY OF INTERVAL 30 SECONDS"


class Clicks:
    """A source with a file for each batch. Some rows come late."""

    def __init__(self, sql: Sql, folder: Path, seed: int) -> None:
        self._folder = folder
        self._random = random.Random(seed)
        self.ids = 0
        folder.mkdir()
        columns = "id INT, page STRING, ts TIMESTAMP"
        sql(f"CREATE TABLE clicks ({columns}) USING json LOCATION '{folder}' OPTIONS ('maxFilesPerTrigger' = '1')")

    def add(self, files: int) -> None:
        for _ in range(files):
            number = len(list(self._folder.iterdir()))
            latest = BEGIN + timedelta(minutes=number)
            times = [latest - timedelta(seconds=self._random.randrange(400)) for _ in range(20)]
            rows = [{"id": self.ids + n, "page": "ab"[n % 2], "ts": f"{each}"} for n, each in enumerate(times)]
            self.ids += len(rows)
            write_json_files(self._folder, [rows], number)


@pytest.fixture(params=[1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def clicks(request: pytest.FixtureRequest, sql: Sql, tmp_path: Path) -> Iterator[Clicks]:
    yield Clicks(sql, tmp_path / "clicks", request.param)


def late(sql: Sql, table: str = "late_clicks") -> list[int]:
    return sorted(sql.value(f"SELECT collect_list(CAST(get_json_object(row, '$.id') AS INT)) FROM {table}"))


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
            "INSERT INTO t SELECT CAST(count(*) AS INT) FROM STREAM events WATERMARK ts DELAY OF INTERVAL 1 DAY"
            " GROUP BY id, session_window(ts, '1 hour')",
            "the query has session windows",
        ),
        (
            "INSERT INTO t SELECT a.id FROM STREAM events AS a JOIN STREAM events AS b ON a.id = b.id",
            "the query has no WATERMARK",
        ),
        (
            "INSERT INTO t SELECT DISTINCT id FROM STREAM events WATERMARK ts DELAY OF INTERVAL 1 DAY",
            "does not drop late rows",
        ),
    ],
)
def test_queries_whose_late_rows_cannot_be_kept(sql: Sql, body: str, reason: str) -> None:
    sql("CREATE TABLE IF NOT EXISTS events (id INT, ts TIMESTAMP) USING json")
    sql("CREATE TABLE IF NOT EXISTS t (id INT) USING parquet")
    with pytest.raises(StatementError, match="INVALID_OPTION_VALUE") as refused:
        sql(f"CREATE JOB j OPTIONS ('lateRows' = 'table:kept') AS {body}")
    assert "The late rows of this job cannot be kept: " in refused.value.message
    assert reason in refused.value.message
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
