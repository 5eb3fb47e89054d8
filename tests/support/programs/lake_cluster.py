"""A cluster of `jetsql master` and `jetsql join`, whose members write Delta tables; one member is killed.

    python -m tests.support.programs.lake_cluster FOLDER

It prints, as JSON, the rows of the tables by digit.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jetsql
from jetsql.jobs.model.job_settings import JobSettings
from jetsql.settings.engine_settings import Settings
from tools.cluster import cluster, wait_until

FILES = 40
ROWS = 50
"""The numbers in each file."""
_JOBS = ("kept", "totals")
_CONF = {
    "spark.executor.memory": "512m",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
}
_NUMBERS = "STREAM numbers WITH ('maxFilesPerTrigger' = '2')"
_SETUP = (
    "CREATE TABLE kept (value BIGINT, digit INT) USING delta",
    "CREATE TABLE totals (digit INT, numbers BIGINT, total BIGINT) USING delta TBLPROPERTIES ('key.columns' = 'digit')",
    "CREATE JOB kept OPTIONS ('snapshotIntervalMillis' = '200') AS"
    f" INSERT INTO kept SELECT value, CAST(value % 10 AS INT) FROM {_NUMBERS}",
    "CREATE JOB totals OPTIONS ('snapshotIntervalMillis' = '200') AS"
    f" SINK INTO totals SELECT CAST(value % 10 AS INT), count(*), sum(value) FROM {_NUMBERS}"
    " GROUP BY CAST(value % 10 AS INT)",
)


def main(folder: Path) -> dict[str, Any]:
    """Run the jobs on two members, kill one, and return the rows."""
    with cluster(folder) as spark:
        spark.join()
        spark.join()
        settings = Settings(
            home=folder / "engine",
            master=spark.url,
            spark_conf=_CONF,
            delta=True,
            cluster_secret_file=spark.secret_file,
            jobs=JobSettings(scale_up_delay_seconds=1.0),
        )
        with jetsql.open(settings=settings) as engine:

            def rows(text: str) -> list[list[Any]]:
                return [list(row) for row in engine.run(text).rows]

            members = "SELECT id FROM jetsql.members WHERE status = 'ACTIVE' AND NOT is_driver"
            wait_until(lambda: len(rows(members)) == 2, "the members did not join")
            add_files(folder / "numbers", range(FILES // 2))
            rows(f"CREATE TABLE numbers (value BIGINT) USING json LOCATION '{folder / 'numbers'}'")
            for text in _SETUP:
                rows(text)
            for job in _JOBS:
                rows(f"WAIT FOR JOB {job} UNTIL BATCH 2")
            add_files(folder / "numbers", range(FILES // 2, FILES))
            spark.kill(spark.members[0])
            for job in _JOBS:
                rows(f"WAIT FOR JOB {job} UNTIL IDLE")
            return {
                "kept": rows("SELECT digit, count(*), sum(value) FROM kept GROUP BY digit ORDER BY digit"),
                "distinct": rows("SELECT count(*), count(DISTINCT value) FROM kept"),
                "totals": rows("SELECT * FROM totals ORDER BY digit"),
                "active": len(rows(members)),
            }


def add_files(folder: Path, numbers: range) -> None:
    """Write files with `ROWS` numbers each."""
    folder.mkdir(exist_ok=True)
    for file in numbers:
        lines = (json.dumps({"value": value}) for value in range(file * ROWS, (file + 1) * ROWS))
        hidden = folder / f".{file}"
        hidden.write_text("\n".join(lines), encoding="utf-8")
        hidden.rename(folder / f"{file}.json")


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))) + "\n")
