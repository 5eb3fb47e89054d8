"""Twelve clients run random statements on four jobs, and the engine is killed: what they were answered has happened."""

from __future__ import annotations

import random
import signal
import sys
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import psutil
import pyarrow.parquet
import pytest

import jetsql
from jetsql.client import dbapi
from jetsql.jobs.store.job_store import Store
from tests.faults.answers import Answer, Histories, row_faults
from tests.faults.leftovers import find_damage
from tests.faults.source import Source
from tests.support.engines.service_engine import ServiceEngine

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]
NAMES = ("a", "b", "c", "d")
CLIENTS = 12
SECONDS_BETWEEN_KILLS = 25
VICTIMS = ("python", "java")
OPTIONS = "OPTIONS ('snapshotIntervalMillis' = '{}')"
STATEMENTS = {
    "CREATE JOB {name} {options} {body}": 6,
    "CREATE OR REPLACE JOB {name} {options} {body}": 6,
    "CREATE JOB IF NOT EXISTS {name} {options} {body}": 2,
    "SUSPEND JOB {name}": 8,
    "RESUME JOB {name}": 8,
    "RESTART JOB {name}": 5,
    "ALTER JOB {name} {options}": 4,
    "DROP JOB {name}": 5,
    "CREATE OR REPLACE SNAPSHOT of_{name} FOR JOB {name}": 3,
}
"""The statements, and how often each is chosen."""


class RandomClients:
    """Clients that run random statements until the end, each on a thread of its own."""

    def __init__(self, engine: ServiceEngine) -> None:
        self._engine = engine
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(seed,)) for seed in range(CLIENTS)]
        self.answers: list[Answer] = []
        self.lost = 0
        """The statements without an answer."""

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(120)
        assert not any(thread.is_alive() for thread in self._threads), "a client has no answer for two minutes"

    def _run(self, seed: int) -> None:
        choice = random.Random(seed)
        while not self._end.is_set():
            with suppress(dbapi.Error), closing(jetsql.connect(home=self._engine.home, start=False)) as connection:
                while not self._end.wait(choice.random() * 0.4):
                    self._execute(connection, choice)
            self._end.wait(0.5)

    def _execute(self, connection: dbapi.Connection, choice: random.Random) -> None:
        """Execute a random statement. Raises Error if the engine has gone."""
        [statement] = choice.choices(list(STATEMENTS), list(STATEMENTS.values()))
        name = choice.choice(NAMES)
        body = f"AS INSERT INTO copied_{name} SELECT id FROM STREAM numbers"
        text = statement.format(name=name, options=OPTIONS.format(choice.choice((300, 700, 1500))), body=body)
        answered = partial(Answer, text, name, time.time())
        cursor = connection.cursor()
        try:
            cursor.execute(text)
            job, _, status, *_ = cursor.fetchall()[0]
        except dbapi.Error as error:
            if error.sqlstate.startswith("08") or "SESSION" in error.condition:
                self.lost += 1
                raise
            self.answers.append(answered(time.time(), condition=error.condition))
        else:
            is_job = "SNAPSHOT" not in text
            self.answers.append(answered(time.time(), job if is_job else "", status if is_job else ""))


def test_answers_of_many_clients_agree_with_the_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = ServiceEngine(tmp_path / "home", ended_jobs_most="100000")
    source = Source(tmp_path / "numbers")
    source.add(2)
    engine("start")
    engine("-e", f"CREATE TABLE numbers (id BIGINT) USING json LOCATION '{source.folder}'")
    for name in NAMES:
        engine("-e", f"CREATE TABLE copied_{name} (id BIGINT) USING parquet")
    clients = RandomClients(engine)
    clients.start()
    try:
        for victim in VICTIMS:
            for _ in range(SECONDS_BETWEEN_KILLS):
                time.sleep(1)
                source.add(1)
            kill(engine, victim)
            engine("start")
        time.sleep(SECONDS_BETWEEN_KILLS)
    finally:
        clients.end()
    for name in NAMES:
        engine("-e", f"CREATE JOB IF NOT EXISTS {name} AS INSERT INTO copied_{name} SELECT id FROM STREAM numbers")
        engine("-e", f"RESUME JOB {name}")
        engine("-e", f"WAIT FOR JOB {name} UNTIL IDLE TIMEOUT 120 SECONDS")
    engine("stop")
    with closing(Store(engine.home / "jetsql.db")) as store:
        jobs = store.all_jobs()
        histories = Histories(jobs, {job.id: store.history(job.id) for job in jobs})
    answered = [each for each in clients.answers if each.job or each.condition]
    outcomes = Counter((each.verb, each.condition or "ok") for each in answered)
    with capsys.disabled():
        sys.stdout.write(f"\n{len(answered)} answers, {clients.lost} without, {len(jobs)} jobs: {dict(outcomes)}\n")
    assert histories.faults(answered) == []
    assert {verb for verb, outcome in outcomes if outcome == "ok"} == {
        "CREATE",
        "SUSPEND",
        "RESUME",
        "RESTART",
        "ALTER",
        "DROP",
    }
    for name in NAMES:
        incarnations = sum(job.name == name for job in jobs)
        assert list(row_faults(copied(engine, name), incarnations, len(source.ids()))) == [], name
    assert find_damage(engine.home) == []
    live = {job.id for job in jobs if job.is_live}
    assert {path.name for path in (engine.home / "checkpoints").iterdir()} == live


def kill(engine: ServiceEngine, victim: str) -> None:
    """Kill the engine's Python or its Java, of which the other one ends."""
    [python, *children] = engine.processes()
    process = python if victim == "python" else next(each for each in children if "java" in each.name())
    process.send_signal(signal.SIGKILL)
    _, alive = psutil.wait_procs([python, *children], timeout=60)
    assert alive == []


def copied(engine: ServiceEngine, name: str) -> list[int]:
    files = sorted((engine.home / "warehouse" / f"copied_{name}").glob("*.parquet"))
    return [number for path in files for number in pyarrow.parquet.read_table(path)["id"].to_pylist()]
