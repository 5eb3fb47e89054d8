"""JDBC tables as sinks, on a real PostgreSQL: committed rows, refusals and outages."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from tests.conftest import Sql
from tests.support.engines.home_files import read_files
from tests.support.servers.postgres import PASSWORD, Postgres

pytestmark = pytest.mark.spark

QUICK = "OPTIONS ('snapshotIntervalMillis' = '100')"
_schemas = itertools.count(1)


@dataclass(frozen=True)
class Shop:
    """A schema of the server for one test, next to the test's schema in the catalogue."""

    server: Postgres
    sql: Sql
    schema: str

    def table(self, name: str, columns: str, **options: str) -> None:
        """Make a table in the database, and one in the catalogue that stands for it."""
        self.server(f"CREATE TABLE {self.schema}.{name} ({columns})")
        self.sql(f"CREATE TABLE {name} {self.server.options(f'{self.schema}.{name}', **options)}")

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        """Return a table's rows, as the database has them, sorted by the first column."""
        return self.server(f"SELECT * FROM {self.schema}.{name} ORDER BY 1")

    def ours(self) -> list[str]:
        """Return the tables that JetSQL has in the schema."""
        query = f"SELECT tablename FROM pg_tables WHERE schemaname = '{self.schema}' AND tablename LIKE 'jetsql%'"
        return [name for (name,) in self.server(query)]


@pytest.fixture
def shop(postgres: Postgres, sql: Sql) -> Iterator[Shop]:
    schema = f"shop_{next(_schemas)}"
    postgres(f"CREATE SCHEMA {schema}")
    sql("CREATE TABLE events (id INT, name STRING) USING json")
    sql("INSERT INTO events VALUES (1, 'a'), (2, NULL)")
    yield Shop(postgres, sql, schema)
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")
    postgres(f"DROP SCHEMA {schema} CASCADE")


def words(found: Any) -> str:
    return f"{found.message} {found.hint}"


# --- what gets in ----------------------------------------------------------------------------------------------------


def test_each_batch_is_written_once_with_its_number(shop: Shop) -> None:
    shop.table("t", "id int, name text")
    [(job_id, _, status, message)] = shop.sql(f"CREATE JOB j {QUICK} AS INSERT INTO t SELECT * FROM STREAM events")
    assert (status, message) == ("RUNNING", "Created. The first batch is committed. Delivery: exactly once.")
    shop.sql("INSERT INTO events VALUES (3, 'c')")
    shop.sql("WAIT FOR JOB j UNTIL IDLE")
    assert shop.rows("t") == [(1, "a"), (2, None), (3, "c")]
    assert [row[:3] for row in shop.rows("jetsql_ledger")] == [(job_id, 1, 1)]
    assert shop.ours() == ["jetsql_ledger"]
    shop.sql("DROP JOB j")
    assert shop.rows("jetsql_ledger") == []


@pytest.mark.slow
def test_values_arrive_unchanged(shop: Shop) -> None:
    shop.server(f"CREATE TYPE {shop.schema}.mood AS ENUM ('sad', 'happy')")
    columns = {
        "int": "42",
        "bigint": "9223372036854775807",
        "double precision": "double('-Infinity')",
        "numeric(12,3)": "123456789.125BD",
        "boolean": "true",
        "text": "'it''s \"ü\" \\\\ '",
        "bytea": "X'00FF'",
        "date": "DATE'1969-12-31'",
        "timestamptz": "TIMESTAMP'2024-03-31 02:30:00.123456'",
        "uuid": "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
        "jsonb": "'{\"x\": [1]}'",
        f"{shop.schema}.mood": "'happy'",
        "int[]": "array(1, 2)",
    }
    names = [f"c{n}" for n in range(len(columns))]
    shop.table("t", ", ".join(f"{name} {kind}" for name, kind in zip(names, columns, strict=True)))
    values, nulls = ", ".join(columns.values()), ", ".join(["NULL"] * len(columns))
    shop.sql(f"CREATE JOB j {QUICK} AS INSERT INTO t SELECT {values} FROM STREAM events WHERE id = 1")
    shop.sql(f"CREATE JOB n AS INSERT INTO t SELECT {nulls} FROM events LIMIT 1")
    exact = (
        *(42, 9223372036854775807, float("-inf"), Decimal("123456789.125"), True, 'it\'s "ü" \\ ', b"\x00\xff"),
        *(date(1969, 12, 31), datetime(2024, 3, 31, 2, 30, 0, 123456, UTC)),
        *(UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), {"x": [1]}, "happy", [1, 2]),
    )
    assert shop.rows("t") == [exact, (None,) * len(columns)]


