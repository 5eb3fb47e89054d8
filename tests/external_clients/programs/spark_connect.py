"""PySpark's Spark Connect client, without Java."""

import os
import threading

from pyspark.sql.connect.session import SparkSession
from story import Story, run_step

address = os.environ["JETSQL_TEST_CONNECT"]
token = os.environ["JETSQL_TEST_TOKEN"]
session = SparkSession.builder.remote(f"{address}/;token={token}").create()
last = []


def run(text):
    frame = session.sql(text)
    last[:] = frame.columns
    return [tuple(row) for row in frame.collect()]


def explain(error):
    return f"{type(error).__name__} {error.getCondition()} {error.getSqlState()} {error}"


def frame():
    found = session.table("jetsql.jobs").toPandas()
    assert list(found.columns)[:2] == ["id", "name"], found
    return ""


def parameters():
    """Bind parameters by name and by position, in statements of Spark and of JetSQL."""
    assert session.sql("SELECT :x AS x", args={"x": 5}).collect() == [(5,)]
    assert session.sql("SELECT ?, ?", args=[5, "a"]).collect() == [(5, "a")]
    assert session.sql("SHOW JOBS LIKE :name", args={"name": "no such job"}).collect() == []
    try:
        session.sql("SELECT ?", args=[5, 6]).collect()
    except Exception as error:
        assert "PARAMETER_NOT_READABLE" in str(error), error
        return ""
    raise AssertionError("a value without a marker was ignored")


def cancel():
    """Cancel a statement that waits, while another session works."""
    errors = []

    def wait():
        try:
            run(f"WAIT FOR JOB {story.job} UNTIL BATCH 1000000")
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    other = SparkSession.builder.remote(f"{address}/;token={token}").create()
    while not session.interruptAll():
        other.sql("SHOW JOBS").collect()
    other.stop()
    thread.join(20)
    assert errors, "it was not broken off"
    return ""


def isolation():
    session.sql("SET spark.sql.session.timeZone = Asia/Tokyo")
    session.sql("CREATE TEMPORARY VIEW mine AS SELECT 1")
    other = SparkSession.builder.remote(f"{address}/;token={token}").create()
    assert not other.catalog.tableExists("mine")
    assert other.conf.get("spark.sql.session.timeZone") != "Asia/Tokyo"
    other.stop()
    return ""


def wrong_token():
    try:
        SparkSession.builder.remote(f"{address}/;token=wrong").create().sql("SELECT 1").collect()
    except Exception as error:
        assert "UNAUTHENTICATED" in str(error), error
        return ""
    raise AssertionError("came in with a wrong token")


def stream():
    """Return a streaming DataFrame for a SELECT over a stream, as Spark does: programs call `writeStream` on it."""
    assert session.sql(f"SELECT id FROM STREAM {story.schema}.orders LIMIT 1").isStreaming
    return ""


story = Story(run, explain, lambda: last, more=(cancel, isolation, stream))
story.run_all()
run_step("pandas", frame)
run_step("parameters", parameters)
run_step("wrong token", wrong_token)
session.stop()
