"""A store on PostgreSQL: it refuses what it cannot use, and lost connections neither lose nor double a change."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from threading import Thread

import psycopg
import pytest

from jetsql.errors import EngineError
from jetsql.home.store_note import StoreNote
from jetsql.jobs.model.history_row import HistoryRow
from jetsql.jobs.model.job import Job, Status
from jetsql.jobs.store.job_store import Store
from jetsql.jobs.store.metrics import BatchMetrics, Metrics
from jetsql.jobs.store.postgresql import store_schema, store_server
from jetsql.jobs.store.postgresql.store_schema import StoreSchema
from jetsql.jobs.store.postgresql.store_server import StoreServer
from tests.conftest import until
from tests.jobs.store.test_store import JOB, row
from tests.support.engines.jobs_harness import QUICK, run_manager
from tests.support.engines.store_places import HOME, SchemaPlace
from tests.support.golden_reports import raises
from tests.support.servers.postgres import PASSWORD, Postgres
from tests.support.servers.tcp_proxy import Cut, TcpProxy

pytestmark = pytest.mark.spark  # needs a server, as tests with Spark do


@pytest.fixture
def store(schema: SchemaPlace) -> Iterator[Store]:
    with closing(Store(schema.database())) as opened:
        opened.add(JOB, row(JOB, "submitted"))
        yield opened


@pytest.fixture
def proxy(postgres: Postgres) -> Iterator[TcpProxy]:
    with closing(TcpProxy(postgres.port)) as tcp_proxy:
        yield tcp_proxy


@pytest.fixture
def proxied(schema: SchemaPlace, proxy: TcpProxy) -> Iterator[Store]:
    """Return a store whose connections go through a proxy."""
    schema.url = replace(schema.url, port=proxy.port)
    with closing(Store(schema.database())) as opened:
        opened.add(JOB, row(JOB, "submitted"))
        yield opened


def error_of(database: StoreSchema) -> EngineError:
    with raises(EngineError) as caught:
        Store(database)
    assert PASSWORD not in str(caught.value) and database.name in caught.value.message
    return caught.value


def suspend(store: Store) -> None:
    suspended = replace(JOB, status=Status.SUSPENDED)
    store.save(suspended, row(suspended, "suspended"))


def titles(store: Store) -> list[str]:
    return [each.event for each in store.history(JOB.id)]


# --- stores that cannot be used --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"password": "not-hers"}, "password authentication failed"),
        ({"password": ""}, "no password supplied"),
        ({"user": "nobody"}, "password authentication failed"),
        ({"database": "nowhere"}, "does not exist"),
        ({"port": 1}, "Connection refused"),
        ({"host": "no-such-host.invalid"}, ""),
        ({"tls": {"sslmode": "require"}}, "does not support SSL"),
    ],
    ids=str,
)
def test_a_server_that_is_not_usable(schema: SchemaPlace, change: dict[str, object], message: str) -> None:
    if "host" in change:  # the resolver words its error
        with pytest.raises(EngineError, match="STORE_NOT_USABLE"):
            Store(StoreSchema(replace(schema.url, **change), HOME))  # type: ignore[arg-type]
        return
    error = error_of(StoreSchema(replace(schema.url, **change), HOME))  # type: ignore[arg-type]
    assert error.condition == "JETSQL.STORE_NOT_USABLE" and message in error.message
    assert schema.execute("SELECT 1 FROM pg_namespace WHERE nspname = '{schema.url.schema}'") == []


def test_a_database_with_another_encoding(schema: SchemaPlace) -> None:
    schema.server("CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0")
    assert "encoding SQL_ASCII" in error_of(StoreSchema(replace(schema.url, database="ascii"), HOME)).message


def test_a_user_without_rights(schema: SchemaPlace) -> None:
    schema.server("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    assert (
        "permission denied" in error_of(StoreSchema(replace(schema.url, user="guest", password="guest"), HOME)).message
    )


def test_a_driver_that_is_not_installed(schema: SchemaPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(EngineError, match=r"pip install 'jetsql\[postgresql\]'"):
        schema.database()


def test_a_second_engine_is_refused_with_the_first_ones_name(schema: SchemaPlace, store: Store) -> None:
    error = error_of(schema.database())
    assert error.condition == "JETSQL.STORE_IN_USE" and "is in use by the engine of process" in error.message
    store.close()
    Store(schema.database()).close()


def test_the_store_of_another_home_is_refused(schema: SchemaPlace, store: Store) -> None:
    store.close()
    before = schema.dump()
    assert "belongs to another home" in error_of(schema.database(StoreNote("another"))).message
    assert schema.dump() == before


def test_empty_schema_instead_of_the_store_is_refused(schema: SchemaPlace) -> None:
    database = schema.database(replace(HOME, store="postgresql://elsewhere/x"))
    assert "in the store postgresql://elsewhere/x" in error_of(database).message
    with raises(EngineError, match="it does not exist"):
        database.contents()
    assert schema.execute(f"SELECT 1 FROM pg_namespace WHERE nspname = '{schema.url.schema}'") == []


@pytest.mark.parametrize("statement", ["DROP TABLE lease", "DELETE FROM lease"])
def test_a_store_that_was_changed_by_hand_is_refused(schema: SchemaPlace, store: Store, statement: str) -> None:
    store.close()
    schema.execute(statement)
    before = schema.dump()
    assert error_of(schema.database()).condition == "JETSQL.STORE_DAMAGED"
    assert schema.dump() == before


def test_a_store_that_is_half_migrated_is_refused(schema: SchemaPlace, store: Store) -> None:
    store.close()
    schema.execute("DROP TABLE functions")
    assert "these tables are missing: functions" in error_of(schema.database()).message


def test_failed_creation_of_a_store_leaves_nothing(schema: SchemaPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jetsql.jobs.store.job_store.failpoint", lambda name: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Store(schema.database())
    assert schema.execute(f"SELECT 1 FROM pg_namespace WHERE nspname = '{schema.url.schema}'") == []
    monkeypatch.undo()
    Store(schema.database()).close()


# --- lost connections ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", Cut)
def test_change_with_a_lost_commit_reply_is_stored_once(proxied: Store, proxy: TcpProxy, moment: Cut) -> None:
    proxy.cut_at(b"COMMIT", moment)
    suspend(proxied)
    assert proxy.cuts == 1
    assert titles(proxied) == ["submitted", "suspended"]
    assert proxied.job(JOB.id) == replace(JOB, status=Status.SUSPENDED)


@pytest.mark.parametrize("moment", Cut)
def test_a_change_that_remains_in_doubt_stops_all_changes(
    proxied: Store, proxy: TcpProxy, moment: Cut, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_schema, "DOUBT_SECONDS", 0.0)
    proxy.cut_at(b"COMMIT", moment)
    with raises(EngineError, match="connection was lost during a COMMIT"):
        suspend(proxied)
    if moment is Cut.BEFORE:  # it has not happened, so all is as it was
        suspend(proxied)
    else:
        for _ in range(2):
            with raises(EngineError, match="connection was lost during a COMMIT"):
                suspend(proxied)
    assert titles(proxied) == ["submitted", "suspended"]


def test_commit_that_takes_longer_than_the_lock_timeout(
    schema: SchemaPlace,
    proxied: Store,
    proxy: TcpProxy,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Lose the reply, and let the next attempts fail to find out whether the change was committed."""
    schema.execute(
        """CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          WHILE NOT pg_try_advisory_xact_lock_shared(8) LOOP PERFORM pg_sleep(0.01); END LOOP;
          RETURN NULL;
        END $$""",
        """CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON history DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION hold()""",
    )
    monkeypatch.setitem(store_server._SESSION, "lock_timeout", "50ms")
    with schema.server.connect() as holder, ThreadPoolExecutor(1) as threads:
        holder.execute("SELECT pg_advisory_lock(8)")
        change = threads.submit(suspend, proxied)
        until(
            lambda: bool(schema.execute("SELECT 1 FROM pg_stat_activity WHERE query = 'COMMIT' AND state = 'active'"))
        )
        proxy.cut_clients()
        until(lambda: change.done() or caplog.text.count("trying again") > 2)
        holder.execute("SELECT pg_advisory_unlock(8)")
        change.result(20)
    assert titles(proxied) == ["submitted", "suspended"]
    assert proxied.job(JOB.id) == replace(JOB, status=Status.SUSPENDED)


