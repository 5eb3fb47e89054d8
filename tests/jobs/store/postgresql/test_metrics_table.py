"""The metrics on PostgreSQL: only detail is lost, and neither an outage nor damage harms the engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from jetsql.jobs.store.job_store import Store
from jetsql.jobs.store.metrics import BatchMetrics, Metrics
from jetsql.jobs.store.metrics_store import VERSION, MetricsStore
from tests.jobs.store.test_metrics import FULL, JOB
from tests.support.engines.store_places import SchemaPlace
from tests.support.servers.postgres import Postgres

pytestmark = pytest.mark.spark  # needs a server, as tests with Spark do


@pytest.fixture
def store(schema: SchemaPlace) -> Iterator[Store]:
    with closing(Store(schema.database())) as opened:
        yield opened


def started(store: Store, *jobs: str) -> tuple[Metrics, MetricsStore]:
    metrics = Metrics()
    table = store.database.metrics_store(metrics)
    table.start(jobs or (JOB,))
    return metrics, table


def numbered(batch: int) -> BatchMetrics:
    return replace(FULL, batch=batch, time=FULL.time + batch, input_rows=2**40 + batch)


def test_written_metrics_are_read_back(store: Store) -> None:
    metrics, table = started(store)
    for batch in range(1000):
        metrics.add(JOB, numbered(batch))
        if batch % 300 == 0:
            table.write()
    expected = metrics.rows(JOB)
    table.close()
    again, table = started(store)
    assert again.rows(JOB) == expected
    again.add(JOB, numbered(1000))
    table.close()
    again, table = started(store)
    assert again.rows(JOB)[-1] == numbered(1000)
    table.close()
    _, table = started(store, "another job")
    table.close()
    assert started(store)[0].rows(JOB) == ()


@pytest.mark.parametrize(
    "harm",
    [
        "ALTER TABLE measures DROP COLUMN lag",
        "UPDATE measures SET lag = 'x'",
        "UPDATE meta SET value = '99' WHERE key = '{}'",
    ],
)
def test_damaged_metrics_are_moved_aside(
    store: Store, schema: SchemaPlace, harm: str, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        metrics, table = started(store)
        metrics.add(JOB, FULL)
        table.close()
        schema.execute(harm.format("metrics_version"))
    metrics, table = started(store)
    assert metrics.rows(JOB) == () and "they are moved to its table measures_damaged" in caplog.text
    metrics.add(JOB, FULL)
    table.close()
    assert schema.execute("SELECT value FROM meta WHERE key = 'metrics_version'") == [(str(VERSION),)]
    metrics, table = started(store)
    assert metrics.rows(JOB) == (FULL,)
    table.close()


def test_an_outage_is_logged_and_passes(store: Store, postgres: Postgres, caplog: pytest.LogCaptureFixture) -> None:
    metrics, table = started(store)
    metrics.add(JOB, FULL)
    postgres.stop()
    table.write()
    assert "Trying again later" in caplog.text
    postgres.start()
    table.close()
    again, table = started(store)
    assert again.rows(JOB) == (FULL,)
    table.close()
