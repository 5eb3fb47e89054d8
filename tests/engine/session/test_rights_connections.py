"""A user without ADMIN creates tables with the connections of its USAGE, and reaches nothing else by them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from jetsql.engine.jdbc.jdbc_dialects import POSTGRESQL
from tests.support.rights.restricted_session import CANARY, Restricted
from tests.support.servers.postgres import PASSWORD, USER, Postgres

pytestmark = pytest.mark.spark
KAFKA = "CREATE TABLE own.k (id INT) USING kafka OPTIONS ('connection' = 'k', 'topic' = 't', 'value.format' = 'json'"
JDBC = "CREATE TABLE own.p USING jdbc OPTIONS ('connection' = 'pg', 'dbtable' = 'public.shown'"


@pytest.fixture
def connected(ann: Restricted, postgres: Postgres, tmp_path: Path) -> Iterator[Restricted]:
    """Yield the session of ann, who has USAGE on the connections `k` and `pg`, and not on `hidden`."""
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    login = f"'driver' = '{POSTGRESQL.class_name}', 'user' = '{USER}', 'password' = 'secret:shop'"
    for statement in (
        f"CREATE SECRET shop FROM FILE '{password}'",
        f"CREATE CONNECTION pg TYPE jdbc OPTIONS ('url' = '{postgres.url}', {login})",
        f"CREATE CONNECTION hidden TYPE jdbc OPTIONS ('url' = '{postgres.url}', {login})",
        f"CREATE CONNECTION k TYPE kafka OPTIONS ('kafka.bootstrap.servers' = '127.0.0.1:{ann.places['port']}')",
        "GRANT USAGE ON CONNECTION pg TO ann",
        "GRANT USAGE ON CONNECTION k TO ann",
    ):
        ann.run_as_owner(statement)
    yield ann
    for statement in (
        "DROP TABLE IF EXISTS own.p",
        "DROP TABLE IF EXISTS own.k",
        "DROP CONNECTION pg",
        "DROP CONNECTION hidden",
        "DROP CONNECTION k",
        "DROP SECRET shop",
    ):
        ann.run_as_owner(statement)


def refusal(ann: Restricted, text: str) -> str:
    with pytest.raises(PySparkException) as caught:
        ann.run(text)
    return str(caught.value)


def test_user_with_usage_creates_and_uses_a_table(connected: Restricted, postgres: Postgres) -> None:
    postgres("CREATE TABLE shown (id int)")
    connected.run(f"{JDBC})")
    assert "NOT_ALLOWED" in refusal(connected, "INSERT INTO own.p VALUES (8)")
    connected.run_as_owner("INSERT INTO own.p VALUES (7)")
    assert connected.run("SELECT * FROM own.p") == [(7,)]
    shown = [*connected.run("DESCRIBE EXTENDED own.p"), *connected.run("EXPLAIN EXTENDED SELECT * FROM own.p")]
    assert PASSWORD not in str(shown)
    connected.run_as_owner("REVOKE USAGE ON CONNECTION pg FROM ann")
    assert connected.run("SELECT * FROM own.p") == [(7,)]
    postgres("DROP TABLE shown")


def test_user_with_usage_creates_a_kafka_table(connected: Restricted) -> None:
    connected.run(f"{KAFKA})")
    assert connected.effects() == []


def test_hidden_connection_has_the_error_of_a_missing_one(connected: Restricted) -> None:
    for text in ("CREATE TABLE own.p USING jdbc OPTIONS ('connection' = '{}', 'dbtable' = 't'", KAFKA):
        for more in (")", ", 'url' = 'x')", ", 'nothing' = 'x')", ", 'kafka.sasl.jaas.config' = 'secret:shop')"):
            hidden, missing = (
                refusal(
                    connected, f"{text.replace(chr(39) + 'k' + chr(39), chr(39) + '{}' + chr(39))}{more}".format(name)
                )
                for name in ("hidden", "absent")
            )
            assert hidden.replace("hidden", "absent") == missing
    assert connected.effects() == []


@pytest.mark.parametrize(
    "option",
    [
        "'kafka.bootstrap.servers' = '127.0.0.1:{port}'",
        "'kafka.sasl.jaas.config' = 'x'",
        "'kafka.interceptor.classes' = 'x'",
        "'kafka.metric.reporters' = 'x'",
        "'kafka.ssl.truststore.location' = '{file}'",
        "'protobuf.descriptor.file' = '{file}'",
        "'on.error' = 'hr.pay'",
        "'avro.schema.registry.url' = 'http://127.0.0.1:{port}'",
        "'avro.schema.registry.connection' = 'hidden'",
        "'json.timestampFormat' = 'secret:file:{file}'",
        "'path' = '{folder}'",
    ],
)
def test_kafka_options_beyond_the_connection_are_refused(connected: Restricted, option: str) -> None:
    error = refusal(connected, f"{KAFKA}, {option})")
    assert CANARY not in error
    assert connected.effects() == []


@pytest.mark.parametrize(
    "option",
    [
        "'url' = 'jdbc:postgresql://127.0.0.1:{port}/x'",
        "'user' = 'x'",
        "'driver' = 'java.lang.String'",
        "'socketFactory' = 'x'",
        "'loggerFile' = '{folder}/log'",
        "'sessionInitStatement' = 'x'",
        "'path' = '{folder}'",
        "'customSchema' = 'secret:file:{file}'",
        "'customSchema' = java_method('java.lang.System', 'getProperty', 'user.home')",
    ],
)
def test_jdbc_options_beyond_the_connection_are_refused(connected: Restricted, option: str) -> None:
    error = refusal(connected, f"{JDBC}, {option})")
    assert CANARY not in error and PASSWORD not in error
    assert connected.effects() == []


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE s.p USING jdbc OPTIONS ('connection' = 'pg', 'dbtable' = 't')",
        "CREATE TABLE hr.p USING jdbc OPTIONS ('connection' = 'pg', 'dbtable' = 't')",
        "CREATE TABLE own.p USING jdbc OPTIONS ('connection' = 'pg', 'dbtable' = 't') LOCATION '{folder}'",
        "CREATE TABLE own.p USING jdbc OPTIONS ('connection' = 'pg', 'dbtable' = 't') TBLPROPERTIES ('a' = 'b')",
        "CREATE TABLE own.p USING jdbc OPTIONS ('connection' = 'pg', 'dbtable' = 't') AS SELECT * FROM hr.pay",
        "CREATE TABLE own.p USING parquet OPTIONS ('connection' = 'pg')",
        "CREATE TEMPORARY VIEW p USING jdbc OPTIONS ('connection' = 'pg', 'dbtable' = 't')",
        "CREATE TABLE own.p USING org.apache.spark.sql.execution.datasources.jdbc.JdbcRelationProvider "
        "OPTIONS ('connection' = 'pg', 'dbtable' = 't')",
        "SELECT * FROM s.orders WITH ('connection' = 'pg')",
    ],
)
def test_other_statements_with_a_connection_are_refused(connected: Restricted, text: str) -> None:
    assert CANARY not in refusal(connected, text)
    assert connected.effects() == []


def test_table_of_a_user_cannot_name_a_file(connected: Restricted, postgres: Postgres, tmp_path: Path) -> None:
    options = f"'url' = '{postgres.url}', 'driver' = '{POSTGRESQL.class_name}', 'dbtable' = 'pg_class'"
    login = f"'user' = '{USER}', 'password' = 'secret:file:{tmp_path / 'password'}'"
    connected.run_as_owner(f"CREATE TABLE own.p USING jdbc OPTIONS ({options}, {login})")
    assert connected.run("SELECT count(*) FROM own.p")
    connected.run_as_owner("ALTER TABLE own.p OWNER TO ann")
    assert "only the table of an ADMIN may" in refusal(connected, "SELECT count(*) FROM own.p")
