"""A PySpark program with a Delta that is older than the one of engines, which calls `jetsql.enable` on its session.

    python -m tests.support.programs.older_delta_session FOLDER

It prints, as JSON, the error of a job with exactly-once writes, and the rows of a job with at-least-once writes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException

import jetsql
from tests.support.programs.lake_session import delta_session


def main(folder: Path) -> dict[str, Any]:
    """Return the error and the rows of the jobs."""
    spark = delta_session(folder, "4.2.0")
    spark.sql("CREATE TABLE mine (id INT, name STRING) USING delta")
    spark.sql("INSERT INTO mine VALUES (1, 'a'), (2, 'b')")
    spark.sql("CREATE TABLE copies (id INT, name STRING) USING delta")
    jetsql.enable(spark, home=folder / "home")
    found: dict[str, Any] = {}
    try:
        spark.sql("CREATE JOB exact AS INSERT INTO copies SELECT * FROM STREAM mine")
    except PySparkException as error:
        found["error"] = str(error)
    found["jobs"] = spark.sql("SHOW JOBS").count()
    options = "OPTIONS ('processingGuarantee' = 'atLeastOnce')"
    spark.sql(f"CREATE JOB repeated {options} AS INSERT INTO copies SELECT * FROM STREAM mine")
    spark.sql("WAIT FOR JOB repeated UNTIL IDLE")
    found["rows"] = [list(row) for row in spark.sql("SELECT * FROM copies ORDER BY id").collect()]
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))) + "\n")
