"""Create the tables that statements create together with their job."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import TimestampType

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.catalog import Catalog
from jetsql.errors import StatementError
from jetsql.jobs.model.table_names import SESSION_CATALOG, join_table, quoted_table
from jetsql.jobs.planning.sink_traits import EXTERNAL_PROVIDERS
from jetsql.language.statement import Body, TableIdentifier
from jetsql.language.tokens import quoted_name

_log = logging.getLogger(__name__)


def qualify(table: TableIdentifier, spark: SparkSession) -> str:
    """Return the qualified name of a table, which need not exist.

    Raises StatementError UNSUPPORTED_SINK at the name for a catalogue that the engine does not have.
    """
    text = java(spark).catalog.TableNames.qualified(spark._jsparkSession, json.dumps(table.parts))
    catalog, *parts = json.loads(text)
    if catalog.lower() != SESSION_CATALOG:
        return join_table([catalog, *parts])
    if len(parts) != 2:
        raise StatementError(
            "UNSUPPORTED_SINK",
            f"There is no catalogue {table.parts[0]} for the table {table}, and the schemas of {SESSION_CATALOG} are"
            " not nested.",
            place=table.place,
            hint="Write schema.table, or the name of a catalogue in config.toml before it.",
        )
    return join_table([SESSION_CATALOG, *parts])


def has_namespace(name: Sequence[str], spark: SparkSession) -> bool:
    """Return whether there is a catalogue, or a schema with its catalogue before it."""
    if len(name) == 1:
        return bool(spark._jsparkSession.sessionState().catalogManager().isCatalogRegistered(name[0]))
    return spark.catalog.databaseExists(".".join(map(quoted_name, name)))


def has_function(name: Sequence[str], spark: SparkSession) -> bool:
    """Return whether the catalogue has a function, which is not one in Python. name: from the catalogue on"""
    return spark.catalog.functionExists(".".join(map(quoted_name, name)))


def is_empty(table: str, spark: SparkSession, catalog: Catalog) -> bool:
    """Return whether a table has no rows; the rows of external systems do not count."""
    facts = catalog.table(table)
    if facts is None or facts.provider in EXTERNAL_PROVIDERS:
        return True
    return spark.sql(f"SELECT 1 FROM {quoted_table(table)} LIMIT 1").isEmpty()


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
    java(spark).bodies.NewTable.create(spark._jsparkSession, body.spark_text, json.dumps(dict(properties)))
