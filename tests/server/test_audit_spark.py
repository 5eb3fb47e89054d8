"""The audit log of an engine with Spark: each endpoint records each statement once, with its user and its objects."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect.client import SparkConnectClient
from pyspark.sql.connect.plan import SQL

from jetsql.client.engine_client import EngineClient
from jetsql.embedded.engine_instance import EngineInstance
from jetsql.engine.session import audit_records
from jetsql.errors import ReportedError
from jetsql.jobs.audit.audit_file import AUDIT_LOG
from jetsql.jobs.audit.audit_settings import AuditMode, AuditSettings
from jetsql.settings.engine_settings import EndpointSettings
from tests.conftest import until
from tests.support.servers import thrift_server
from tests.support.servers.http_server import TOKEN, run_server

pytestmark = pytest.mark.spark

CANARY = "hunter2canary"
READ = {"right": "SELECT", "name": "spark_catalog.shop.orders", "ok": True}
ENDPOINTS = ("http", "thrift", "connect")


@dataclass(frozen=True)
class Audited:
    """An engine with all endpoints. ann reads one table; boss is an admin, who can use Spark Connect."""

    engine: EngineInstance
    http: dict[str, EngineClient]
    thrift: dict[str, thrift_server.Client]
    connect: SparkConnectClient
    tokens: dict[str, str]
    connect_url: str

    def run(self, endpoint: str, text: str, user: str = "boss") -> None:
        """Run a statement to its end, also one that fails."""
        if endpoint == "http":
            with suppress(ReportedError):
                list(self.http[user].run(text).rows)
        elif endpoint == "thrift":
            self.thrift[user].outcome(text)
        else:
            with suppress(PySparkException):
                self.connect.to_table(SQL(text).to_proto(self.connect), {})

    def events(self, kind: str = "statement") -> list[dict[str, Any]]:
        """Return the events since the last call."""
        audit_records.flush(self.engine.spark)
        found = [dict(event) for event in self.engine.audit.newest()]
        (self.engine.home / AUDIT_LOG).unlink(missing_ok=True)
        return [event for event in found if event["event"] == kind]


@pytest.fixture(scope="module")
def audited(engine: EngineInstance) -> Iterator[Audited]:
    with ExitStack() as stack:
        server = stack.enter_context(run_server(engine, idle_seconds=3600.0))
        owner = stack.enter_context(closing(EngineClient(server.url, TOKEN)))
        for text in (
            "CREATE SCHEMA shop",
            "CREATE TABLE shop.orders (id INT) USING parquet",
            "CREATE TABLE shop.copies (id INT) USING parquet",
            "CREATE TABLE shop.pay (id INT) USING parquet",
            "INSERT INTO shop.orders VALUES (1), (2)",
            "CREATE VIEW shop.paid AS SELECT * FROM shop.pay",
            "CREATE USER ann",
            "CREATE USER boss",
            "GRANT ADMIN TO boss",
            "GRANT SELECT ON TABLE shop.orders TO ann",
            "GRANT SELECT ON VIEW shop.paid TO ann",
        ):
            list(owner.run(text).rows)
        tokens = {user: str(next(iter(owner.run(f"CREATE TOKEN FOR {user}").rows))[1]) for user in ("ann", "boss")}
        settings = EndpointSettings(connect=True, thrift=True, login_seconds=3600.0)
        addresses = stack.enter_context(engine.open_endpoints(settings, thrift_server.TOKEN))
        jvm: Any = engine.spark.sparkContext._jvm
        port = int(addresses.thrift.rpartition(":")[2])
        http = {user: stack.enter_context(closing(EngineClient(server.url, tokens[user]))) for user in tokens}
        thrift = {
            user: stack.enter_context(closing(thrift_server.Client(jvm, port, user, tokens[user]))) for user in tokens
        }
        url = f"{addresses.connect}/;token={tokens['boss']};user_id=boss"
        connect = SparkConnectClient(url)
        stack.callback(connect.close)
        yield Audited(engine, http, thrift, connect, tokens, url)
        for text in ("REASSIGN OWNED BY boss TO owner", "DROP SCHEMA shop CASCADE", "DROP USER ann", "DROP USER boss"):
            list(owner.run(text).rows)


@pytest.fixture(autouse=True)
def forgotten(audited: Audited) -> None:
    audited.events()


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_query_has_one_record(audited: Audited, endpoint: str) -> None:
    audited.run(endpoint, "SELECT o.id FROM shop.orders o WHERE id IN (SELECT id FROM shop.copies)")
    (event,) = audited.events()
    assert (event["user"], event["endpoint"], event["address"]) == ("boss", endpoint, "127.0.0.1")
    assert (event["kind"], event["outcome"]) == ("SELECT", "ok")
    assert event["token"] == audited.tokens["boss"].split("_")[1] and event["session"] and event["statement"]
    assert event["ms"] >= 0 and event.get("rows", 0) == 0
    assert {each["name"] for each in event["objects"]} == {"spark_catalog.shop.orders", "spark_catalog.shop.copies"}


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize(
    ("text", "kind", "objects"),
    [
        ("INSERT INTO shop.copies SELECT * FROM shop.orders", "INSERT", {"INSERT copies", "SELECT orders"}),
        ("SELECT * FROM shop.paid", "SELECT", {"SELECT paid"}),
        ("DESCRIBE TABLE shop.orders", "DESCRIBE TABLE", {"SELECT orders"}),
        ("SHOW JOBS", "SHOW JOBS", set()),
        ("SUSPEND JOB nothing", "SUSPEND", {"OPERATE JOB nothing"}),
        ("EXECUTE IMMEDIATE 'SELECT * FROM shop.orders'", "EXECUTE", {"SELECT orders"}),
        ("CREATE ROLE r", "CREATE ROLE", {"ADMIN ENGINE"}),
        ("DROP ROLE IF EXISTS r", "DROP ROLE", {"ADMIN ENGINE"}),
    ],
)
def test_objects(audited: Audited, endpoint: str, text: str, kind: str, objects: set[str]) -> None:
    audited.run(endpoint, text)
    (event,) = audited.events()
    found = {f"{each['right']} {each['name'].removeprefix('spark_catalog.shop.')}" for each in event.get("objects", ())}
    assert (event["kind"], found) == (kind, objects)


@pytest.mark.parametrize("endpoint", ["http", "thrift"])
@pytest.mark.parametrize(
    ("text", "lacked"),
    [
        ("SELECT * FROM shop.orders, shop.pay", "ANY shop.pay"),
        ("SELECT * FROM nowhere.x", "ANY nowhere.x"),
        ("INSERT INTO shop.orders VALUES (3)", "INSERT spark_catalog.shop.orders"),
        ("DROP TABLE shop.orders", "OWNER spark_catalog.shop.orders"),
        ("CREATE USER eve", "ADMIN ENGINE"),
    ],
)
def test_denied_statement_names_the_right(audited: Audited, endpoint: str, text: str, lacked: str) -> None:
    audited.run(endpoint, text, "ann")
    (event,) = audited.events()
    assert (event["user"], event["outcome"]) == ("ann", "denied")
    assert lacked in [f"{each['right']} {each['name']}" for each in event["objects"] if not each["ok"]]


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("SELECT 1 / 0", "failed: DIVIDE_BY_ZERO"),
        ("SELCT 1", "failed: PARSE_SYNTAX_ERROR"),
        ("SELECT nothing FROM shop.orders", "failed: UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("DROP JOB nothing", "failed: JETSQL.JOB_NOT_FOUND"),
    ],
)
def test_failed_statement_has_its_condition(audited: Audited, endpoint: str, text: str, outcome: str) -> None:
    audited.run(endpoint, text)
    (event,) = audited.events()
    assert event["outcome"] == outcome


def test_stream_over_thrift_has_one_record(audited: Audited) -> None:
    audited.run("thrift", "SELECT id FROM STREAM shop.orders LIMIT 2", "ann")
    audited.run("thrift", "SELECT id FROM STREAM shop.pay LIMIT 2", "ann")
    read, denied = audited.events()
    assert (read["user"], read["kind"], read["outcome"], read["objects"]) == ("ann", "SELECT", "ok", [READ])
    assert denied["outcome"] == "denied"


def test_rows_are_counted(audited: Audited) -> None:
    for endpoint in ("http", "connect"):
        audited.run(endpoint, "SELECT * FROM range(1234)")
    assert [event["rows"] for event in audited.events()] == [1234, 1234]


def test_arrow_has_one_record(audited: Audited) -> None:
    with audited.http["ann"].run_arrow("SELECT * FROM shop.orders") as stream:
        assert pyarrow.ipc.open_stream(stream).read_all().num_rows == 2
    until(lambda: bool(audited.engine.audit.newest()))  # it is recorded when all of it was sent
    (event,) = audited.events()
    assert (event["objects"], event["rows"]) == ([READ], 2)


@pytest.mark.parametrize("change", ["DROP TOKEN '{}'", "ALTER USER guest DISABLE", "REVOKE ADMIN FROM guest"])
def test_statement_of_spark_connect_ends_with_its_login(audited: Audited, change: str) -> None:
    owner, active = audited.engine, audited.engine.spark.sparkContext.statusTracker()
    owner.run("CREATE USER guest")
    owner.run("GRANT ADMIN TO guest")
    [[token_id, token, *_]] = list(owner.run("CREATE TOKEN FOR guest").rows)
    address = audited.connect_url.replace("boss", "guest").replace(audited.tokens["boss"], str(token))
    with closing(SparkConnectClient(address)) as client, ThreadPoolExecutor() as threads:
        text = "SELECT count(*) FROM range(1000000000000) WHERE id % 7 = 3"
        running = threads.submit(client.to_table, SQL(text).to_proto(client), {})
        until(lambda: bool(list(active.getActiveJobsIds())))
        owner.run(change.format(token_id))
        with pytest.raises(PySparkException, match=r"JETSQL\.LOGIN_ENDED"):
            running.result(60)
        until(lambda: not list(active.getActiveJobsIds()))
    owner.run("DROP USER guest")
    [ended] = audited.events("login ended")
    assert (ended["user"], ended["endpoint"], ended["token"]) == ("guest", "connect", token_id)


def test_sql_of_spark_connect_has_one_record(audited: Audited) -> None:
    """Run SQL as PySpark does: it first analyzes a query, and runs it when its rows are needed."""
    client = audited.connect
    for text in ("SELECT * FROM shop.orders", "SELECT 1", "SHOW TABLES IN shop", "BEGIN SELECT 1; END"):
        client.execute_command(SQL(text).command(client))
    audited.run("connect", "SELECT * FROM shop.orders")
    assert [event["kind"] for event in audited.events()] == ["SHOW TABLES", "BEGIN", "SELECT"]


def test_program_in_the_process_has_one_record(audited: Audited) -> None:
    assert list(audited.engine.run("SELECT * FROM shop.orders ORDER BY id").rows) == [(1,), (2,)]
    (event,) = audited.events()
    assert (event["user"], event["endpoint"], event["objects"]) == ("owner", "embedded", [READ])


def test_job_starts_as_its_owner(audited: Audited) -> None:
    audited.run("http", "CREATE JOB copying AS INSERT INTO shop.copies SELECT id FROM STREAM shop.orders")
    audited.run("http", "DROP JOB copying")
    audit_records.flush(audited.engine.spark)
    found = audited.engine.audit.newest()
    (started,) = [event for event in found if event["event"] == "job start"]
    assert started["user"] == "boss" and started["job"]
    created = [event for event in found if event.get("kind") == "CREATE JOB"]
    assert len(created) == 1 and len(created[0]["objects"]) == 2


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_secrets_are_in_no_record(audited: Audited, endpoint: str) -> None:
    audited.engine.audit._settings, before = AuditSettings(AuditMode.ON, True), audited.engine.audit._settings
    try:
        for text in (
            f"CREATE TABLE shop.x (a INT) USING jdbc OPTIONS ('url' 'jdbc:x://u:{CANARY}@h/', 'password' '{CANARY}')",
            f"SET spark.some.token={CANARY}",
            f"CREATE CONNECTION c TYPE jdbc OPTIONS ('url' 'jdbc:postgresql://h/', 'password' '{CANARY}')",
        ):
            audited.run(endpoint, text)
        audit_records.flush(audited.engine.spark)
        log = (audited.engine.home / AUDIT_LOG).read_text()
        assert CANARY not in log and log.count('"text"') == 3
        assert not any(token in log for token in audited.tokens.values())
    finally:
        audited.engine.audit._settings = before


def test_reads_of_a_secret_have_events(audited: Audited, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(CANARY)
    url = "jdbc:derby:memory:audited;create=true"
    for text in (
        f"CREATE SECRET vault FROM FILE '{secret}'",
        f"CREATE CONNECTION d TYPE jdbc OPTIONS ('url' = '{url}', 'user' = 'app', 'password' = 'secret:vault')",
        "CREATE TABLE shop.d USING jdbc OPTIONS ('connection' = 'd', 'dbtable' = 'SYS.SYSTABLES')",
    ):
        audited.run("http", text)
    audited.events()
    for endpoint in ENDPOINTS:
        audited.run(endpoint, "SELECT count(TABLENAME) FROM shop.d")
        [read] = audited.events("secret read")
        assert (read["user"], read["endpoint"], read["outcome"]) == ("boss", endpoint, "ok")
        assert read["objects"] == [{"right": "USAGE", "name": "SECRET vault", "ok": True}]
        assert read["detail"].startswith("For the option password of jdbc:derby:") and CANARY not in str(read)
    audited.run("http", "SELECT count(TABLENAME) FROM shop.d")
    [statement] = audited.events()
    assert {"right": "USAGE", "name": "CONNECTION d", "ok": True} in statement["objects"]
    secret.unlink()
    audited.run("http", "SELECT count(TABLENAME) FROM shop.d")
    outcomes = {read["outcome"] for read in audited.events("secret read")}
    assert outcomes == {"failed: JETSQL.SECRET_NOT_READABLE"}


def test_job_that_uses_a_connection_has_events(audited: Audited, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("app")
    url = "jdbc:derby:memory:audited;create=true"
    for text in (
        f"CREATE SECRET safe FROM FILE '{secret}'",
        f"CREATE CONNECTION e TYPE jdbc OPTIONS ('url' = '{url}', 'user' = 'app', 'password' = 'secret:safe')",
        "CREATE TABLE shop.e USING jdbc OPTIONS ('connection' = 'e',"
        " 'dbtable' = '(SELECT 7 AS N FROM SYSIBM.SYSDUMMY1) AS T')",
        "CREATE TABLE shop.made (id BIGINT) USING parquet",
    ):
        audited.run("http", text)
    audited.events()
    job = "CREATE JOB reads AS INSERT INTO shop.made SELECT count(N) FROM shop.e"
    list(audited.http["boss"].run(job).rows)
    list(audited.http["boss"].run("WAIT FOR JOB reads").rows)
    audit_records.flush(audited.engine.spark)
    events = [event for event in audited.engine.audit.newest() if event.get("job") and event["event"] != "job start"]
    found = {(event["event"], event["user"], event["objects"][0]["name"]) for event in events}
    assert found == {("connection use", "boss", "CONNECTION e"), ("secret read", "boss", "SECRET safe")}


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_statement_is_refused_that_cannot_be_recorded(audited: Audited, endpoint: str) -> None:
    audit, spark = audited.engine.audit, audited.engine.spark
    before, audit._settings = audit._settings, replace(audit._settings, audit=AuditMode.REQUIRED)
    audit_records.connect(spark, is_on=True, is_required=True)
    log = audited.engine.home / AUDIT_LOG
    try:
        log.mkdir()
        for text in ("INSERT INTO shop.pay VALUES (1)", "CREATE ROLE unwritten", "SET spark.sql.ansi.enabled = false"):
            audited.run(endpoint, text)
        audit_records.flush(spark)  # events of statements that have ended may still be on their way
        log.rmdir()
        audited.run(endpoint, "SELECT * FROM shop.pay")
        assert [event["event"] for event in audited.engine.audit.newest()][:1] == ["begin"]
    finally:
        audit._settings = before
        audit_records.connect(spark, is_on=True, is_required=False)
    assert list(audited.engine.run("SELECT * FROM shop.pay").rows) == []
    assert "unwritten" not in [row[0] for row in audited.engine.run("SHOW ROLES").rows]


def test_relation_shows_own_events(audited: Audited) -> None:
    audited.run("http", "SELECT * FROM shop.orders", "ann")
    audited.run("http", "SELECT * FROM shop.orders")
    text = "SELECT DISTINCT user FROM jetsql.audit WHERE event = 'statement'"
    assert list(audited.http["ann"].run(text).rows) == [("ann",)]
    assert sorted(audited.http["boss"].run(text).rows) == [("ann",), ("boss",)]