@pytest.mark.slow
def test_names_that_need_quotes(shop: Shop) -> None:
    shop.server(f'CREATE TABLE {shop.schema}."My Table" ("Key" int PRIMARY KEY, "sel""ect" text)')
    name = f'{shop.schema}."My Table"'
    shop.sql(f"CREATE TABLE t {shop.server.options(name, key_columns='key')}")
    shop.sql(f"CREATE JOB j {QUICK} AS SINK INTO t SELECT id, name FROM STREAM events")
    assert shop.rows('"My Table"') == [(1, "a"), (2, None)]
    assert "rows are updated by Key" in dict(shop.sql("DESCRIBE JOB j"))["sink"]


@pytest.mark.slow
def test_upserts_follow_an_aggregate(shop: Shop) -> None:
    shop.table("counts", "name text PRIMARY KEY, n bigint, newest int", key_columns="name")
    query = "SELECT coalesce(name, '-'), count(*), max(id) FROM STREAM events GROUP BY 1"
    shop.sql(f"CREATE JOB j {QUICK} AS SINK INTO counts {query}")
    assert shop.rows("counts") == [("-", 1, 2), ("a", 1, 1)]
    shop.sql("INSERT INTO events VALUES (7, 'a'), (8, 'b')")
    shop.sql("WAIT FOR JOB j UNTIL IDLE")
    assert shop.rows("counts") == [("-", 1, 2), ("a", 2, 7), ("b", 1, 8)]
    facts = dict(shop.sql("DESCRIBE JOB j"))
    assert facts["output mode"] == "update"
    assert facts["sink"].endswith(
        f"(jdbc, PostgreSQL 127.0.0.1:{shop.server.port}/postgres, {shop.schema}.counts); rows are updated by name"
    )
    assert facts["delivery"].endswith("each batch is one transaction, which also stores the batch number")


@pytest.mark.slow
def test_a_statement_creates_the_table_of_the_catalogue(shop: Shop) -> None:
    query = "SELECT coalesce(name, '-') AS name, count(*) AS n FROM STREAM events GROUP BY 1"
    table = f"CREATE TABLE counts {shop.server.options(f'{shop.schema}.counts', key_columns='name')}"
    shop.sql.error(f"CREATE JOB j {QUICK} AS {table} AS {query}")
    assert shop.sql("SHOW TABLES LIKE 'counts'") == []
    shop.server(f"CREATE TABLE {shop.schema}.counts (name text PRIMARY KEY, n bigint)")
    assert "rows are updated by name" in str(shop.sql.value(f"EXPLAIN CREATE JOB j {QUICK} AS {table} AS {query}"))
    shop.sql(f"CREATE JOB j {QUICK} AS {table} AS {query}")
    assert shop.rows("counts") == [("-", 1), ("a", 1)]


@pytest.mark.slow
def test_rows_of_key_columns_only_are_written_once(shop: Shop) -> None:
    shop.table("seen", "id int, name text, PRIMARY KEY (id, name)", key_columns="id, NAME")
    shop.sql("INSERT INTO events VALUES (1, 'a'), (1, 'a')")
    shop.sql(f"CREATE JOB j {QUICK} AS SINK INTO seen SELECT id, coalesce(name, '') FROM STREAM events")
    assert shop.rows("seen") == [(1, "a"), (2, "")]


