"""Tables with a connection, on a real database and a real broker: credentials are used, rotated and never shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from jetsql.engine.jdbc.jdbc_dialects import POSTGRESQL
from jetsql.errors import JetSQLError
from tests.conftest import Sql
from tests.support.servers.kafka import PASSWORD as KAFKA_PASSWORD
from tests.support.servers.kafka import USER as KAFKA_USER
from tests.support.servers.kafka import Kafka
from tests.support.servers.postgres import PASSWORD, USER, Postgres

pytestmark = pytest.mark.spark
DRIVER = POSTGRESQL.class_name


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "database-password"
    file.write_text(f"{PASSWORD}\n", encoding="utf-8")
    return file


@pytest.fixture
def connection(postgres: Postgres, sql: Sql, file: Path) -> Iterator[str]:
    """Create a secret and the connection `pg`, and yield the host of the database."""
    host = f"jdbc:postgresql://127.0.0.1:{postgres.port}/"
    sql(f"CREATE SECRET shop FROM FILE '{file}' FOR '{host}'")
    sql(
        "CREATE CONNECTION pg TYPE jdbc OPTIONS "
        f"('url' = '{postgres.url}', 'driver' = '{DRIVER}', 'user' = '{USER}', 'password' = 'secret:shop')"
    )
    yield host
    for row in sql("SHOW JOBS"):
        sql(f"DROP JOB '{row[0]}'")
    for _, table, _ in sql("SHOW TABLES"):
        sql(f"DROP TABLE {table}")
    for row in sql("SHOW CONNECTIONS"):
        sql(f"DROP CONNECTION {row[0]}")
    for row in sql("SHOW SECRETS"):
        sql(f"DROP SECRET {row[0]}")


@pytest.fixture
def orders(postgres: Postgres, sql: Sql, connection: str) -> Iterator[str]:
    """Create the table `orders` with the connection."""
    postgres("CREATE TABLE orders (id int, name text)")
    postgres("INSERT INTO orders VALUES (1, 'a')")
    sql("CREATE TABLE orders USING jdbc OPTIONS ('connection' = 'pg', 'dbtable' = 'public.orders')")
    yield "orders"
    postgres("DROP TABLE orders")


def refusal(sql: Sql, text: str) -> str:
    with pytest.raises((PySparkException, Py4JError, JetSQLError)) as caught:
        sql(text)
    return str(caught.value)


def test_table_is_read_and_written(sql: Sql, postgres: Postgres, orders: str) -> None:
    assert sql("SELECT * FROM orders") == [(1, "a")]
    sql("INSERT INTO orders VALUES (2, 'b')")
    assert postgres("SELECT count(*) FROM orders") == [(2,)]
    sql("CREATE VIEW v AS SELECT name FROM orders")
    assert sorted(sql("SELECT * FROM v")) == [("a",), ("b",)]
    sql("DROP VIEW v")


def test_jobs_read_and_write_it(sql: Sql, postgres: Postgres, orders: str) -> None:
    sql("CREATE TABLE events (id INT, name STRING) USING json")
    sql("INSERT INTO events VALUES (1, 'x'), (2, 'y')")
    sql("CREATE JOB into_it AS INSERT INTO orders SELECT * FROM STREAM events")
    sql("WAIT FOR JOB into_it UNTIL IDLE")
    assert postgres("SELECT count(*) FROM orders") == [(3,)]
    sql("CREATE TABLE joined (id INT, name STRING) USING parquet")
    sql("CREATE JOB beside_it AS INSERT INTO joined SELECT e.id, o.name FROM STREAM events e JOIN orders o USING (id)")
    sql("WAIT FOR JOB beside_it UNTIL IDLE")
    assert (1, "a") in sql("SELECT * FROM joined")


def test_password_is_shown_nowhere(sql: Sql, orders: str) -> None:
    shown = [
        *sql("EXPLAIN EXTENDED SELECT * FROM orders"),
        *sql("EXPLAIN FORMATTED SELECT * FROM orders"),
        *sql("DESCRIBE EXTENDED orders"),
        *sql("SHOW CREATE TABLE orders"),
        *sql("SHOW TBLPROPERTIES orders"),
        *sql("DESCRIBE CONNECTION pg"),
        *sql("SHOW CONNECTIONS"),
        *sql("SHOW SECRETS"),
        *sql("SET -v"),
    ]
    assert PASSWORD not in str(shown)
    [(text,)] = sql("SHOW CREATE TABLE orders")
    assert "'connection' = 'pg'" in text and "postgresql" not in text
    assert PASSWORD not in (sql.engine.home / "engine.log").read_text(encoding="utf-8")
    assert PASSWORD.encode() not in (sql.engine.home / "jetsql.db").read_bytes()


def test_changes_hold_for_the_next_statement(sql: Sql, postgres: Postgres, file: Path, orders: str) -> None:
    assert sql("SELECT * FROM orders") == [(1, "a")]
    file.write_text("wrong-password")
    error = refusal(sql, "SELECT * FROM orders")
    assert "wrong-password" not in error
    file.write_text(PASSWORD)
    assert sql("SELECT * FROM orders") == [(1, "a")]
    sql("ALTER CONNECTION pg OPTIONS ('user' = 'stranger')")
    refusal(sql, "SELECT * FROM orders")
    sql(f"ALTER CONNECTION pg OPTIONS ('user' = '{USER}')")
    assert sql("SELECT * FROM orders") == [(1, "a")]


def test_running_job_is_named_until_it_restarts(sql: Sql, orders: str) -> None:
    sql("CREATE TABLE events (id INT, name STRING) USING json")
    sql("CREATE JOB into_it AS INSERT INTO orders SELECT * FROM STREAM events")
    sql("WAIT FOR JOB into_it UNTIL IDLE")
    [(_, message)] = sql("ALTER CONNECTION pg OPTIONS ('ApplicationName' = 'jetsql')")
    assert "into_it" in message
    assert sql("SHOW CONNECTIONS")[0][4] == "into_it"
    sql("RESTART JOB into_it")
    sql("WAIT FOR JOB into_it UNTIL IDLE")
    assert sql("SHOW CONNECTIONS")[0][4] is None


def test_used_connection_is_not_dropped(sql: Sql, orders: str) -> None:
    assert "orders" in refusal(sql, "DROP CONNECTION pg")
    assert "connection pg" in refusal(sql, "DROP SECRET shop")


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("'url' = 'jdbc:postgresql://127.0.0.1:1/x'", "belongs to the connection pg"),
        ("'user' = 'bob'", "belongs to the connection pg"),
        ("'socketFactory' = 'x'", "belongs to the connection pg"),
        ("'fetchSise' = '1'", "fetchsize"),
    ],
)
def test_options_of_the_connection_are_refused_in_a_table(
    sql: Sql, connection: str, option: str, expected: str
) -> None:
    text = f"CREATE TABLE t USING jdbc OPTIONS ('connection' = 'pg', 'dbtable' = 't', {option})"
    assert expected in refusal(sql, text)


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:postgresql://127.0.0.2:{port}/postgres",
        "jdbc:postgresql://127.0.0.1:{port},127.0.0.2:{port}/postgres",
        "jdbc:postgresql://127.0.0.1:{port}/postgres?socketFactory=evil",
        "jdbc:postgresql://127.0.0.1:1/postgres",
    ],
)
def test_bound_secret_goes_to_no_other_host(sql: Sql, postgres: Postgres, connection: str, url: str) -> None:
    url = url.format(port=postgres.port)
    assert "SECRET_NOT_FOR_HOST" in refusal(sql, f"ALTER CONNECTION pg OPTIONS ('url' = '{url}')")
    options = f"'url' = '{url}', 'driver' = '{DRIVER}', 'dbtable' = 't', 'user' = 'ann', 'password' = 'secret:shop'"
    assert "SECRET_NOT_FOR_HOST" in refusal(sql, f"CREATE TABLE t USING jdbc OPTIONS ({options})")


def test_wrong_connections_are_refused(sql: Sql, connection: str) -> None:
    for options in (
        "'usr' = 'x', 'url' = 'jdbc:postgresql://h/d'",
        "'user' = 'x'",
        "'url' = 'x', 'password' = 'x'",
        "'url' = 'jdbc:postgresql://h/d?password=x'",
    ):
        refusal(sql, f"CREATE CONNECTION c TYPE jdbc OPTIONS ({options})")
    assert "kafka.bootstrap.servers" in refusal(
        sql, "CREATE CONNECTION c TYPE kafka OPTIONS ('kafka.bootstrap.server' = 'h:1')"
    )
    refusal(sql, "CREATE CONNECTION c TYPE registry OPTIONS ('uri' = 'https://h')")
    refusal(sql, "CREATE CONNECTION c TYPE s3 OPTIONS ('bucket' = 'b')")
    assert "no connection named no" in refusal(
        sql, "CREATE TABLE t USING jdbc OPTIONS ('connection' = 'no', 'dbtable' = 't')"
    )


def test_table_of_a_query_is_created_in_the_database(sql: Sql, postgres: Postgres, connection: str) -> None:
    sql("CREATE TABLE made USING jdbc OPTIONS ('connection' = 'pg', 'dbtable' = 'public.made') AS SELECT 7 AS id")
    assert postgres("SELECT id FROM made") == [(7,)]
    assert sql("SELECT id FROM made") == [(7,)]
    postgres("DROP TABLE made")


def test_kafka_table_with_a_login(sql: Sql, kafka: Kafka, connection: str, tmp_path: Path) -> None:
    login = tmp_path / "jaas"
    login.write_text(
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'username="{KAFKA_USER}" password="{KAFKA_PASSWORD}";'
    )
    kafka.topic("connected")
    sql(f"CREATE SECRET login FROM FILE '{login}' FOR 'kafka://{kafka.sasl_servers}'")
    sql(
        f"CREATE CONNECTION k TYPE kafka OPTIONS ('kafka.bootstrap.servers' = '{kafka.sasl_servers}', "
        "'kafka.security.protocol' = 'SASL_PLAINTEXT', 'kafka.sasl.mechanism' = 'PLAIN', "
        "'kafka.sasl.jaas.config' = 'secret:login')"
    )
    sql(
        "CREATE TABLE messages (id INT) USING kafka "
        "OPTIONS ('connection' = 'k', 'topic' = 'connected', 'value.format' = 'json')"
    )
    assert KAFKA_PASSWORD not in str(sql("SHOW CREATE TABLE messages"))
    with_login(kafka)
    sql("INSERT INTO messages VALUES (1)")
    sql("CREATE TABLE copied (id INT) USING parquet")
    sql("CREATE JOB copies AS INSERT INTO copied SELECT id FROM STREAM messages")
    sql("WAIT FOR JOB copies UNTIL IDLE")
    assert sql("SELECT * FROM copied") == [(1,)]
    assert "SECRET_NOT_FOR_HOST" in refusal(
        sql, f"ALTER CONNECTION k OPTIONS ('kafka.bootstrap.servers' = '{kafka.servers}')"
    )
    kafka.forbid_all()


def with_login(kafka: Kafka) -> None:
    """Grant the login all operations on topics and groups."""
    from confluent_kafka.admin import AclOperation, ResourceType

    for kind in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID):
        kafka.allow(kind, "*", AclOperation.ALL)
