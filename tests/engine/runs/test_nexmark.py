"""The queries of Nexmark as jobs over several batches: each result is that of the same text over the whole table."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.nexmark.events import Events
from benchmarks.nexmark.query import IN_FLINK_SQL, NAMES, Query, load, load_in_flink_sql
from benchmarks.nexmark.workload import Workload
from jetsql.embedded.engine_instance import EngineInstance
from tests.conftest import Sql

pytestmark = [pytest.mark.spark, pytest.mark.slow]
QUERIES = [pytest.param(load(name), id=name) for name in NAMES]
QUERIES += [pytest.param(load_in_flink_sql(name), id=f"{name} in Flink SQL") for name in IN_FLINK_SQL]


class Started:
    """The jobs of queries over one set of events, which run in parallel."""

    def __init__(self, workload: Workload, queries: list[Query]) -> None:
        self.workload = workload
        self.refusals: dict[str, Exception] = {}
        """The error of each query that did not become a job. Its own test raises it."""
        for query in queries:
            workload.create_sink(query)
            try:
                workload.start(query)
            except Exception as error:
                self.refusals[query.name] = error


@pytest.fixture(scope="module", params=[1, 2], ids="seed {}".format)
def started(
    request: pytest.FixtureRequest, engine: EngineInstance, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Started]:
    files = tmp_path_factory.mktemp("nexmark") / "events"
    Events(5000, seed=request.param, rate=50, files=3).write(files)
    here = [item for item in request.session.items if item.path == request.path and isinstance(item, pytest.Function)]
    queries = [item.callspec.params.get("query") for item in here]
    selected = dict.fromkeys(query for query in queries if isinstance(query, Query))
    sql = Sql(engine)
    workload = Workload(sql, files, files_in_batch=2)
    try:
        workload.create()
        yield Started(workload, list(selected))
    finally:
        for row in sql("SHOW JOBS"):
            sql(f"DROP JOB '{row[0]}'")
        workload.drop()


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_writes_the_rows_of_batch(query: Query, started: Started) -> None:
    if query.name in started.refusals:
        raise started.refusals[query.name]
    started.workload.wait(query)
    difference = started.workload.compare(query)
    assert difference.rows > 0
    assert (difference.missing, difference.extra) == (0, 0), difference


@pytest.mark.parametrize("name", IN_FLINK_SQL)
def test_a_query_of_flink_means_the_same_in_batch(name: str, started: Started) -> None:
    def rows(query: Query) -> list[str]:
        return sorted(map(str, started.workload.select(query)))

    assert rows(load_in_flink_sql(name)) == rows(load(name))
