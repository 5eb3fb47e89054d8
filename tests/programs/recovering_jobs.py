"""Starts an engine on a home folder with one job of each kind over the files that are there, and reports the tables.

    python -m tests.programs.recovering_jobs HOME

The source's files are made by the caller; ids go from 0 without gaps. Armed with JETSQL_FAILPOINT it dies on the way.
"""

from __future__ import annotations

import json
import sys

import jetsql
from jetsql.service.embedded import EmbeddedEngine
from tests.engine_confs import CONF

STATEMENTS = """
CREATE TABLE IF NOT EXISTS numbers (id BIGINT, at TIMESTAMP) USING json LOCATION '{home}/numbers';
CREATE TABLE IF NOT EXISTS copy (id BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS parts (id BIGINT, digit BIGINT) USING parquet PARTITIONED BY (digit);
CREATE TABLE IF NOT EXISTS minutes (start TIMESTAMP, n BIGINT, total BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS digits (digit BIGINT, n BIGINT, total BIGINT) USING parquet;
CREATE TABLE IF NOT EXISTS chained (id BIGINT) USING orc;
CREATE JOB IF NOT EXISTS copy OPTIONS ('snapshotIntervalMillis' = '100') AS
  INSERT INTO copy SELECT id FROM STREAM numbers WITH ('maxFilesPerTrigger' = '2');
CREATE JOB IF NOT EXISTS parts OPTIONS ('snapshotIntervalMillis' = '100') AS
  INSERT INTO parts SELECT id, id % 10 FROM STREAM numbers WITH ('maxFilesPerTrigger' = '2');
CREATE JOB IF NOT EXISTS minutes OPTIONS ('snapshotIntervalMillis' = '100') AS
  INSERT INTO minutes SELECT window.start, count(*), sum(id)
  FROM STREAM numbers WITH ('maxFilesPerTrigger' = '2') WATERMARK at DELAY OF INTERVAL 0 SECONDS
  GROUP BY window(at, '1 minute');
CREATE JOB IF NOT EXISTS digits OPTIONS ('snapshotIntervalMillis' = '100') AS
  INSERT OVERWRITE digits SELECT id % 10, count(*), sum(id)
  FROM STREAM numbers WITH ('maxFilesPerTrigger' = '2') GROUP BY 1;
CREATE JOB IF NOT EXISTS chained OPTIONS ('snapshotIntervalMillis' = '100') AS
  INSERT INTO chained SELECT id FROM STREAM copy
"""
JOBS = ("copy", "parts", "minutes", "digits", "chained")


def main(home: str) -> None:
    with jetsql.open(home=home, master="local[2]", conf=CONF) as engine:
        for text in STATEMENTS.format(home=home).split(";\n"):
            rows(engine, text.strip())
        for job in JOBS:
            rows(engine, f"WAIT FOR JOB {job} UNTIL IDLE TIMEOUT 60")
        found = {
            "copy": rows(engine, "SELECT id, count(*) FROM copy GROUP BY id ORDER BY id"),
            "parts": rows(engine, "SELECT id, count(*) FROM parts WHERE digit = id % 10 GROUP BY id ORDER BY id"),
            "chained": rows(engine, "SELECT id, count(*) FROM chained GROUP BY id ORDER BY id"),
            "minutes": rows(engine, "SELECT minute(start), n, total FROM minutes ORDER BY start"),
            "digits": rows(engine, "SELECT * FROM digits ORDER BY digit"),
        }
        sys.stdout.write(json.dumps(found))


def rows(engine: EmbeddedEngine, text: str) -> list[list[object]]:
    return [list(row) for row in engine.run(text).rows]


if __name__ == "__main__":
    main(sys.argv[1])
