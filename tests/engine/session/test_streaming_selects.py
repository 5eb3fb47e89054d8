"""A SELECT over a stream: its rows, its end, and the removal of its files."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import jetsql
import jetsql.client.dbapi
from jetsql.client.engine_client import EngineClient
from jetsql.embedded.engine_instance import EngineInstance, StatementSession
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session import streaming_selects
from jetsql.errors import StatementError
from jetsql.live_rows import Live, LiveMode
from jetsql.request import Cancellation, cancellable
from tests.conftest import Sql, until
from tests.support.servers.http_server import TOKEN, run_server

pytestmark = pytest.mark.spark


@pytest.fixture
def stream(sql: Sql) -> Iterator[Sql]:
    sql("CREATE TABLE numbers (id BIGINT, at TIMESTAMP) USING json")
    sql("INSERT INTO numbers SELECT id, timestamp'2024-01-01 00:00:00Z' + make_dt_interval(0, 0, 0, id) FROM range(9)")
    sql("CREATE VIEW thirds AS SELECT id, id % 3 AS third FROM STREAM numbers")
    yield sql
    assert left(sql.engine) == []


@pytest.fixture
def hurried(engine: EngineInstance) -> Iterator[None]:
    """Give a streaming SELECT the time for its first batches only."""
    streaming_selects.connect(engine.spark, str(engine.home / "streaming-selects"), 1.0)
    yield
    streaming_selects.connect(engine.spark, str(engine.home / "streaming-selects"), 10.0)


def left(engine: EngineInstance) -> list[Path]:
    return list((engine.home / "streaming-selects").glob("*"))


def live(sql: Sql, text: str) -> Live:
    answer = StatementSession(sql.engine, sql.engine.spark).run(text, live=True).live
    assert answer is not None
    return answer


FOUR_ROWS = [
    "SELECT id FROM STREAM numbers LIMIT 4",
    "FROM STREAM numbers SELECT id LIMIT 2 + 2",
    "SELECT id FROM thirds LIMIT 4",
    "WITH these AS (SELECT id FROM STREAM numbers) SELECT * FROM these LIMIT 4",
    "SELECT id FROM thirds UNION ALL SELECT id FROM STREAM numbers LIMIT 4",
    "SELECT a.id FROM STREAM numbers a JOIN STREAM numbers b ON a.id = b.id LIMIT 4",
    "SELECT a.id FROM STREAM numbers a JOIN numbers b ON a.id = b.id LIMIT 4",
]
"""Queries whose results are four ids of the table."""


def test_a_select_ends_when_its_rows_have_come(stream: Sql) -> None:
    for text in FOUR_ROWS:
        found = stream(text)
        assert len(found) == 4 and {value for (value,) in found} <= set(range(9)), text


@pytest.mark.slow
def test_whole_results_may_be_sorted(stream: Sql) -> None:
    counted = "SELECT third, count(*) FROM thirds GROUP BY third ORDER BY third LIMIT"
    assert stream(f"{counted} 3") == [(0, 3), (1, 3), (2, 3)]
    assert stream(f"{counted} 2") == [(0, 3), (1, 3)]
    assert sorted(stream("SELECT DISTINCT third FROM thirds LIMIT 3")) == [(0,), (1,), (2,)]
    assert stream("SELECT id, count(*) FROM STREAM numbers GROUP BY id ORDER BY id LIMIT 2") == [(0, 1), (1, 1)]


REWRITTEN: list[tuple[str, list[Any]]] = [
    (
        "SELECT id, third FROM thirds QUALIFY row_number() OVER (PARTITION BY third ORDER BY id DESC) = 1 LIMIT 3",
        [(6, 0), (7, 1), (8, 2)],
    ),
    ("SELECT count(DISTINCT third) AS n, count(*) FROM thirds LIMIT 1", [(3, 9)]),
    (
        "SELECT n, count(*) FROM (SELECT third, count(*) AS n FROM thirds GROUP BY third) GROUP BY n LIMIT 1",
        [(3, 3)],
    ),
    (
        "SELECT x.third, max(y.id) FROM thirds x JOIN thirds y ON x.id = y.id GROUP BY x.third LIMIT 3",
        [(0, 6), (1, 7), (2, 8)],
    ),
    ("WITH c AS (SELECT third, count(*) FROM thirds GROUP BY 1) SELECT 1 FROM c JOIN c LIMIT 9", [(1,)] * 9),
    (
        "SELECT s.id, x.n FROM thirds s, LATERAL (SELECT count(*) AS n FROM numbers WHERE id < s.id) x LIMIT 9",
        [(n, n) for n in range(9)],
    ),
]
"""Queries with their rows."""


@pytest.mark.slow
def test_queries_that_spark_refuses_are_rewritten_as_in_jobs(stream: Sql) -> None:
    for text, rows in REWRITTEN:
        assert sorted(stream(text)) == rows, text


def test_windows_are_seen_before_they_close(stream: Sql) -> None:
    numbers = "STREAM numbers WATERMARK at DELAY OF INTERVAL 1 DAY"
    assert stream(f"SELECT count(*) FROM {numbers} GROUP BY window(at, '1 hour') LIMIT 1") == [(9,)]


@pytest.mark.slow
def test_timeout_of_a_select(stream: Sql, hurried: None) -> None:
    # On a busy machine the time may be up before the first batch.
    until(lambda: len(stream("SELECT id FROM STREAM numbers LIMIT 100")) == 9)
    thirds = "SELECT third, count(*) FROM thirds GROUP BY third LIMIT 9"
    until(lambda: sorted(stream(thirds)) == [(0, 3), (1, 3), (2, 3)])
    assert stream("SELECT id FROM STREAM numbers WHERE id < 0 LIMIT 1") == []


def test_select_without_a_limit_is_refused_with_hints(stream: Sql) -> None:
    error = stream.error("SELECT id FROM STREAM numbers")
    assert error.condition == "JETSQL.STREAM_WITHOUT_LIMIT"
    assert "LIMIT" in error.message and "CREATE JOB" in error.message
    assert stream("SELECT id FROM STREAM numbers LIMIT 0") == []


ERRORS = [
    ("SELECT 1 / (id - 5) FROM STREAM numbers LIMIT 9", "Division by zero"),
    ("SELECT sum(1 / (id - 5)) FROM STREAM numbers LIMIT 9", "Division by zero"),
    ("SELECT sum(1 / (id - 5)) FROM STREAM numbers GROUP BY id ORDER BY id LIMIT 9", "Division by zero"),
    ("SELECT id FROM STREAM numbers ORDER BY id LIMIT 9", "Sorting"),
    ("SELECT id FROM STREAM numbers LIMIT 9 OFFSET 1", "Offset"),
    ("SELECT nothing FROM STREAM numbers LIMIT 9", "`nothing`"),
    (
        "SELECT id FROM thirds JOIN (SELECT third, count(*) FROM thirds GROUP BY 1) USING (third) LIMIT 9",
        "Complete output",
    ),
]
"""Queries with words of their errors."""


def test_errors_of_spark_are_passed_on(stream: Sql) -> None:
    for text, words in ERRORS:
        assert words in stream.error(text).message, text


def test_rows_are_appended_as_they_come(stream: Sql) -> None:
    jobs = stream("SHOW ALL JOBS")  # those of other tests, which have ended
    answer = live(stream, "SELECT id FROM STREAM numbers")
    assert answer.mode is LiveMode.APPEND
    with closing(answer.batches) as batches:
        first = next(batches)
        assert (first.number, sorted(first.rows)) == (0, [(n,) for n in range(9)])
        stream("INSERT INTO numbers VALUES (9, NULL)")
        second = next(batches)
        assert (second.number, list(second.rows)) == (1, [(9,)])
        assert stream("SHOW ALL JOBS") == jobs and len(left(stream.engine)) == 1


def test_a_whole_result_replaces_the_one_before(stream: Sql) -> None:
    answer = live(stream, "SELECT third, count(*) FROM thirds GROUP BY third ORDER BY third LIMIT 2")
    assert answer.mode is LiveMode.REPLACE
    with closing(answer.batches) as batches:
        next(batches)  # what is not read of a batch is counted all the same
        stream("INSERT INTO numbers VALUES (9, NULL)")
        assert list(next(batches).rows) == [(0, 4), (1, 3)]


def test_later_rows_count_towards_the_limit(stream: Sql) -> None:
    found: list[Any] = []
    text = "SELECT a.id FROM STREAM numbers a JOIN STREAM numbers b ON a.id = b.id LIMIT 11"
    thread = threading.Thread(target=lambda: found.extend(stream(text)))
    thread.start()
    until(lambda: any((select / "commits" / "0").exists() for select in left(stream.engine)))
    stream("INSERT INTO numbers VALUES (9, NULL), (10, NULL), (11, NULL)")
    thread.join(60)
    assert len(found) == 11


def test_a_limit_ends_a_live_select(stream: Sql) -> None:
    batches = live(stream, "SELECT id FROM STREAM numbers LIMIT 4").batches
    assert [len(list(batch.rows)) for batch in batches] == [4]


def test_a_select_that_is_cancelled_while_nothing_comes(stream: Sql) -> None:
    token = Cancellation()
    with cancellable(token), closing(live(stream, "SELECT id FROM STREAM numbers").batches) as batches:
        list(next(batches).rows)
        threading.Timer(0.2, token.cancel).start()
        with pytest.raises(StatementError, match="STATEMENT_CANCELLED"):
            next(batches)


def test_the_end_of_the_engine_ends_selects(stream: Sql) -> None:
    batches = live(stream, "SELECT id FROM STREAM numbers").batches
    list(next(batches).rows)
    streaming_selects.stop_all(stream.engine.spark)
    assert left(stream.engine) == []
    with pytest.raises(Exception, match="ENGINE_NOT_STARTED"):
        next(batches)


@pytest.mark.slow
def test_a_select_that_begins_while_all_are_ended_leaves_nothing(stream: Sql) -> None:
    """However far Spark has come with its query by then."""
    ended = threading.Event()

    def end_all() -> None:
        while not ended.is_set():
            streaming_selects.stop_all(stream.engine.spark)

    ending = threading.Thread(target=end_all)
    ending.start()
    try:
        for _ in range(8):
            with closing(live(stream, "SELECT id FROM STREAM numbers").batches) as batches:
                with pytest.raises(Exception, match="ENGINE_NOT_STARTED"):
                    while True:
                        next(batches)
    finally:
        ended.set()
        ending.join(60)
    until(lambda: queries(stream) == [])


def queries(sql: Sql) -> list[str]:
    """Return the threads of running queries."""
    jvm: Any = sql.engine.spark.sparkContext._jvm
    names = [thread.getName() for thread in jvm.java.lang.Thread.getAllStackTraces().keySet()]
    return [name for name in names if name.startswith("stream execution thread")]


def test_files_of_a_killed_engine_are_deleted_at_start(engine: EngineInstance, hurried: None) -> None:
    of_killed = engine.home / "streaming-selects" / "jetsql-select-1" / "offsets"
    os.makedirs(of_killed)
    streaming_selects.connect(engine.spark, str(engine.home / "streaming-selects"), 1.0)
    assert left(engine) == []


def test_parameters_over_the_dbapi(stream: Sql) -> None:
    schema = stream.value("SELECT current_schema()")
    with run_server(stream.engine) as server, jetsql.connect(server.url, token=TOKEN, schema=schema) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT id, at FROM STREAM numbers WHERE id > ? LIMIT ?", [5, 2])
        assert [row[0] for row in cursor.fetchall()] == [6, 7]
        with pytest.raises(jetsql.client.dbapi.NotSupportedError, match="LIMIT"):
            cursor.execute("SELECT id FROM STREAM numbers")


def test_a_client_that_leaves_ends_its_select(stream: Sql) -> None:
    with run_server(stream.engine) as server:
        remote = EngineClient(server.url, TOKEN)
        remote.run(f"USE {stream.value('SELECT current_schema()')}")
        answer = remote.run("SELECT id FROM STREAM numbers", live=True)
        assert len(list(next(answer.batches).rows)) == 9
        assert len(left(stream.engine)) == 1
        remote.abandon_response()
        until(lambda: left(stream.engine) == [] and len(server.http_server.running) == 0)
        remote.close()


def test_arrow(stream: Sql) -> None:
    def read(text: str) -> list[Any]:
        pieces = StatementSession(stream.engine, stream.engine.spark).run_arrow(text)
        return list(pyarrow.ipc.open_stream(b"".join(pieces)).read_all().to_pylist())

    assert len(read("SELECT id FROM STREAM numbers LIMIT 4")) == 4
    assert read("SELECT count(*) AS n FROM STREAM numbers LIMIT 1") == [{"n": 9}]


@pytest.mark.slow
def test_select_is_a_dataframe_except_over_thrift(stream: Sql) -> None:
    spark = stream.engine.spark
    text = "SELECT id FROM thirds LIMIT 4"
    theirs = spark.newSession()
    theirs.sql(f"USE {stream.value('SELECT current_schema()')}")
    handles = spark.sparkContext._jvm.java.util.HashMap()  # type: ignore[union-attr]
    handles.put("handle", theirs._jsparkSession)
    java(spark).stream.ThriftStreamingSelects.connect(handles)
    try:
        assert spark.sql(text).isStreaming
        assert not theirs.sql(text).isStreaming and len(theirs.sql(text).collect()) == 4
        theirs.sql("CREATE TEMPORARY VIEW seen AS SELECT id, at FROM STREAM numbers")
        assert [row[0] for row in theirs.sql("SELECT count(at) FROM seen LIMIT 1").collect()] == [9]
        assert theirs.sql("SELECT count(*) FROM numbers").collect()[0][0] == 9
        with pytest.raises(Exception, match=r"JETSQL\.STREAM_WITHOUT_LIMIT"):
            theirs.sql("SELECT id FROM thirds")
        with pytest.raises(Exception, match=r"JETSQL\.STREAM_LIMIT_TOO_HIGH"):
            theirs.sql("SELECT id FROM thirds LIMIT 1000000000")
        theirs.sql("CREATE TABLE copied (id BIGINT) USING json")
        for insert in ("INSERT INTO copied", "WITH one AS (SELECT 1) INSERT INTO copied"):
            with pytest.raises(Exception, match=r"JETSQL\.STREAM_OUTSIDE_JOB"):
                theirs.sql(f"{insert} SELECT id FROM STREAM numbers")
            theirs.sql(f"CREATE OR REPLACE JOB copy AS {insert} SELECT id FROM STREAM numbers")
        assert stream.status("copy") == "RUNNING"
    finally:
        java(spark).stream.ThriftStreamingSelects.connect(None)
    assert theirs.sql(text).isStreaming
