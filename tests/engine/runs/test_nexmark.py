"""The queries of Nexmark as jobs over several batches: each result is that of the same text over the whole table."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.nexmark.events import Events
from benchmarks.nexmark.query import NAMES, load
from benchmarks.nexmark.workload import Workload
from jetsql.embedded.embedded_engine import EmbeddedEngine
from tests.conftest import Sql

pytestmark = pytest.mark.spark
GATE = frozenset(("q4", "q5", "q9", "q11", "q15", "q19"))
"""The queries that run before each change lands: one of each kind of state and of rewrite."""


class Started:
    """The jobs of queries over one set of events, which run in parallel."""

    def __init__(self, workload: Workload, names: list[str]) -> None:
        self.workload = workload
        self.refusals: dict[str, Exception] = {}
        """The error of each query that did not become a job. Its own test raises it."""
        for name in names:
            workload.create_sink(load(name))
            try:
                workload.start(load(name))
            except Exception as error:
                self.refusals[name] = error


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.slow)], ids="seed {}".format)
def started(
    request: pytest.FixtureRequest, engine: EmbeddedEngine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Started]:
    files = tmp_path_factory.mktemp("nexmark") / "events"
    Events(5000, seed=request.param, rate=50, files=3).write(files)
    here = [item for item in request.session.items if item.path == request.path and isinstance(item, pytest.Function)]
    selected = {item.callspec.params["name"] for item in here}
    sql = Sql(engine)
    workload = Workload(sql, files, files_in_batch=2)
    try:
        workload.create()
        yield Started(workload, [name for name in NAMES if name in selected])
    finally:
        for row in sql("SHOW JOBS"):
            sql(f"DROP JOB '{row[0]}'")
        workload.drop()


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in GATE else pytest.mark.slow) for name in NAMES])
def test_a_query_writes_the_rows_of_batch(name: str, started: Started) -> None:
    if name in started.refusals:
        raise started.refusals[name]
    query = load(name)
    started.workload.wait(query)
    difference = started.workload.compare(query)
    assert difference.rows > 0
    assert (difference.missing, difference.extra) == (0, 0), difference