def test_overwrite_shows_readers_the_old_result_or_the_new_one(shop: Shop) -> None:
    shop.table("total", "n bigint")
    shop.sql(f"CREATE JOB j {QUICK} AS INSERT OVERWRITE total SELECT count(*) FROM STREAM events")
    with shop.server.connect() as reader, reader.transaction():
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        query = f"SELECT n FROM {shop.schema}.total"
        assert reader.execute(query).fetchall() == [(2,)]
        shop.sql("INSERT INTO events VALUES (3, 'c')")
        shop.sql("WAIT FOR JOB j UNTIL IDLE")
        assert reader.execute(query).fetchall() == [(2,)]
    assert shop.rows("total") == [(3,)]


@pytest.mark.slow
def test_batch_jobs_write_atomically_and_leave_no_tables(shop: Shop) -> None:
    shop.table("t", "id int, name text")
    [row] = shop.sql("CREATE JOB j AS INSERT INTO t SELECT * FROM events")
    read = "Created: it has read events once and ended; write STREAM events to read new rows as they arrive."
    assert row[2:] == ("COMPLETED", f"{read} All rows are committed. Delivery: exactly once.")
    shop.sql("CREATE JOB o AS INSERT OVERWRITE t SELECT id + 10, name FROM t")
    assert shop.rows("t") == [(11, "a"), (12, None)]
    assert dict(shop.sql("DESCRIBE JOB j"))["delivery"].startswith(
        "exactly once: all rows of a batch job become visible together"
    )


@pytest.mark.slow
def test_at_least_once_appends_without_ledger_tables(shop: Shop) -> None:
    shop.table("t", "id int, name uuid")
    options = "OPTIONS ('snapshotIntervalMillis' = '100', 'processingGuarantee' = 'atLeastOnce')"
    shop.sql(f"CREATE JOB j {options} AS INSERT INTO t SELECT id, NULL FROM STREAM events")
    assert shop.rows("t") == [(1, None), (2, None)]
    assert shop.ours() == []


@pytest.mark.slow
def test_without_a_guarantee_every_start_writes_its_batches_again(shop: Shop) -> None:
    shop.table("t", "id int PRIMARY KEY, name text", key_columns="id")
    options = "OPTIONS ('snapshotIntervalMillis' = '100', 'processingGuarantee' = 'none')"
    shop.sql(f"CREATE JOB j {options} AS SINK INTO t SELECT * FROM STREAM events")
    shop.server(f"DELETE FROM {shop.schema}.t")
    shop.sql("RESTART JOB j")
    shop.sql("WAIT FOR JOB j UNTIL IDLE")
    assert shop.rows("t") == [(1, "a"), (2, None)]
    assert shop.ours() == []


@pytest.mark.slow
def test_available_now_continues_where_it_stopped(shop: Shop) -> None:
    shop.table("t", "id int, name text")
    shop.sql("CREATE JOB j OPTIONS ('trigger' = 'availableNow') AS INSERT INTO t SELECT * FROM STREAM events")
    shop.sql("WAIT FOR JOB j UNTIL COMPLETED")
    shop.sql("INSERT INTO events VALUES (3, 'c')")
    shop.sql("RESUME JOB j")
    shop.sql("WAIT FOR JOB j UNTIL COMPLETED")
    assert shop.rows("t") == [(1, "a"), (2, None), (3, "c")]


