"""Jobs whose tables, checkpoints and snapshots are in an object store with the interface of S3: moto's server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.object_store import SECRET_KEY, ObjectStore, StoreEngine, running_object_store

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

_OFTEN = "OPTIONS ('snapshotIntervalMillis' = '500')"


def _totals_of(condition: str = "") -> str:
    return f"SELECT id % 10, count(*), sum(id) FROM STREAM numbers {condition} GROUP BY id % 10"


_TOTALS = _totals_of()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with running_object_store(tmp_path_factory.mktemp("store")) as store:
        yield store


def _add(engine: StoreEngine, first: int, end: int) -> None:
    engine(f"INSERT INTO numbers SELECT id FROM range({first}, {end}, 1, 2)")


def _create_numbers(engine: StoreEngine) -> None:
    engine("CREATE TABLE numbers (id BIGINT) USING json")
    _add(engine, 0, 1000)


def _idle(engine: StoreEngine, *jobs: str) -> None:
    for job in jobs:
        engine(f"WAIT FOR JOB {job} UNTIL IDLE TIMEOUT 120 SECONDS")


def _totals(engine: StoreEngine, table: str) -> list[int]:
    return engine(f"SELECT count(*), sum(n), sum(total) FROM {table}")[0]


def _expected(end: int) -> list[int]:
    return [10, end, end * (end - 1) // 2]


def test_every_kind_of_job(store: ObjectStore, tmp_path: Path) -> None:
    with StoreEngine(store, tmp_path / "kinds") as engine:
        _create_numbers(engine)
        engine(
            "CREATE TABLE plain (id BIGINT) USING parquet",
            f"CREATE TABLE parts (id BIGINT, part BIGINT) USING parquet PARTITIONED BY (part)"
            f" LOCATION 's3a://{store.bucket}/parts'",
            "CREATE TABLE digits (digit BIGINT, n BIGINT, total BIGINT) USING parquet",
            "CREATE TABLE later (digit BIGINT, n BIGINT, total BIGINT) USING parquet",
            f"CREATE JOB plain {_OFTEN} AS INSERT INTO plain SELECT id FROM STREAM numbers",
            f"CREATE JOB parts {_OFTEN} AS INSERT INTO parts SELECT id, id % 4 FROM STREAM numbers",
            f"CREATE JOB digits {_OFTEN} AS INSERT OVERWRITE digits {_TOTALS}",
        )
        _idle(engine, "plain", "parts", "digits")
        assert engine("SELECT count(*), count(DISTINCT id) FROM plain") == [[1000, 1000]]
        assert engine("SELECT part, count(*) FROM parts GROUP BY part ORDER BY part") == [[n, 250] for n in range(4)]
        assert _totals(engine, "digits") == _expected(1000)

        engine("SUSPEND JOB digits")
        _add(engine, 1000, 1100)
        engine("RESUME JOB digits")
        _idle(engine, "digits")
        assert _totals(engine, "digits") == _expected(1100)

        engine("CREATE SNAPSHOT friday FOR JOB digits", "DROP JOB digits")
        _add(engine, 1100, 1200)
        engine(
            "CREATE JOB later OPTIONS ('snapshotIntervalMillis' = '500', 'initialSnapshotName' = 'friday')"
            f" AS INSERT OVERWRITE later {_TOTALS}"
        )
        _idle(engine, "later")
        assert _totals(engine, "later") == _expected(1200)
        assert engine("SELECT count(*) FROM jetsql.state('later')") == [[10]]

        engine(f"CREATE OR REPLACE JOB later {_OFTEN} AS INSERT OVERWRITE later {_totals_of('WHERE id < 1250')}")
        _add(engine, 1200, 1300)
        _idle(engine, "later")
        assert _totals(engine, "later") == _expected(1250)

        assert SECRET_KEY not in str(engine("SET")) and SECRET_KEY not in str(engine("SHOW CREATE JOB later"))
    written = [file for file in (tmp_path / "kinds").rglob("*") if file.is_file() and file.name != "engine.token"]
    assert [file for file in written if SECRET_KEY.encode() in file.read_bytes()] == []


def test_a_killed_engine_writes_each_row_once(store: ObjectStore, tmp_path: Path) -> None:
    home = tmp_path / "killed"
    points = "file-moved:moved@2,manifest-written:listed@2,sink-written:written@2,table-moved:digits@2"
    jobs = ("moved", "listed", "written")
    with StoreEngine(store, home, points) as engine:
        _create_numbers(engine)
        for job in jobs:
            engine(
                f"CREATE TABLE {job} (id BIGINT, part BIGINT) USING parquet PARTITIONED BY (part)",
                f"CREATE JOB {job} {_OFTEN} AS INSERT INTO {job} SELECT id, id % 3 FROM STREAM numbers",
            )
        engine(
            "CREATE TABLE digits (digit BIGINT, n BIGINT, total BIGINT) USING parquet",
            f"CREATE JOB digits {_OFTEN} AS INSERT OVERWRITE digits {_TOTALS}",
        )
        engine.answer("INSERT INTO numbers SELECT id FROM range(1000, 1100)")
        engine.wait_for_death()
    with StoreEngine(store, home) as engine:
        _add(engine, 1100, 1200)
        _idle(engine, *jobs, "digits")
        for job in jobs:
            assert engine(f"SELECT count(*), count(DISTINCT id), sum(id) FROM {job}") == [[1200, 1200, 719400]], job
        assert _totals(engine, "digits") == _expected(1200)


def test_a_store_that_does_not_answer(store: ObjectStore, tmp_path: Path) -> None:
    with StoreEngine(store, tmp_path / "away") as engine:
        _create_numbers(engine)
        engine(
            "CREATE TABLE plain (id BIGINT) USING parquet",
            f"CREATE JOB plain {_OFTEN} AS INSERT INTO plain SELECT id FROM STREAM numbers",
        )
        _idle(engine, "plain")
        store.pause()
        try:
            error = engine.error("SELECT count(*) FROM numbers")  # Hadoop would wait for hours
        finally:
            store.go_on()
        assert error["condition"] == "JETSQL.EXTERNAL_SYSTEM_UNAVAILABLE", error
        _add(engine, 1000, 1100)
        _idle(engine, "plain")
        assert engine("SELECT count(*), count(DISTINCT id) FROM plain") == [[1100, 1100]]
