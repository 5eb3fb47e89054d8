"""Jobs that write several tables from one source: FROM source INSERT INTO a SELECT ... INSERT INTO b SELECT ..."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.conftest import Sql, until
from tests.support.golden_reports import compare
from tests.support.servers.kafka import Kafka
from tests.support.servers.postgres import Postgres

pytestmark = pytest.mark.spark

QUICK = "OPTIONS ('snapshotIntervalMillis' = '100')"
_numbers = itertools.count(1)


@pytest.fixture
def orders(sql: Sql) -> Sql:
    sql.all("""
CREATE TABLE orders (id INT, kind STRING, items ARRAY<STRING>) USING json;
INSERT INTO orders VALUES (1, 'a', array('x', 'y')), (2, 'b', array()), (3, 'c', array('z'));
CREATE TABLE kinds (kind STRING, name STRING) USING parquet;
INSERT INTO kinds VALUES ('a', 'A'), ('b', 'B');
CREATE TABLE good (id INT, name STRING) USING parquet;
CREATE TABLE items (item STRING, id BIGINT) USING orc;
""")
    return sql


def add(sql: Sql, job: str, *rows: str) -> None:
    # One file: the job may see several files of a statement in two batches.
    sql(f"INSERT INTO orders SELECT /*+ COALESCE(1) */ * FROM VALUES {', '.join(rows)}")
    sql(f"WAIT FOR JOB {job} UNTIL IDLE")


def rows(sql: Sql, table: str) -> list[tuple[object, ...]]:
    return sorted(sql(f"SELECT * FROM {table}"))


@pytest.mark.slow
def test_files_a_database_and_a_topic_get_their_rows_once(orders: Sql, postgres: Postgres, kafka: Kafka) -> None:
    name = f"several{next(_numbers)}"
    postgres(f"CREATE SCHEMA {name}; CREATE TABLE {name}.t (id int PRIMARY KEY, n int)")
    kafka.topic(name, 2)
    orders(f"CREATE TABLE kept {postgres.options(f'{name}.t', key_columns='id')}")
    orders(f"CREATE TABLE topic {kafka.options(name)}")
    text = f"""CREATE JOB j {QUICK} AS
