"""Tables that gain columns while jobs read them, and engines that are killed meanwhile: each row is there once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engines.service_engine import ServiceEngine
from tests.support.servers.kafka import Kafka

pytestmark = [pytest.mark.spark, pytest.mark.slow]

_QUICK = "OPTIONS ('snapshotIntervalMillis' = '100')"
_JOBS = {
    "files": f"JOB files {_QUICK} AS INSERT INTO copied_files SELECT * FROM STREAM lines",
    "topic": f"JOB topic {_QUICK} AS INSERT INTO copied_messages SELECT * FROM STREAM messages",
    "counts": f"JOB counts {_QUICK} AS INSERT OVERWRITE counted"
    " SELECT word, count(*) FROM STREAM messages GROUP BY word",
}
_IDLE = "; ".join(f"WAIT FOR JOB {name} UNTIL IDLE TIMEOUT 120" for name in _JOBS)


class Sources:
    """The folder and the topic that the jobs read. Each row has a value of the column that the tables gain."""

    def __init__(self, folder: Path, kafka: Kafka) -> None:
        self.folder = folder
        self.kafka = kafka
        self.topic = kafka.topic(f"added.{folder.parent.name}", 2)
        self.rows = 0
        folder.mkdir()

    def add(self, number: int = 10) -> None:
        rows = [{"id": self.rows + n, "word": f"w{n % 2}", "added": self.rows + n} for n in range(number)]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (self.folder / f"{self.rows}.json.tmp").write_text(lines)
        (self.folder / f"{self.rows}.json.tmp").rename(self.folder / f"{self.rows}.json")
        self.kafka.send_json(self.topic, rows)
        self.rows += number


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[ServiceEngine]:
    engine = ServiceEngine(tmp_path / "home")
    yield engine
    engine("stop")


@pytest.mark.parametrize("point", ["staged", "file-moved"])
def test_each_row_is_there_once_through_deaths(engine: ServiceEngine, kafka: Kafka, tmp_path: Path, point: str) -> None:
    sources = Sources(tmp_path / "lines", kafka)
    sources.add()
    columns = "(id BIGINT, word STRING)"
    engine(
        "-e",
        f"CREATE TABLE lines {columns} USING json LOCATION '{sources.folder}';"
        f"CREATE TABLE messages {columns} {kafka.options(sources.topic, value_format='json')};"
        f"CREATE TABLE copied_files {columns} USING parquet; CREATE TABLE copied_messages {columns} USING parquet;"
        f"CREATE TABLE counted (word STRING, n BIGINT) USING parquet;"
        f"{'; '.join(f'CREATE {job}' for job in _JOBS.values())}; {_IDLE}",
    )
    engine("-e", "; ".join(f"ALTER TABLE {table} ADD COLUMN added INT" for table in ("lines", "messages")))
    sources.add()
    engine("-e", _IDLE)
    engine("stop")
    engine.set("JETSQL_FAILPOINT", point)
    engine("start")
    sources.add()
    engine("-e", _IDLE, code=3)  # the engine is killed
    engine.set("JETSQL_FAILPOINT", "")
    engine("start")
    sources.add()
    engine("-e", _IDLE)
    known = sources.rows
    engine("-e", "ALTER TABLE copied_files ADD COLUMN added INT; ALTER TABLE copied_messages ADD COLUMN added INT")
    engine("-e", "; ".join(f"CREATE OR REPLACE {job}" for job in _JOBS.values()))
    sources.add()
    engine("-e", _IDLE)

    expected = [[number, number if number >= known else None] for number in range(sources.rows)]
    for table in ("copied_files", "copied_messages"):
        assert engine.rows(f"SELECT id, added FROM {table} ORDER BY id") == expected
    assert engine.rows("SELECT * FROM counted ORDER BY word") == [[f"w{n}", sources.rows // 2] for n in range(2)]
