"""A Spark Connect client that waits for a job and prints the outcome."""

import os

from pyspark.sql.connect.session import SparkSession

address, token = os.environ["JETSQL_TEST_CONNECT"], os.environ["JETSQL_TEST_TOKEN"]
session = SparkSession.builder.remote(f"{address}/;token={token}").create()
# Otherwise it would retry to reach a stopped server for ten minutes.
session.client.set_retry_policies([])
session.sql("SELECT 1").collect()
print("waiting", flush=True)
try:
    session.sql("WAIT FOR JOB waits UNTIL BATCH 1000000").collect()
    print("came to its end", flush=True)
except Exception as error:
    print(f"ended: {type(error).__name__} {error}", flush=True)
os._exit(0)
