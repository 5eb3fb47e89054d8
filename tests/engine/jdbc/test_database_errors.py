"""Errors of a database that a statement reads: its address, its own words, and the place of the table."""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.conftest import Sql
from tests.support.servers.postgres import PASSWORD, Postgres
from tests.support.servers.tcp_proxy import TcpProxy

pytestmark = pytest.mark.spark


def test_wrong_option_is_named_with_the_server_message(postgres: Postgres, sql: Sql) -> None:
    good = postgres.options("pg_catalog.pg_class")
    server = f"PostgreSQL 127.0.0.1:{postgres.port}"
    wrong = {
        good.replace(f":{postgres.port}/", ":1/"): "PostgreSQL 127.0.0.1:1/postgres cannot be reached: Connection to",
        good.replace("/postgres'", "/none'"): f'{server}/none reports an error: database "none" does not exist.',
        good.replace(
            "'ann'", "'bob'"
        ): f'{server}/postgres reports an error: password authentication failed for user "bob',
        good.replace(PASSWORD, "wrong-one"): f"{server}/postgres reports an error: password authentication failed",
        good.replace(".pg_class", ".none"): f'{server}/postgres reports an error: relation "pg_catalog.none" does not',
    }
    for options, message in wrong.items():
        error = sql.error(f"CREATE TABLE t {options}")
        assert error.message.startswith(message)
        assert PASSWORD not in error.message and "wrong-one" not in error.message
    error = sql.error(f"CREATE TABLE t {good.replace('org.postgresql.Driver', 'org.postgres.Driver')}")
    assert error.hint.startswith("Did you mean org.postgresql.Driver?")


def test_the_caret_is_under_the_table_that_failed(postgres: Postgres, sql: Sql) -> None:
    sql("CREATE TABLE events (id INT) USING json")
    sql("CREATE TABLE found (id INT) USING parquet")
    with closing(TcpProxy(postgres.port)) as proxy:
        options = postgres.options("pg_catalog.pg_class").replace(f":{postgres.port}/", f":{proxy.port}/")
        sql(f"CREATE TABLE classes {options}")
    query = "SELECT e.id\nFROM STREAM events e JOIN classes ON oid = id"
    for statement, line in ((f"CREATE JOB j AS INSERT INTO found {query}", 2), (query.replace("STREAM ", ""), 2)):
        error = sql.error(statement)
        assert error.condition == "JETSQL.EXTERNAL_SYSTEM_UNAVAILABLE"
        assert (error.line, error.column) == (line, statement.split("\n")[1].index("classes") + 1)
