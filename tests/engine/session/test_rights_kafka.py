"""A user reads the Kafka tables of its rights, also as a stream, and reaches no other topic, file or login by them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation, ResourceType
from pyspark.errors import PySparkException

from jetsql.client.engine_client import EngineClient
from jetsql.errors import ReportedError
from tests.support.rights.restricted_session import CANARY, HIDDEN, Restricted
from tests.support.rights.user_logins import ENDPOINTS, Run, logged_in
from tests.support.servers.http_server import run_server
from tests.support.servers.kafka import PASSWORD, USER, Kafka

pytestmark = pytest.mark.spark
_LOGIN = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{USER}" password="{PASSWORD}";'
_JSON = "'value.format' = 'json'"


@pytest.fixture(scope="module")
def messages(ann: Restricted, kafka: Kafka) -> Iterator[Restricted]:
    """Yield the session of ann, who owns `own.k` with the messages 1 and 2; bob reads it, and the view `own.of_k`."""
    shown, hidden = kafka.topic("rights_shown"), kafka.topic("rights_hidden")
    kafka.send_json(shown, [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    kafka.send_json(hidden, [{"id": 3, "salary_column": CANARY}])
    for resource, operation in (
        (ResourceType.TOPIC, AclOperation.ALL),
        (ResourceType.GROUP, AclOperation.ALL),
        (ResourceType.TRANSACTIONAL_ID, AclOperation.ALL),
    ):
        kafka.allow(resource, "*", operation)
    login = ann.folder / "login"
    login.write_text(_LOGIN)
    ann.effects()
    for text in (
        f"CREATE SECRET jaas FROM FILE '{login}' FOR 'kafka://{kafka.sasl_servers}'",
        f"CREATE CONNECTION broker TYPE kafka OPTIONS ('kafka.bootstrap.servers' = '{kafka.sasl_servers}', "
        "'kafka.security.protocol' = 'SASL_PLAINTEXT', 'kafka.sasl.mechanism' = 'PLAIN', "
        "'kafka.sasl.jaas.config' = 'secret:jaas')",
        "GRANT USAGE ON CONNECTION broker TO ann",
        "CREATE TABLE hr.k (id INT, salary_column STRING) USING kafka "
        f"OPTIONS ('connection' = 'broker', 'topic' = '{hidden}', {_JSON})",
        "CREATE VIEW s.of_hidden AS SELECT count(salary_column) AS n, current_user() AS who FROM hr.k",
        "GRANT SELECT ON VIEW s.of_hidden TO ann",
    ):
        ann.run_as_owner(text)
    ann.run(
        "CREATE TABLE own.k (id INT, name STRING) USING kafka "
        f"OPTIONS ('connection' = 'broker', 'topic' = '{shown}', {_JSON})"
    )
    ann.run("CREATE VIEW own.of_k AS SELECT id, name, current_user() AS who FROM own.k")
    for text in ("TABLE own.k", "VIEW own.of_k"):
        ann.run_as_owner(f"GRANT SELECT ON {text} TO bob")
    yield ann
    for text in (
        *("DROP VIEW s.of_hidden", "DROP VIEW own.of_k", "DROP TABLE own.k", "DROP TABLE hr.k"),
        *("DROP CONNECTION broker", "DROP SECRET jaas"),
    ):
        ann.run_as_owner(text)
    kafka.forbid_all()


@pytest.fixture(scope="module", params=["session", *ENDPOINTS])
def read(request: pytest.FixtureRequest, messages: Restricted) -> Iterator[Run]:
    """Yield what runs statements of ann in a session of Spark, or at an endpoint."""
    if request.param == "session":
        yield lambda text: _in_session(messages, text)
        return
    with logged_in(request.param, messages) as run:
        yield run


def _in_session(ann: Restricted, text: str, user: str = "ann") -> tuple[str, str]:
    try:
        return "", repr(ann.run(text, ann.session(user)))
    except PySparkException as error:
        return error.getCondition() or "failed", str(error)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("SELECT name, upper(name) FROM own.k WHERE id = 2", "B"),
        ("SELECT count(*) + 40 AS n FROM own.k WHERE id < 3 AND _offset >= 0 AND _topic LIKE 'rights%'", "42"),
        ("SELECT k.name, i.name FROM own.k JOIN s.items i USING (id) WHERE id IN (SELECT id FROM own.k)", "b"),
        ("WITH c AS (TABLE own.k) SELECT a.id, max(b.name) FROM c a JOIN c b USING (id) GROUP BY 1", "b"),
        ("SELECT who, name FROM own.of_k", "ann"),
        ("SELECT n + 70 AS n, who FROM s.of_hidden", "71"),
        ("EXPLAIN SELECT * FROM own.k", "name"),
    ],
)
def test_user_reads_messages(read: Run, text: str, shown: str) -> None:
    condition, rows = read(text)
    assert not condition, rows
    assert shown in rows and PASSWORD not in rows


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("SELECT name FROM STREAM own.k LIMIT 2", "b"),
        ("SELECT name, count(*) AS n FROM STREAM own.k GROUP BY name ORDER BY name LIMIT 2", "b"),
        ("SELECT i.name FROM STREAM own.k JOIN s.items i USING (id) LIMIT 2", "b"),
        ("SELECT o.id FROM STREAM s.orders o JOIN own.k USING (id) LIMIT 2", "2"),
        ("WITH c AS (SELECT * FROM STREAM own.k) SELECT name FROM c LIMIT 2", "b"),
    ],
)
@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_user_streams_messages(messages: Restricted, endpoint: str, text: str, shown: str) -> None:
    with logged_in(endpoint, messages) as run:
        condition, rows = run(text)
    assert not condition, rows
    assert shown in rows and PASSWORD not in rows


def test_stream_of_messages_ends_with_the_right(messages: Restricted) -> None:
    with run_server(messages.engine) as server, closing(EngineClient(server.url, messages.tokens["bob"])) as client:
        batches = client.run("SELECT id FROM STREAM own.k", live=True).batches
        assert list(next(batches).rows)
        messages.run_as_owner("GRANT SELECT ON TABLE s.items TO bob")  # a change of rights that it survives
        produced = _next_rows(messages, batches)
        assert produced == [(7,)]
        messages.run_as_owner("REVOKE SELECT ON TABLE own.k FROM bob")
        try:
            with pytest.raises(ReportedError, match="cannot be found"):
                for batch in batches:
                    list(batch.rows)
        finally:
            messages.run_as_owner("GRANT SELECT ON TABLE own.k TO bob")
            messages.run_as_owner("REVOKE SELECT ON TABLE s.items FROM bob")


def _next_rows(messages: Restricted, batches: Iterator[Any]) -> list[tuple[Any, ...]]:
    messages.run("INSERT INTO own.k VALUES (7, 'g')")
    while not (rows := list(next(batches).rows)):
        pass
    return rows


def test_user_copies_messages(messages: Restricted) -> None:
    messages.run("CREATE TABLE own.copied USING parquet AS SELECT id, name FROM own.k")
    messages.run("INSERT INTO own.copied SELECT id + 2, name FROM own.k")
    messages.run("CREATE TEMPORARY VIEW some_messages AS SELECT * FROM own.k WHERE id > 1")
    copied = {row[0] for row in messages.run("SELECT id FROM own.copied")}
    assert {1, 2, 3, 4} <= copied
    assert (2,) in messages.run("SELECT id FROM some_messages")
    messages.run("DROP TABLE own.copied")
    messages.run("DROP VIEW some_messages")


@pytest.mark.parametrize("user", ["ann", "bob", "owner"])
def test_owner_of_the_table_needs_usage_for_each_read(messages: Restricted, user: str) -> None:
    reads = ("SELECT id FROM own.k", "SELECT id FROM own.of_k", "SELECT count(*) FROM own.k")
    for text in reads:
        assert not _in_session(messages, text, user)[0]
    messages.run_as_owner("REVOKE USAGE ON CONNECTION broker FROM ann")
    try:
        for text in reads:
            condition, shown = _in_session(messages, text, user)
            assert condition == "JETSQL.NOT_ALLOWED" and "has no right USAGE" in shown
            assert not [word for word in (PASSWORD, "127.0.0.1") if word in shown]
    finally:
        messages.run_as_owner("GRANT USAGE ON CONNECTION broker TO ann")
    assert not _in_session(messages, reads[0], user)[0]


@pytest.mark.parametrize(
    "text",
    [
        "SHOW CREATE TABLE own.k",
        "SHOW TBLPROPERTIES own.k",
        "DESCRIBE EXTENDED own.k",
        "DESCRIBE TABLE EXTENDED own.k AS JSON",
        "SHOW TABLE EXTENDED IN own LIKE 'k'",
        "EXPLAIN SELECT * FROM own.k",
        "EXPLAIN EXTENDED SELECT * FROM own.k",
        "EXPLAIN FORMATTED SELECT * FROM STREAM own.k",
        "EXPLAIN EXTENDED SELECT * FROM STREAM own.k",
        "EXPLAIN COST SELECT * FROM own.of_k",
        "SELECT nothing FROM own.k",
        "SELECT nothing FROM STREAM own.k",
        "SELECT raise_error(name) FROM own.k",
        "INSERT INTO own.k VALUES ('x')",
    ],
)
@pytest.mark.parametrize("user", ["ann", "bob"])
def test_login_of_the_connection_is_not_shown(messages: Restricted, text: str, user: str) -> None:
    shown = _in_session(messages, text, user)[1]
    assert not [word for word in (PASSWORD, "LoginModule", "sasl", "127.0.0.1") if word in shown], shown


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM hr.k",
        "SELECT count(*) FROM own.k JOIN hr.k USING (id)",
        "SELECT * FROM STREAM hr.k LIMIT 1",
        "SELECT * FROM STREAM own.k JOIN hr.k USING (id) LIMIT 1",
        "SELECT (SELECT max(salary_column) FROM hr.k) FROM STREAM own.k LIMIT 1",
        "SELECT s.leak() FROM own.k",
        "SELECT reflect('java.lang.System', 'setProperty', 'jetsql.canary', name) FROM own.k",
        *(
            f"SELECT * FROM {stream}own.k WITH ('{option}' = '{value}') LIMIT 1"
            for stream in ("", "STREAM ")
            for option, value in (
                ("topic", "rights_hidden"),
                ("subscribe", "rights_hidden"),
                ("subscribePattern", "rights_.*"),
                ("assign", '{"rights_hidden":[0]}'),
                ("startingOffsets", '{"rights_hidden":{"0":0}}'),
                ("kafka.bootstrap.servers", "127.0.0.1:{port}"),
                ("kafka.ssl.truststore.location", "{file}"),
                ("kafka.interceptor.classes", "java.lang.String"),
                ("connection", "broker"),
                ("value.format", "raw"),
                ("jetsql.table", "spark_catalog.hr.k"),
            )
        ),
        "SELECT * FROM kafka.`rights_hidden`",
        "CREATE TEMPORARY VIEW taken USING kafka OPTIONS ('subscribe' = 'rights_hidden')",
        "INSERT INTO own.k SELECT id, salary_column FROM hr.k",
        "CREATE VIEW own.taken AS SELECT * FROM hr.k",
        "CREATE TABLE own.taken USING parquet AS SELECT * FROM hr.k",
        "CREATE JOB taken AS INSERT INTO s.inbox SELECT id, salary_column FROM STREAM hr.k",
        "ALTER TABLE own.k SET TBLPROPERTIES ('topic' = 'rights_hidden')",
        "DESCRIBE hr.k",
        "EXPLAIN CREATE JOB taken AS INSERT INTO s.inbox SELECT id, salary_column FROM STREAM hr.k",
    ],
)
def test_reading_messages_reaches_nothing_else(read: Run, messages: Restricted, text: str) -> None:
    condition, shown = read(text)
    assert condition, shown
    assert not [word for word in (*HIDDEN, PASSWORD) if word in shown and word not in text], shown
    assert messages.effects() == []


def test_table_on_a_pattern_is_as_wide_as_its_connection(messages: Restricted) -> None:
    """Read all topics that the login of a connection may: USAGE gives no less, as the broker decides."""
    messages.run(
        "CREATE TABLE own.wide (id INT) USING kafka "
        f"OPTIONS ('connection' = 'broker', 'subscribePattern' = 'rights_.*', {_JSON})"
    )
    try:
        assert {(1,), (2,), (3,)} <= set(messages.run("SELECT id FROM own.wide"))
        messages.run_as_owner("REVOKE USAGE ON CONNECTION broker FROM ann")
        assert "NOT_ALLOWED" in _in_session(messages, "SELECT id FROM own.wide")[0]
    finally:
        messages.run_as_owner("GRANT USAGE ON CONNECTION broker TO ann")
        messages.run("DROP TABLE own.wide")


def test_consumer_group_needs_the_right_to_modify_its_topic(messages: Restricted) -> None:
    """Refuse it otherwise: the login of the table can set the offsets of other consumers."""
    text = "EXPLAIN CREATE JOB j OPTIONS ('kafka.commit.group' = 'taken') AS INSERT INTO s.inbox SELECT id, name FROM "
    messages.run(f"{text} STREAM own.k")
    # DataFrame.collect of this statement would run it a second time.
    messages.engine.run("CREATE VIEW s.committed_topic AS SELECT id, 'x' AS name FROM STREAM hr.k")
    for grant in ("SELECT ON VIEW s.committed_topic TO ann", "INSERT ON TABLE s.inbox TO bob"):
        messages.run_as_owner(f"GRANT {grant}")
    jobs = (("bob", "STREAM own.k", "spark_catalog.own.k"), ("ann", "s.committed_topic", "a table USING kafka"))
    for user, source, named in jobs:
        with pytest.raises(PySparkException, match=f"user {user} lacks the right MODIFY on {named}") as caught:
            messages.run(f"{text} {source}", messages.session(user))
        assert "hr" not in re.split(r"\W", str(caught.value))
    messages.run_as_owner("GRANT MODIFY ON TABLE own.k TO bob")
    messages.run(f"{text} STREAM own.k", messages.session("bob"))
    messages.run_as_owner("DROP VIEW s.committed_topic")
