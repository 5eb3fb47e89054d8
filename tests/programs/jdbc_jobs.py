"""Starts an engine on a home folder with one job of each kind into a PostgreSQL server, and waits until all is in.

    python -m tests.programs.jdbc_jobs HOME URL

The source's files are made by the caller; the server's tables too. Armed with JETSQL_FAILPOINT it dies on the way.
"""

from __future__ import annotations

import sys

import jetsql
from tests.engine_confs import CONF
from tests.postgres import PASSWORD, USER

OPTIONS = "driver 'org.postgresql.Driver', url '{url}', user '{user}', password '{password}'"
STATEMENTS = """
CREATE TABLE IF NOT EXISTS numbers (id BIGINT, at TIMESTAMP) USING json LOCATION '{home}/numbers';
CREATE TABLE IF NOT EXISTS copy USING jdbc OPTIONS ({options}, dbtable 'crash.copy');
CREATE TABLE IF NOT EXISTS minutes USING jdbc OPTIONS ({options}, dbtable 'crash.minutes');
CREATE TABLE IF NOT EXISTS digits USING jdbc OPTIONS ({options}, dbtable 'crash.digits', 'key.columns' 'digit');
CREATE TABLE IF NOT EXISTS whole USING jdbc OPTIONS ({options}, dbtable 'crash.whole');
CREATE JOB IF NOT EXISTS copy OPTIONS ('snapshotIntervalMillis' = '100') AS
  INSERT INTO copy SELECT id FROM STREAM numbers WITH ('maxFilesPerTrigger' = '1');
CREATE JOB IF NOT EXISTS minutes OPTIONS ('snapshotIntervalMillis' = '100') AS
  INSERT INTO minutes SELECT window.start, count(*), sum(id)
  FROM STREAM numbers WITH ('maxFilesPerTrigger' = '1') WATERMARK at DELAY OF INTERVAL 0 SECONDS
  GROUP BY window(at, '1 minute');
CREATE JOB IF NOT EXISTS digits OPTIONS ('snapshotIntervalMillis' = '100') AS
  SINK INTO digits SELECT id % 10, count(*), sum(id)
  FROM STREAM numbers WITH ('maxFilesPerTrigger' = '1') GROUP BY 1;
CREATE JOB IF NOT EXISTS whole OPTIONS ('snapshotIntervalMillis' = '100') AS
  INSERT OVERWRITE whole SELECT count(*), sum(id) FROM STREAM numbers WITH ('maxFilesPerTrigger' = '1')
"""
JOBS = ("copy", "minutes", "digits", "whole")


def main(home: str, url: str) -> None:
    options = OPTIONS.format(url=url, user=USER, password=PASSWORD)
    with jetsql.open(home=home, master="local[2]", conf=CONF) as engine:
        for text in STATEMENTS.format(home=home, options=options).split(";\n"):
            engine.run(text.strip())
        for job in JOBS:
            engine.run(f"WAIT FOR JOB {job} UNTIL IDLE TIMEOUT 60")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
