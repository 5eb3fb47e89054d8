"""A user without ADMIN creates tables with the connections of its USAGE, and reaches nothing else by them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from jetsql.engine.jdbc.jdbc_dialects import POSTGRESQL
from jetsql.jobs.model.job import Job, Status
from tests.support.rights.restricted_session import CANARY, Restricted
from tests.support.servers.kafka import Kafka
from tests.support.servers.postgres import PASSWORD, USER, Postgres

pytestmark = pytest.mark.spark
KAFKA = "CREATE TABLE own.k (id INT) USING kafka OPTIONS ('connection' = 'k', 'topic' = 't', 'value.format' = 'json'"
JDBC = "CREATE TABLE own.p USING jdbc OPTIONS ('connection' = 'pg', 'dbtable' = 'public.shown'"


@pytest.fixture(scope="module")
def connections(ann: Restricted, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restricted]:
    """Yield the session of ann, who has USAGE on the connections `k` and `pg`, and not on `hidden`."""
    password = tmp_path_factory.mktemp("secrets") / "password"
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
    for statement in ("DROP CONNECTION pg", "DROP CONNECTION hidden", "DROP CONNECTION k", "DROP SECRET shop"):
        ann.run_as_owner(statement)


@pytest.fixture
def connected(connections: Restricted) -> Iterator[Restricted]:
    """Yield the session of ann, and drop the tables that a test creates with the connections."""
    yield connections
    connections.run_as_owner("DROP TABLE IF EXISTS own.p")
    connections.run_as_owner("DROP TABLE IF EXISTS own.k")


def refusal(ann: Restricted, text: str) -> str:
    with pytest.raises(PySparkException) as caught:
        ann.run(text)
    return str(caught.value)


@pytest.fixture
def shown(connected: Restricted, postgres: Postgres) -> Iterator[Restricted]:
    """Yield the session of ann, who has a table with the connection `pg`, which bob can read."""
    postgres("CREATE TABLE shown (id int)")
    connected.run(f"{JDBC})")
    connected.run_as_owner("GRANT SELECT ON TABLE own.p TO bob")
    yield connected
    connected.run_as_owner("DROP TABLE IF EXISTS own.p")
    postgres("DROP TABLE shown")


def test_user_with_usage_creates_and_uses_a_table(shown: Restricted, postgres: Postgres) -> None:
    shown.run("INSERT INTO own.p VALUES (8)")
    shown.run("INSERT INTO own.p SELECT id FROM s.orders WHERE id = 1")
    assert sorted(shown.run("SELECT * FROM own.p")) == [(1,), (8,)]
    shown.run("INSERT OVERWRITE own.p VALUES (7)")
    assert shown.run("SELECT * FROM own.p") == [(7,)] == postgres("SELECT * FROM shown")
    facts = [*shown.run("DESCRIBE EXTENDED own.p"), *shown.run("EXPLAIN EXTENDED SELECT * FROM own.p")]
    assert PASSWORD not in str(facts)
    shown.run(JDBC.replace("own.p", "own.made").replace("public.shown", "public.made") + ") AS SELECT * FROM s.orders")
    assert len(postgres("SELECT * FROM made")) == len(shown.run("SELECT * FROM own.made")) > 1
    shown.run("DROP TABLE own.made")
    postgres("DROP TABLE made")


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO own.p SELECT id FROM hr.pay",
        "INSERT INTO own.p SELECT length(max(salary_column)) FROM hr.pay",
        "INSERT INTO own.p SELECT length(s.leak())",
        "INSERT INTO own.p SELECT length(reflect('java.lang.System', 'setProperty', 'jetsql.canary', 'x'))",
        "INSERT INTO own.p SELECT length(value) FROM text.`{file}`",
        "INSERT INTO own.p SELECT id FROM s.orders WHERE id IN (SELECT id FROM hr.pay)",
        "INSERT INTO s.orders TABLE own.p",
        "INSERT INTO hr.pay SELECT id, 'x' FROM own.p",
        "FROM s.orders INSERT INTO own.p SELECT id INSERT INTO s.orders SELECT id, 1",
        "FROM s.orders INSERT INTO own.p SELECT id INSERT INTO own.p SELECT length(s.leak())",
        "EXECUTE IMMEDIATE 'INSERT INTO own.p SELECT id FROM hr.pay'",
    ],
)
def test_insert_into_a_table_of_a_connection_reaches_nothing(shown: Restricted, postgres: Postgres, text: str) -> None:
    assert CANARY not in refusal(shown, text)
    assert shown.effects() == []
    assert postgres("SELECT * FROM shown") == []


def test_insert_needs_its_right(shown: Restricted, postgres: Postgres) -> None:
    bob = shown.session("bob")
    for text, right in (("INSERT INTO", "INSERT"), ("INSERT OVERWRITE", "MODIFY")):
        with pytest.raises(PySparkException, match=f"no right {right} on spark_catalog.own.p"):
            shown.run(f"{text} own.p VALUES (1)", bob)
    shown.run_as_owner("GRANT INSERT ON TABLE own.p TO bob")
    shown.run("INSERT INTO own.p VALUES (5)", bob)
    with pytest.raises(PySparkException, match="no right MODIFY"):
        shown.run("INSERT OVERWRITE own.p VALUES (1)", bob)
    assert postgres("SELECT * FROM shown") == [(5,)]


def test_writes_after_an_insert_are_checked(shown: Restricted) -> None:
    shown.run("INSERT INTO own.p VALUES (8)")
    writer = shown.spark.sql("SELECT 1 AS id")
    for write in (
        lambda: writer.write.format("jdbc").options(url="jdbc:postgresql://127.0.0.1:{port}/x", dbtable="x").save(),
        lambda: writer.write.format("parquet").save(f"{shown.folder}/written"),
        lambda: writer.write.insertInto("hr.pay"),
    ):
        with pytest.raises(PySparkException):
            write()
    assert shown.effects() == []


def test_owner_of_the_table_needs_usage_for_each_read(shown: Restricted, postgres: Postgres) -> None:
    postgres("INSERT INTO shown VALUES (7)")
    bob = shown.session("bob")
    assert shown.run("SELECT * FROM own.p", bob) == [(7,)]  # without USAGE
    shown.run("CREATE VIEW own.of_p AS SELECT * FROM own.p")
    shown.run_as_owner("GRANT SELECT ON VIEW own.of_p TO bob")
    shown.run_as_owner("REVOKE USAGE ON CONNECTION pg FROM ann")
    for session in (bob, shown.spark, shown.engine.spark):
        for text in ("SELECT * FROM own.p", "SELECT * FROM own.of_p", "INSERT INTO own.p VALUES (1)"):
            with pytest.raises(PySparkException) as caught:
                shown.run(text, session)
            shown_error = str(caught.value)
            assert "has no right USAGE" in shown_error or "no right INSERT" in shown_error
            assert PASSWORD not in shown_error and "127.0.0.1" not in shown_error
    assert shown.run("DESCRIBE own.p")
    shown.run_as_owner("GRANT USAGE ON CONNECTION pg TO ann")
    assert shown.run("SELECT * FROM own.of_p", bob) == [(7,)]
    shown.run("DROP VIEW own.of_p")


def _jobs(shown: Restricted) -> list[Job]:
    return [view.job for view in shown.engine._manager.registry.live() if view.job.name in ("writing", "reading")]


def test_lost_usage_suspends_the_jobs_with_the_table(shown: Restricted, postgres: Postgres) -> None:
    postgres("INSERT INTO shown VALUES (7)")
    shown.run_as_owner("GRANT INSERT ON TABLE s.inbox TO bob")
    bob = shown.session("bob")
    for text, session in (
        ("CREATE JOB writing AS INSERT INTO own.p SELECT id FROM STREAM s.orders", shown.spark),
        (
            "CREATE JOB reading AS INSERT INTO s.inbox SELECT o.id, 'x' FROM STREAM s.orders o JOIN own.p USING (id)",
            bob,
        ),
    ):
        if session is bob:
            shown.run_as_owner("GRANT SELECT ON TABLE s.orders TO bob")
        shown.run(text, session)
    try:
        [(_, message)] = shown.run_as_owner("REVOKE USAGE ON CONNECTION pg FROM ann")
        assert "suspended" in message
        assert {job.status for job in _jobs(shown)} == {Status.SUSPENDED}
        for job in ("writing", "reading"):
            with pytest.raises(PySparkException, match="NOT_ALLOWED"):
                shown.run_as_owner(f"RESUME JOB {job}")
        shown.run_as_owner("GRANT USAGE ON CONNECTION pg TO ann")
        for job in ("writing", "reading"):
            shown.run_as_owner(f"RESUME JOB {job}")
    finally:
        for job in ("writing", "reading"):
            shown.run_as_owner(f"DROP JOB {job}")
        shown.run_as_owner("REVOKE INSERT ON TABLE s.inbox FROM bob")
        shown.run_as_owner("REVOKE SELECT ON TABLE s.orders FROM bob")


def test_user_with_usage_creates_a_kafka_table(connected: Restricted) -> None:
    connected.run(f"{KAFKA})")
    assert connected.effects() == []


def test_user_writes_messages_of_a_topic(connected: Restricted, kafka: Kafka) -> None:
    topic = kafka.topic("of_ann")
    servers = f"'kafka.bootstrap.servers' = '{kafka.servers}'"
    connected.run_as_owner(f"CREATE CONNECTION broker TYPE kafka OPTIONS ({servers})")
    connected.run_as_owner("GRANT USAGE ON CONNECTION broker TO ann")
    try:
        connected.run(KAFKA.replace("'k'", "'broker'").replace("'t'", f"'{topic}'") + ")")
        connected.run("INSERT INTO own.k SELECT id FROM s.orders WHERE id = 1")
        assert connected.run_as_owner("SELECT id FROM own.k") == [(1,)]
        for text in (
            "INSERT INTO own.k SELECT id FROM hr.pay",
            "INSERT INTO own.k SELECT length(s.leak())",
            "INSERT OVERWRITE own.k VALUES (1)",
        ):
            assert CANARY not in refusal(connected, text)
        connected.run_as_owner("REVOKE USAGE ON CONNECTION broker FROM ann")
        for text in ("SELECT id FROM own.k", "INSERT INTO own.k VALUES (1)"):
            assert "NOT_ALLOWED" in refusal(connected, text)
    finally:
        connected.run_as_owner("DROP TABLE IF EXISTS own.k")
        connected.run_as_owner("DROP CONNECTION broker")


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
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    login = f"'user' = '{USER}', 'password' = 'secret:file:{password}'"
    connected.run_as_owner(f"CREATE TABLE own.p USING jdbc OPTIONS ({options}, {login})")
    assert connected.run("SELECT count(*) FROM own.p")
    connected.run_as_owner("ALTER TABLE own.p OWNER TO ann")
    assert "only the table of an ADMIN may" in refusal(connected, "SELECT count(*) FROM own.p")
