"""The queries of Nexmark into Delta and Iceberg tables: each result is that of the same text over all events."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.nexmark.events import Events
from benchmarks.nexmark.query import KEYS, NAMES, Query, load, load_with_keys
from benchmarks.nexmark.workload import Workload
from tests.support.tables.lake_tables import CATALOG
from tests.support.tables.lakehouse import Lakehouse

pytest_plugins = ["tests.support.tables.lake_fixtures"]
# Long enough to install a Spark for the first time.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1500)]
PARALLEL = 8
"""The number of jobs that run at the same time."""


def test_every_query_writes_the_rows_of_batch(lake_home: tuple[str, Path], tmp_path: Path) -> None:
    table_format, home = lake_home
    Events(2500, rate=25, files=2).write(tmp_path / "events")
    sql = Lakehouse(home)
    schema = "nexmark" if table_format == "delta" else f"{CATALOG}.nexmark"
    workload = Workload(sql, tmp_path / "events", 1, table_format, schema)
    workload.create()
    if table_format == "iceberg":
        sql(f"CREATE NAMESPACE {schema}")
    queries = [load(name) for name in NAMES] + [load_with_keys(name) for name in KEYS]
    differences: dict[str, tuple[int, int, int]] = {}
    for first in range(0, len(queries), PARALLEL):
        differences |= _run(workload, queries[first : first + PARALLEL])
    assert {name: each for name, each in differences.items() if each[1:] != (0, 0)} == {}
    assert [name for name, each in differences.items() if each[0] == 0] == []


def _run(workload: Workload, queries: list[Query]) -> dict[str, tuple[int, int, int]]:
    """Run the jobs of queries, and return the rows of each, how many are missing, and how many only the job has."""
    for query in queries:
        workload.create_sink(query)
        workload.start(query)
    found = {}
    for query in queries:
        workload.wait(query)
        difference = workload.compare(query)
        found[query.name] = (difference.rows, difference.missing, difference.extra)
    return found
