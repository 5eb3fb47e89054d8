"""The table function `jetsql.state`: the state of a job as a table."""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

from tests.conftest import Sql

pytestmark = pytest.mark.spark

FAST: Final = "OPTIONS ('snapshotIntervalMillis' = '50')"
COUNT: Final = "INSERT OVERWRITE counts SELECT k, count(*) AS n FROM STREAM events GROUP BY k"


class Events:
    """A table of files with the columns `id`, `k` and `ts`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        folder.mkdir()

    def add(self, *rows: tuple[int, int, str]) -> None:
        """Add a file with rows."""
        text = "\n".join(json.dumps({"id": id, "k": k, "ts": f"2026-01-01T{time}"}) for id, k, time in rows)
        draft = self.folder / f"_{self.count}"
        draft.write_text(text)
        os.utime(draft, (1_700_000_000 + self.count,) * 2)
        draft.rename(self.folder / f"{self.count}.json")
        self.count += 1


@pytest.fixture
def events(sql: Sql, tmp_path: Path) -> Events:
    events_table = Events(tmp_path / "events")
    events_table.add((1, 1, "00:00:01"), (2, 1, "00:00:02"), (3, 2, "00:00:03"))
    sql(f"CREATE TABLE events (id INT, k INT, ts TIMESTAMP) USING json LOCATION '{events_table.folder}'")
    sql("CREATE TABLE counts (k INT, n BIGINT) USING parquet")
    return events_table


def counts(sql: Sql, job: str = "counts") -> dict[Any, Any]:
    return dict(sql(f"SELECT key.k, value.count FROM jetsql.state('{job}')"))


def wait(sql: Sql, job: str = "counts") -> None:
    sql(f"WAIT FOR JOB {job} UNTIL IDLE TIMEOUT 60")


@pytest.mark.slow
def test_the_state_is_that_of_the_newest_batch(sql: Sql, events: Events) -> None:
    sql(f"CREATE JOB counts {FAST} AS {COUNT}")
    wait(sql)
    assert counts(sql) == {1: 2, 2: 1}
    events.add((4, 3, "00:00:04"))
    wait(sql)
    sql("SUSPEND JOB counts")
    assert counts(sql) == {1: 2, 2: 1, 3: 1}
    [(job_id,)] = sql("SELECT id FROM jetsql.jobs WHERE name = 'counts' AND status = 'SUSPENDED'")
    assert counts(sql, job_id) == {1: 2, 2: 1, 3: 1}
    other_session = sql.engine.session()
    assert len(list(other_session.run("SELECT * FROM jetsql.state(operator => 0, job => 'counts')").rows)) == 3
    other_session.run("USE jetsql")
    other_session.run("CREATE TEMPORARY VIEW seen AS SELECT key.k FROM state('counts')")
    assert {k for (k,) in other_session.run("SELECT * FROM seen").rows} == {1, 2, 3}


@pytest.mark.slow
def test_reading_in_a_loop_does_not_disturb_the_job(sql: Sql, events: Events) -> None:
    sql(f"CREATE JOB counts {FAST} AS {COUNT}")
    wait(sql)
    seen: list[int] = []
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            seen.append(sum(counts(sql).values()))

    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(read)
        for n in range(6):
            events.add((10 + n, n, "00:00:05"))
            wait(sql)
        ended.set()
        reader.result(60)
    assert seen == sorted(seen)
    assert sql.value("SELECT sum(n) FROM counts") == 9
    assert sum(counts(sql).values()) == 9
    assert sql.status("counts") == "RUNNING"
    assert sql.value("SELECT count(*) FROM jetsql.job_history WHERE job = 'counts' AND event LIKE '%error%'") == 0


def test_each_operator_and_each_side_of_a_join(sql: Sql, events: Events) -> None:
    sql("CREATE TABLE pairs (a INT, b INT) USING parquet")
    watermarked = "STREAM events WATERMARK ts DELAY OF INTERVAL 1 MINUTE"
    sql(
        f"CREATE JOB pairs {FAST} AS INSERT INTO pairs SELECT x.id, y.id FROM"
        f" (SELECT DISTINCT id, ts FROM {watermarked}) x JOIN {watermarked} y ON x.id = y.id"
        " AND x.ts BETWEEN y.ts - INTERVAL 1 SECOND AND y.ts"
    )
    wait(sql, "pairs")
    operators = sql.error("SELECT * FROM jetsql.state('pairs')")
    assert operators.condition == "JETSQL.STATE_NOT_FOUND"
    assert "0 (symmetricHashJoin), 1 (stateStoreSave)" in operators.message
    parts = sql.error("SELECT * FROM jetsql.state('pairs', 0)")
    assert parts.condition == "JETSQL.STATE_NOT_FOUND"
    assert "'left', 'right'" in parts.message
    assert sql("SELECT * FROM jetsql.state('pairs', 0, 'left')") == []
    ids = "SELECT {}.id FROM jetsql.state('pairs', {}) ORDER BY id"
    assert sql(ids.format("value", "0, 'right'")) == sql(ids.format("key", "1")) == [(1,), (2,), (3,)]


@pytest.mark.slow
def test_a_wrong_call_is_reported_at_the_function(sql: Sql, events: Events) -> None:
    sql(f"CREATE JOB counts {FAST} AS {COUNT}")
    sql("CREATE TABLE copy (id INT, k INT, ts TIMESTAMP) USING parquet")
    sql(f"CREATE JOB copy {FAST} AS INSERT INTO copy SELECT * FROM STREAM events")
    wait(sql)
    wait(sql, "copy")
    for arguments, condition, words in (
        ("'count'", "JOB_NOT_FOUND", "There is no job named count. Did you mean counts?"),
        ("'0401-9f77-b9c0-0001'", "JOB_NOT_FOUND", "There is no job with the id '0401-9f77-b9c0-0001'."),
        ("'copy'", "STATE_NOT_FOUND", "The job copy has no state: its query has no aggregate"),
        ("'counts', 7", "STATE_NOT_FOUND", "has no operator 7 with state. Write one of these numbers"),
        ("'counts', 0, 'left'", "WRONG_FUNCTION_CALL", "takes no part for the operator 0 (stateStoreSave)"),
        ("NULL", "WRONG_FUNCTION_CALL", "needs the name of a job"),
        ("1", "WRONG_FUNCTION_CALL", "takes a text as job"),
        ("'counts', 'x'", "WRONG_FUNCTION_CALL", "takes a whole number as operator"),
        ("concat('a', 'b')", "WRONG_FUNCTION_CALL", "takes only constants"),
    ):
        error = sql.error(f"SELECT *\nFROM jetsql.state({arguments})")
        assert (error.condition, error.line, error.column) == (f"JETSQL.{condition}", 2, 6), error
        assert words in error.message
    for text in (
        "CREATE JOB x AS INSERT INTO counts SELECT key.k, value.count FROM jetsql.state('counts')",
        "SELECT * FROM STREAM jetsql.state('counts')",
    ):
        error = sql.error(text)
        assert (error.condition, error.sqlstate) == ("JETSQL.UNSUPPORTED_QUERY", "0A000"), error


def test_a_job_without_a_batch_has_no_state(sql: Sql, events: Events) -> None:
    sql("CREATE TABLE other (k INT, n BIGINT) USING parquet")
    sql("CREATE JOB other AS INSERT INTO other SELECT k, count(*) FROM events GROUP BY k")
    sql("WAIT FOR JOB other UNTIL COMPLETED TIMEOUT 60")
    error = sql.error("SELECT * FROM jetsql.state('other')")
    assert (error.condition, error.sqlstate) == ("JETSQL.STATE_NOT_FOUND", "42704")
    assert "it is COMPLETED, or it is a batch job" in error.message
