"""Engines whose store answers late, or not at all for a long time: one leads, and each row is written once."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import until
from tests.stories.test_standby import Pair, add, copy_first_file, ids
from tests.support.engines.service_engine import ServiceEngine, share_token
from tests.support.servers.postgres import USER, Postgres
from tests.support.servers.tcp_proxy import TcpProxy

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1200)]
DELAY_SECONDS = 2.0
AWAY_SECONDS = float(os.environ.get("JETSQL_STORE_AWAY_SECONDS") or 60)


@pytest.fixture
def proxy(postgres: Postgres) -> Iterator[TcpProxy]:
    with closing(TcpProxy(postgres.port)) as proxy:
        yield proxy


@pytest.fixture
def pair(postgres: Postgres, proxy: TcpProxy, tmp_path: Path) -> Iterator[Pair]:
    """Return a leader and a standby, which connect to the store through the proxy."""
    settings = {
        "store": f"postgresql://{USER}@127.0.0.1:{proxy.port}/postgres?schema=late",
        "store_password": "secret:env:STORE_PASSWORD",
        "storage": str(tmp_path / "shared"),
    }
    first, second = ServiceEngine(tmp_path / "first", **settings), ServiceEngine(tmp_path / "second", **settings)
    share_token(first, second)
    for engine in (first, second):
        engine("start")
    yield first, second
    proxy.delay_seconds = 0.0
    for engine in (second, first):
        if engine.processes():
            engine("stop")
    postgres("DROP SCHEMA IF EXISTS late CASCADE")


def test_a_store_that_takes_two_seconds_for_each_statement(pair: Pair, proxy: TcpProxy, tmp_path: Path) -> None:
    first, second = pair
    source = tmp_path / "src"
    copy_first_file(first, source)
    proxy.delay_seconds = DELAY_SECONDS
    for number in range(2, 6):
        add(source, number)
        time.sleep(10)
    proxy.delay_seconds = 0.0
    until(lambda: {first.role, second.role} == {"leader", "standby"})
    leader = first if first.role == "leader" else second
    until(lambda: ids(leader) == [1, 2, 3, 4, 5])


def test_no_engine_reaches_the_store_for_a_long_time(pair: Pair, postgres: Postgres, tmp_path: Path) -> None:
    first, second = pair
    source = tmp_path / "src"
    copy_first_file(first, source)
    postgres.stop()
    try:
        add(source, 2)
        time.sleep(AWAY_SECONDS)
        assert all(engine.processes() for engine in pair)
    finally:
        postgres.start()
    until(lambda: {first.role, second.role} == {"leader", "standby"})
    leader = first if first.role == "leader" else second
    until(lambda: leader.is_ready)
    add(source, 3)
    until(lambda: ids(leader) == [1, 2, 3])