@pytest.mark.slow
def test_staged_rows_of_a_dead_run_are_swept(shop: Shop) -> None:
    shop.table("t", "id int, name text")
    [row] = shop.sql(f"CREATE JOB j {QUICK} AS INSERT INTO t SELECT * FROM STREAM events")
    shop.server(f"CREATE TABLE {shop.schema}.jetsql_{row[0].replace('-', '')}_0_7 (id int)")
    shop.sql("RESTART JOB j")
    shop.sql("INSERT INTO events VALUES (3, 'c')")
    shop.sql("WAIT FOR JOB j UNTIL IDLE")
    assert shop.ours() == ["jetsql_ledger"]
    assert len(shop.rows("t")) == 3


# --- rows that can't get in ------------------------------------------------------------------------------------------


def test_duplicate_key_is_not_retried(shop: Shop) -> None:
    shop.table("t", "id int PRIMARY KEY, name text")
    shop.sql(f"CREATE JOB j {QUICK} AS INSERT INTO t SELECT * FROM STREAM events")
    shop.sql("INSERT INTO events VALUES (3, 'new'), (1, 'again')")
    error = shop.sql.error("WAIT FOR JOB j UNTIL IDLE")
    assert shop.sql.status("j") == "SUSPENDED"
    assert "[JETSQL.DUPLICATE_KEY]" in error.message
    hint = "To update existing rows, use SINK INTO a table with the option 'key.columns'."
    assert f"Key (id)=(1) already exists. {hint}" in words(error)
    assert shop.rows("t") == [(1, "a"), (2, None)]
    assert not [row for row in shop.sql("SHOW JOB HISTORY j") if row[1] == "retry"]
    shop.server(f"DELETE FROM {shop.schema}.t WHERE id = 1")
    shop.sql("RESUME JOB j")
    shop.sql("WAIT FOR JOB j UNTIL IDLE")
    assert shop.rows("t") == [(1, "again"), (2, None), (3, "new")]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 1, name", "[JETSQL.DUPLICATE_KEY] Two rows of batch 0 have the same key (id)"),
        ("SELECT nullif(id, 1), name", "[JETSQL.SINK_REFUSED_ROWS] Batch 0 has rows (1) with NULL in a key column"),
        ("SELECT id, 'taken'", "[JETSQL.DUPLICATE_KEY] PostgreSQL"),
        ("SELECT id, ''", "[JETSQL.SINK_REFUSED_ROWS] PostgreSQL"),
    ],
)
def test_rows_without_a_unique_key_for_an_upsert(shop: Shop, query: str, message: str) -> None:
    shop.table("t", "id int, name text UNIQUE CHECK (name <> '')", key_columns="id")
    shop.server(f"CREATE UNIQUE INDEX ON {shop.schema}.t (id); INSERT INTO {shop.schema}.t VALUES (100, 'taken')")
    error = shop.sql.error(f"CREATE JOB j {QUICK} AS SINK INTO t {query} FROM STREAM events")
    assert message in error.message
    assert shop.rows("t") == [(100, "taken")]
    assert shop.sql.status("j") == "FAILED"


@pytest.mark.slow
def test_rows_staged_twice_are_written_once(shop: Shop) -> None:
    """Stage rows twice, as a task does whose success was lost; here the server adds a row to each new staging table."""
    shop.table("t", "id int, name text")
    shop.server(
        f"""
        CREATE FUNCTION {shop.schema}.meddle() RETURNS event_trigger LANGUAGE plpgsql AS $$
        DECLARE made record;
        BEGIN
          FOR made IN SELECT * FROM pg_event_trigger_ddl_commands() LOOP
            IF made.object_identity LIKE '{shop.schema}.jetsql%' THEN
              EXECUTE 'INSERT INTO ' || made.object_identity || ' SELECT 1';
            END IF;
          END LOOP;
        END $$;
        CREATE EVENT TRIGGER meddle ON ddl_command_end WHEN TAG IN ('CREATE TABLE AS')
          EXECUTE FUNCTION {shop.schema}.meddle()
        """
    )
    error = shop.sql.error(f"CREATE JOB j {QUICK} AS INSERT INTO t SELECT * FROM STREAM events")
    shop.server("DROP EVENT TRIGGER meddle")
    assert "[JETSQL.DELIVERY_INTERRUPTED] The batch was not written: the staging table has 3 rows" in error.message
    assert shop.rows("t") == []