@pytest.mark.parametrize(
    ("error", "is_outage"),
    [
        (psycopg.OperationalError("the connection is lost"), True),
        (psycopg.errors.AdminShutdown(), True),
        (psycopg.errors.TooManyConnections(), True),
        (psycopg.errors.DiskFull(), True),
        (psycopg.errors.OutOfMemory(), True),
        (psycopg.errors.InvalidPassword(), False),
        (psycopg.errors.LockNotAvailable(), False),
        (psycopg.errors.UniqueViolation(), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_outages_for_which_a_standby_waits(schema: SchemaPlace, error: Exception, is_outage: bool) -> None:
    assert StoreServer(schema.url, "jetsql-1").is_outage(error) is is_outage


def test_ended_connections_are_opened_again(schema: SchemaPlace, store: Store) -> None:
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'jetsql-%'"
    assert len(schema.execute(ended)) >= 2
    suspend(store)
    schema.execute(ended)
    assert titles(store) == ["submitted", "suspended"]
    suspend(store)
    until(lambda: schema.execute("SELECT pid FROM pg_locks WHERE locktype = 'advisory'") != [])  # by a heartbeat
    error_of(schema.database())


def test_a_connection_that_is_ended_in_a_transaction(schema: SchemaPlace, store: Store) -> None:
    blocker = schema.server.connect()
    blocker.autocommit = False
    blocker.execute(f"LOCK TABLE {schema.url.schema}.history IN ACCESS EXCLUSIVE MODE")
    writing = Thread(target=suspend, args=(store,))
    writing.start()
    waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name LIKE 'jetsql-%'"
    while not (found := schema.server(waiting)):
        time.sleep(0.01)
    schema.server(f"SELECT pg_terminate_backend({found[0][0]})")
    blocker.close()
    writing.join(20)
    assert titles(store) == ["submitted", "suspended"]


def test_a_server_that_restarts_only_delays(postgres: Postgres, schema: SchemaPlace) -> None:
    with run_manager(schema.database()) as jobs:
        job_id = jobs.make()
        postgres.stop()
        suspended = jobs.in_background("SUSPEND JOB j")
        time.sleep(0.5)
        assert not suspended.done()
        postgres.start()
        suspended.result(20)
        assert jobs.titles(job_id) == ["submitted", "first trigger", "suspend requested", "suspended"]


def test_a_longer_outage_is_reported_and_passes(
    postgres: Postgres, schema: SchemaPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_schema, "RETRY_SECONDS", 0.0)
    with run_manager(schema.database(), settings=replace(QUICK, store_retry_seconds=0.05)) as jobs:
        job_id = jobs.make()
        postgres.stop()
        with raises(EngineError, match="STORE_NOT_USABLE"):
            jobs.sql("SUSPEND JOB j")
        jobs.runtime.commit(job_id)
        jobs.runtime.complete(job_id)
        time.sleep(0.3)
        postgres.start()
        assert jobs.wait_status(job_id, Status.COMPLETED).batch == 1
        assert jobs.manager.workers.wait_for_job(job_id, 20.0)
        assert jobs.titles(job_id)[:3] == ["submitted", "first trigger", "completed"]
    with closing(Store(schema.database())) as again:
        assert [job.status for job in again.all_jobs()] == [Status.COMPLETED]


# --- the lease -------------------------------------------------------------------------------------------------------


def test_an_engine_that_lost_its_lock_cannot_write(schema: SchemaPlace, store: Store) -> None:
    metrics = Metrics()
    table = store.database.metrics_store(metrics)
    table.start([JOB.id])
    held = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
    assert schema.execute(held) == [(True,)]
    with closing(Store(schema.database())) as second:
        metrics.add(JOB.id, BatchMetrics(1, 0, 1.0))
        with raises(EngineError, match="was taken over by the engine of process") as caught:
            suspend(store)
        assert caught.value.condition == "JETSQL.STORE_IN_USE"
        table.close()
        assert schema.execute("SELECT * FROM measures") == []
        assert second.job(JOB.id) == JOB and titles(store) == ["submitted"]
        suspend(second)
    with raises(EngineError, match="was taken over"):
        suspend(store)


def test_each_opening_has_a_higher_number(schema: SchemaPlace) -> None:
    for number in (1, 2, 3):
        Store(schema.database()).close()
        assert schema.execute("SELECT number, engine FROM lease") == [(number, "")]


def test_text_that_postgresql_cannot_store(store: Store) -> None:
    nul = HistoryRow(JOB.id, 3.0, "failed", JOB.status, JOB.status, 1, "a\0b")
    store.save(JOB, nul)
    assert store.history(JOB.id)[-1].message == "a\ufffdb"
    named: Job = replace(JOB, id="0002-0000-0000-0001", name="\0")
    store.add(named, replace(nul, job_id=named.id))
    assert store.job(named.id) == named
