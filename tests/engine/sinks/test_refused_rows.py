"""The option sink.on.error: rows that the sink refuses are in a table of their own, and the others are written."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Sql
from tests.support.servers.postgres import Postgres

pytestmark = pytest.mark.spark

QUICK = "'snapshotIntervalMillis' = '100'"
KEPT = f"OPTIONS ({QUICK}, 'sink.on.error' = 'table:refused')"
_schemas = itertools.count(1)


class Target:
    """A table `t` of the server, and the stream `events` that jobs copy to it."""

    def __init__(self, server: Postgres, sql: Sql, schema: str) -> None:
        self.server = server
        self.sql = sql
        self.name = f"{schema}.t"

    def make(self, columns: str, **options: str) -> None:
        self.server(f"CREATE TABLE {self.name} ({columns})")
        self.sql(f"CREATE TABLE t {self.server.options(self.name, **options)}")

    def add(self, values: str) -> None:
        # One file: the job may see several files of a statement in two batches.
        self.sql(f"INSERT INTO events SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")

    def rows(self) -> list[tuple[Any, ...]]:
        return self.server(f"SELECT * FROM {self.name} ORDER BY 1, 2")

    def refused_rows(self) -> list[tuple[Any, ...]]:
        rows = self.sql("SELECT batch, sqlstate, row FROM refused")
        return sorted((batch, state, *json.loads(row).values()) for batch, state, row in rows)


@pytest.fixture
def target(postgres: Postgres, sql: Sql) -> Iterator[Target]:
    schema = f"refused_{next(_schemas)}"
    postgres(f"CREATE SCHEMA {schema}")
    sql("CREATE TABLE events (id INT, name STRING) USING json")
    yield Target(postgres, sql, schema)
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")
    postgres(f"DROP SCHEMA {schema} CASCADE")


def test_refused_rows_of_each_kind_are_kept_and_others_written(target: Target) -> None:
    target.make("id int PRIMARY KEY CHECK (id < 100), name varchar(3) NOT NULL")
    target.add("(1, 'a'), (2, 'long'), (3, NULL), (4, 'd'), (4, 'e'), (500, 'f'), (6, 'g'), (7, 'many')")
    target.sql(f"CREATE JOB j {KEPT} AS INSERT INTO t SELECT * FROM STREAM events")
    target.sql("WAIT FOR JOB j UNTIL IDLE")
    assert target.rows() == [(1, "a"), (4, "d"), (6, "g")]
    assert target.refused_rows() == [
        *((0, "23502", 3, None), (0, "23505", 4, "e"), (0, "23514", 500, "f")),
        *((0, "54006", 2, "long"), (0, "54006", 7, "many")),
    ]
    target.add("(1, 'x'), (8, 'h')")
    target.sql("WAIT FOR JOB j UNTIL IDLE")
    assert target.rows() == [(1, "a"), (4, "d"), (6, "g"), (8, "h")]
    [(job, table, message, sources)] = target.sql("SELECT job, sink, message, sources FROM refused WHERE batch = 1")
    assert job == "j" and table.endswith(".t")
    assert "Key (id)=(1) already exists." in message
    [source] = json.loads(sources)
    assert source["source"].endswith(".events")
    assert source["end"]["logOffset"] == source["start"]["logOffset"] + 1
    assert "'sink.on.error' = 'table:refused'" in target.sql.value("SHOW CREATE JOB j")
    plan = target.sql.value(f"EXPLAIN CREATE JOB k {KEPT} AS INSERT INTO t SELECT * FROM STREAM events")
    assert "Refused:     rows that the sink refuses are written to" in plan
    assert "at most 1000 of a batch" in plan


def test_rules_come_between_conversions_and_refusals(target: Target) -> None:
    target.make("id int PRIMARY KEY CHECK (id <> 2), name varchar(3)")
    target.add("(1, 'a'), (2, 'b'), (3, 'b'), (30, 'c'), (40, 'long')")
    target.sql(
        f"CREATE JOB j (CONSTRAINT small EXPECT (id < 10) ON VIOLATION INTO TABLE wrong) {KEPT}"
        " AS INSERT INTO t SELECT * FROM STREAM events"
    )
    target.sql("WAIT FOR JOB j UNTIL IDLE")
    assert target.rows() == [(1, "a"), (3, "b")]
    assert target.refused_rows() == [(0, "23514", 2, "b"), (0, "54006", 40, "long")]
    assert target.sql("SELECT row FROM wrong") == [('{"id":30,"name":"c"}',)]


def test_upserts_keep_the_row_whose_update_is_refused(target: Target) -> None:
    target.make("id int PRIMARY KEY, name text CHECK (name <> '')", key_columns="id")
    target.add("(1, 'a'), (2, 'b'), (NULL, 'c')")
    target.sql(f"CREATE JOB j {KEPT} AS SINK INTO t SELECT id, name FROM STREAM events")
    target.sql("WAIT FOR JOB j UNTIL IDLE")
    target.add("(1, ''), (2, 'B'), (3, 'c')")
    target.sql("WAIT FOR JOB j UNTIL IDLE")
    assert target.rows() == [(1, "a"), (2, "B"), (3, "c")]
    assert target.refused_rows() == [(0, "23502", None, "c"), (1, "23514", 1, "")]


def test_rows_that_need_later_ones_are_written(target: Target) -> None:
    target.make("id int PRIMARY KEY, name text, parent int")
    target.server(f"ALTER TABLE {target.name} ADD FOREIGN KEY (parent) REFERENCES {target.name} (id)")
    target.add("(3, '2'), (2, '1'), (1, '1'), (4, '9')")
    target.sql(f"CREATE JOB j {KEPT} AS INSERT INTO t SELECT id, name, CAST(name AS INT) FROM STREAM events")
    target.sql("WAIT FOR JOB j UNTIL IDLE")
    assert [row[0] for row in target.rows()] == [1, 2, 3]
    assert target.refused_rows() == [(0, "23503", 4, "9", 9)]


def test_exceptions_of_triggers_refuse_their_row(target: Target) -> None:
    target.make("id int, name text")
    target.server(
        f"""
        CREATE FUNCTION {target.name}_check() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'id % is not welcome', NEW.id; END $$;
        CREATE TRIGGER checked BEFORE INSERT ON {target.name} FOR EACH ROW WHEN (NEW.id > 5)
          EXECUTE FUNCTION {target.name}_check()
        """
    )
    target.add("(1, 'a'), (6, 'b')")
    target.sql(f"CREATE JOB j {KEPT} AS INSERT INTO t SELECT * FROM STREAM events")
    target.sql("WAIT FOR JOB j UNTIL IDLE")
    assert target.rows() == [(1, "a")]
    assert target.refused_rows() == [(0, "P0001", 6, "b")]
    assert "id 6 is not welcome" in target.sql.value("SELECT message FROM refused")


def test_the_limit_stops_the_job_and_can_be_raised(target: Target) -> None:
    target.make("id int PRIMARY KEY, name text NOT NULL")
    target.sql(
        f"CREATE JOB j OPTIONS ({QUICK}, 'sink.on.error' = 'table:refused', 'sink.on.error.most' = '2')"
        " AS INSERT INTO t SELECT * FROM STREAM events"
    )
    target.sql("WAIT FOR JOB j UNTIL IDLE")
    target.add("(1, 'a'), (2, NULL), (3, NULL), (4, NULL)")
    error = target.sql.error("WAIT FOR JOB j UNTIL IDLE")
    assert "[JETSQL.SINK_REFUSED_ROWS]" in error.message
    assert "refuses more than 2 rows of batch" in error.message
    assert target.sql.status("j") == "SUSPENDED"
    assert (target.rows(), target.refused_rows()) == ([], [])
    target.sql("ALTER JOB j OPTIONS ('sink.on.error.most' = '3')")
    target.sql("RESUME JOB j")
    target.sql("WAIT FOR JOB j UNTIL IDLE")
    assert target.rows() == [(1, "a")]
    assert [row[2] for row in target.refused_rows()] == [2, 3, 4]


def test_a_refusal_of_no_single_row_stops_the_job(target: Target) -> None:
    target.make("id int PRIMARY KEY, name text", key_columns="id")
    target.add("(1, 'a'), (1, 'b'), (NULL, 'c')")
    error = target.sql.error(f"CREATE JOB j {KEPT} AS SINK INTO t SELECT id, name FROM STREAM events")
    assert "Two rows of batch 0 have the same key (id)" in error.message
    assert (target.rows(), target.sql("SELECT * FROM refused")) == ([], [])


def test_each_of_several_tables_refuses_its_own_rows(target: Target) -> None:
    target.make("id int PRIMARY KEY, name text NOT NULL")
    target.server(f"CREATE TABLE {target.name}_2 (id int PRIMARY KEY CHECK (id <> 2))")
    target.sql(f"CREATE TABLE t2 {target.server.options(f'{target.name}_2')}")
    target.add("(1, 'a'), (2, NULL), (2, 'c'), (3, 'd')")
    target.sql(f"CREATE JOB j {KEPT} AS FROM STREAM events INSERT INTO t SELECT id, name INSERT INTO t2 SELECT id")
    target.sql("WAIT FOR JOB j UNTIL IDLE")
    assert target.rows() == [(1, "a"), (2, "c"), (3, "d")]
    assert target.server(f"SELECT * FROM {target.name}_2 ORDER BY 1") == [(1,), (3,)]
    kept = sorted(target.sql("SELECT substring_index(sink, '.', -1), row FROM refused"))
    assert kept == [("t", '{"id":2,"name":null}'), ("t2", '{"id":2}'), ("t2", '{"id":2}')]


@pytest.mark.parametrize(
    ("options", "body", "message"),
    [
        ("'sink.on.error' = 'table:refused'", "INSERT INTO t SELECT * FROM events", "it reads no stream"),
        (
            "'sink.on.error' = 'table:refused'",
            "INSERT OVERWRITE t SELECT count(*), max(name) FROM STREAM events",
            "each batch writes the whole result",
        ),
        (
            "'sink.on.error' = 'table:refused'",
            "AUTO CDC INTO t FROM STREAM events KEYS (id) APPLY AS DELETE WHEN name = '' SEQUENCE BY name",
            "the job deletes rows of its table",
        ),
        (
            "'sink.on.error' = 'table:files'",
            "INSERT INTO files SELECT id FROM STREAM events",
            "files is the table that the job writes",
        ),
        (
            "'sink.on.error' = 'table:refused', 'processingGuarantee' = 'atLeastOnce'",
            "INSERT INTO t SELECT * FROM STREAM events",
            "the job has the processingGuarantee atLeastOnce, so a batch can be written partly",
        ),
        (
            "'sink.on.error' = 'table:events'",
            "INSERT INTO t SELECT * FROM STREAM events",
            "events is a source of the job",
        ),
        (
            "'sink.on.error.most' = '5'",
            "INSERT INTO t SELECT * FROM STREAM events",
            "applies only to a job with a table",
        ),
        ("'sink.on.error' = 'ignore'", "INSERT INTO t SELECT * FROM STREAM events", "'ignore' is not a valid value"),
        (
            "'sink.on.error' = 'table:x', 'sink.on.error.most' = '0'",
            "INSERT INTO t SELECT * FROM STREAM events",
            "'0' is not a valid value",
        ),
    ],
)
def test_jobs_that_cannot_keep_refused_rows_are_refused(target: Target, options: str, body: str, message: str) -> None:
    target.make("id int PRIMARY KEY, name text", key_columns="id")
    target.sql("CREATE TABLE files (id INT) USING parquet")
    error = target.sql.error(f"CREATE JOB j OPTIONS ({options}) AS {body}")
    assert error.condition == "JETSQL.INVALID_OPTION_VALUE"
    assert message in error.message
    assert error.hint
    assert error.line == 1
    assert target.sql("SHOW TABLES LIKE 'refused'") == []
