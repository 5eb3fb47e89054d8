"""Run an engine with jobs into Delta or Iceberg tables, until it dies at its fail points or has finished.

    python -m tests.support.programs.lake_jobs FOLDER FORMAT

FOLDER has the source in `numbers` and the home in `engine`. JETSQL_CONFIG names the settings of the engine. FORMAT is
delta or iceberg. Without fail points, the program waits until all jobs have read everything, and prints the
rows of their tables as JSON.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Final

import jetsql
from jetsql import failpoints
from tests.support.tables.lake_tables import CATALOG

QUICK: Final = "'snapshotIntervalMillis' = '100'"
GROUPS: Final = "SELECT id % 10 AS digit, count(*) AS n, sum(id) AS total FROM STREAM numbers GROUP BY id % 10"
COLUMNS: Final = "(digit BIGINT, n BIGINT, total BIGINT)"
KEYS: Final = "TBLPROPERTIES ('key.columns' = 'digit')"
TABLES: Final = {
    "appended": "(id BIGINT, minute INT) USING {format} PARTITIONED BY (minute)",
    "replaced": f"{COLUMNS} USING {{format}}",
    "merged": f"{COLUMNS} USING {{format}} {KEYS}",
    "retracted": f"{COLUMNS} USING {{format}} {KEYS}",
    "split": "(id BIGINT) USING {format}",
}
JOBS: Final = {
    "appended": f"OPTIONS ({QUICK}) AS INSERT INTO {{table}} SELECT id, minute(at) FROM STREAM numbers",
    "replaced": f"OPTIONS ({QUICK}) AS INSERT OVERWRITE {{table}} {GROUPS}",
    "merged": f"OPTIONS ({QUICK}) AS SINK INTO {{table}} {GROUPS}",
    "retracted": f"OPTIONS ({QUICK}, 'outputMode' = 'complete') AS SINK INTO {{table}} {GROUPS} HAVING sum(id) % 3 > 0",
    "split": f"OPTIONS ({QUICK}) AS FROM (SELECT id, rand() AS r FROM STREAM numbers)"
    " INSERT INTO files SELECT id WHERE r < 0.5 INSERT INTO {table} SELECT id WHERE r >= 0.5"
    " INSERT INTO files SELECT id WHERE r IS NULL",
}


def main(folder: Path, table_format: str) -> None:
    prefix = "" if table_format == "delta" else f"{CATALOG}.db."
    with jetsql.open(home=folder / "engine") as engine:
        if prefix:
            engine.run(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.db")
        engine.run(
            f"CREATE TABLE IF NOT EXISTS numbers (id BIGINT, at TIMESTAMP) USING json LOCATION '{folder / 'numbers'}'"
        )
        engine.run("CREATE TABLE IF NOT EXISTS files (id BIGINT) USING parquet")
        for name, table in TABLES.items():
            engine.run(f"CREATE TABLE IF NOT EXISTS {prefix}{name} {table.format(format=table_format)}")
            job = JOBS[name].format(table=prefix + name)
            threading.Thread(target=engine.run, args=(f"CREATE JOB IF NOT EXISTS {name} {job}",), daemon=True).start()
        if failpoints.armed():
            threading.Event().wait()
        for name in JOBS:
            engine.run(f"CREATE JOB IF NOT EXISTS {name} {JOBS[name].format(table=prefix + name)}")
            engine.run(f"WAIT FOR JOB {name} UNTIL IDLE TIMEOUT 120")
        rows = {name: [list(row) for row in engine.run(f"SELECT * FROM {prefix}{name}").rows] for name in TABLES}
        rows["files"] = [list(row) for row in engine.run("SELECT * FROM files").rows]
        statuses = [list(row)[2] for row in engine.run("SHOW JOBS").rows]
        sys.stdout.write(json.dumps({"rows": rows, "statuses": statuses}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
