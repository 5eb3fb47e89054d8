"""Create the tables that statements create together with their job."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import TimestampType

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.catalog import Catalog
from jetsql.errors import StatementError
from jetsql.jobs.model.job import quoted_name
from jetsql.language.statement import Body, TableIdentifier

_log = logging.getLogger(__name__)

_CATALOG: Final = "spark_catalog"
_EXTERNAL: Final = ("jdbc", "kafka")


def qualify(table: TableIdentifier, spark: SparkSession) -> str:
    """Return the qualified name of a table, which need not exist.

    Raises StatementError UNSUPPORTED_SINK at the name for a table of another catalogue.
    """
    parts = table.parts
    catalog = parts[0] if len(parts) == 3 else spark.catalog.currentCatalog()
    if len(parts) > 3 or catalog.lower() != _CATALOG:
        raise StatementError(
            "UNSUPPORTED_SINK",
            f"Jobs write tables of the catalogue {_CATALOG} only.",
            place=table.place,
            hint=f"Write {_CATALOG}.schema.table.",
        )
    schema = parts[-2] if len(parts) > 1 else spark.catalog.currentDatabase()
    return f"{_CATALOG}.{schema}.{parts[-1]}"


def is_empty(table: str, spark: SparkSession, catalog: Catalog) -> bool:
    """Return whether a table has no rows; the rows of external systems do not count."""
    facts = catalog.table(table)
    if facts is None or facts.provider in _EXTERNAL:
        return True
    _, schema, name = table.split(".", 2)
    return spark.sql(f"SELECT 1 FROM {_CATALOG}.{quoted_name(schema)}.{quoted_name(name)} LIMIT 1").isEmpty()


def time_columns(table: str, spark: SparkSession) -> list[str]:
    """Return the names of the TIMESTAMP columns of a table or view; none if it does not exist.

    table: its name in a statement of the session.
    """
    try:
        schema = spark.table(table).schema
    except PySparkException as error:
        _log.debug("The columns of %s cannot be read: %s", table, error)
        return []
    return [field.name for field in schema if isinstance(field.dataType, TimestampType)]


def create_table(body: Body, spark: SparkSession, properties: Mapping[str, str]) -> None:
    """Create the table of CREATE TABLE ... AS, without rows. Raises Spark's errors, with positions in the statement."""
    java(spark).sql.NewTable.create(spark._jsparkSession, body.spark_text, json.dumps(dict(properties)))
