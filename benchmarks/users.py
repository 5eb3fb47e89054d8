"""Measure what several users of an engine cost: the gates of rights, the audit log, and a heavy query of one of them.

gates: the queries are joins of Nexmark over tables, through views of the user. They are analyzed in turn in a home
without users, and as a user who may read the tables. The gates see each view with its body.

audit: short statements with each value of the setting `audit`, in engines that start one after the other.

fairness: the batch times of small jobs that each have a new row every second, and the time of a short query of a user
over HTTP: alone, while another user runs a heavy query, and while the same user runs it.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

import jetsql
from benchmarks.engines import Bench, bench
from benchmarks.nexmark.query import load
from benchmarks.nexmark.workload import BATCH, VIEWS, Workload
from benchmarks.reporting import Goal, figure, figures, introduce, middle, say, table, text
from benchmarks.scaling_jobs import Batches, create_small_jobs, measure_batches
from jetsql.client.engine_client import EngineClient
from tests.support.servers.http_server import run_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from jetsql.embedded.engine_instance import EngineInstance

GOAL: Final = Goal(most=1.15)
_QUERIES: Final = ("q3", "q8", "q9", "q20", "q23")
_PARTS: Final = ("gates", "audit", "fairness")
_WARM_UP: Final = 40
_ROUNDS: Final = 2
_MEMORY: Final = "1g"
_USER: Final = "ann"
_OTHER: Final = "bob"
_SHORT: Final = ("SHOW JOBS", "SELECT 1")
_QUERY: Final = "SELECT count(*), sum(id) FROM range(0, 100000, 1, 4)"
_HEAVY: Final = "SELECT sum(hash(a.id, b.id)) FROM range(0, 20000, 1, 200) a CROSS JOIN range(0, 50000, 1, 1) b"


def rights() -> str:
    """Return the rights of the user: to read all tables of the schema, whose views the user owns."""
    granted = [{"right": "SELECT", "kind": "SCHEMA", "name": ["spark_catalog", BATCH]}]
    names = ("events", "all_events", *VIEWS)
    views = [{"name": ["spark_catalog", BATCH, name], "owner": _USER} for name in names]
    return json.dumps({"users": {_USER: {"admin": False, "rights": granted}}, "views": views})


def analysis_milliseconds(session: SparkSession, select: str) -> float:
    """Return the time of one analysis, with Spark's own check of the plan."""
    state = session._jsparkSession.sessionState()
    plan = state.sqlParser().parsePlan(select)
    gateway: Any = session.sparkContext._gateway
    tracker = gateway.jvm.org.apache.spark.sql.catalyst.QueryPlanningTracker(gateway.jvm.scala.Option.empty())
    began = time.perf_counter()
    state.analyzer().executeAndCheck(plan, tracker)
    return (time.perf_counter() - began) * 1000


def measure_analysis(engine: EngineInstance, name: str, calls: int) -> tuple[float, float]:
    """Return the median times of the analysis of a query: without users, and with them."""
    from jetsql.engine.jvm.java_classes import java  # loads PySpark

    classes = java(engine.spark)
    session = engine.spark.newSession()
    classes.common.Principals.set(session._jsparkSession, _USER)
    session.sql(f"USE {BATCH}")
    select = load(name).select
    times: dict[bool, list[float]] = {False: [], True: []}
    for call in range(_WARM_UP + calls):
        for with_users in times:
            classes.rights.Rights.publish(rights() if with_users else None)
            elapsed = analysis_milliseconds(session, select)
            if call >= _WARM_UP:
                times[with_users].append(elapsed)
    classes.rights.Rights.publish(None)
    return middle(times[False]), middle(times[True])


@dataclass(frozen=True)
class Shared:
    """The times of jobs and of a short query at one load."""

    load: str
    batches: Batches
    query_millis: float
    """The median time of the short query, milliseconds."""


def audit_costs(master: str, calls: int) -> Iterator[tuple[str, str, float]]:
    """Yield the setting, the statement, and the median time of the statement in milliseconds."""
    times: dict[tuple[str, str], list[float]] = {}
    for _ in range(_ROUNDS):
        for setting in ("off", "on", "required"):
            with bench(master, _MEMORY, flags={"audit": setting}) as engine:
                for statement in _SHORT:
                    measured = [_milliseconds(engine.run, statement) for _ in range(_WARM_UP + calls)]
                    times.setdefault((setting, statement), []).extend(measured[_WARM_UP:])
    for (setting, statement), each in times.items():
        yield setting, statement, middle(each)


