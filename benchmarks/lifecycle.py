"""Measure the time of the statements of a job's life, with one job on the engine and with many.

Each round creates a job over a table with one unread file and runs it from CREATE to DROP; the other jobs of `--jobs`
are idle. `running` ends when the status is RUNNING, `first row` when a SELECT in another session has returned a row, so
it includes the time of that SELECT. `core` is `engine.run`, and `spark.sql` goes through Spark's parser. The first
rounds are not measured.
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

# Seconds on two cores. SUSPEND also waits for the running batch, but here no batch runs.
GOALS = {
    "CREATE, running": Goal(most=0.5),
    "CREATE, first row": Goal(most=1.5),
    "SUSPEND": Goal(most=0.5),
    "RESUME": Goal(most=1.0),
    "SHOW JOBS, core": Goal(most=0.01),
    "SHOW JOBS, spark.sql": Goal(most=0.1),
}
_IDLE_INTERVAL_MILLIS = 10_000  # the default for file tables
_INTERVAL_MILLIS = 1_000
_SHOWN = 10

Times = dict[str, list[float]]


class Lives:
    """The lives of jobs on one engine, with the times of their statements."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._other = bench.engine.spark.newSession()
        self.times: Times = defaultdict(list)

    def prepare(self) -> None:
        self._bench.run(f"CREATE TABLE source {_DDL}")
        self._bench.run("INSERT INTO source VALUES (1, 'one')")

    def create_idle_jobs(self, count: int) -> None:
        """Create jobs that run next to the measured one."""
        for number in range(count):
            self._create(f"idle_{number}", _IDLE_INTERVAL_MILLIS)

    def live(self, name: str) -> None:
        """Measure one job from CREATE to DROP."""
        run = self._bench.run
        run(f"CREATE TABLE sink_{name} {_DDL}")
        began = time.perf_counter()
        with self._timed_until_running(name, began):
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

    def _timed(self, step: str, work: Callable[[], object]) -> None:
        began = time.perf_counter()
        work()
        self.times[step].append(time.perf_counter() - began)

    @contextmanager
    def _timed_until_running(self, name: str, began: float) -> Iterator[None]:
        """Poll on another thread until the status is RUNNING; CREATE itself returns later, after the first batch."""

        def poll() -> None:
            statement = f"SHOW JOBS LIKE '{name}'"
            while not any(row[2] == "RUNNING" for row in self._bench.run(statement)):
                time.sleep(0.002)
            self.times["CREATE, running"].append(time.perf_counter() - began)

        polling = threading.Thread(target=poll, daemon=True)
        polling.start()
        yield
        polling.join()


def measure(lives: Lives, label: str, rounds: int, warm_ups: int) -> dict[str, float]:
    """Run the rounds and return the median seconds of each step."""
    for number in range(warm_ups):
        lives.live(f"{label}_warm_{number}")
    lives.times.clear()
    for number in range(rounds):
        lives.live(f"{label}_{number}")
    return {step: middle(times) for step, times in lives.times.items()}


def report(alone: dict[str, float], many: dict[str, float], jobs: int) -> None:
    columns = (text("statement"), *figures("1 job, ms", f"{jobs} jobs, ms"), text("goal"))
    rows = []
    for step in alone:
        goal = GOALS.get(step)
        verdict = goal.describe(many[step]) if goal is not None else ""
        rows.append((step, figure(alone[step] * 1000, 1), figure(many[step] * 1000, 1), verdict))
    table(columns, rows)


@click.command(help=__doc__)
@click.option("--jobs", type=click.IntRange(2), default=50, show_default=True, help="Number of jobs.")
@click.option("--rounds", type=click.IntRange(1), default=7, show_default=True, help="Measured rounds.")
@click.option("--warm-ups", type=click.IntRange(0), default=5, show_default=True, help="Rounds before, not measured.")
@click.option("--master", default="local[*]", show_default=True, help="Spark's master.")
@click.option("--memory", default="2g", show_default=True, help="Memory of Spark's driver.")
def main(jobs: int, rounds: int, warm_ups: int, master: str, memory: str) -> None:
    introduce(
        "lifecycle: the statements of a job's life",
        f"medians of {rounds} rounds, warm; goals in seconds, for {jobs} jobs; the job reads a file and writes parquet",
    )
    with bench(master, memory) as engine:
        lives = Lives(engine)
        lives.prepare()
        alone = measure(lives, "alone", rounds, warm_ups)
        lives.create_idle_jobs(jobs - 1)
        many = measure(lives, "among", rounds, 1)
    report(alone, many, jobs)


if __name__ == "__main__":
    main()