@pytest.mark.slow
def test_batch_written_by_another_run_is_not_repeated(shop: Shop) -> None:
    shop.table("t", "id int, name text")
    shop.sql("CREATE JOB first AS INSERT INTO t SELECT * FROM events")
    shop.server(
        f"""
        CREATE FUNCTION {shop.schema}.taken() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE unique_violation; END $$;
        CREATE TRIGGER taken BEFORE INSERT ON {shop.schema}.jetsql_ledger FOR EACH ROW WHEN (NEW.row_count > 0)
          EXECUTE FUNCTION {shop.schema}.taken()
        """
    )
    error = shop.sql.error("CREATE JOB second AS INSERT INTO t SELECT * FROM events")
    assert "[JETSQL.DELIVERY_INTERRUPTED]" in error.message
    assert "another run of the job wrote batch 0 at the same time" in error.message
    assert len(shop.rows("t")) == 2


@pytest.mark.slow
def test_checkpoint_older_than_the_table_is_detected(shop: Shop) -> None:
    shop.table("t", "id int, name text")
    shop.sql(f"CREATE JOB j {QUICK} AS INSERT INTO t SELECT * FROM STREAM events")
    shop.server(f"UPDATE {shop.schema}.jetsql_ledger SET batch = 7")
    shop.sql("INSERT INTO events VALUES (3, 'c')")
    error = shop.sql.error("WAIT FOR JOB j UNTIL IDLE")
    assert "already has batch 7 of this job, and the job's checkpoint is at batch 1" in error.message
    assert shop.sql.status("j") == "SUSPENDED"
    assert len(shop.rows("t")) == 2


# --- refused at CREATE -----------------------------------------------------------------------------------------------


def refusals(shop: Shop) -> Iterator[tuple[str, str, str]]:
    """Yield statements (with `{}` before the sink), the condition, and a part of the message."""
    shop.server(
        f"""
        CREATE TABLE {shop.schema}.t (id int PRIMARY KEY, name text);
        CREATE TABLE {shop.schema}.plain (id int, name text);
        CREATE TABLE {shop.schema}.gone (id int, name text);
        CREATE ROLE bob LOGIN PASSWORD 'pw-of-bob';
        GRANT USAGE ON SCHEMA {shop.schema} TO bob;
        GRANT SELECT ON {shop.schema}.t, {shop.schema}.plain TO bob;
        GRANT INSERT ON {shop.schema}.plain TO bob
        """
    )
    server, schema = shop.server, shop.schema
    tables = {
        "plain": server.options(f"{schema}.plain", key_columns="id"),
        "other_key": server.options(f"{schema}.t", key_columns="name"),
        "no_column": server.options(f"{schema}.t", key_columns="idd"),
        "gone": server.options(f"{schema}.gone"),
        "query": server.options(f"(SELECT * FROM {schema}.t) q"),
        "of_bob": server.options(f"{schema}.t", user="bob", password="pw-of-bob"),
        "plain_of_bob": server.options(f"{schema}.plain", user="bob", password="pw-of-bob"),
        "locked_out": server.options(f"{schema}.t", user="bob", password="pw-of-bob"),
    }
    for name, options in tables.items():
        shop.sql(f"CREATE TABLE {name} {options}")
    server(f"DROP TABLE {schema}.gone")
    rows = "SELECT * FROM STREAM events"
    any_right = "OPTIONS ('processingGuarantee' = 'atLeastOnce') "
    not_ready = "JETSQL.SINK_NOT_READY"
    no_index = "no primary key or unique index on exactly the columns "
    yield f"CREATE JOB j AS SINK INTO \n {{}}plain {rows}", not_ready, f'{no_index}("id")'
    yield f"CREATE JOB j AS SINK INTO {{}}other_key {rows}", not_ready, f'CREATE UNIQUE INDEX ON {schema}.t ("name")'
    yield f"CREATE JOB j AS SINK INTO {{}}no_column {rows}", "JETSQL.UNSUPPORTED_SINK", "has no column idd"
    yield f"CREATE JOB j AS INSERT INTO {{}}gone {rows}", not_ready, f"has no table {schema}.gone. Create the table"
    yield f"CREATE JOB j AS INSERT INTO {{}}query {rows}", "JETSQL.UNSUPPORTED_SINK", "reads a query"
    yield f"CREATE JOB j AS INSERT INTO {{}}plain_of_bob {rows}", not_ready, f"GRANT CREATE ON SCHEMA {schema} TO bob"
    yield f"CREATE JOB j {any_right}AS INSERT INTO {{}}of_bob {rows}", not_ready, f"GRANT INSERT ON {schema}.t TO bob"
    server(f"GRANT CREATE ON SCHEMA {schema} TO bob")
    yield f"CREATE JOB j AS INSERT INTO {{}}of_bob {rows}", not_ready, f"GRANT INSERT ON {schema}.t TO bob there"
    whole = "INSERT OVERWRITE {}plain_of_bob SELECT count(*), max(name) FROM STREAM events"
    yield f"CREATE JOB j AS {whole}", not_ready, f"GRANT DELETE ON {schema}.plain TO bob"
    server("ALTER ROLE bob PASSWORD 'changed'")
    yield f"CREATE JOB j AS INSERT INTO {{}}locked_out {rows}", not_ready, "password authentication failed"


