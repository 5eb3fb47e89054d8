"""A PySpark program that does not use JetSQL, run in one session before and after `jetsql.enable`.

    python -m tests.support.programs.plain_spark HOME

It prints, as JSON, the result of each statement before and after (rows, or the whole error), and other values that must
not change.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from typing import Any

from pyspark.sql import SparkSession

import jetsql
from tests.support.engines.spark_conf import CONF

STATEMENTS = (
    "SELECT 1 AS job",
    "SELECT job FROM VALUES (1) AS jobs(job)",
    "SHOW TABLES",
    "SHOW SCHEMAS LIKE 'd*'",
    "DESCRIBE job",
    "DESCRIBE EXTENDED jobs",
    "DESCRIBE job AS JSON",
    "SHOW CREATE TABLE jobs",
    "SHOW COLUMNS IN jobs",
    "SHOW TABELS",
    "SELECTED",
    "SELECT * FROM missing_job",
    "SELEC job",
    "EXPLAIN SELECT * FROM jobs",
    "EXPLAIN CREATE TABLE snapshots (a INT)",
    "SELECT * FROM jobs WHERE snapshot = 'CREATE JOB x AS'",
    "/* SHOW JOBS */ SELECT 'SUSPEND JOB j' AS text",
    "-- DROP JOB j\nSELECT 2",
    "CREATE OR REPLACE TEMPORARY VIEW snapshot AS SELECT 1 AS id",
    "SELECT * FROM snapshot",
    "DROP VIEW snapshot",
    "CREATE TABLE jobs_copy USING parquet AS SELECT * FROM jobs",
    "SELECT * FROM jobs_copy",
    "DROP TABLE jobs_copy",
    "SELECT * FROM mine",
    "SELECT plus_one(1)",
    "SET spark.sql.session.timeZone",
    "SELECT current_timezone(), current_database()",
    "BEGIN DECLARE job INT DEFAULT 1; SELECT job; END",
    "SELECT :snapshot",
    "SELECT * FROM STREAM jobs_stream",
    "CACHE TABLE jobs",
    "SELECT count(*) FROM jobs",
    "UNCACHE TABLE jobs",
    "SELECT * FROM global_temp.everywhere",
)

NO_DRIVER = "USING jdbc OPTIONS (url 'jdbc:mysql://localhost/shop', dbtable 't', driver 'com.mysql.cj.jdbc.Driver')"


def outcome(spark: SparkSession, text: str) -> Any:
    try:
        frame = spark.sql(text)
        if frame.isStreaming:
            return ["streaming", frame.schema.simpleString()]
        return [frame.schema.simpleString(), sorted(str(row) for row in frame.collect())]
    except Exception as error:  # what error it is, is what is compared
        return [type(error).__name__, str(error)]


def set_misspelled(spark: SparkSession) -> str:
    try:
        spark.conf.set("spark.sql.shuffle.partition", "3")
    except Exception as error:
        return str(error)
    return "accepted"


def stable(found: Any) -> Any:
    """Return a text without expression ids and addresses, which differ between calls."""
    return json.loads(re.sub(r"#\d+L?|@[0-9a-f]{6,}|plan_id=\d+", "#", json.dumps(found)))


def main(home: str) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.sql.warehouse.dir", f"{home}/warehouse")
    for key, value in {**CONF, "spark.ui.enabled": "false"}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sql("CREATE TABLE job (a INT) USING parquet")
    spark.sql("CREATE TABLE jobs (id INT, snapshot STRING) USING parquet")
    spark.sql("INSERT INTO jobs VALUES (1, 'x'), (2, 'y')")
    spark.sql("CREATE TABLE jobs_stream USING rate")
    spark.sql("CREATE TABLE secretive (a INT) USING parquet OPTIONS ('their.own' = 'hush', 'jaas' = 'hush')")
    spark.conf.set("spark.sql.redaction.options.regex", "own")
    spark.createDataFrame([(1,)], "v int").createOrReplaceTempView("mine")
    spark.createDataFrame([(1,)], "v int").createGlobalTempView("everywhere")
    spark.udf.register("plus_one", lambda v: v + 1, "int")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    query = spark.readStream.format("rate").load().writeStream.format("noop").queryName("theirs").start()
    before = {text: stable(outcome(spark, text)) for text in STATEMENTS}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        engine = jetsql.enable(spark, home=home)
    after = {text: stable(outcome(spark, text)) for text in STATEMENTS}
    spark.conf.set("spark.sql.session.timeZone", "Europe/Paris")
    spark.sql("CREATE TABLE sink (id INT, snapshot STRING) USING parquet")
    created = spark.sql("CREATE JOB copy AS INSERT INTO sink SELECT * FROM STREAM jobs").collect()
    other = spark.newSession()
    report = {
        "before": before,
        "after": after,
        "warnings": [str(warning.message) for warning in caught if "session" in str(warning.message)],
        "zone": spark.sql("SELECT current_timezone()").collect()[0][0],
        "queries": [q.name for q in spark.streams.active],
        "created": [list(map(str, row)) for row in created],
        "listed": [row.asDict()["name"] for row in other.sql("SHOW JOBS").collect()],
        "filtered": spark.sql("SHOW JOBS").where("status = 'RUNNING'").select("name").count(),
        "secrets": [str(each.sql("SHOW CREATE TABLE secretive").collect()).count("hush") for each in (spark, other)],
        "relations": [row.viewName for row in spark.sql("SHOW VIEWS IN jetsql").collect()],
        "relation": [tuple(row) for row in spark.sql("SELECT name, status FROM jetsql.jobs").collect()],
        "rows": other.sql("SELECT count(*) FROM sink").collect()[0][0],
        "same": jetsql.enable(spark, home=home) is engine,
        "error": outcome(spark, "SUSPEND JOB missing"),
        "near miss": outcome(spark, "SUSPEND\n JOBS copy"),
        "misspelled": set_misspelled(spark),
        "no driver": outcome(spark, f"CREATE TABLE shop {NO_DRIVER}"),
        "insert": outcome(spark, "INSERT INTO sink SELECT * FROM STREAM jobs"),
    }
    query.stop()
    engine.close()
    report["closed"] = outcome(spark, "SHOW JOBS")
    report["closed relation"] = outcome(spark, "SELECT * FROM jetsql.jobs")
    again = jetsql.enable(spark, home=home)
    spark.stop()
    report["stopped"] = again.closed
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1])
