"""Write a batch of one writer to a Delta or Iceberg table, as one of several engines, and print the outcome as JSON.

    python -m tests.support.programs.two_lake_writers HOME FORMAT VERB BATCH [SECONDS]

JETSQL_CONFIG names the settings of the engine. VERB is append, overwrite or merge. FORMAT is delta or iceberg. The
program prints READY when it can write, and waits for a line. With SECONDS, each task of the write sleeps for them, and
the program has checked the table before: it prints WRITING when the sleep begins, so that a test can stop it there.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import jetsql
from jetsql.engine.sinks.lake.table_commits import TableCommits, open_commits
from jetsql.jobs.model.body_analysis import SinkKind
from tests.support.tables.lake_tables import CATALOG

WRITER = "writer-1"
ROWS = 10


def write(commits: TableCommits, rows: Any, table: str, verb: str, batch: int) -> None:
    if verb == "append":
        commits.append(rows, batch)
    elif verb == "overwrite":
        commits.overwrite(rows, batch)
    else:
        rows.persist().createOrReplaceTempView("changes")
        merge = f"MERGE INTO {table} t USING changes s ON t.id = s.id"
        parts = "WHEN MATCHED THEN UPDATE SET n = t.n + s.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)"
        commits.run(rows.sparkSession, f"{merge} {parts}", batch)


def main(home: Path, table_format: str, verb: str, batch: int, seconds: float) -> None:
    is_delta = table_format == "delta"
    table = f"spark_catalog.lakes.{verb}" if is_delta else f"{CATALOG}.lakes.{verb}"
    with jetsql.open(home=home) as engine:
        spark = engine.spark.newSession()
        location = f" LOCATION '{home.parent / 'tables' / verb}'" if is_delta else ""
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {table.rpartition('.')[0]}")
        columns = "" if is_delta and (home.parent / "tables" / verb).exists() else "(id BIGINT, n BIGINT)"
        spark.sql(f"CREATE TABLE IF NOT EXISTS {table} {columns} USING {table_format}{location}")
        commits = open_commits(SinkKind(table_format), table, WRITER, noted=True)
        newest = commits.find_newest(spark)
        _report("READY")
        sys.stdin.readline()
        numbers = spark.sparkContext.parallelize(range(ROWS), 1)
        rows = spark.createDataFrame(numbers.map(lambda i: (i, _one(0.0 if i else seconds))), "id BIGINT, n BIGINT")
        if seconds:
            threading.Thread(target=_announce, args=(engine.spark,), daemon=True).start()
        try:
            write(commits, rows, table, verb, batch)
            outcome = "written"
        except Exception as error:  # the error of the second writer is what the test reads
            outcome = f"{type(error).__name__}: {error}"
        counted = [tuple(row) for row in spark.newSession().sql(f"SELECT count(*), sum(n) FROM {table}").collect()]
        _report(json.dumps({"newest": newest, "outcome": outcome, "counted": counted[0]}))


def _one(seconds: float) -> int:
    time.sleep(seconds)
    return 1


def _report(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _announce(spark: Any) -> None:
    """Print WRITING when a task has run for half a second, which only the sleeping one does."""
    tracker = spark.sparkContext.statusTracker()
    while True:
        stages = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
        if any(each is not None and each.numActiveTasks for each in stages):
            time.sleep(0.5)
            if set(tracker.getActiveStageIds()) & {each.stageId for each in stages if each is not None}:
                _report("WRITING")
                return
        time.sleep(0.02)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), float((sys.argv[5:] or ["0"])[0]))