def test_impossible_jobs_are_refused_and_nothing_is_created(shop: Shop) -> None:
    for text, condition, message in refusals(shop):
        statement = text.replace("{}", "")
        before = text.partition("{}")[0]
        error = shop.sql.error(statement)
        assert (error.condition, message in words(error)) == (condition, True), (statement, error)
        place = (before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)
        assert (error.line, error.column) == place, statement
        assert "pw-of-bob" not in words(error)
        assert not shop.sql("SHOW JOBS")
        assert shop.ours() == []
    shop.server("DROP OWNED BY bob; DROP ROLE bob")


@pytest.mark.slow
def test_unresponsive_server_times_out(shop: Shop) -> None:
    shop.table("t", "id int, name text", loginTimeout="1")
    shop.server.stop()
    try:
        with socket.create_server(("127.0.0.1", shop.server.port)):
            error = shop.sql.error("CREATE JOB j AS INSERT INTO t SELECT * FROM STREAM events")
    finally:
        shop.server.start()
    assert error.condition == "JETSQL.EXTERNAL_SYSTEM_UNAVAILABLE"
    assert error.message.startswith(f"PostgreSQL 127.0.0.1:{shop.server.port}/postgres cannot be reached: ")
    assert not shop.sql("SHOW JOBS")


def test_missing_driver_is_named_with_a_hint(shop: Shop) -> None:
    options = "url 'jdbc:other:x', driver 'org.other.Driver', dbtable 't'"
    error = shop.sql.error(f"CREATE TABLE t USING jdbc OPTIONS ({options})")
    assert error.condition == "JETSQL.EXTERNAL_SYSTEM_UNAVAILABLE"
    problem = "the class org.other.Driver is not on its class path"
    assert f"The engine has no JDBC driver for a database that the statement needs: {problem}." in words(error)
    assert "Start Spark with the setting spark.jars.packages=GROUP:ARTIFACT:VERSION." in words(error)
    error = shop.sql.error("CREATE TABLE t (id INT) USING jdbc OPTIONS (url 'jdbc:other:x', dbtable 't')")
    assert "Set the option 'driver' of the table to the class of its JDBC driver." in words(error)


