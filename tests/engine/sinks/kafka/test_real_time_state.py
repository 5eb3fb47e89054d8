"""Queries with state and joins with tables in real-time mode: each topic has the rows of the same query over tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.conftest import Sql, until
from tests.support.engines.service_engine import ServiceEngine
from tests.support.servers.kafka import Kafka

pytestmark = pytest.mark.spark

OPTIONS: Final = "'trigger' = 'realTime', 'snapshotIntervalMillis' = '10000', 'spark.sql.shuffle.partitions' = '1'"
ADDED: Final = {
    "merged": "SELECT id DIV 2 AS id, 'y' AS name FROM STREAM s UNION SELECT id DIV 2, 'y' FROM STREAM other",
}
"""Queries by the names of the topics to which they add rows."""
UPDATED: Final = {
    "named": "SELECT coalesce(d.k, -1), count(*), sum(s.id), count(DISTINCT s.k) FROM STREAM s LEFT JOIN dim AS d"
    " ON s.k = d.k GROUP BY coalesce(d.k, -1)",
}
"""Queries by the names of the keyed topics whose rows they update."""
TTL: Final = {
    "pairs": "SELECT a.id, CAST(b.id AS STRING) AS name FROM STREAM s AS a JOIN STREAM other AS b ON a.id = b.id",
}
"""Queries that add rows, and whose state has a time to live."""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceEngine]:
    """Return an engine that each call starts if it does not run."""
    service = ServiceEngine(tmp_path / "home", master="local[12]")  # a job occupies a core for each task
    yield service
    service("stop")


def create_tables(kafka: Kafka) -> Iterator[str]:
    """Yield the statements that create the tables, and create their topics."""
    for name in ("s", "other"):
        options = kafka.options(kafka.topic(f"rt.{name}", 1), value_format="json")
        yield f"CREATE TABLE {name} (id BIGINT, k BIGINT, ts TIMESTAMP) {options}"
    yield "CREATE TABLE dim (k BIGINT, name STRING) USING parquet"
    yield "INSERT INTO dim VALUES (0, 'zero'), (1, 'one')"
    for name in (*ADDED, *TTL):
        options = kafka.options(kafka.topic(f"rt.{name}", 1), value_format="json")
        yield f"CREATE TABLE {name} (id BIGINT, name STRING) {options}"
    for name in UPDATED:
        topic = kafka.topic(f"rt.{name}", 1, cleanup_policy="compact")
        options = kafka.options(topic, value_format="json", key_columns="k")
        yield f"CREATE TABLE {name} (k BIGINT, a BIGINT, b BIGINT, c BIGINT) {options}"


def create_jobs() -> Iterator[str]:
    for name, query in ADDED.items():
        yield f"CREATE JOB {name} OPTIONS ({OPTIONS}) AS INSERT INTO {name} {query}"
    for name, query in TTL.items():
        yield f"CREATE JOB {name} OPTIONS ({OPTIONS}, 'stateTtlMillis' = '3600000') AS INSERT INTO {name} {query}"
    for name, query in UPDATED.items():
        yield f"CREATE JOB {name} OPTIONS ({OPTIONS}) AS SINK INTO {name} {query}"


def send(kafka: Kafka, numbers: range) -> None:
    rows = [{"id": n, "k": n % 4, "ts": f"2026-01-01T00:{n // 60:02d}:{n % 60:02d}Z"} for n in numbers]
    kafka.send_json("rt.s", rows)
    kafka.send_json("rt.other", rows[::2])


def rows_of(service: ServiceEngine, query: str) -> Counter[tuple[object, ...]]:
    """Return the rows of the same query over tables."""
    return Counter(map(tuple, service.rows(query.replace("STREAM ", ""))))


def written(kafka: Kafka, name: str) -> Counter[tuple[object, ...]]:
    """Return the rows of a topic: all, or the newest of each key."""
    messages = [json.loads(message.value or b"") for message in kafka.read(f"rt.{name}")]
    rows = [(row.get("id"), row.get("name")) for row in messages]
    if name in UPDATED:
        rows = list({row["k"]: tuple(row.values()) for row in messages}.values())
    return Counter(rows)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.needs_spark("4.3")
def test_topics_are_right_after_kill_9(kafka: Kafka, service: ServiceEngine) -> None:
    service("-e", "; ".join((*create_tables(kafka), *create_jobs())))
    queries = ADDED | TTL | UPDATED
    send(kafka, range(40))
    service("-e", "; ".join(f"WAIT FOR JOB {name} UNTIL IDLE" for name in queries))
    for name, query in queries.items():
        assert written(kafka, name) == rows_of(service, query), name
    send(kafka, range(40, 60))
    until(lambda: sum(written(kafka, "merged").values()) == 30)
    service.kill()
    send(kafka, range(50, 90))  # rows that have come already, and new ones
    service("-e", "; ".join(f"WAIT FOR JOB {name} UNTIL IDLE" for name in queries))
    for name, query in queries.items():
        expected, found = rows_of(service, query), written(kafka, name)
        # What the killed batch had written is written again, and a row of a batch query is there at least once.
        assert found == expected if name in UPDATED else set(found) == set(expected) and found >= expected, name


@pytest.mark.needs_spark("4.3")
def test_refusals_name_the_remedy(sql: Sql, kafka: Kafka) -> None:
    topic = kafka.options(kafka.topic("rt.refused", 1), value_format="json")
    keyed = kafka.options(kafka.topic("rt.refused.keyed", 1), value_format="json", key_columns="id")
    for name in ("a", "b"):
        sql(f"CREATE TABLE {name} (id BIGINT, k BIGINT, ts TIMESTAMP) {topic}")
    sql(f"CREATE TABLE o (id BIGINT) {kafka.options(kafka.topic('rt.refused.out', 1), value_format='json')}")
    sql(f"CREATE TABLE keyed (id BIGINT, n BIGINT) {keyed}")
    sql("CREATE TABLE dim (id BIGINT, v BIGINT) USING parquet")
    stream = "STREAM a WATERMARK ts DELAY OF INTERVAL 1 SECOND"
    for query, says in (
        ("SELECT a.id FROM STREAM a JOIN STREAM b ON a.id = b.id", "'stateTtlMillis'"),
        ("SELECT b.id FROM STREAM a JOIN b ON a.id = b.id", "BROADCAST"),
        ("SELECT v FROM STREAM a JOIN dim ON k > v", "Compare columns of both sides by ="),
        (f"SELECT sum(id) OVER (PARTITION BY k ORDER BY ts) FROM {stream}", "rows by time: rows would wait"),
        (
            f"SELECT id FROM {stream} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES B.id AS id ONE ROW PER MATCH"
            " PATTERN (A B) DEFINE B AS B.id > A.id)",
            "row patterns: rows would wait",
        ),
        ("SINK INTO keyed SELECT n, count(*) FROM (SELECT k, count(*) AS n FROM STREAM a GROUP BY k) GROUP BY n",
         "takes rows back"),
    ):  # fmt: skip
        insert = query if query.startswith("SINK") else f"INSERT INTO o (id) {query}"
        for statement in ("CREATE JOB", "EXPLAIN CREATE JOB"):
            text = f"{statement} j OPTIONS ({OPTIONS}) AS {insert}"
            error = sql.error(text)
            assert error.condition == "JETSQL.TRIGGER_NOT_POSSIBLE", (query, error)
            assert error.column is not None and text[error.column - 1 :].startswith("'realTime'")
            assert says in f"{error.message} {error.hint}" and "'interval'" in error.hint, (query, error)
    assert sql("SHOW JOBS") == []
