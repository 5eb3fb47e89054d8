"""A PySpark program with Delta that calls `jetsql.enable` on its own session.

    python -m tests.support.programs.lake_session FOLDER

It prints, as JSON, the rows that its jobs wrote.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import jetsql
from jetsql.engine.jvm.connectors import connector_versions
from jetsql.engine.jvm.spark_version import version_name
from tests.support.engines.spark_conf import CONF

_OPTIONS = "OPTIONS ('snapshotIntervalMillis' = '100')"


def delta_session(folder: Path, delta: str = "") -> SparkSession:
    """Return a session with Delta. delta: another version than that of engines"""
    uris = connector_versions()[f"delta.{version_name()}"].split()
    packages = [uri.removeprefix("ivy://").partition("?")[0] for uri in uris]
    if delta:
        packages = [f"{package.rpartition(':')[0]}:{delta}" for package in packages]
    builder = SparkSession.builder.master("local[2]")
    confs = {
        **CONF,
        "spark.jars.packages": ",".join(packages),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    for name, value in confs.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main(folder: Path) -> dict[str, Any]:
    """Return the rows of the tables, before and after a second call of `enable` on a new session."""
    spark = delta_session(folder)

    def rows(text: str) -> list[list[Any]]:
        return [list(row) for row in spark.sql(text).collect()]

    spark.sql("CREATE TABLE mine (id INT, name STRING) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)")
    spark.sql("INSERT INTO mine VALUES (1, 'a'), (2, 'b')")
    engine = jetsql.enable(spark, home=folder / "home")
    spark.sql("CREATE TABLE sums (name STRING, total BIGINT) USING delta TBLPROPERTIES ('key.columns' = 'name')")
    spark.sql(f"CREATE JOB sums {_OPTIONS} AS SINK INTO sums SELECT name, sum(id) FROM STREAM mine GROUP BY name")
    spark.sql("WAIT FOR JOB sums UNTIL IDLE")
    found: dict[str, Any] = {"first": rows("SELECT * FROM sums ORDER BY 1")}
    spark.sql("INSERT INTO mine VALUES (10, 'a')")
    spark.sql("OPTIMIZE mine")
    spark.sql("WAIT FOR JOB sums UNTIL IDLE")
    found["second"] = rows("SELECT * FROM sums ORDER BY 1")
    found["old"] = rows("SELECT * FROM sums VERSION AS OF 1 ORDER BY 1")
    found["changes"] = rows("SELECT id, _change_type FROM table_changes('mine', 0) ORDER BY 1")
    spark.sql("SUSPEND JOB sums")
    engine.close()
    found["without"] = rows("SELECT * FROM sums ORDER BY 1")
    jetsql.enable(spark, home=folder / "home")
    spark.sql("INSERT INTO mine VALUES (5, 'b')")
    spark.sql("RESUME JOB sums")
    spark.sql("WAIT FOR JOB sums UNTIL IDLE")
    found["third"] = rows("SELECT * FROM sums ORDER BY 1")
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))) + "\n")
