"""Window functions in the order of the watermark's column: a stream returns what batch returns, each row once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from jetsql.embedded.engine_instance import EngineInstance
from jetsql.errors import StatementError
from tests.conftest import Sql
from tests.support.tables.json_files import write_json_files

pytestmark = pytest.mark.spark

FRAMES: Final = (
    "SELECT id, ts, sum(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) a,"
    " avg(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL 20 SECONDS PRECEDING AND CURRENT ROW) b,"
    " lag(v, 2) OVER (PARTITION BY k ORDER BY ts) c FROM s"
)
TOTALS: Final = (
    "SELECT id, ts, sum(v) OVER w a, avg(v) FILTER (WHERE v > 2) OVER w + max(v) OVER"
    " (PARTITION BY big ORDER BY ts RANGE BETWEEN INTERVAL 10 SECONDS PRECEDING AND CURRENT ROW) b, rank() OVER w c"
    " FROM (SELECT *, v > 4 AS big FROM s) WINDOW w AS (PARTITION BY big ORDER BY ts)"
)
LISTS: Final = (
    "SELECT id, ts, size(collect_list(v) OVER w) a, sum(v) OVER w b, dense_rank() OVER w c FROM s"
    " WINDOW w AS (PARTITION BY k ORDER BY ts)"
)
RUNNING: Final = (
    "SELECT id, ts, count(v) OVER (ORDER BY ts, id) a, min(v) OVER (ORDER BY ts, id) b,"
    " row_number() OVER (ORDER BY ts, id) c FROM s"
)


@pytest.fixture
def sql(engine: EngineInstance, tmp_path: Path) -> Iterator[Sql]:
    sql = Sql(engine)
    folder = tmp_path / "readings"
    _write_files(folder)
    sql(
        "CREATE TABLE readings (id INT, k INT, v INT, ts TIMESTAMP) USING json"
        f" LOCATION '{folder}' OPTIONS ('maxFilesPerTrigger' = '1')"
    )
    sql("CREATE TABLE written (id INT, ts TIMESTAMP, a BIGINT, b DOUBLE, c INT) USING parquet")
    yield sql
    for row in sql("SHOW ALL JOBS"):
        if row[2] not in ("COMPLETED", "DROPPED", "FAILED"):
            sql(f"DROP JOB '{row[0]}'")
    for table in ("readings", "written"):
        sql(f"DROP TABLE {table}")


def _write_files(folder: Path) -> None:
    """Write rows whose order is not that of their times, within the watermark's delay, and one that closes all."""
    rows = [
        {"id": n, "k": n % 3, "v": None if n % 11 == 0 else n * 13 % 9, "ts": f"2026-01-01T00:00:{(n ^ 3) // 2:02}"}
        for n in range(60)
    ]
    last = [{"id": 1000, "k": 0, "v": 1, "ts": "2100-01-01T00:00:00"}]
    write_json_files(folder, [rows[:25], rows[25:40], rows[40:], last])


def _body(query: str) -> str:
    stream = "(SELECT * FROM STREAM readings WATERMARK ts DELAY OF INTERVAL 4 SECONDS)"
    return "INSERT INTO written " + query.replace("FROM s", f"FROM {stream}")


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(FRAMES, id="frames", marks=pytest.mark.slow),
        pytest.param(TOTALS, id="totals"),
        pytest.param(LISTS, id="lists", marks=pytest.mark.slow),
        pytest.param(RUNNING, id="running", marks=pytest.mark.slow),
    ],
)
def test_each_row_leaves_once_with_the_values_of_batch(sql: Sql, query: str) -> None:
    statement = f"JOB frames OPTIONS ('trigger' = 'availableNow') AS {_body(query)}"
    assert "returns each row when the watermark has passed it; state: " in str(sql.value(f"EXPLAIN CREATE {statement}"))
    sql(f"CREATE {statement}")
    sql("WAIT FOR JOB frames UNTIL COMPLETED TIMEOUT 120")
    batch = f"SELECT * FROM ({query.replace('FROM s', 'FROM readings')}) WHERE ts < '2100-01-01'"
    assert sql.value("SELECT count(*) FROM written") == 60
    assert sql(f"({batch}) EXCEPT ALL (SELECT * FROM written)") == []


@pytest.mark.parametrize("function", ["lead(v)", "ntile(2)"])
def test_functions_that_need_later_rows_are_refused(sql: Sql, function: str) -> None:
    body = _body(f"SELECT id, ts, 0 a, 0 b, {function} OVER (PARTITION BY k ORDER BY ts) c FROM s")
    with pytest.raises(StatementError, match="NO_OUTPUT_MODE"):
        sql(f"EXPLAIN CREATE JOB refused AS {body}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "changes", "part"),
    [
        (FRAMES, (("BETWEEN 2", "BETWEEN 5"), ("20 SECONDS", "40 SECONDS")), "passed"),
        (TOTALS, (("sum(v)", "min(v)"), ("v > 2", "v > 3")), "running"),
    ],
    ids=["frames", "totals"],
)
def test_the_state_is_kept_through_restarts_and_new_versions(
    sql: Sql, tmp_path: Path, query: str, changes: tuple[tuple[str, str], ...], part: str
) -> None:
    options = "OPTIONS ('snapshotIntervalMillis' = '100'{})"
    three = options.format(", 'spark.sql.shuffle.partitions' = '3'")
    sql(f"CREATE JOB frames {options.format('')} AS {_body(query)}")
    sql("WAIT FOR JOB frames UNTIL IDLE")
    for change in changes:
        error = sql.error(f"CREATE OR REPLACE JOB frames {options.format('')} AS {_body(query.replace(*change))}")
        assert error.condition == "JETSQL.STATE_NOT_COMPATIBLE"
    steps = (
        ("SUSPEND JOB frames", "RESUME JOB frames"),
        (f"CREATE OR REPLACE JOB frames {three} AS {_body(query)}",),
        (f"CREATE OR REPLACE JOB frames {three} AS {_body(query.replace('FROM s', 'FROM s WHERE id >= 0'))}",),
    )
    for number, step in enumerate(steps, start=1):
        for statement in step:
            sql(statement)
        start = 2100 + number
        rows = [{"id": 2000 * number + n, "k": n % 3, "v": n, "ts": f"{start}-01-01T00:00:{n:02}"} for n in range(40)]
        path = tmp_path / "readings" / f"1{number}.json"
        path.write_text("\n".join(map(json.dumps, rows)))
        sql("WAIT FOR JOB frames UNTIL IDLE")
    sql("REFRESH TABLE readings")
    assert sql.value("SELECT count(*) FROM written") > 60 + 2 * 40
    assert sql("SELECT id FROM written GROUP BY id HAVING count(*) > 1") == []
    assert sql(f"(SELECT * FROM written) EXCEPT ALL ({query.replace('FROM s', 'FROM readings')})") == []
    assert sql.value(f"SELECT count(*) > 0 FROM jetsql.state('frames', 0, '{part}')") is True
