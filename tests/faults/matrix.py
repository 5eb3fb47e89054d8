"""Run a scenario: start the program round by round, wait for its crash, and judge the final state."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from jetsql.failpoints import VARIABLE, FailPoint
from jetsql.jobs.model.serialization import encode
from tests.faults.history import Deaths, store_faults
from tests.faults.jobs import SERVER_TABLES, Facts, Loss
from tests.faults.leftovers import find_damage, find_leftovers
from tests.faults.program import LAST_INSERTED
from tests.faults.readers import FilesReader
from tests.faults.rounds import Round, Scenario
from tests.faults.source import Source
from tests.faults.topics import create_topics, messages
from tests.support.servers.kafka import Kafka
from tests.support.servers.postgres import Postgres
from tools import class_archive

_ROOT = Path(__file__).parents[2]
_DEADLINE_SECONDS = 500.0  # the last start of some twenty jobs takes two minutes on two idle cores
# A statement about a job that is held at its armed fail point would wait longer.
_SETTINGS = {"JETSQL_CREATE_WAIT_SECONDS": "2", "JETSQL_STATEMENT_WAIT_SECONDS": "5"}
_Report = Callable[[str], None]


@dataclass(frozen=True)
class Death:
    """A round as it went. reached: the places that were come to. died: by the kill at the last of them."""

    round: Round
    reached: frozenset[str]
    died: bool
    seconds: float


@dataclass
class Outcome:
    """The findings of the matrix."""

    deaths: list[Death] = field(default_factory=list)
    losses: dict[str, Loss] = field(default_factory=dict)  # by job
    wrong: list[str] = field(default_factory=list)  # faults that no single fail point caused
    wrong_at: dict[str, list[str]] = field(default_factory=dict)
    file_polls: int = 0
    polls: int = 0
    files: int = 0
    seconds: float = 0.0

    @property
    def faults(self) -> list[str]:
        """Return a description of each fault; empty without faults."""
        lossy = [f"{name}: {loss.words}" for name, loss in self.losses.items() if loss.words]
        at = [f"{place}: {words}" for place, found in self.wrong_at.items() for words in found]
        return [*lossy, *at, *self.wrong]


class Matrix:
    """One run of a scenario on a fresh folder and a fresh schema of the server."""

    def __init__(
        self, scenario: Scenario, folder: Path, server: Postgres, report: _Report, kafka: Kafka | None = None
    ) -> None:
        self._scenario = scenario
        self._folder = folder
        self._server = server
        self._kafka = kafka
        self._report = report
        self._source = Source(folder / "numbers")
        self._store = folder / "engine" / "jetsql.db"
        self._deaths = Deaths(self._store)
        self._inserted: list[int] = []
        self._outcome = Outcome()
        self._started: list[subprocess.Popen[str]] = []

    def run(self) -> Outcome:
        began = time.monotonic()
        self._server(f"DROP SCHEMA IF EXISTS crash CASCADE; {SERVER_TABLES}")
        if self._kafka is not None:
            create_topics(self._kafka)
        reader = FilesReader(self._folder / "engine" / "warehouse")
        reader.start()
        try:
            self._live_and_finish()
        finally:
            reader.end()
            for process in self._started:
                _kill_group(process)
        self._outcome.wrong += [*reader.wrong, *self._open_session_faults()]
        self._outcome.file_polls, self._outcome.files = reader.polls, reader.files
        self._outcome.seconds = time.monotonic() - began
        return self._outcome

    def _live_and_finish(self) -> None:
        rounds = self._scenario.rounds
        for number, round in enumerate(rounds, 1):
            self._report(f"{self._scenario.name} {number} of {len(rounds)}: {', '.join(round.places) or 'no death'}")
            self._live(round)
        self._report(f"{self._scenario.name}: the last start, everything is to come in")
        self._finish()

    def _live(self, round: Round) -> None:
        began = time.monotonic()
        self._source.add(round.files)
        code, _, err = self._start(encode(round), ",".join(round.places))
        died = code == (-signal.SIGKILL if round.places else 0)
        reached = [line.removeprefix("failpoint ") for line in err.splitlines() if line.startswith("failpoint ")]
        self._outcome.deaths.append(Death(round, frozenset(reached), died, time.monotonic() - began))
        for place in round.armed:
            if not any(_is_at(place, where) for where in reached):
                self._add_fault(place.name, f"{place.job or 'no process'} did not reach it")
        if not died:
            self._outcome.wrong.append(f"a start ended with {code}: {_last_lines(err)}")
            self._report(err)
        self._inserted += round.inserted
        self._deaths.note(round)
        for words in find_damage(self._folder / "engine"):
            self._add_fault(round.armed[-1].name if round.places else "", words)

    def _finish(self) -> None:
        code, out, err = self._start("last", "")
        if code != 0:
            self._outcome.wrong.append(f"the last start ended with {code}: {_last_lines(err)}")
            self._report(err)
            return
        outcome = json.loads(out)
        facts = Facts(self._source, (*self._inserted, *LAST_INSERTED), outcome["last_lives"])
        self._outcome.polls = outcome["polls"]
        for kind in self._scenario.kinds:
            found = Counter(map(tuple, outcome["found"].get(kind.name, ())))
            if kind.topic and self._kafka is not None:
                found = Counter(messages(self._kafka, kind))
            self._outcome.losses[kind.name] = kind.check(found, facts)
        for place, words in self._deaths.wrong():
            self._add_fault(place, words)
        self._outcome.wrong += store_faults(self._store, self._scenario.jobs)
        self._outcome.wrong += find_leftovers(self._folder / "engine", self._server)

    def _start(self, round: str, armed: str) -> tuple[int, str, str]:
        """Return exit code, standard output and error of a start of the program, and end what it started."""
        environment = {**os.environ, **class_archive.environment(), **_SETTINGS}
        environment |= {VARIABLE: armed, "PYTHONPATH": str(_ROOT)}
        command = [sys.executable, "-m", "tests.faults.program", str(self._folder), self._server.url]
        command.append("" if self._kafka is None else self._kafka.servers)
        process = subprocess.Popen(
            [*command, self._scenario.name, round],
            cwd=_ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._started.append(process)
        try:
            out, err = process.communicate(timeout=_DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            _kill_group(process)
            out, err = process.communicate()
        if self._scenario.java_dies:
            _kill_group(process)
        return process.returncode, out, err

    def _open_session_faults(self) -> list[str]:
        log = self._folder / "open_session.log"
        return log.read_text().splitlines() if log.exists() else []

    def _add_fault(self, place: str, words: str) -> None:
        self._outcome.wrong_at.setdefault(place, []).append(words)


def _kill_group(process: subprocess.Popen[str]) -> None:
    """Kill Spark's Java, which is in its engine's group, in the middle of what it does."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _is_at(place: FailPoint, where: str) -> bool:
    name, _, job = where.partition(":")
    return name == place.name and place.job in ("", job)


def _last_lines(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
