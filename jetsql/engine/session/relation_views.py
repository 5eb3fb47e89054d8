"""The schema `jetsql` of the session catalogue: an empty view for each relation, so that SHOW TABLES, DESCRIBE and all
other questions about names and columns are answered by Spark alone.

What a query reads in their place are the rows of the engine at that moment (`LiveTables.java`). In a Spark that knows
nothing of JetSQL and has the same catalogue, the relations are there and empty. Nothing that somebody else made is
changed: a table that has a relation's name stays, and is what the name stands for.
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
from jetsql.jobs.statements.system_tables import Relation

SCHEMA = "jetsql"
_log = logging.getLogger(__name__)


def install(spark: SparkSession, relations: Sequence[Relation]) -> None:
    """Show the relations in the catalogue and give them their rows. A catalogue that can't be written is told in the
    log: then queries work, and only SHOW TABLES does not list them."""
    taken: set[str] = set()
    try:
        taken = _place(spark, relations)
    except (PySparkException, Py4JError) as error:
        _log.warning("The schema %s could not be made in the catalogue: %s", SCHEMA, error)
    shown = {relation.name: ddl(relation.columns) for relation in relations if relation.name not in taken}
    java(spark).sql.LiveTables.show(json.dumps(shown))


def _place(spark: SparkSession, relations: Sequence[Relation]) -> set[str]:
    """Make what is missing or was made for other columns; the names that somebody else has taken."""
    answer = java(spark).sql.LiveTables.placeholders(
        spark._jsparkSession, json.dumps([relation.name for relation in relations])
    )
    found: dict[str, str] = {} if answer is None else json.loads(answer)
    if answer is None:
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS spark_catalog.{SCHEMA} COMMENT 'The jobs of JetSQL, as relations'")
    taken = {name for name, stamp in found.items() if not stamp}
    for relation in relations:
        if relation.name in taken:
            _log.warning(
                "There is a table %s.%s that JetSQL has not made. It is left as it is, and this relation of JetSQL is"
                " not there as long as it has the name.",
                SCHEMA,
                relation.name,
            )
        elif found.get(relation.name) != _stamp(relation):
            spark.sql(_placeholder(relation))
    return taken


def _stamp(relation: Relation) -> str:
    return sha256(f"{relation.comment} {ddl(relation.columns)}".encode()).hexdigest()[:16]


def _placeholder(relation: Relation) -> str:
    columns = ", ".join(f"`{column.name}` COMMENT {quoted_text(column.comment)}" for column in relation.columns)
    nothing = ", ".join(f"CAST(NULL AS {column.type}) AS `{column.name}`" for column in relation.columns)
    return (
        f"CREATE OR REPLACE VIEW spark_catalog.{SCHEMA}.{relation.name} ({columns})"
        f" COMMENT {quoted_text(relation.comment)} TBLPROPERTIES ('jetsql.columns' = '{_stamp(relation)}')"
        f" AS SELECT {nothing} WHERE false"
    )
