"""Write one batch of one job to a Delta table from two threads, and print the rows and the errors as JSON.

    python -m tests.support.programs.two_delta_writers HOME

JETSQL_CONFIG names the settings of the engine.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jetsql
from jetsql.engine.jvm.java_classes import java

WRITERS = 2


def main(home: Path) -> None:
    with jetsql.open(home=home) as engine:
        spark = engine.spark
        spark.sql("CREATE TABLE t (id BIGINT) USING delta")
        appends, parts = java(spark).lake.DeltaAppends, json.dumps(["spark_catalog", "default", "t"])

        def append(batch: int, since: int) -> str:
            session = spark.newSession()
            rows = session.range(10).repartition(1)
            try:
                return str(appends.append(session._jsparkSession, parts, "job", batch, since, rows._jdf))
            except Exception as error:  # the error of the second writer is what the test reads
                return f"{type(error).__name__}: {error}"

        def newest(since: int) -> dict[str, object]:
            return dict(json.loads(appends.newest(spark._jsparkSession, parts, "job", since)))

        before = newest(-1)
        with ThreadPoolExecutor(WRITERS) as pool:
            results = list(pool.map(lambda _: append(0, int(str(before["version"]))), range(WRITERS)))
        late = append(0, int(str(before["version"])))
        notes = [before, newest(-1), newest(int(str(before["version"])))]
        [count] = spark.sql("SELECT count(*) FROM t").collect()[0]
        sys.stdout.write(json.dumps({"rows": count, "results": results, "late": late, "notes": notes}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