FROM (SELECT o.*, k.name FROM STREAM orders o LEFT JOIN kinds k ON o.kind = k.kind) AS q
INSERT INTO good SELECT id, q.name WHERE name IS NOT NULL
SINK INTO kept SELECT id, size(items)
INSERT INTO items (id, item) SELECT id, item LATERAL VIEW explode(items) AS item
INSERT INTO topic (key, value) SELECT NULL, CAST(kind AS BINARY) WHERE name IS NULL"""
    explained = orders.value(f"EXPLAIN {text}")
    assert [line.split(";")[-1] for line in explained.splitlines() if line.startswith("Sink: ")] == [
        " rows are added", " rows are updated by id", " rows are added", " rows are added",
    ]  # fmt: skip
    [(job_id, _, _, message)] = orders(text)
    assert message.startswith("Created.") and message.endswith("Delivery: exactly once.")
    add(orders, "j", "(3, 'd', array())", "(4, 'b', array('w'))")
    orders("SUSPEND JOB j")
    orders("INSERT INTO kinds VALUES ('e', 'E')")
    orders("RESUME JOB j")
    add(orders, "j", "(5, 'e', array('v'))")
    assert rows(orders, "good") == [(1, "A"), (2, "B"), (4, "B"), (5, "E")]
    assert rows(orders, "items") == [("v", 5), ("w", 4), ("x", 1), ("y", 1), ("z", 3)]
    assert postgres(f"SELECT * FROM {name}.t ORDER BY 1") == [(1, 2), (2, 0), (3, 0), (4, 1), (5, 1)]
    assert sorted(message.value or b"" for message in kafka.read(name)) == [b"c", b"d"]
    [(sink, batch)] = orders(f"SELECT sink, batch FROM jetsql.jobs WHERE id = '{job_id}'")
    assert [table.rpartition(".")[2] for table in sink.split(", ")] == ["good", "kept", "items", "topic"]
    assert orders(f"SELECT sum(input_rows), sum(output_rows) FROM jetsql.metrics WHERE job_id = '{job_id}'") == [
        (6, 17)
    ]
    counted = orders.value(f"SELECT sink_rows FROM jetsql.metrics WHERE job_id = '{job_id}' AND batch = {batch}")
    assert sorted((table.rpartition(".")[2], count) for table, count in counted.items()) == [
        ("good", 1), ("items", 1), ("kept", 1), ("topic", 0),
    ]  # fmt: skip
    assert postgres(f"SELECT job, batch FROM {name}.jetsql_ledger") == [(f"{job_id}-sink1", batch)]
    assert "the job j writes it" in orders.error("DROP TABLE items").message
    orders("DROP JOB j")
    assert postgres(f"SELECT count(*) FROM {name}.jetsql_ledger") == [(0,)]
    assert [each for each in kafka.admin.list_consumer_groups().result(30).valid if job_id in each.group_id] == []
    postgres(f"DROP SCHEMA {name} CASCADE")


@pytest.mark.slow
def test_a_table_that_refuses_a_batch_gets_it_later(orders: Sql, postgres: Postgres) -> None:
    name = f"several{next(_numbers)}"
    postgres(f"CREATE SCHEMA {name}; CREATE TABLE {name}.t (id int CONSTRAINT few CHECK (id < 4), kind text)")
    orders(f"CREATE TABLE kept {postgres.options(f'{name}.t')}")
    body = "INSERT INTO good SELECT id, kind INSERT INTO kept SELECT id, kind INSERT INTO items SELECT kind, id"
    at_first = "OPTIONS ('snapshotIntervalMillis' = '100', 'restartAttempts' = '0')"
    [(job_id, *_)] = orders(f"CREATE JOB j {at_first} AS FROM STREAM orders {body}")
    orders("INSERT INTO orders VALUES (4, 'd', NULL)")
    until(lambda: orders.status("j") == "SUSPENDED")
    stored = Path(orders.engine.home) / "checkpoints" / job_id / "rows"
    assert "few" in str(dict(orders("DESCRIBE JOB j"))["last error"])
    assert [len(rows(orders, table)) for table in ("good", "items")] == [4, 3]
    assert len(list(stored.iterdir())) == 1
    postgres(f"ALTER TABLE {name}.t DROP CONSTRAINT few")
    orders("RESUME JOB j")
    orders("WAIT FOR JOB j UNTIL IDLE")
    assert [len(rows(orders, table)) for table in ("good", "items")] == [4, 4]
    assert [id for id, _ in postgres(f"SELECT * FROM {name}.t ORDER BY 1")] == [1, 2, 3, 4]
    assert not stored.exists()
    orders("DROP JOB j")
    postgres(f"DROP SCHEMA {name} CASCADE")


@pytest.mark.slow
def test_each_row_takes_one_branch_even_into_one_table(orders: Sql) -> None:
    """Compute the source once for all branches, and the current time, too."""
    orders("CREATE TABLE twice (id INT, chance DOUBLE, at TIMESTAMP, day DATE) USING parquet")
    orders(
        f"""CREATE JOB j {QUICK} AS FROM (SELECT *, rand() AS chance FROM STREAM orders)
        INSERT INTO twice SELECT id, chance, current_timestamp(), current_date() WHERE chance < 0.5
        INSERT INTO twice SELECT id, chance, now(), current_date() WHERE NOT chance < 0.5"""
    )
    add(orders, "j", *(f"({number}, 'x', NULL)" for number in range(4, 50)))
    assert [id for (id,) in orders("SELECT id FROM twice ORDER BY id")] == list(range(1, 50))
    assert orders.value("SELECT count(DISTINCT at) FROM twice") == 2


@pytest.mark.slow
def test_the_source_may_keep_state(orders: Sql) -> None:
    orders.all("""
