"""Secrets in files: an option's file is read as its secret, and no error shows the content."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyspark.errors import PySparkException

from jetsql.embedded.engine_instance import EngineInstance
from jetsql.engine.jvm.java_classes import java
from jetsql.jobs.model.redaction import SECRET_NAMES, is_secret
from tests.conftest import Sql
from tests.support import secret_names
from tests.support.servers.http_server import TOKEN, RunningServer
from tests.support.servers.postgres import PASSWORD, Postgres, running_postgres

pytestmark = pytest.mark.spark

CONTENT = "root-of-7f3a:x:0:0\ndaemon-of-9c21:x:1:1\n"
WORDS = ("root-of", "7f3a", "daemon-of", "9c21")
# The engine hides what it has read as a secret in all later errors, so it reads nothing that others expect there.
OWN_USER = "user_of_secrets_in_errors"


@pytest.fixture
def private(tmp_path: Path) -> str:
    """Return a file that users of statements must not read."""
    file = tmp_path / "private"
    file.write_text(CONTENT, encoding="utf-8")
    return str(file)


def texts(sql: Sql, statement: str) -> tuple[Any, str]:
    """Return the error of a statement as JetSQL's clients get it, and all that Spark's own clients can get of it."""
    try:
        sql(statement)
    except PySparkException as error:
        chain, throwable = [str(error)], getattr(error, "_origin", None)
        while throwable is not None:
            chain.append(str(throwable))
            throwable = throwable.getCause()
        return sql.engine.error(error, statement), "\n".join(chain)
    except Exception as error:
        return sql.engine.error(error, statement), ""
    raise AssertionError(f"no error: {statement}")


def assert_hidden(sql: Sql, statement: str) -> Any:
    report, everything = texts(sql, statement)
    shown = f"{report} {everything}"
    assert [word for word in WORDS if word in shown] == [], shown
    return report


@pytest.mark.parametrize("option", ["driver", "fetchsize", "numPartitions", "sessionInitStatement", "queryTimeout"])
@pytest.mark.parametrize(
    "make",
    [
        "CREATE TABLE other",
        *(
            pytest.param(make, marks=pytest.mark.slow)
            for make in ("CREATE TABLE other (id INT)", "CREATE TEMPORARY VIEW other")
        ),
    ],
)
def test_options_that_spark_reads_itself_name_no_secret(
    sql: Sql, postgres: Postgres, private: str, option: str, make: str
) -> None:
    options = postgres.options("public.none", **{option: f"secret:file:{private}"})
    report = assert_hidden(sql, f"{make} {options}")
    assert (report.condition, report.sqlstate) == ("JETSQL.INVALID_OPTION_VALUE", "22023")
    assert f"'{option}' cannot name a secret" in report.message
    assert "Exception" not in report.message


@pytest.fixture
def misconfigured_server(postgres: Postgres) -> Iterator[Postgres]:
    """Return the server with a table, for tests that use options that it does not accept."""
    postgres("CREATE TABLE refused (id int)")
    postgres(f"CREATE ROLE {OWN_USER} SUPERUSER LOGIN PASSWORD '{PASSWORD}'")
    yield postgres
    postgres("DROP TABLE refused")
    postgres(f"DROP OWNED BY {OWN_USER}")
    postgres(f"DROP ROLE {OWN_USER}")


@pytest.fixture
def own_server() -> Iterator[Postgres]:
    """Return a server whose address other tests do not expect in errors."""
    with running_postgres() as server:
        server("CREATE TABLE refused (id int)")
        yield server


@pytest.mark.parametrize(
    ("option", "good"), [pytest.param("sslmode", "prefer", marks=pytest.mark.slow), ("user", OWN_USER)]
)
def test_driver_errors_show_no_secrets(
    sql: Sql, misconfigured_server: Postgres, tmp_path: Path, option: str, good: str
) -> None:
    file = tmp_path / "given"
    file.write_text(good, encoding="utf-8")
    options = misconfigured_server.options("public.refused", **{option: f"secret:file:{file}"})
    sql(f"CREATE TABLE given {options}")
    sql("INSERT INTO given VALUES (1)")
    sql("CREATE TABLE source (id INT) USING json")
    file.write_text(CONTENT, encoding="utf-8")
    for statement in (
        f"CREATE TABLE other {options}",
        "SELECT * FROM given",
        "INSERT INTO given VALUES (2)",
        "CREATE JOB j AS INSERT INTO given SELECT * FROM STREAM source",
    ):
        assert_hidden(sql, statement)


def test_a_url_that_is_a_secret_is_not_shown(sql: Sql, own_server: Postgres, tmp_path: Path) -> None:
    file = tmp_path / "given"
    # Pieces of a secret are hidden everywhere, and messages in other tests have addresses at 127.0.0.1.
    file.write_text(own_server.url.replace("127.0.0.1", "localhost"), encoding="utf-8")
    options = own_server.options("public.refused", url=f"secret:file:{file}")
    sql(f"CREATE TABLE given {options}")
    sql("CREATE TABLE source (id INT) USING json")
    file.write_text(CONTENT, encoding="utf-8")
    for statement in (
        f"CREATE TABLE other {options}",
        "SELECT * FROM given",
        "CREATE JOB j AS INSERT INTO given SELECT * FROM STREAM source",
    ):
        assert_hidden(sql, statement)


@pytest.fixture
def servers() -> str:
    """Return an address without a broker."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        return f"127.0.0.1:{closed.getsockname()[1]}"