@pytest.mark.slow
def test_columns_that_changed_in_the_database(shop: Shop) -> None:
    shop.table("t", "id int, name text")
    shop.sql(f"CREATE JOB j {QUICK} AS INSERT INTO t SELECT * FROM STREAM events")
    shop.sql("SUSPEND JOB j")
    shop.server(f"ALTER TABLE {shop.schema}.t ADD COLUMN more int")
    error = shop.sql.error("RESUME JOB j")
    assert "[JETSQL.SINK_CHANGED] The columns of a JDBC table differ from those in the catalogue." in error.message
    assert shop.sql.status("j") == "SUSPENDED"


# --- what happens meanwhile ------------------------------------------------------------------------------------------


def wait_for_error(sql: Sql, job: str) -> str:
    """Return the job's newest error, after waiting for one."""
    for _ in range(30):
        found = dict(sql(f"DESCRIBE JOB {job}"))["last error"]
        if found:
            return str(found)
        sql.error(f"WAIT FOR JOB {job} UNTIL IDLE TIMEOUT 1")
    raise AssertionError(f"{job} never failed")


@pytest.mark.slow
def test_job_continues_when_its_server_is_back(shop: Shop) -> None:
    shop.table("t", "id int, name text")
    options = "OPTIONS ('snapshotIntervalMillis' = '100', 'restartAttempts' = '20')"
    shop.sql(f"CREATE JOB j {options} AS INSERT INTO t SELECT * FROM STREAM events")
    shop.server.stop()
    try:
        shop.sql("INSERT INTO events VALUES (3, 'c')")
        error = wait_for_error(shop.sql, "j")
    finally:
        shop.server.start()
    shop.sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    assert f"UNAVAILABLE] PostgreSQL 127.0.0.1:{shop.server.port}/postgres cannot be reached: " in error
    assert shop.rows("t") == [(1, "a"), (2, None), (3, "c")]


@pytest.mark.slow
def test_aborted_session_loses_and_duplicates_nothing(shop: Shop) -> None:
    shop.table("t", "id int, name text")
    shop.sql(f"CREATE JOB j {QUICK} AS INSERT INTO t SELECT * FROM STREAM events")
    with shop.server.connect() as blocker:
        blocker.execute("BEGIN")
        blocker.execute(f"LOCK TABLE {shop.schema}.t IN SHARE MODE")
        shop.sql("INSERT INTO events VALUES (3, 'c')")
        cut_off(shop.server, blocker.info.backend_pid)
        assert "[JETSQL.EXTERNAL_SYSTEM_UNAVAILABLE]" in wait_for_error(shop.sql, "j")
        blocker.execute("ROLLBACK")
    shop.sql("WAIT FOR JOB j UNTIL IDLE TIMEOUT 60")
    assert shop.rows("t") == [(1, "a"), (2, None), (3, "c")]


def cut_off(server: Postgres, blocker: int) -> None:
    """End the session that waits for the blocker's lock, as soon as there is one."""
    waiting = f"application_name = 'JetSQL' AND {blocker} = ANY (pg_blocking_pids(pid))"
    with server.connect() as connection:
        for _ in range(100_000):
            if connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {waiting}").fetchall():
                return
    raise AssertionError("no connection waited for the lock")


@pytest.mark.slow
def test_drop_does_not_wait_for_an_unreachable_server(shop: Shop) -> None:
    shop.table("t", "id int, name text")
    [row] = shop.sql(f"CREATE JOB j {QUICK} AS INSERT INTO t SELECT * FROM STREAM events")
    shop.sql("SUSPEND JOB j")
    shop.server.stop()
    try:
        [dropped] = shop.sql("DROP JOB j")
        history = shop.sql(f"SHOW JOB HISTORY '{row[0]}'")
    finally:
        shop.server.start()
    assert dropped[2] == "DROPPED" and "Its files could not be deleted" in str(dropped[3])
    [failed] = [words for _, event, *_, words in history if event == "cleanup failed"]
    assert "cannot be reached" in failed


