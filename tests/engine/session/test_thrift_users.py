"""Users at the Thrift endpoint: who logs in, what a dropped user can still do, and what metadata calls show."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from jetsql.embedded.engine_instance import EngineInstance
from tests.conftest import until
from tests.support.rights.expired_tokens import expire
from tests.support.rights.restricted_session import Restricted
from tests.support.servers.thrift_server import NEVER, TOKEN, Client, Endpoint, thrift

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def endpoint(engine: EngineInstance, ann: Restricted) -> Iterator[Endpoint]:
    with thrift(engine, NEVER) as endpoint:
        yield endpoint


@pytest.fixture
def client(endpoint: Endpoint, ann: Restricted) -> Iterator[Client]:
    with closing(endpoint.client("ann", ann.tokens["ann"])) as client:
        yield client


def rows(answer: Any) -> list[list[str | None]]:
    """Return the rows of a result set of JDBC."""
    count, found = answer.getMetaData().getColumnCount(), []
    while answer.next():
        found.append([answer.getString(number + 1) for number in range(count)])
    answer.close()
    return found


@pytest.mark.parametrize(
    "name, token",
    [
        ("ann", "bob's"),
        ("bob", "ann's"),
        ("owner", "ann's"),
        ("ann", TOKEN),
        ("", "ann's"),
        ("ann", ""),
        ("ann", "jsq_aaaaaaaa_0123456789012345678901234567890123456789abc"),
        ("carl", TOKEN),
    ],
)
def test_wrong_name_or_token_is_refused(endpoint: Endpoint, ann: Restricted, name: str, token: str) -> None:
    tokens = {f"{user}'s": text for user, text in ann.tokens.items()}
    with pytest.raises(Py4JJavaError):
        endpoint.client(name, tokens.get(token, token))


@pytest.mark.parametrize("name", ["owner", "engine", "Owner"])
def test_token_of_the_home_has_two_names(endpoint: Endpoint, name: str) -> None:
    with closing(endpoint.client(name, TOKEN)) as client:
        assert client.value("SELECT current_user()") == "owner"
        assert client.value("SELECT string(count(*)) FROM hr.pay") == "1"


@pytest.mark.parametrize("name", ["ann", "Ann"])
def test_session_has_the_user_of_the_token(endpoint: Endpoint, ann: Restricted, name: str) -> None:
    with closing(endpoint.client(name, ann.tokens["ann"])) as client:
        assert client.value("SELECT current_user()") == "ann"
        failed, text = client.outcome("SELECT * FROM hr.pay")
        assert failed and "TABLE_OR_VIEW_NOT_FOUND" in text


def test_use_of_a_token_is_noted(engine: EngineInstance, endpoint: Endpoint) -> None:
    token = str(next(iter(engine.run("CREATE TOKEN FOR bob").rows))[1])
    endpoint.client("bob", token).close()

    def noted() -> bool:
        used = [row[-1] is not None for row in engine.run("SHOW TOKENS FOR bob").rows if str(row[0]) in token]
        return used == [True]

    until(noted)


def test_statements_of_jetsql_have_the_user(client: Client) -> None:
    failed, text = client.outcome("SHOW TOKENS")
    assert not failed and "bob" not in text
    failed, text = client.outcome("CREATE USER eve")
    assert failed and "NOT_ALLOWED" in text and "ann" in text
    failed, text = client.outcome("EXECUTE IMMEDIATE 'CREATE USER eve'")
    assert failed and "NOT_ALLOWED" in text and "ann" in text


@pytest.mark.parametrize(
    "setting",
    [
        "hive.server2.proxy.user",
        "set:hiveconf:hive.server2.proxy.user",
        "set:system:jetsql.canary",
        "set:metaconf:hive.metastore.try.direct.sql",
        "set:hivevar:x",
        "set:env:HOME",
        "spark.sql.runSQLOnFiles",
        "set:hiveconf:spark.sql.catalog.other",
        "spark.jetsql.job",
    ],
)
def test_settings_of_a_session_are_checked(client: Client, ann: Restricted, endpoint: Endpoint, setting: str) -> None:
    settings = endpoint.jvm.java.util.HashMap()
    settings.put(setting, "owner")
    response = client.open(settings)
    assert not response.isSetSessionHandle()
    assert "NOT_ALLOWED" in str(response.getStatus().getErrorMessage())
    assert ann.effects() == []


def test_owner_cannot_act_as_another_user(endpoint: Endpoint) -> None:
    settings = endpoint.jvm.java.util.HashMap()
    settings.put("hive.server2.proxy.user", "ann")
    with closing(endpoint.client("owner", TOKEN)) as client:
        response = client.open(settings)
        assert "substitution is not allowed" in str(response.getStatus().getErrorMessage())


def test_settings_that_users_may_set(client: Client, endpoint: Endpoint) -> None:
    settings = endpoint.jvm.java.util.HashMap()
    settings.put("set:hiveconf:spark.sql.session.timeZone", "Asia/Tokyo")
    settings.put("use:database", "s")
    client.session = client.open(settings).getSessionHandle()
    assert client.value("SELECT current_timezone()") == "Asia/Tokyo"
    assert client.value("SELECT current_schema()") == "s"


def test_hidden_schema_of_a_new_session_is_missing(client: Client, endpoint: Endpoint) -> None:
    messages = []
    for schema in ("hr", "xy"):
        settings = endpoint.jvm.java.util.HashMap()
        settings.put("use:database", schema)
        messages.append(str(client.open(settings).getStatus().getErrorMessage()).replace(schema, "NAME"))
    assert messages[0] == messages[1] and "SCHEMA_NOT_FOUND" in messages[0]


def test_sessions_of_others_are_missing(endpoint: Endpoint, ann: Restricted, client: Client) -> None:
    with closing(endpoint.client("bob", ann.tokens["bob"])) as other:
        operation = client.execute("SELECT * FROM s.orders").getOperationHandle()
        assert "Invalid" in str(other.execute("SELECT 1", client.session).getStatus().getErrorMessage())
        assert "Invalid" in other.rows(operation)
        assert other.cancel(operation) == "ERROR_STATUS"
        assert other.close_session(client.session) == "ERROR_STATUS"
        assert "20" in client.rows(operation)


def test_disabled_user_is_refused(engine: EngineInstance, ann: Restricted, endpoint: Endpoint) -> None:
    with closing(endpoint.client("bob", ann.tokens["bob"])) as client:
        operation = client.execute("SELECT 'a row'").getOperationHandle()
        list(engine.run("ALTER USER bob DISABLE").rows)
        try:
            failed, text = client.outcome("SELECT 1")
            assert failed and "The user bob was disabled" in text
            assert "The user bob was disabled" in client.rows(operation)
            with pytest.raises(Py4JJavaError):
                endpoint.client("bob", ann.tokens["bob"])
        finally:
            list(engine.run("ALTER USER bob ENABLE").rows)
    with closing(endpoint.client("bob", ann.tokens["bob"])) as client:
        assert client.value("SELECT 'again'") == "again"
        assert client.close_session(client.session) == "SUCCESS_STATUS"


def test_dropped_token_is_refused(engine: EngineInstance, endpoint: Endpoint) -> None:
    token_id, token = next(iter(engine.run("CREATE TOKEN FOR bob").rows))[:2]
    with closing(endpoint.client("bob", str(token))) as client:
        assert client.value("SELECT 'a row'") == "a row"
        list(engine.run(f"DROP TOKEN '{token_id}'").rows)
        failed, text = client.outcome("SELECT 1")
        assert failed and f"The token {token_id} was dropped" in text


def test_metadata_calls_show_what_the_user_sees(endpoint: Endpoint, ann: Restricted) -> None:
    connection = endpoint.jdbc("ann", ann.tokens["ann"])
    metadata = connection.getMetaData()
    everything = repr(
        [
            rows(metadata.getCatalogs()),
            rows(metadata.getSchemas()),
            rows(metadata.getTables(None, "%", "%", None)),
            rows(metadata.getColumns(None, "%", "%", "%")),
            rows(metadata.getFunctions(None, "%", "%")),
            rows(metadata.getTypeInfo()),
            rows(metadata.getTableTypes()),
        ]
    )
    assert not [word for word in ("hr", "pay", "hidden", "salary_column") if f"'{word}" in everything]
    assert {row[0] for row in rows(metadata.getSchemas())} == {"default", "jetsql", "own", "s"}
    tables = {row[2] for row in rows(metadata.getTables(None, "s", "%", None))}
    assert tables == {"orders", "items", "inbox", "names", "broken"}
    assert rows(metadata.getTables(None, "hr", "%", None)) == rows(metadata.getTables(None, "gap", "%", None)) == []
    assert rows(metadata.getColumns(None, "hr", "pay", "%")) == rows(metadata.getColumns(None, "hr", "gap", "%")) == []
    assert [row[3] for row in rows(metadata.getColumns(None, "s", "orders", "%"))] == ["id", "amount"]
    functions = {row[2] for row in rows(metadata.getFunctions(None, "s", "%"))}
    assert {"twice", "upper"} <= functions and "hidden_function" not in functions
    connection.close()


def test_metadata_calls_show_everything_to_an_admin(endpoint: Endpoint) -> None:
    connection = endpoint.jdbc("owner", TOKEN)
    metadata = connection.getMetaData()
    assert {row[2] for row in rows(metadata.getTables(None, "hr", "%", None))} == {"parts", "pay", "v"}
    assert "salary_column" in {row[3] for row in rows(metadata.getColumns(None, "hr", "pay", "%"))}
    connection.close()


def test_keys_of_hidden_tables_are_those_of_missing_ones(endpoint: Endpoint, ann: Restricted) -> None:
    connection = endpoint.jdbc("ann", ann.tokens["ann"])
    metadata = connection.getMetaData()
    for schema, table in (("hr", "pay"), ("hr", "gap")):
        assert rows(metadata.getPrimaryKeys(None, schema, table)) == []
    connection.close()


def test_call_that_is_not_listed_is_refused(client: Client, endpoint: Endpoint) -> None:
    request = endpoint.jvm.org.apache.hive.service.rpc.thrift.TGetDelegationTokenReq(client.session, "owner", "owner")
    response = client.calls.GetDelegationToken(request)
    assert "NOT_ALLOWED" in str(response.getStatus().getErrorMessage())


LONG = "SELECT count(*) FROM range(1000000000000) WHERE id % 7 = 3"


def _begun(engine: EngineInstance) -> bool:
    return bool(list(engine.spark.sparkContext.statusTracker().getActiveJobsIds()))


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.parametrize("change", ["DROP TOKEN '{}'", "ALTER USER guest DISABLE", "DROP USER guest", "expiry"])
def test_statement_ends_with_its_login(
    engine: EngineInstance, endpoint: Endpoint, change: str, background: bool
) -> None:
    engine.run("CREATE USER guest")
    [[token_id, token, *_]] = list(engine.run("CREATE TOKEN FOR guest").rows)
    try:
        with closing(endpoint.client("guest", str(token))) as client, ThreadPoolExecutor() as threads:
            running = threads.submit(client.execute, LONG, background=background)
            until(lambda: _begun(engine))
            if change == "expiry":
                expire(engine, str(token_id))
            else:
                engine.run(change.format(token_id))
            response = running.result(60)
            if background:
                until(lambda: "JETSQL.LOGIN_ENDED" in client.rows(response.getOperationHandle()))
            else:
                assert "JETSQL.LOGIN_ENDED" in str(response.getStatus().getErrorMessage())
                assert response.getStatus().getSqlState() == "28000"
            assert "JETSQL.LOGIN_ENDED" in client.outcome("SELECT 1")[1]
            until(lambda: not _begun(engine))
    finally:
        engine.run("DROP USER IF EXISTS guest")
    events = [event for event in engine.audit.newest() if event["event"] == "login ended"]
    assert (events[-1]["user"], events[-1]["endpoint"], events[-1]["token"]) == ("guest", "thrift", token_id)


def test_client_gets_the_result_of_its_last_statement(engine: EngineInstance, endpoint: Endpoint) -> None:
    engine.run("CREATE USER guest")
    [[token_id, token, *_]] = list(engine.run("CREATE TOKEN FOR guest").rows)
    with closing(endpoint.client("guest", str(token))) as client:
        failed, text = client.outcome(f"DROP TOKEN '{token_id}'")
        assert not failed and "Dropped" in text
        until(lambda: "JETSQL.LOGIN_ENDED" in client.outcome("SELECT 1")[1])
    engine.run("DROP USER guest")
