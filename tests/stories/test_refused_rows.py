"""An engine that is killed while it writes a batch with refused rows, and a database that takes them meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engines.service_engine import ServiceEngine
from tests.support.servers.postgres import DRIVER_PACKAGE, PASSWORD, USER, Postgres

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[ServiceEngine]:
    engine = ServiceEngine(
        tmp_path / "home", conf=f"spark.sql.shuffle.partitions=2 spark.jars.packages={DRIVER_PACKAGE}"
    )
    yield engine
    engine("stop")


@pytest.mark.parametrize(
    ("point", "is_decided"),
    [
        ("refused-batch-stored", False),
        ("refusals-decided", True),
        ("accepted-written", True),
        ("refused-written", True),
        ("sink-written", True),
    ],
)
def test_a_decision_stays_when_the_sink_would_take_the_row(
    engine: ServiceEngine, postgres: Postgres, tmp_path: Path, point: str, is_decided: bool
) -> None:
    name = f"decided_{point.replace('-', '_')}"
    postgres(f"CREATE TABLE {name} (id bigint CONSTRAINT small CHECK (id < 3))")
    options = f"url '{postgres.url}', dbtable '{name}', user '{USER}', password '{PASSWORD}'"
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "0.json").write_text("".join(f'{{"id": {number}}}\n' for number in range(5)))
    engine.set("JETSQL_FAILPOINT", point)
    engine("start")
    engine(
        "-e",
        f"CREATE TABLE src (id BIGINT) USING json LOCATION '{tmp_path / 'src'}';"
        f"CREATE TABLE t USING jdbc OPTIONS ({options}, driver 'org.postgresql.Driver');"
        "CREATE JOB j OPTIONS ('sink.on.error' = 'table:refused') AS INSERT INTO t SELECT id FROM STREAM src",
        code=3,  # the engine is killed
    )
    postgres(f"ALTER TABLE {name} DROP CONSTRAINT small")
    engine.set("JETSQL_FAILPOINT", "")
    engine("start")
    engine("-e", "WAIT FOR JOB j UNTIL IDLE TIMEOUT 120")
    written = [row[0] for row in postgres(f"SELECT id FROM {name} ORDER BY id")]
    kept = [row[0] for row in engine.rows("SELECT get_json_object(row, '$.id') AS id FROM refused ORDER BY id")]
    assert (written, kept) == (([0, 1, 2], ["3", "4"]) if is_decided else ([0, 1, 2, 3, 4], []))