@pytest.mark.slow
def test_a_job_continues_with_its_table_that_was_declared_again(shop: Shop) -> None:
    shop.table("t", "id int, name text")
    shop.sql(f"CREATE JOB j {QUICK} AS INSERT INTO t SELECT * FROM STREAM events")
    before = created(shop.sql, "t")
    shop.sql("SUSPEND JOB j")
    shop.sql("DROP TABLE t")
    assert "t does not exist any more" in shop.sql.error("RESUME JOB j").message
    make = f"CREATE TABLE t {shop.server.options(f'{shop.schema}.t')}"
    shop.sql(make)
    # The catalog distinguishes tables by the second of their creation.
    for _ in range(1000):
        if created(shop.sql, "t") != before:
            break
        shop.sql("DROP TABLE t")
        shop.sql(make)
    shop.sql("RESUME JOB j")  # the same rows in the database, so nothing is lost or written again
    shop.sql("INSERT INTO events VALUES (3, 'c')")
    shop.sql("WAIT FOR JOB j UNTIL IDLE")
    assert shop.rows("t") == [(1, "a"), (2, None), (3, "c")]


def created(sql: Sql, table: str) -> str:
    """Return the creation time of a table in the catalogue."""
    return str(next(row[1] for row in sql(f"DESCRIBE TABLE EXTENDED {table}") if row[0] == "Created Time"))


def test_passwords_are_only_in_the_catalogue(shop: Shop) -> None:
    shop.table("t", "id int PRIMARY KEY, name text")
    shop.sql(f"CREATE JOB j {QUICK} AS INSERT INTO t SELECT * FROM STREAM events")
    shop.sql("INSERT INTO events VALUES (1, 'again')")
    shop.sql.error("WAIT FOR JOB j UNTIL IDLE")
    shown = [
        *shop.sql("DESCRIBE JOB EXTENDED j"),
        *shop.sql("SHOW JOB HISTORY j"),
        *shop.sql("SHOW CREATE JOB j"),
        *shop.sql("EXPLAIN FORMATTED CREATE JOB k AS INSERT INTO t SELECT * FROM STREAM events"),
    ]
    assert PASSWORD not in str(shown)
    # The catalogue keeps the options of its tables: that is where they are read from when a run starts.
    files = [(path, text) for path, text in read_files(shop.sql.engine.home) if "metastore" not in path.parts]
    assert files and [path for path, text in files if PASSWORD.encode() in text] == []


# --- other databases -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_derby_takes_inserts_and_no_upserts(shop: Shop) -> None:
    url = f"jdbc:derby:memory:{shop.schema}"
    rows = shop.sql.engine.spark.sql("SELECT * FROM VALUES (0, 'z'), (CAST(NULL AS INT), NULL) AS t(id, name)")
    rows.write.jdbc(f"{url};create=true", "T")
    shop.sql(f"CREATE TABLE t USING jdbc OPTIONS (url '{url}', dbtable 'T', 'key.columns' 'id')")
    shop.sql(f"CREATE JOB j {QUICK} AS INSERT INTO t SELECT * FROM STREAM events")
    shop.sql("INSERT INTO events VALUES (3, 'c')")
    shop.sql("WAIT FOR JOB j UNTIL IDLE")
    assert sorted(shop.sql("SELECT * FROM t WHERE id > 0")) == [(1, "a"), (2, None), (3, "c")]
    shop.sql("DROP JOB j")
    shop.sql("CREATE JOB o AS INSERT OVERWRITE t SELECT 9, 'new'")
    assert shop.sql("SELECT * FROM t") == [(9, "new")]
    error = shop.sql.error("CREATE JOB u AS SINK INTO t SELECT * FROM STREAM events")
    assert error.condition == "JETSQL.UNSUPPORTED_SINK"
    assert "SINK INTO with 'key.columns' is not possible with Derby" in error.message
