"""How long the statements of a job's life take, with one job on the engine and with many.

Each round makes a job over a table with one waiting file, and takes it through its life; the others of `--jobs` run
beside it and find nothing to do. `running` is when the status says so, `first row` when a SELECT in another session has
returned with it, so it holds that SELECT's time too. The core is `engine.run`; the last row goes through `spark.sql`.
The first rounds are not counted.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from benchmarks.engines import Bench, bench
from benchmarks.reporting import Goal, figure, figures, introduce, middle, table, text

_CREATE = "CREATE JOB {name} OPTIONS ('snapshotIntervalMillis' = '{interval}') AS INSERT INTO sink_{name} {query}"
_QUERY = "SELECT id, upper(name) AS name FROM STREAM source"
_DDL = "(id BIGINT, name STRING) USING parquet"

# Seconds on two cores. SUSPEND may take the running batch besides; here nothing runs when it comes.
GOALS = {
    "CREATE, running": Goal(most=0.5),
    "CREATE, first row": Goal(most=1.5),
    "SUSPEND": Goal(most=0.5),
    "RESUME": Goal(most=1.0),
    "SHOW JOBS, core": Goal(most=0.01),
    "SHOW JOBS, spark.sql": Goal(most=0.1),
}
_BESIDE_INTERVAL_MILLIS = 10_000  # the default for file tables
_INTERVAL_MILLIS = 1_000
_SHOWN = 10

Times = dict[str, list[float]]


class Lives:
    """Takes jobs through their lives and keeps the times."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._other = bench.engine.spark.newSession()
        self.times: Times = defaultdict(list)

    def prepare(self) -> None:
        self._bench.run(f"CREATE TABLE source {_DDL}")
        self._bench.run("INSERT INTO source VALUES (1, 'one')")

    def beside(self, count: int) -> None:
        """Jobs that run beside the measured one."""
        for number in range(count):
            self._create(f"beside_{number}", _BESIDE_INTERVAL_MILLIS)

    def live(self, name: str) -> None:
        """One job from CREATE to DROP."""
        run = self._bench.run
        run(f"CREATE TABLE sink_{name} {_DDL}")
        began = time.perf_counter()
        with self._running_since(name, began):
            self._create_job(name, _INTERVAL_MILLIS)
            self.times["CREATE"].append(time.perf_counter() - began)
            self._wait_for_row(name)
            self.times["CREATE, first row"].append(time.perf_counter() - began)
        run(f"WAIT FOR JOB {name} UNTIL IDLE")
        for verb in ("SUSPEND", "RESUME", "RESTART"):
            self._timed(verb, lambda verb=verb: run(f"{verb} JOB {name}"))  # type: ignore[misc]
            if verb != "SUSPEND":
                run(f"WAIT FOR JOB {name} UNTIL IDLE")
        for _ in range(_SHOWN):
            self._timed("SHOW JOBS, core", lambda: run("SHOW JOBS"))
            self._timed("SHOW JOBS, spark.sql", lambda: self._other.sql("SHOW JOBS").collect())
        self._timed("DROP", lambda: run(f"DROP JOB {name}"))
        run(f"DROP TABLE sink_{name}")

    def _create(self, name: str, interval: int) -> None:
        self._bench.run(f"CREATE TABLE sink_{name} {_DDL}")
        self._create_job(name, interval)

    def _create_job(self, name: str, interval: int) -> None:
        self._bench.run(_CREATE.format(name=name, interval=interval, query=_QUERY))

    def _wait_for_row(self, name: str) -> None:
        while not self._other.sql(f"SELECT * FROM sink_{name} LIMIT 1").collect():
            time.sleep(0.001)

    def _timed(self, what: str, work: Callable[[], object]) -> None:
        began = time.perf_counter()
        work()
        self.times[what].append(time.perf_counter() - began)

    @contextmanager
    def _running_since(self, name: str, began: float) -> Iterator[None]:
        """Looks from beside when the status becomes RUNNING; CREATE itself returns later, after the first batch."""

        def look() -> None:
            statement = f"SHOW JOBS LIKE '{name}'"
            while not any(row[2] == "RUNNING" for row in self._bench.run(statement)):
                time.sleep(0.002)
            self.times["CREATE, running"].append(time.perf_counter() - began)

        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        yield
        looking.join()


def measure(lives: Lives, label: str, rounds: int, warm_ups: int) -> dict[str, float]:
    """Median seconds of each step."""
    for number in range(warm_ups):
        lives.live(f"{label}_warm_{number}")
    lives.times.clear()
    for number in range(rounds):
        lives.live(f"{label}_{number}")
    return {what: middle(times) for what, times in lives.times.items()}


def report(alone: dict[str, float], many: dict[str, float], jobs: int) -> None:
    columns = (text("statement"), *figures("1 job, ms", f"{jobs} jobs, ms"), text("goal"))
    rows = []
    for what in alone:
        goal = GOALS.get(what)
        words = goal.words(many[what]) if goal is not None else ""
        rows.append((what, figure(alone[what] * 1000, 1), figure(many[what] * 1000, 1), words))
    table(columns, rows)


@click.command(help=__doc__)
@click.option("--jobs", type=click.IntRange(2), default=50, show_default=True, help="How many jobs are many.")
@click.option("--rounds", type=click.IntRange(1), default=7, show_default=True, help="Lives that count.")
@click.option("--warm-ups", type=click.IntRange(0), default=5, show_default=True, help="Lives before, not counted.")
@click.option("--master", default="local[*]", show_default=True, help="Spark's master.")
@click.option("--memory", default="2g", show_default=True, help="Of Spark's driver.")
def main(jobs: int, rounds: int, warm_ups: int, master: str, memory: str) -> None:
    introduce(
        "lifecycle: the statements of a job's life",
        f"medians of {rounds} rounds, warm; goals in seconds, for {jobs} jobs; the job reads a file and writes parquet",
    )
    with bench(master, memory) as engine:
        lives = Lives(engine)
        lives.prepare()
        alone = measure(lives, "alone", rounds, warm_ups)
        lives.beside(jobs - 1)
        many = measure(lives, "among", rounds, 1)
    report(alone, many, jobs)


if __name__ == "__main__":
    main()
