"""A PySpark program whose callback server runs before `jetsql.enable`: its answers to a stranger before and after.

    python -m tests.support.programs.used_callbacks HOME

It prints, as JSON, the answers, and the error of `enable` while a streaming query runs.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from pyspark.sql import SparkSession

import jetsql
from jetsql.errors import EngineError
from tests.support.engines.spark_conf import CONF
from tests.support.servers.ports import call_first_proxy, refuses_calls


def main(home: str) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.sql.warehouse.dir", f"{home}/warehouse")
    for key, value in {**CONF, "spark.ui.enabled": "false"}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    batches = threading.Semaphore(0)
    query = stream(spark, batches)
    batches.acquire()
    gateway: Any = spark.sparkContext._gateway
    report = {"before": call_first_proxy(gateway._callback_server.port).decode()}
    try:
        jetsql.enable(spark, home=home)
    except EngineError as error:
        report["refused"] = str(error)
    batches.acquire()  # the query continues
    query.stop()
    with jetsql.enable(spark, home=home):
        report["after"] = str(refuses_calls(gateway._callback_server.port))
        called = threading.Semaphore(0)
        again = stream(spark, called)
        report["called"] = str(called.acquire(timeout=60))
        again.stop()
        report["statement"] = spark.sql("SHOW JOBS").columns[0]
    spark.stop()
    sys.stdout.write(json.dumps(report))


def stream(spark: SparkSession, batches: threading.Semaphore) -> Any:
    rows = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
    return rows.writeStream.foreachBatch(lambda frame, number: batches.release()).start()


if __name__ == "__main__":
    main(sys.argv[1])
