"""Online backup of the catalogue in the home, which Hive keeps in Derby inside Spark's process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from jetsql.engine.errors.run_failures import cause_of
from jetsql.errors import EngineError


def back_up_derby(spark: SparkSession, metastore: Path, folder: Path) -> None:
    """Copy a database of Derby into a folder, below its name, as of one moment; changes wait meanwhile.

    Raises EngineError BACKUP_FAILED.
    """
    # Hive opens the database with the first statement that needs a table; Derby has it open once in this process.
    spark.catalog.databaseExists("default")
    jvm: Any = spark.sparkContext._jvm
    try:
        connection = jvm.java.sql.DriverManager.getConnection(f"jdbc:derby:;databaseName={metastore}")
        try:
            call = connection.prepareCall("CALL SYSCS_UTIL.SYSCS_BACKUP_DATABASE(?)")
            call.setString(1, str(folder))
            call.execute()
            call.close()
        finally:
            connection.close()
    except Exception as error:  # errors of Py4J and Derby have no other common base class
        raise EngineError(
            "BACKUP_FAILED",
            f"Derby cannot copy the catalogue {metastore}: {cause_of(error).message}",
            hint="Try again.",
        ) from error