CREATE TABLE events (kind STRING, at TIMESTAMP) USING json;
INSERT INTO events VALUES ('a', timestamp'2024-01-01 00:00:00'), ('a', timestamp'2024-01-01 00:00:30');
CREATE TABLE few (start TIMESTAMP, n BIGINT) USING parquet;
CREATE TABLE many (start TIMESTAMP, n BIGINT) USING parquet;
""")
    counts = """SELECT window.start, count(*) AS n FROM STREAM events WATERMARK at DELAY OF INTERVAL 0 SECONDS
      GROUP BY window(at, '1 minute')"""
    branches = "INSERT INTO few SELECT start, n WHERE n < 2 INSERT INTO many SELECT start, n WHERE n >= 2"
    orders(f"CREATE JOB j {QUICK} AS FROM ({counts}) {branches}")
    orders("INSERT INTO events VALUES ('b', timestamp'2024-01-01 00:01:00'), ('b', timestamp'2024-01-01 00:05:00')")
    orders("RESTART JOB j")
    orders("WAIT FOR JOB j UNTIL IDLE")
    until(lambda: len(rows(orders, "few")) == 1)
    assert [n for _, n in rows(orders, "many")] == [2]


@pytest.mark.slow
def test_a_new_version_adds_and_removes_tables(orders: Sql, tmp_path: Path) -> None:
    first = "INSERT INTO good SELECT id, kind"
    second = "INSERT INTO items SELECT kind, id"
    orders(f"CREATE JOB j {QUICK} AS {first} FROM STREAM orders")
    [(*_, message)] = orders(f"CREATE OR REPLACE JOB j {QUICK} AS FROM STREAM orders {second} {first}")
    assert "New rows are written to spark_catalog" in message
    add(orders, "j", "(4, 'd', NULL)")
    [(*_, message)] = orders(f"CREATE OR REPLACE JOB j {QUICK} AS {second} FROM STREAM orders")
    assert "No more rows are written to spark_catalog" in message
    add(orders, "j", "(5, 'e', NULL)")
    assert [id for id, _ in rows(orders, "good")] == [1, 2, 3, 4]
    assert [id for _, id in rows(orders, "items")] == [4, 5]


_WRONG = (
    ("INSERT INTO good SELECT id INSERT INTO items SELECT kind, id", "good"),
    ("INSERT INTO good SELECT id, kind INSERT INTO items SELECT kind, items", "items"),
    ("INSERT INTO good SELECT id, kind INSERT INTO nowhere SELECT kind", "nowhere"),
    ("INSERT INTO good SELECT id, kind INSERT INTO items SELECT knd, id", "knd"),
    ("INSERT INTO good SELECT id, kind INSERT INTO items SELECT kind, count(*) GROUP BY kind", "INSERT INTO items"),
    ("INSERT INTO good SELECT DISTINCT id, kind INSERT INTO items SELECT kind, id", "INSERT INTO good"),
    ("INSERT INTO good SELECT id, kind LIMIT 1 INSERT INTO items SELECT kind, id", "INSERT INTO good"),
    ("INSERT INTO good SELECT id, kind ORDER BY id INSERT INTO items SELECT kind, id", "INSERT INTO good"),
    ("INSERT INTO good SELECT id, input_file_name() INSERT INTO items SELECT kind, id", "INSERT INTO good"),
    ("INSERT INTO good SELECT id, kind INSERT INTO orders SELECT id, kind, items", "orders SELECT"),
    ("INSERT INTO good SELECT id, kind INSERT INTO items VALUES ('a', 1)", "VALUES"),
)
"""The INSERTs of a body, and the word at which the error points."""


def test_a_wrong_branch_is_reported_at_its_place(orders: Sql) -> None:
    schema = orders.value("SELECT current_schema()")
    for body, word in _WRONG:
        error = orders.error(f"CREATE JOB j AS\nFROM STREAM orders\n{body}")
        compare([error.condition, error.message.replace(schema, "SCHEMA"), error.hint])
        assert (error.line, error.column) == (3, body.index(word) + 1), body


@pytest.mark.slow
def test_unsuitable_sources_of_branches_are_refused(orders: Sql) -> None:
    body = "INSERT INTO good SELECT id, kind INSERT INTO items SELECT kind, id"
    for source in ("orders", "(SELECT *, make_interval(1) AS span FROM STREAM orders)"):
        wider = body.replace("items SELECT", "items SELECT span || '' ||") if "span" in source else body
        error = orders.error(f"CREATE JOB j AS FROM {source} {wider}")
        compare([error.condition, error.message, error.hint])
        assert (error.line, error.column) == (1, len("CREATE JOB j AS ") + 1)
    now = "OPTIONS ('trigger' = 'availableNow')"
    orders(f"CREATE JOB j {now} AS FROM STREAM orders {body}")
    orders("WAIT FOR JOB j UNTIL COMPLETED")
    assert (len(rows(orders, "good")), len(rows(orders, "items"))) == (3, 3)
