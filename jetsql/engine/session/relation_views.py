"""The schema `jetsql` of the session catalogue: an empty view for each relation of JetSQL.

With the views, Spark itself runs SHOW TABLES, DESCRIBE and everything else that needs only names and columns. A query
on a view reads the engine's current rows instead (`LiveTables.java`). In a Spark without JetSQL that has the same
catalogue, the relations exist and are empty. JetSQL never changes an object that it has not created: a table with a
relation's name stays and hides the relation.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from hashlib import sha256

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.extension import ddl
from jetsql.jobs.model.job import quoted_text
from jetsql.jobs.statements.system_tables import SystemTable

SCHEMA = "jetsql"
_STAMP = "jetsql.columns"
_log = logging.getLogger(__name__)


def install(spark: SparkSession, relations: Sequence[SystemTable]) -> None:
    """Create the views of the relations and connect them to the engine's rows.

    Log a warning when the catalogue cannot be written: queries work, and only SHOW TABLES does not list the relations.
    """
    taken_names: set[str] = set()
    names = json.dumps([relation.name for relation in relations])
    stamp = _hash(*map(_fingerprint, relations))
    try:
        java(spark).catalog.LiveTables.show("{}")  # those of an earlier engine are read-only
        if java(spark).catalog.LiveTables.stamp(spark._jsparkSession, names) != stamp:
            taken_names = _create_views(spark, relations, names)
            if not taken_names:
                spark.sql(f"ALTER SCHEMA spark_catalog.{SCHEMA} SET DBPROPERTIES ('{_STAMP}' = '{stamp}')")
    except (PySparkException, Py4JError) as error:
        _log.warning("Cannot create the schema %s in the catalogue: %s", SCHEMA, error)
    shown = {relation.name: ddl(relation.columns) for relation in relations if relation.name not in taken_names}
    java(spark).catalog.LiveTables.show(json.dumps(shown))


def _create_views(spark: SparkSession, relations: Sequence[SystemTable], names: str) -> set[str]:
    """Create missing views and replace outdated ones. Return the names that other objects have.

    names: those of the relations, as a JSON array.
    """
    placeholders = java(spark).catalog.LiveTables.placeholders(spark._jsparkSession, names)
    fingerprints: dict[str, str] = {} if placeholders is None else json.loads(placeholders)
    if placeholders is None:
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS spark_catalog.{SCHEMA} COMMENT 'The jobs of JetSQL, as relations'")
    taken_names = {name for name, fingerprint in fingerprints.items() if not fingerprint}
    for relation in relations:
        if relation.name in taken_names:
            _log.warning(
                "The relation %s.%s of JetSQL is not available: a table that JetSQL has not created has its name."
                " Rename or drop the table, and restart the engine.",
                SCHEMA,
                relation.name,
            )
        elif fingerprints.get(relation.name) != _fingerprint(relation):
            spark.sql(_placeholder(relation))
    return taken_names


def _fingerprint(relation: SystemTable) -> str:
    return _hash(relation.comment, ddl(relation.columns))


def _hash(*texts: str) -> str:
    return sha256(" ".join(texts).encode()).hexdigest()[:16]


def _placeholder(relation: SystemTable) -> str:
    columns = ", ".join(f"`{column.name}` COMMENT {quoted_text(column.comment)}" for column in relation.columns)
    nulls = ", ".join(f"CAST(NULL AS {column.type}) AS `{column.name}`" for column in relation.columns)
    return (
        f"CREATE OR REPLACE VIEW spark_catalog.{SCHEMA}.{relation.name} ({columns})"
        f" COMMENT {quoted_text(relation.comment)} TBLPROPERTIES ('{_STAMP}' = '{_fingerprint(relation)}')"
        f" AS SELECT {nulls} WHERE false"
    )
