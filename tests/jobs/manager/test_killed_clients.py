"""Clients that are killed while their statements run: the engine's jobs and threads are not affected.

JETSQL_SEED: the seed of a failure, to repeat its random choices.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.client.engine_client import EngineClient
from jetsql.jobs.model.job_settings import JobSettings
from tests.conftest import until
from tests.support.engines.in_memory_runtime import InMemoryRuntime
from tests.support.engines.managed_engine import Managed
from tests.support.paths import PROGRAMS
from tests.support.servers.http_server import TOKEN, RunningServer, run_server

CLIENT = PROGRAMS / "busy_client.py"
CLIENTS, AT_ONCE = 12, 3


class SlowEngine(InMemoryRuntime):
    """Each call takes a while, so that statements have a middle to be killed in."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._chance = random.Random(seed)

    def _pass(self, call: str, about: object = None) -> None:
        super()._pass(call, about)  # type: ignore[arg-type]
        time.sleep(self._chance.random() * 0.02)


@pytest.fixture
def seed() -> int:
    seed = int(os.environ.get("JETSQL_SEED") or random.randrange(1_000_000))
    sys.stdout.write(f"JETSQL_SEED={seed}\n")  # shown when the test fails
    return seed


@pytest.fixture
def engine(tmp_path: Path, seed: int) -> Iterator[Managed]:
    engine = Managed(tmp_path, jobs=JobSettings(create_wait_seconds=20.0), runtime=SlowEngine(seed))
    yield engine
    engine.close()


def kill_clients(server: RunningServer, seed: int) -> None:
    chance = random.Random(seed)
    clients: list[subprocess.Popen[str]] = []
    for number in range(CLIENTS):
        command = [sys.executable, str(CLIENT), server.url, TOKEN, f"{seed}-{number}"]
        clients.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        if len(clients) == AT_ONCE or number == CLIENTS - 1:
            for client in clients:
                assert client.stdout is not None
                assert client.stdout.readline() == "busy\n"
            for client in clients:
                time.sleep(chance.random() * 0.3)
                assert client.poll() is None
                client.kill()
            for client in clients:
                assert client.communicate()[1] == ""
            clients.clear()


def test_killed_clients_leave_jobs_in_consistent_states(engine: Managed, seed: int) -> None:
    with run_server(engine) as server:
        kill_clients(server, seed)
        until(lambda: not len(server.http_server.running))
        remote = EngineClient(server.url, TOKEN)

        def status(text: str) -> object:
            [row] = remote.run(text).rows
            return row[2]

        for job in ("one", "two", "three"):
            status(f"CREATE JOB IF NOT EXISTS {job} AS INSERT INTO out SELECT * FROM STREAM src")
            assert status(f"RESUME JOB {job}") == "RUNNING"
            assert status(f"SUSPEND JOB {job}") == "SUSPENDED"
            assert status(f"CREATE OR REPLACE SNAPSHOT {job} FOR JOB {job}") == "SUSPENDED"
            assert status(f"DROP JOB {job}") == "DROPPED"
        assert list(remote.run("SHOW JOBS").rows) == []
        names = [snapshot[0] for snapshot in remote.run("SHOW SNAPSHOTS").rows]
        assert sorted(names) == sorted(set(names))
        remote.close()
    alive = [run for run in engine.runtime.runs.values() if run.alive]
    assert alive == []