def shared(engine: Bench, seconds: float, jobs: int) -> Iterator[Shared]:
    """Yield the times at each load. seconds: the time of each measurement"""
    create_small_jobs(engine, range(jobs))
    with run_server(engine.engine) as server, ExitStack() as clients:
        tokens = {user: _create_user(engine, user) for user in (_USER, _OTHER)}

        def connect(user: str) -> EngineClient:
            return clients.enter_context(closing(EngineClient(server.url, tokens[user])))

        client = connect(_USER)
        loads = {
            "no other query": None,
            "a heavy query of another user": connect(_OTHER),
            "one of the same user": connect(_USER),
        }
        list(client.run(_QUERY).rows)
        time.sleep(seconds / 2)
        for load, heavy in loads.items():
            with _heavy_query(heavy), ThreadPoolExecutor(1) as pool:
                batches = pool.submit(measure_batches, engine, jobs, seconds)
                times = []
                while not batches.done():
                    times.append(_milliseconds(lambda text: list(client.run(text).rows), _QUERY))
                    time.sleep(0.2)
                yield Shared(load, batches.result(), middle(times))


def _create_user(engine: Bench, user: str) -> str:
    """Create a user and return its token."""
    engine.run(f"CREATE USER {user}")
    [(_, token, *_)] = engine.run(f"CREATE TOKEN FOR {user}")
    return str(token)


@contextmanager
def _heavy_query(client: EngineClient | None) -> Iterator[None]:
    """Run a heavy query again and again inside the context."""
    if client is None:
        yield
        return
    ended = threading.Event()

    def repeat() -> None:
        while not ended.is_set():
            list(client.run(_HEAVY).rows)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        time.sleep(2)
        yield
    finally:
        ended.set()
        thread.join()


def _milliseconds(run: Callable[[str], object], text: str) -> float:
    began = time.perf_counter()
    run(text)
    return (time.perf_counter() - began) * 1000


def report_gates(master: str, calls: int) -> None:
    with tempfile.TemporaryDirectory(prefix="jetsql-users-") as folder:
        events = Path(folder) / "events"
        events.mkdir()
        with jetsql.open(home=Path(folder) / "home", master=master) as engine:
            Workload(lambda statement: list(engine.run(statement).rows), events, 1).create()
            measured = {name: measure_analysis(engine, name, calls) for name in _QUERIES}
    rows = [(name, figure(off), figure(on), figure(on / off)) for name, (off, on) in measured.items()]
    table((text("query"), *figures("without users, ms", "with users, ms", "ratio")), rows)
    ratio = middle([on / off for off, on in measured.values()])
    say(f"the gates take {figure(ratio)} times as long, goal {GOAL.describe(ratio)}")


def report_audit(master: str, calls: int) -> None:
    costs = audit_costs(master, calls)
    table((text("audit"), text("statement"), *figures("ms")), [(a, b, figure(c)) for a, b, c in costs])


def report_fairness(master: str, seconds: float, jobs: int) -> None:
    columns = (
        text("load"),
        *figures("batches", "batch ms, median", "95th percentile", "processor ms/batch", "short query, ms"),
    )
    with bench(master, _MEMORY) as engine:
        rows = [
            (each.load, *(figure(value, 0) for value in (*astuple(each.batches)[1:], each.query_millis)))
            for each in shared(engine, seconds, jobs)
        ]
    table(columns, rows)


@click.command(help=__doc__)
@click.option("--part", "parts", type=click.Choice(_PARTS), multiple=True, help="Only this part; may be repeated.")
@click.option("--calls", type=click.IntRange(10), default=200, show_default=True, help="Calls of each statement.")
@click.option("--seconds", type=click.FloatRange(5), default=30, show_default=True, help="Time of each load.")
@click.option("--jobs", type=click.IntRange(1), default=5, show_default=True, help="Number of small jobs.")
@click.option("--master", default="local[2]", show_default=True, help="The master of Spark.")
def main(parts: tuple[str, ...], calls: int, seconds: float, jobs: int, master: str) -> None:
    introduce(
        "users: rights, audit, fair use", f"{calls} calls of each statement, {seconds:g} s of each load, {master}"
    )
    reports: dict[str, Callable[[], None]] = {
        "gates": lambda: report_gates(master, calls),
        "audit": lambda: report_audit(master, calls),
        "fairness": lambda: report_fairness(master, seconds, jobs),
    }
    for part in parts or _PARTS:
        reports[part]()


if __name__ == "__main__":
    main()
