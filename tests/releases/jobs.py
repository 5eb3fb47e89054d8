"""The tables and jobs of the recorded homes. They must not change, because the recordings were made with them."""

from __future__ import annotations

from typing import Final

from tests.support.servers.postgres import PASSWORD, USER

_SOURCE: Final = "STREAM numbers WITH ('maxFilesPerTrigger' = '1')"
_FAST: Final = "OPTIONS ('snapshotIntervalMillis' = '100')"

TABLES: Final = """
CREATE TABLE numbers (id BIGINT, at TIMESTAMP) USING json LOCATION '{home}/numbers';
CREATE TABLE digits (digit BIGINT, n BIGINT, total BIGINT) USING parquet;
CREATE TABLE minutes (start TIMESTAMP, n BIGINT, total BIGINT) USING parquet;
CREATE TABLE parts (id BIGINT, digit BIGINT) USING parquet PARTITIONED BY (digit);
CREATE TABLE orders (id BIGINT) USING jdbc OPTIONS (driver 'org.postgresql.Driver', url '{url}', user '{user}',
  password '{password}', dbtable 'release.orders')
"""
SERVER_TABLES: Final = "CREATE SCHEMA release; CREATE TABLE release.orders (id bigint);"

JOBS: Final = {
    "digits": f"INSERT OVERWRITE digits SELECT id % 10, count(*), sum(id) FROM {_SOURCE} GROUP BY 1",
    "minutes": f"INSERT INTO minutes SELECT window.start, count(*), sum(id) FROM {_SOURCE}"
    " WATERMARK at DELAY OF INTERVAL 0 SECONDS GROUP BY window(at, '1 minute')",
    "parts": f"INSERT INTO parts SELECT id, id % 10 FROM {_SOURCE}",
    "orders": f"INSERT INTO orders SELECT id FROM {_SOURCE}",
}


def tables(home: str, url: str) -> list[str]:
    text = TABLES.format(home=home, url=url, user=USER, password=PASSWORD)
    return [statement.strip() for statement in text.split(";\n")]


def create(name: str) -> str:
    return f"CREATE JOB {name} {_FAST} AS {JOBS[name]}"
