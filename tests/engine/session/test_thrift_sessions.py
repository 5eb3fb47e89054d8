"""The Thrift endpoint: connections that do not log in are closed, and handles cannot be guessed."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from jetsql.embedded.engine_instance import EngineInstance
from jetsql.engine.spark.startup import load_kafka_connector
from jetsql.settings.engine_settings import EndpointSettings
from tests.conftest import until
from tests.support.servers.strangers import connect, half_open, is_closed
from tests.support.servers.thrift_server import NEVER, Endpoint, thrift

pytestmark = pytest.mark.spark

SOON = EndpointSettings(connect=False, thrift=True, login_seconds=0.3)

START, OK = b"\x01", b"\x02"
PLAIN = START + struct.pack(">I", 5) + b"PLAIN"
HALF_A_MESSAGE = PLAIN + OK + struct.pack(">I", 40) + b"\0me\0"
BEGINNINGS = [b"", START, PLAIN, HALF_A_MESSAGE]
ENDLESS = "CACHE TABLE endless AS SELECT sum(id % 7) FROM range(0, 1000000000000, 1, 1)"
UNREAD = "SELECT id, repeat('x', 1000) FROM range(20000)"
LARGEST = 100 * 1024 * 1024


def is_answered(endpoint: Endpoint) -> bool:
    client = endpoint.client()
    try:
        return client.value("SELECT 'honest'") == "honest"
    finally:
        client.close()


def test_clients_log_in_after_kafka_registers_its_check(engine: EngineInstance) -> None:
    """Load Kafka's clients, which register a check for the mechanism PLAIN in Java at the first login to a broker."""
    load_kafka_connector(engine.spark)
    jvm: Any = engine.spark.sparkContext._jvm
    java = jvm.java
    java.security.Security.removeProvider("HiveSaslPlain")
    loader = java.lang.Thread.currentThread().getContextClassLoader()
    java.lang.Class.forName("org.apache.kafka.common.security.plain.PlainLoginModule", True, loader)
    with thrift(engine, NEVER) as endpoint:
        assert is_answered(endpoint)


@pytest.mark.slow
def test_600_half_open_connections_do_not_block_a_client(engine: EngineInstance) -> None:
    with thrift(engine, NEVER) as endpoint, half_open(endpoint.port, 600, *BEGINNINGS) as strangers:
        assert is_answered(endpoint)
        assert all(is_closed(stranger) for stranger in strangers[: len(strangers) - NEVER.logins_most])
        assert is_answered(endpoint)


def test_clients_log_in_on_threads_of_ended_sessions(engine: EngineInstance) -> None:
    """End sessions, whose closed class loaders stay with the threads that served them."""
    with thrift(engine, NEVER) as endpoint:
        for _ in range(12):  # the server keeps five threads
            client = endpoint.client()
            assert client.value("SELECT 'honest'") == "honest"
            client.close_session(client.session)
            client.close()


def test_a_connection_that_does_not_log_in_is_closed(engine: EngineInstance) -> None:
    with thrift(engine, SOON) as endpoint:
        for beginning in BEGINNINGS:
            with connect(endpoint.port) as stranger:
                stranger.sendall(beginning)
                assert is_closed(stranger), beginning


def test_bytes_that_trickle_do_not_keep_a_connection_open(engine: EngineInstance) -> None:
    with thrift(engine, SOON) as endpoint, connect(endpoint.port) as stranger:
        stranger.sendall(START + struct.pack(">I", 60_000))
        stranger.settimeout(0.02)
        closed = False
        for _ in range(3000):
            with suppress(TimeoutError):
                try:
                    stranger.sendall(b"x")
                    closed = not stranger.recv(1)
                except ConnectionError:
                    closed = True
            if closed:
                break
        assert closed


def test_a_stranger_cannot_make_the_engine_reserve_memory(engine: EngineInstance) -> None:
    """Limit the announced length of a message, which the library allocates before a byte of it has arrived."""
    with thrift(engine, NEVER) as endpoint:
        for beginning in (START, PLAIN + OK):
            with connect(endpoint.port) as stranger:
                stranger.sendall(beginning + struct.pack(">I", LARGEST))
                assert is_closed(stranger)


def test_logged_in_client_has_no_deadline_or_small_limit(engine: EngineInstance) -> None:
    with thrift(engine, SOON) as endpoint:
        client = endpoint.client()
        with connect(endpoint.port) as later:
            assert is_closed(later)
        assert client.value(f"SELECT string(length('{'x' * 1_000_000}'))") == "1000000"
        client.close()


def test_the_current_schema_of_a_new_session(engine: EngineInstance) -> None:
    """Set the schema when a session is opened, as Hive's drivers do."""
    with thrift(engine, NEVER) as endpoint:
        client = endpoint.client()
        settings = endpoint.jvm.java.util.HashMap()
        settings.put("use:database", "jetsql")
        client.session = client.open(settings).getSessionHandle()
        assert client.value("SELECT current_schema()") == "jetsql"
        settings.put("use:database", "nope")
        response = client.open(settings)
        assert "[SCHEMA_NOT_FOUND]" in str(response.getStatus().getErrorMessage())
        assert not response.isSetSessionHandle()
        client.close()


def test_a_handle_with_a_wrong_secret_is_no_handle(engine: EngineInstance) -> None:
    """Require the secrets of operations and sessions, because their names appear in logs."""
    with thrift(engine, NEVER) as endpoint:
        owner, other = endpoint.client(), endpoint.client()
        running = owner.execute(ENDLESS, background=True).getOperationHandle()
        forged = running.deepCopy()
        forged.getOperationId().setSecret(bytes(16))
        assert other.cancel(forged) == "ERROR_STATUS"
        assert owner.state(running) in ("INITIALIZED_STATE", "PENDING_STATE", "RUNNING_STATE")
        session = owner.session.deepCopy()
        session.getSessionId().setSecret(bytes(16))
        assert str(other.execute("SELECT 1", session).getStatus().getStatusCode()) == "ERROR_STATUS"
        assert other.close_session(session) == "ERROR_STATUS"
        assert owner.value("SELECT 'still here'") == "still here"
        assert owner.cancel(running) == "SUCCESS_STATUS"
        owner.execute("UNCACHE TABLE IF EXISTS endless")
        owner.close()
        other.close()


def test_clients_that_fetch_no_rows_delay_no_others(engine: EngineInstance) -> None:
    with thrift(engine, NEVER) as endpoint:
        readers = [endpoint.client() for _ in range(8)]
        for reader in readers:
            reader.execute(UNREAD, background=True)
        assert is_answered(endpoint)
        until(lambda: engine.spark.sparkContext.statusTracker().getActiveJobsIds() == [])
        assert is_answered(endpoint)
        for reader in readers:
            reader.close()


def test_jars_can_be_added_after_a_session_has_ended(engine: EngineInstance, tmp_path: Path) -> None:
    """Add jars while the engine runs, as jobs do that need a connector."""
    with thrift(engine, NEVER) as endpoint:
        client = endpoint.client()
        assert client.value("SELECT 'a statement'") == "a statement"
        client.close_session(client.session)
        client.close()
        (tmp_path / "added.txt").touch()
        jars = endpoint.jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
        jars.addURL(endpoint.jvm.java.net.URL(f"{tmp_path.as_uri()}/"))
        assert jars.getResource("added.txt") is not None
