"""The schema `jetsql` of the session catalogue: an empty view for each relation of JetSQL.

With the views, Spark alone answers SHOW TABLES, DESCRIBE and all other questions about names and columns. A query on
a view reads the engine's rows of that moment instead (`LiveTables.java`). In a Spark without JetSQL and with the same
catalogue, the relations exist and are empty. JetSQL never changes an object that it has not made: a table with a
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
_log = logging.getLogger(__name__)


def install(spark: SparkSession, relations: Sequence[SystemTable]) -> None:
    """Create the views of the relations and give them their rows.

    When the catalogue cannot be written, log a warning: queries work, and only SHOW TABLES does not list the relations.
    """
    taken_names: set[str] = set()
    try:
        java(spark).sql.LiveTables.show("{}")  # those of an earlier engine are read-only
        taken_names = _create_views(spark, relations)
    except (PySparkException, Py4JError) as error:
        _log.warning("Cannot create the schema %s in the catalogue: %s", SCHEMA, error)
    shown = {relation.name: ddl(relation.columns) for relation in relations if relation.name not in taken_names}
    java(spark).sql.LiveTables.show(json.dumps(shown))


def _create_views(spark: SparkSession, relations: Sequence[SystemTable]) -> set[str]:
    """Create missing and outdated views. Return the names that objects of other owners have taken."""
    answer = java(spark).sql.LiveTables.placeholders(
        spark._jsparkSession, json.dumps([relation.name for relation in relations])
    )
    found: dict[str, str] = {} if answer is None else json.loads(answer)
    if answer is None:
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS spark_catalog.{SCHEMA} COMMENT 'The jobs of JetSQL, as relations'")
    taken_names = {name for name, fingerprint in found.items() if not fingerprint}
    for relation in relations:
        if relation.name in taken_names:
            _log.warning(
                "There is a table %s.%s that JetSQL has not made. It is left as it is, and this relation of JetSQL is"
                " not there as long as it has the name.",
                SCHEMA,
                relation.name,
            )
        elif found.get(relation.name) != _fingerprint(relation):
            spark.sql(_placeholder(relation))
    return taken_names


def _fingerprint(relation: SystemTable) -> str:
    return sha256(f"{relation.comment} {ddl(relation.columns)}".encode()).hexdigest()[:16]


def _placeholder(relation: SystemTable) -> str:
    columns = ", ".join(f"`{column.name}` COMMENT {quoted_text(column.comment)}" for column in relation.columns)
    nothing = ", ".join(f"CAST(NULL AS {column.type}) AS `{column.name}`" for column in relation.columns)
    return (
        f"CREATE OR REPLACE VIEW spark_catalog.{SCHEMA}.{relation.name} ({columns})"
        f" COMMENT {quoted_text(relation.comment)} TBLPROPERTIES ('jetsql.columns' = '{_fingerprint(relation)}')"
        f" AS SELECT {nothing} WHERE false"
    )
