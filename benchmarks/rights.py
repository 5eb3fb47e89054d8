"""Measure what the gates of rights add to the analysis of a statement.

The queries are joins of Nexmark over tables, through views of the user. They are analyzed in turn in a home without
users, and as a user who may read the tables. The gates see each view with its body.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

import jetsql
from benchmarks.nexmark.query import load
from benchmarks.nexmark.workload import BATCH, VIEWS, Workload
from benchmarks.reporting import Goal, figure, figures, introduce, middle, say, table, text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from jetsql.embedded.engine_instance import EngineInstance

GOAL: Final = Goal(most=1.15)
_QUERIES: Final = ("q3", "q8", "q9", "q20", "q23")
_WARM_UP: Final = 40
_USER: Final = "ann"


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


def measure(engine: EngineInstance, name: str, calls: int) -> tuple[float, float]:
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


@click.command(help=__doc__)
@click.option("--calls", type=click.IntRange(10), default=200, show_default=True, help="Analyses of each query.")
@click.option("--master", default="local[2]", show_default=True, help="The master of Spark.")
def main(calls: int, master: str) -> None:
    introduce("rights: time of the analysis of a query, milliseconds", f"{calls} analyses of each query, {master}")
    with tempfile.TemporaryDirectory(prefix="jetsql-rights-") as folder:
        events = Path(folder) / "events"
        events.mkdir()
        with jetsql.open(home=Path(folder) / "home", master=master) as engine:
            Workload(lambda statement: list(engine.run(statement).rows), events, 1).create()
            measured = {name: measure(engine, name, calls) for name in _QUERIES}
    rows = [(name, figure(off), figure(on), figure(on / off)) for name, (off, on) in measured.items()]
    table((text("query"), *figures("without users", "with users", "ratio")), rows)
    ratio = middle([on / off for off, on in measured.values()])
    say(f"the gates take {figure(ratio)} times as long, goal {GOAL.describe(ratio)}")


if __name__ == "__main__":
    main()
