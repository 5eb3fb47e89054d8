"""Crashes in the migration of a store that an older release wrote. No jobs are run, so Spark is not needed."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from jetsql.failpoints import VARIABLE
from jetsql.jobs.model.job import Job
from jetsql.jobs.model.serialization import decode, encode
from jetsql.jobs.store.database import VERSION
from jetsql.jobs.store.job_store import Store
from jetsql.jobs.store.record_versions import RENAMED_EVENTS, upgrade_text
from tests.faults.matrix import Death, Outcome
from tests.faults.rounds import Round, Scenario

_ROOT = Path(__file__).parents[2]
_OLD_STORE = _ROOT / "tests" / "fixtures" / "store_v1.sql"
_OPEN = "import sys, pathlib; from jetsql.jobs.store.job_store import Store; Store(pathlib.Path(sys.argv[1])).close()"

MIGRATION = Scenario("migration", (), (Round(("store-copied",)), Round(("store-migrated",))), polled=())


@dataclass
class Migration:
    """One run of rounds, all of which die in the migration of the same store."""

    scenario: Scenario
    folder: Path
    report: Callable[[str], None]
    outcome: Outcome = field(default_factory=Outcome)

    def run(self) -> Outcome:
        began = time.monotonic()
        self.folder.mkdir(parents=True)
        with closing(sqlite3.connect(self._path)) as connection:
            connection.executescript(_OLD_STORE.read_text(encoding="utf-8"))
        before = self._rows()
        meant = _as_read(before, 1)
        for round in self.scenario.rounds:
            self.report(f"migration: {', '.join(round.places)}")
            self._die(round)
            if self._rows() != before:
                self.outcome.wrong_at.setdefault(round.places[0], []).append("the old store is another one")
        with closing(Store(self._path)) as store:
            store.all_jobs()
        if _as_read(self._rows(), VERSION) != meant:
            self.outcome.wrong.append("the migrated store has other jobs or another history")
        self.outcome.seconds = time.monotonic() - began
        return self.outcome

    @property
    def _path(self) -> Path:
        return self.folder / "jetsql.db"

    def _die(self, round: Round) -> None:
        began = time.monotonic()
        environment = {**os.environ, VARIABLE: round.places[0], "PYTHONPATH": str(_ROOT)}
        ended = subprocess.run([sys.executable, "-c", _OPEN, self._path], env=environment, timeout=60, check=False)
        died = ended.returncode == -signal.SIGKILL
        self.outcome.deaths.append(Death(round, frozenset(round.places), died, time.monotonic() - began))
        if not died:
            self.outcome.wrong_at.setdefault(round.places[0], []).append("it did not die there")

    def _rows(self) -> Counter[tuple[object, ...]]:
        """Return jobs and history as they are stored, without what only a newer release has."""
        with closing(sqlite3.connect(self._path)) as connection:
            jobs = connection.execute("SELECT id, name_key, live, record FROM jobs").fetchall()
            history = connection.execute("SELECT number, job, before, after, words, title FROM history").fetchall()
        return Counter([*jobs, *history])


def _as_read(rows: Counter[tuple[object, ...]], version: int) -> Counter[tuple[object, ...]]:
    """Return rows of a version of the store as this release reads them."""
    read = [(*row, _job(str(last), version) if len(row) == 3 else _event(str(last))) for *row, last in rows]
    return Counter(read)


def _job(record: str, version: int) -> str:
    return encode(decode(Job, upgrade_text(record, version)))


def _event(title: str) -> str:
    return RENAMED_EVENTS.get(title, title)
