"""The lease of a store: when a standby may lead, and what keeps two engines from leading."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier, Event, Thread

import pytest
import sqlalchemy as sa

from jetsql.errors import EngineError, StatementError
from jetsql.home.storage import Storage, storage_of
from jetsql.home.store_note import StoreNote, store_note_of, write_store_note
from jetsql.jobs.model.leadership import Leadership, LeaseTimes
from jetsql.jobs.store.job_store import Store
from jetsql.jobs.store.postgresql.lease_watch import Observation, Watch
from jetsql.jobs.store.postgresql.shared_store import join_homes
from jetsql.jobs.store.postgresql.store_schema import StoreSchema
from tests.conftest import until
from tests.support.engines.store_places import HOME, SchemaPlace
from tests.support.golden_reports import raises
from tests.support.servers.postgres import Postgres

TIMES = LeaseTimes(heartbeat_seconds=0.1, lease_seconds=0.6)


def seen(beat: int = 1, engine: str = "a", is_locked: bool = True, server_seconds: float = 100.0) -> Observation:
    return Observation(1, engine, "process 1", beat, "", is_locked, server_seconds)


def test_a_standby_waits_for_heartbeats_on_its_own_clock() -> None:
    watch = Watch(3.0)
    assert not watch.is_free(seen(), 10.0)
    assert not watch.is_free(seen(), 12.9)
    assert not watch.is_free(seen(beat=2), 13.0)
    assert not watch.is_free(seen(beat=2), 15.9)
    assert watch.is_free(seen(beat=2), 16.0)


def test_a_lock_that_is_released_ends_the_wait() -> None:
    watch = Watch(3.0)
    assert not watch.is_free(seen(is_locked=False), 0.0), "the leader may be about to take it"
    assert not watch.is_free(seen(), 0.1)
    assert watch.is_free(seen(is_locked=False), 0.2)


def test_server_restart_releases_the_lock_of_a_live_leader() -> None:
    watch = Watch(3.0)
    assert not watch.is_free(seen(), 0.0)
    assert not watch.is_free(seen(is_locked=False, server_seconds=1.0), 0.1)
    watch.interrupt()
    assert not watch.is_free(seen(is_locked=False), 50.0)
    assert watch.is_free(seen(is_locked=False), 53.0)


def test_store_without_leader_is_free_unless_locked() -> None:
    assert Watch(3.0).is_free(seen(engine="", is_locked=False), 0.0)
    watch = Watch(3.0)
    assert not watch.is_free(seen(engine=""), 0.0)
    assert not watch.is_free(seen(engine=""), 99.0), "the store is being copied"


def test_runs_wait_while_the_leader_is_unknown() -> None:
    leadership = Leadership()
    leadership.check()
    leadership.begin(7, time.monotonic() - 1.0)
    stopping = Event()
    stopping.set()
    with raises(StatementError, match="cannot reach its store"):
        leadership.check(stopping)
    waiting = Thread(target=leadership.check)
    waiting.start()
    assert waiting.is_alive()
    leadership.extend(time.monotonic() + 60.0)
    waiting.join(10.0)
    assert not waiting.is_alive() and leadership.is_confirmed
    leadership.lose("the engine of process 2")
    with raises(StatementError, match="process 2 leads now"):
        leadership.check()


# --- with PostgreSQL -------------------------------------------------------------------------------------------------


def engine_on(schema: SchemaPlace, times: LeaseTimes = TIMES) -> StoreSchema:
    return StoreSchema(schema.url, HOME, times=times)


@pytest.fixture
def leader(schema: SchemaPlace) -> Iterator[Store]:
    with closing(Store(engine_on(schema))) as opened:
        opened.publish(Storage("s3a://lake/jetsql", "the id of a storage"))
        yield opened


def roles(store: Store) -> list[str]:
    """Return the roles of the engines whose heartbeats are not late."""
    return [engine.role.value for engine in store.engines()]


class Waiting:
    """A standby in a thread."""

    def __init__(self, schema: SchemaPlace, times: LeaseTimes = TIMES) -> None:
        self.database = engine_on(schema, times)
        self.stop = Event()
        self.leads: bool | None = None
        self._thread = Thread(target=self._wait, daemon=True)
        self._thread.start()

    def _wait(self) -> None:
        self.leads = self.database.lease.wait(self.stop)

    def close(self) -> None:
        self.stop.set()
        self._thread.join(10.0)
        self.database.close()


@pytest.mark.spark
def test_a_standby_leads_after_a_clean_stop(schema: SchemaPlace, leader: Store) -> None:
    lost: list[bool] = []
    leader.database.watch(lambda: lost.append(True))
    with closing(Waiting(schema)) as waiting:
        until(lambda: roles(leader) == ["leader", "standby"])
        assert waiting.database.lease.can_take_over
        time.sleep(2 * TIMES.lease_seconds)
        assert waiting.leads is None
        leader.close()
        until(lambda: waiting.leads is True)
        with closing(Store(waiting.database)) as second:
            until(lambda: roles(second) == ["leader"])
    assert not lost


@pytest.mark.spark
def test_leader_without_heartbeats_is_replaced_and_detects_it(schema: SchemaPlace, leader: Store) -> None:
    lost = Event()
    leader.database.watch(lost.set)
    database = leader.database
    assert isinstance(database, StoreSchema)
    with closing(Waiting(schema)) as waiting:
        until(lambda: len(leader.engines()) == 2)
        database.keeper.stop()  # as a pause of the process does
        until(lambda: waiting.leads is True)
        with closing(Store(waiting.database)):
            assert not database.leadership.is_confirmed
            with raises(EngineError, match="was taken over"):
                leader.publish(Storage("elsewhere"))
            database.keeper.start()
            until(lost.is_set)
            assert database.leadership.is_lost


@pytest.mark.spark
@pytest.mark.parametrize("keeps_lock", [True, False])
def test_a_leader_that_is_paused_in_a_transaction_is_replaced(
    schema: SchemaPlace, leader: Store, keeps_lock: bool
) -> None:
    """Replace a paused leader. keeps_lock: False if its connection with the lock was lost before the pause."""
    database = leader.database
    assert isinstance(database, StoreSchema)
    with closing(Waiting(schema)) as waiting:
        until(lambda: len(leader.engines()) == 2)
        engine = database.create_engine()
        with engine.connect() as paused:
            database.lease.check(paused)  # locks the row of the lease, as the transactions of metrics and changes do
            database.keeper.stop()
            if not keeps_lock:
                schema.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
            until(lambda: waiting.leads is True)
            with closing(Store(waiting.database)) as second:
                second.publish(Storage("s3a://lake/jetsql"))
                with pytest.raises(sa.exc.OperationalError, match="terminating connection"):
                    database.lease.check(paused)
        engine.dispose()


@pytest.mark.spark
def test_leader_replaced_during_its_start_detects_it(schema: SchemaPlace, leader: Store) -> None:
    database = leader.database
    assert isinstance(database, StoreSchema)
    schema.execute("UPDATE lease SET number = number + 1")
    until(lambda: database.leadership.is_lost)
    lost = Event()
    database.watch(lost.set)
    until(lost.is_set)


@pytest.mark.spark
def test_one_of_many_standbys_leads(schema: SchemaPlace, leader: Store) -> None:
    standbys = [Waiting(schema) for _ in range(4)]
    until(lambda: len(leader.engines()) == 5)
    leader.close()
    until(lambda: any(standby.leads for standby in standbys))
    time.sleep(TIMES.lease_seconds / 2)  # the new leader sends no heartbeats before it opens the store
    assert [standby.leads for standby in standbys].count(True) == 1
    for standby in standbys:
        standby.close()


def open_at_once(places: Sequence[SchemaPlace]) -> list[Store | EngineError]:
    """Open a store by several engines at the same moment, and return their stores and errors."""
    start = Barrier(len(places))

    def open_store(place: SchemaPlace) -> Store | EngineError:
        start.wait()
        try:
            return Store(engine_on(place))
        except EngineError as error:
            return error

    with ThreadPoolExecutor(len(places)) as threads:
        return list(threads.map(open_store, places))


@pytest.mark.spark
@pytest.mark.slow
def test_one_of_two_simultaneous_engines_leads(postgres: Postgres) -> None:
    for _ in range(50):
        schema = SchemaPlace(postgres)
        for _ in ("a new store", "an existing store"):
            opened = open_at_once([schema, schema])
            [leader] = [each for each in opened if isinstance(each, Store)]
            [error] = [each for each in opened if isinstance(each, EngineError)]
            assert error.condition == "JETSQL.STORE_IN_USE"
            assert len(leader.engines()) == 1
            leader.close()
        schema.drop()


@pytest.mark.spark
def test_a_restart_of_the_server_changes_no_leader(postgres: Postgres, schema: SchemaPlace, leader: Store) -> None:
    with closing(Waiting(schema)) as waiting:
        until(lambda: len(leader.engines()) == 2)
        postgres.stop()
        postgres.start()
        until(lambda: leader.database.leadership.is_confirmed)
        time.sleep(2 * TIMES.lease_seconds)
        assert waiting.leads is None and leader.database.leadership.is_confirmed


@pytest.mark.spark
@pytest.mark.slow
def test_outage_longer_than_the_lease_keeps_the_leader(postgres: Postgres, schema: SchemaPlace) -> None:
    """Pause the runs while there is no leader; then the same engine leads, with the same number."""
    times = LeaseTimes(heartbeat_seconds=0.1, lease_seconds=2.0)
    with (
        closing(Store(engine_on(schema, times))) as leader,
        closing(Waiting(schema, times)) as waiting,
        ThreadPoolExecutor(1) as threads,
    ):
        leadership = leader.database.leadership
        number = leadership.number
        until(lambda: len(leader.engines()) == 2)
        postgres.stop()
        until(lambda: not leadership.is_confirmed)
        batch = threads.submit(leadership.check)
        time.sleep(2 * times.lease_seconds)
        assert waiting.leads is None and not batch.done() and not leadership.is_confirmed
        assert not waiting.database.lease.can_take_over
        postgres.start()
        batch.result(20)
        until(lambda: len(leader.engines()) == 2)
        time.sleep(2 * times.lease_seconds)
        assert waiting.leads is None and leadership.is_confirmed and waiting.database.lease.can_take_over
        assert schema.execute("SELECT number FROM lease") == [(number,)]


@pytest.mark.spark
def test_a_new_home_joins_those_of_a_store(schema: SchemaPlace, leader: Store, tmp_path: Path) -> None:
    database = engine_on(schema)
    storage = join_homes(tmp_path, None, database)
    assert storage == Storage("s3a://lake/jetsql", "the id of a storage") == storage_of(tmp_path)
    assert store_note_of(tmp_path).home == HOME.home
    assert join_homes(tmp_path, None, database) == storage


@pytest.mark.spark
def test_new_home_joins_after_a_failed_first_start(schema: SchemaPlace, tmp_path: Path) -> None:
    with closing(Store(engine_on(schema))):
        pass  # the engine ends before it has claimed its storage
    assert join_homes(tmp_path, "s3a://lake/jetsql", engine_on(schema)) is None
    assert store_note_of(tmp_path).home == HOME.home
    with closing(Store(StoreSchema(schema.url, store_note_of(tmp_path)))) as leader:
        leader.publish(Storage("s3a://lake/other", "the id of a storage"))
    with raises(EngineError, match="but the setting storage is s3a://lake/jetsql"):
        join_homes(tmp_path, "s3a://lake/jetsql", engine_on(schema))
    assert join_homes(tmp_path, None, engine_on(schema)) == storage_of(tmp_path)


@pytest.mark.spark
def test_home_of_another_store_cannot_join(schema: SchemaPlace, leader: Store, tmp_path: Path) -> None:
    write_store_note(tmp_path, StoreNote("the id of a home", "postgresql://h/d"))
    assert join_homes(tmp_path, None, engine_on(schema)) is not None
    write_store_note(tmp_path, StoreNote("another id", "postgresql://h/d"))
    with raises(EngineError, match="belongs to another home"):
        join_homes(tmp_path, None, engine_on(schema))


@pytest.mark.spark
def test_homes_that_cannot_join(schema: SchemaPlace, leader: Store, tmp_path: Path) -> None:
    database = engine_on(schema)
    with raises(EngineError, match="but the setting storage is /other"):
        join_homes(tmp_path, "/other", database)
    leader.publish(Storage("file:/first"))
    with raises(EngineError, match="the home of another engine"):
        join_homes(tmp_path, None, database)
    (tmp_path / "checkpoints").mkdir()
    with raises(EngineError, match="belongs to another home"):
        join_homes(tmp_path, None, database)
