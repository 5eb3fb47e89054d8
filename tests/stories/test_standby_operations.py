"""A leader and its standby: a clock that jumps, engines of other versions, and a stop at a bad moment."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from jetsql.jobs.store.database import VERSION
from tests.conftest import until
from tests.stories.test_standby import Pair, add, copy_files, copy_first_file, ids, make_pair
from tests.support.clocks import ShiftedClock
from tests.support.engines.service_engine import ServiceEngine
from tests.support.servers.postgres import Postgres

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]
SCHEMA = "operated"
LEASE = f"SELECT number, engine FROM {SCHEMA}.lease"
HOUR = 3600


@pytest.fixture
def clock(tmp_path: Path) -> ShiftedClock:
    return ShiftedClock(tmp_path)


@pytest.fixture
def pair(postgres: Postgres, tmp_path: Path, clock: ShiftedClock) -> Iterator[Pair]:
    """Return a leader whose clock can jump, and a standby."""
    with make_pair(postgres, tmp_path, SCHEMA) as (first, second):
        for variable, value in clock.environment.items():
            first.set(variable, value)
        first("start")
        second("start")
        yield first, second


def test_the_clock_of_a_leader_jumps(pair: Pair, clock: ShiftedClock, postgres: Postgres, tmp_path: Path) -> None:
    first, second = pair
    source = tmp_path / "src"
    copy_files(first, source)
    before = postgres(LEASE)
    for hours in (1, -1):
        clock.jump_to(hours * HOUR)
        [[shown]] = first.rows("SELECT unix_timestamp()")
        assert abs(int(str(shown)) - time.time() - hours * HOUR) < HOUR / 2, "the clock of the engine has jumped"
        wait_for_heartbeats(postgres, 6)  # two times of a lease
        add(source, hours)
        if hours < 0:
            first("-e", "RESTART JOB copy")  # Spark waits for the time of the next batch by the clock of the machine
        until(partial(has_copied, first, hours))
        assert (first.role, second.role) == ("leader", "standby")
    assert postgres(LEASE) == before
    first.kill()
    add(source, 2)
    until(lambda: second.role == "leader")
    until(lambda: ids(second) == [-1, 1, 2])


def has_copied(engine: ServiceEngine, number: int) -> bool:
    return number in ids(engine)


def wait_for_heartbeats(postgres: Postgres, count: int) -> None:
    beat = f"SELECT beat FROM {SCHEMA}.engines WHERE role = 'leader'"
    [(beats,)] = postgres(beat)
    until(lambda: bool(postgres(beat)[0][0] >= beats + count))


def test_engines_of_other_versions(pair: Pair, postgres: Postgres, tmp_path: Path) -> None:
    """Give the store the version of a newer JetSQL, then that of an older one, which the standby migrates."""
    first, second = pair
    source = tmp_path / "src"
    copy_first_file(first, source)
    before = postgres(LEASE)
    newer = f"UPDATE {SCHEMA}.meta SET value = '{VERSION + 1}' WHERE key = 'version'"
    too_new = f"has version {VERSION + 1}, written by JetSQL"
    postgres(newer)
    until(lambda: not second.processes())
    assert too_new in second.log
    message = second("start", code=3)
    assert message.count("JETSQL.STORE_TOO_NEW") == 1 and too_new in message
    assert (first.role, postgres(LEASE)) == ("leader", before)
    add(source, 2)
    until(lambda: ids(first) == [1, 2])

    postgres(f"UPDATE {SCHEMA}.meta SET value = '4' WHERE key = 'version'; DROP TABLE {SCHEMA}.functions")
    second("start")
    assert [row[2] for row in first.rows("SHOW ENGINES")] == ["leader", "standby"]
    assert postgres(f"SELECT value FROM {SCHEMA}.meta WHERE key = 'version'") == [("4",)], "a standby migrates nothing"
    first.kill()
    until(lambda: second.role == "leader")
    assert postgres(f"SELECT value FROM {SCHEMA}.meta WHERE key = 'version'") == [(str(VERSION),)]
    add(source, 3)
    until(lambda: ids(second) == [1, 2, 3])


def test_store_outage_longer_than_the_lease(pair: Pair, postgres: Postgres, tmp_path: Path) -> None:
    """Wait without a leader; then the same engine continues the jobs."""
    first, second = pair
    source = tmp_path / "src"
    copy_first_file(first, source)
    before = postgres(LEASE)
    written = tmp_path / "shared" / "warehouse" / "copied"
    postgres.stop()
    try:
        add(source, 2)
        until(lambda: not first.is_ready)
        until(lambda: "is out of reach; trying again" in second.log)
        message = first("-e", "SUSPEND JOB copy", code=1)
        assert "JETSQL.STORE_NOT_USABLE" in message
        assert len(list(written.glob("*.parquet"))) == 1, "no batch is committed while no engine leads"
        assert (first.role, second.role) == ("leader", "standby")
        assert '"up"' in first("status", "--format", "json") and '"up"' in second("status", "--format", "json")
    finally:
        postgres.start()
    until(lambda: first.is_ready)
    until(lambda: ids(first) == [1, 2])
    assert postgres(LEASE) == before
    assert [row[2] for row in first.rows("SHOW ENGINES")] == ["leader", "standby"]
    first.kill()
    add(source, 3)
    until(lambda: second.role == "leader")
    until(lambda: ids(second) == [1, 2, 3])


def test_a_leader_is_stopped_while_it_loses_the_lead(pair: Pair, tmp_path: Path) -> None:
    """Stop the engine before it detects the loss, while its Spark ends, or while it starts as a standby."""
    first, second = pair
    source = tmp_path / "src"
    copy_first_file(first, source)
    first.signal(signal.SIGSTOP)
    until(lambda: second.role == "leader")
    with first.begin("stop", "--timeout", "200") as command:
        first.signal(signal.SIGCONT)
        output, _ = command.communicate(timeout=240)
    assert (command.returncode, output) == (0, "stopped\n")
    assert first.processes() == [] and first("stop") == f"No engine runs on {first.home}.\n"
    add(source, 2)
    until(lambda: ids(second) == [1, 2])
    second("stop")