@pytest.mark.parametrize(
    "option",
    [
        "linger.ms",
        pytest.param("max.poll.records", marks=pytest.mark.slow),
        pytest.param("enable.idempotence", marks=pytest.mark.slow),
        "security.protocol",
        "sasl.jaas.config",
        "bootstrap.servers",
    ],
)
def test_kafka_client_errors_show_no_secrets(sql: Sql, servers: str, private: str, option: str) -> None:
    given = {"kafka.bootstrap.servers": servers, "topic": "t", f"kafka.{option}": f"secret:file:{private}"}
    if option == "sasl.jaas.config":
        given["kafka.security.protocol"] = "SASL_PLAINTEXT"
    options = ", ".join(f"'{name}' '{value}'" for name, value in given.items())
    sql(f"CREATE TABLE messages (id INT) USING kafka OPTIONS ({options}, 'value.format' 'json')")
    report = assert_hidden(sql, "SELECT * FROM messages")
    if option not in ("sasl.jaas.config", "bootstrap.servers"):  # of which only the connection knows what they may be
        assert f"'secret:file:{private}' is not a valid value of the option 'kafka.{option}'" in report.message
    assert_hidden(sql, "INSERT INTO messages VALUES (1)")
    sql("CREATE TABLE sink (id INT) USING parquet")
    assert_hidden(sql, "CREATE JOB j AS INSERT INTO sink SELECT id FROM STREAM messages")


@pytest.mark.parametrize("option", ["subscribe", "startingOffsets", "maxOffsetsPerTrigger", "failOnDataLoss", "topic"])
def test_options_of_kafka_tables_name_no_secret(sql: Sql, servers: str, private: str, option: str) -> None:
    given = {"kafka.bootstrap.servers": servers, "topic": "t", option: f"secret:file:{private}"}
    options = ", ".join(f"'{name}' '{value}'" for name, value in given.items())
    report = assert_hidden(
        sql, f"CREATE TABLE messages (id INT) USING kafka OPTIONS ({options}, 'value.format' 'json')"
    )
    assert report.condition == "JETSQL.INVALID_OPTION_VALUE"
    assert f"'{option}' cannot name a secret" in report.message


@pytest.mark.parametrize(
    "setting", ["spark.sql.shuffle.partitions", "spark.sql.ansi.enabled", "spark.sql.session.timeZone"]
)
def test_errors_of_job_settings_show_no_secrets(sql: Sql, private: str, setting: str) -> None:
    sql("CREATE TABLE source (id INT) USING json")
    sql("CREATE TABLE target (id INT) USING parquet")
    body = "AS INSERT INTO target SELECT * FROM STREAM source"
    assert_hidden(sql, f"CREATE JOB j OPTIONS ('{setting}' = 'secret:file:{private}') {body}")


def test_traces_show_no_secrets(sql: Sql, server: RunningServer, postgres: Postgres, private: str) -> None:
    options = postgres.options("public.none", user=f"secret:file:{private}")
    request = json.dumps({"statement": f"CREATE TABLE other {options}", "trace": True})
    with closing(HTTPConnection(urlsplit(server.url).netloc, timeout=60)) as connection:
        connection.request("POST", "/v1/sql", request, {"Authorization": f"Bearer {TOKEN}"})
        trace = connection.getresponse().read().decode()
    assert "Traceback" in trace
    assert [word for word in WORDS if word in trace] == []


def test_endless_file_is_no_secret(sql: Sql, postgres: Postgres) -> None:
    options = postgres.options("public.none", user="secret:file:/dev/zero")
    report = sql.error(f"CREATE TABLE other {options}")
    assert report.condition == "JETSQL.SECRET_NOT_READABLE"
    assert "larger than 64 KiB" in report.message


# One list of names


@pytest.mark.parametrize("name", [*secret_names.SECRET, *secret_names.PLAIN])
def test_java_and_python_agree_on_the_names_of_secrets(engine: EngineInstance, name: str) -> None:
    assert java(engine.spark).common.Secrets.isName(name) is is_secret(name)


def test_spark_hides_by_the_same_list(sql: Sql) -> None:
    conf = sql.engine.spark.sparkContext.getConf()
    assert conf.get("spark.redaction.regex") == SECRET_NAMES
    assert conf.get("spark.sql.redaction.options.regex") == f"(?i:url)|{SECRET_NAMES}"


def _is_reserved(name: str) -> bool:
    """Return whether the name is an option of JetSQL, which tables of other formats cannot have."""
    return name.lower() in ("key.columns", "key.format", "value.format", "delivery.headers", "trigger")


def test_spark_shows_no_secret_of_a_table(sql: Sql) -> None:
    names = {name.lower(): name for name in (*secret_names.SECRET, *secret_names.PLAIN) if not _is_reserved(name)}
    values = {name: f"value-{number}." for number, name in enumerate(names.values())}
    options = ", ".join(f"'{name}' '{value}'" for name, value in values.items())
    columns = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
    sql(f"CREATE TABLE many ({columns}) USING binaryFile OPTIONS ({options}, 'the.url' 'elsewhere')")
    [(statement,)] = sql("SHOW CREATE TABLE many")
    described = str(sql("DESCRIBE EXTENDED many"))
    assert "elsewhere" not in statement + described
    shown = {name for name, value in values.items() if value in statement or value in described}
    assert shown == {name for name in values if not is_secret(name)}


def test_set_shows_no_secret(sql: Sql) -> None:
    sql("SET fs.azure.account.key.shop=geheim")
    sql("SET some.compass=north")
    shown = {row[0]: row[1] for row in sql("SET")}
    assert "geheim" not in str(shown)
    assert shown["some.compass"] == "north"
