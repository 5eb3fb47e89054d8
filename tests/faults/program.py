"""Run one start of an engine in the crash matrix, which is killed or finishes all jobs.

    python -m tests.faults.program FOLDER URL BROKERS SCENARIO ROUND

FOLDER has the files of the source in `numbers` and the home of the engine in `engine`. URL is PostgreSQL's. BROKERS are
Kafka's, or empty. ROUND is a `rounds.Round` as JSON, or `last`: then all jobs finish, and the program prints the rows
of their tables as JSON.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jetsql
from jetsql import failpoints
from jetsql.embedded.engine_instance import EngineInstance
from jetsql.errors import RetryableError
from jetsql.jobs.model.serialization import decode
from tests.faults.jobs import PASSING, Facts, Kind, tables
from tests.faults.open_session import OpenSession
from tests.faults.rounds import LAST_LIVES, SCENARIOS, Round, Scenario
from tests.faults.source import Source
from tests.faults.timed_jobs import TIMED_TABLES
from tests.support.engines.spark_conf import CONF

LAST_INSERTED = (-98, -99)
_PAUSE_SECONDS = 0.02
_CLOCK_SECONDS = 30.0
_UNDER_WAY = ("COMPLETING", "SUSPENDED_EXPORTING_SNAPSHOT")  # a continued drop would drop the new job of the name


@dataclass(frozen=True)
class Start:
    """An engine that has just been started."""

    engine: EngineInstance
    scenario: Scenario
    source: Source
    url: str
    brokers: str

    def rows(self, text: str) -> list[list[Any]]:
        return [list(row) for row in self.engine.run(text).rows]

    def live(self, round: Round) -> None:
        """Do what the round asks for; with places armed, wait for the death."""
        if round.statements and not self.rows("SHOW TABLES LIKE 'numbers'"):
            for text in (*tables(str(self.source.folder), self.url, self.brokers), *TIMED_TABLES):
                self.rows(text)
        for number in round.inserted:
            self._insert(number)
        for text in round.statements:
            if round.waits and not round.apart and text == round.statements[-1]:
                _wait_for_the_others(round)
            self.rows(text)
        for text in round.apart:
            if round.waits and text == round.apart[-1]:
                _wait_for_the_others(round)
            threading.Thread(target=self._ask, args=(text,), daemon=True).start()
        if round.places:
            threading.Event().wait()

    def _ask(self, text: str) -> None:
        """Run a statement, again when Kafka or PostgreSQL does not answer in time: a busy machine must not end it."""
        while True:
            try:
                self.rows(text)
            except RetryableError:
                continue
            return

    def finish(self, session: OpenSession) -> dict[str, object]:
        """Let all jobs read everything that is there, then more, which rests on their state."""
        self._create_jobs()
        for more, number in enumerate(LAST_INSERTED):
            self.source.add(more)
            self._insert(number)
            self._wait_until_read()
            session.expect(dict(self._expected_rows()))
        self._wait_for_the_clock()
        found = {kind.name: self._found(kind) for kind in self.scenario.kinds if not kind.topic}
        return {"found": found, "polls": session.polls, "last_lives": {kind.name: self._life(kind) for kind in PASSING}}

    def _life(self, kind: Kind) -> int:
        """Return the life of the newest job of this kind: the last one is not made where an older one still lives."""
        [(text,)] = self.rows(f"SHOW CREATE JOB {kind.name}")
        found = re.search(r"SELECT id, (\d+),", str(text))
        assert found is not None, text
        return int(found[1])

    def _create_jobs(self) -> None:
        while any(status in _UNDER_WAY for _, _, status, *_ in self.rows("SHOW JOBS")):
            time.sleep(_PAUSE_SECONDS)
        for text in LAST_LIVES:
            self.rows(text)
        for _, name, status, *_ in self.rows("SHOW JOBS"):
            if status == "SUSPENDED":
                self.rows(f"RESUME JOB {name}")

    def _insert(self, number: int) -> None:
        """Insert rows into a table, as programs other than the jobs do."""
        if "copy" in self.scenario.polled:
            self.rows(f"INSERT INTO copy VALUES ({number})")

    def _wait_until_read(self) -> None:
        """Wait until every job has read what is there; a job that another one feeds after that."""
        self.rows("RESUME JOB now")
        fed_last = sorted(self.scenario.kinds, key=lambda kind: kind.fed)
        for kind in fed_last:
            until = "COMPLETED" if kind.ends else "IDLE"
            self.rows(f"WAIT FOR JOB {kind.name} UNTIL {until} TIMEOUT 120")

    def _wait_for_the_clock(self) -> None:
        """Wait until the jobs whose rows come some time later have written them; the judge reports missing rows."""
        facts = Facts(self.source, (), {})
        deadline = time.monotonic() + _CLOCK_SECONDS
        for kind in self.scenario.kinds:
            while kind.by_clock and kind.check(Counter(map(tuple, self._found(kind))), facts).words:
                if time.monotonic() > deadline:
                    return
                time.sleep(_PAUSE_SECONDS)

    def _found(self, kind: Kind) -> list[list[Any]]:
        return self.rows(f"SELECT {kind.read} FROM {kind.table}")

    def _expected_rows(self) -> Iterator[tuple[str, int]]:
        """Yield the row count of each table that the open session has to see, after a REFRESH."""
        for table in self.scenario.polled:
            self.rows(f"REFRESH TABLE {table}")
            [[count]] = self.rows(f"SELECT {'sum(n)' if table == 'digits' else 'count(*)'} FROM {table}")
            yield table, int(str(count))


def _wait_for_the_others(round: Round) -> None:
    """Wait until only the round's last place is left, at which no statement is in progress."""
    while failpoints.left() != [round.armed[-1].name]:
        time.sleep(_PAUSE_SECONDS)


def main(folder: Path, url: str, brokers: str, scenario: Scenario, round: str) -> None:
    with jetsql.open(home=folder / "engine", master=f"local[{scenario.slots}]", conf=CONF) as engine:
        start = Start(engine, scenario, Source(folder / "numbers"), url, brokers)
        with OpenSession(engine.spark, scenario.polled, folder / "open_session.log") as session:
            if round == "last":
                sys.stdout.write(json.dumps(start.finish(session)))
            else:
                start.live(decode(Round, round))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], SCENARIOS[sys.argv[4]], sys.argv[5])
