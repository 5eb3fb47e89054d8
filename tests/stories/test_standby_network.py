"""A leader whose packets to or from the store are dropped: the standby leads, unless the network is back before."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.engine.jdbc.jdbc_dialects import POSTGRESQL
from tests.conftest import until
from tests.stories.test_standby import Pair, add, copy_first_file, ids
from tests.support.engines.service_engine import ServiceEngine, share_token
from tests.support.servers.networks import HOST, NETWORKS, Network
from tests.support.servers.postgres import USER, Postgres, running_postgres
from tools.java.packages import fetch

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.getuid() != 0, reason="only root can make network namespaces"),
]
LEASE_SECONDS = 8


@pytest.fixture
def network() -> Iterator[Network]:
    network = Network()
    with network.exists():
        yield network


@pytest.fixture
def server(network: Network) -> Iterator[Postgres]:
    with running_postgres([HOST], [NETWORKS]) as server:
        yield server


@pytest.fixture
def pair(network: Network, server: Postgres, tmp_path: Path) -> Iterator[Pair]:
    """Return two engines, of which the first one is in the network that can be cut off."""
    settings = {
        "store": f"postgresql://{USER}@{HOST}:{server.port}/postgres",
        "store_password": "secret:env:STORE_PASSWORD",
        "catalog": "postgresql",
        "storage": str(tmp_path / "shared"),
        "lease_seconds": str(LEASE_SECONDS),
    }
    fetch(f"ivy://{POSTGRESQL.package}")  # the network leads to no repository
    first = ServiceEngine(tmp_path / "first", **settings)
    second = ServiceEngine(tmp_path / "second", **settings)
    first.wrapper = network.wrapper
    share_token(first, second)
    first("start")
    second("start")
    yield first, second
    network.restore()
    for engine in (second, first):
        if engine.processes():
            engine("stop")


def test_a_leader_that_is_cut_off_from_the_store(
    pair: Pair, network: Network, server: Postgres, tmp_path: Path
) -> None:
    first, second = pair
    source = tmp_path / "src"
    copy_first_file(first, source)
    [(number,)] = server("SELECT number FROM jetsql.lease")

    network.cut()  # for less than the lease
    with first.begin("-e", "CREATE TABLE meanwhile (id BIGINT) USING parquet") as command:
        time.sleep(LEASE_SECONDS / 4)
        network.restore()
        output, _ = command.communicate(timeout=60)
    assert command.returncode == 0, output
    add(source, 2)
    until(lambda: ids(first) == [1, 2])
    assert (first.role, second.role) == ("leader", "standby")
    assert server("SELECT number FROM jetsql.lease") == [(number,)]

    network.cut()  # for longer
    until(lambda: second.role == "leader")
    add(source, 3)
    until(lambda: ids(second) == [1, 2, 3])
    assert first.role == "leader", "it does not know yet"
    network.restore()
    until(lambda: first.role == "standby")
    add(source, 4)
    until(lambda: ids(second) == [1, 2, 3, 4])
    assert [row[2] for row in second.rows("SHOW ENGINES")] == ["leader", "standby"]


def test_a_leader_that_gets_no_answers_from_the_store(
    pair: Pair, network: Network, server: Postgres, tmp_path: Path
) -> None:
    """Drop only the replies: the store receives commits of the leader, which never gets the outcome."""
    first, second = pair
    source = tmp_path / "src"
    copy_first_file(first, source)
    [(number,)] = server("SELECT number FROM jetsql.lease")
    added = 1
    for _ in range(3):
        network.cut_answers()
        added += 1
        add(source, added)
        time.sleep(LEASE_SECONDS / 4)
        network.restore()
        until(lambda count=added: ids(first) == list(range(1, count + 1)))  # type: ignore[misc]
    assert server("SELECT number FROM jetsql.lease") == [(number,)]

    network.cut_answers()
    add(source, added + 1)
    until(lambda: second.role == "leader")
    until(lambda: ids(second) == list(range(1, added + 2)))
    network.restore()
    until(lambda: first.role == "standby")
    add(source, added + 2)
    until(lambda: ids(second) == list(range(1, added + 3)))
