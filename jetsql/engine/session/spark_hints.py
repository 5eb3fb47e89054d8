"""Hints for Spark's errors that have none: misspelled names, functions of other systems, a missing semicolon.

Spark suggests columns, but no tables and schemas. A hint is a note of the exception (PEP 678), which reports show.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jetsql.engine.jvm.spark_version import newer_clause_hint
from jetsql.engine.session.relation_views import SCHEMA
from jetsql.engine.session.spark_statements import find_position
from jetsql.jobs.model.job import name_key
from jetsql.jobs.model.table_names import SESSION_CATALOG
from jetsql.language import missing_semicolon_hint
from jetsql.language.foreign_words import SPARK_FUNCTIONS, foreign_statement_hint
from jetsql.language.tokens import quoted_name, tokens, unquote, written_name

_LOG = logging.getLogger(__name__)
_CATALOGS: Final = "spark.sql.catalog."


@contextmanager
def hints_for(session: Callable[[], SparkSession], text: str) -> Iterator[None]:
    """Add a hint to an error of Spark that the block raises.

    session: returns the session in which the block runs the statement; called after an error. text: the statement.
    """
    try:
        yield
    except PySparkException as error:
        try:
            hint = _find_hint(session(), error, text)
        except (PySparkException, Py4JError):
            _LOG.info("No hint was found for an error of a statement", exc_info=True)  # the error itself is raised
        else:
            if hint:
                error.add_note(hint)
        raise


def _find_hint(spark: SparkSession, error: PySparkException, text: str) -> str:
    parameters = error.getMessageParameters() or {}
    match error.getCondition():
        case "PARSE_SYNTAX_ERROR":
            found = list(tokens(text))
            if hint := newer_clause_hint(token.text for token in found) or foreign_statement_hint(found):
                return hint
            line, column = find_position(error, text)
            if line is None or column is None:
                return ""
            offset = sum(len(each) + 1 for each in text.split("\n")[: line - 1]) + column - 1
            return missing_semicolon_hint(text, offset, lambda part: _is_statement(spark, part))
        case "TABLE_OR_VIEW_NOT_FOUND":
            return _suggest_table(spark, _name_parts(parameters.get("relationName", "")))
        case "REQUIRES_SINGLE_PART_NAMESPACE":
            name = parameters.get("identifier") or parameters.get("namespace", "")
            return _suggest_catalog(spark, _name_parts(name))
        case "SCHEMA_NOT_FOUND":
            return _suggest_schema(spark, _name_parts(parameters.get("schemaName", "")))
        case "UNBOUND_SQL_PARAMETER":
            return "Scripts, the shell and notebooks have variables instead: ${name}."
        case "UNSUPPORTED_TIME_TYPE":
            return "Spark has the type TIME only after SET spark.sql.timeType.enabled = true."
        case "UNRESOLVED_ROUTINE":
            example = SPARK_FUNCTIONS.get(_name_parts(parameters.get("routineName", ""))[-1].upper())
            return f"In Spark, write {example}." if example else ""
        case "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS":
            return f"The columns of the table: {', '.join(spark.table(parameters['tableName']).columns)}."
    return ""


def _suggest_table(spark: SparkSession, parts: list[str]) -> str:
    """Return the hint at a table with a similar name, or at a schema if the table's schema does not exist."""
    *schema, name = parts
    if len(schema) > 1 and (hint := _suggest_catalog(spark, parts)):
        return hint
    if schema and not _schema_exists(spark, schema):
        found = _closest(schema[-1], _list_schemas(spark, schema[:-1]))
        return _did_you_mean([*schema[:-1], found, name] if found else [])
    found = _closest(name, _list_tables(spark, schema))
    if found is None and not schema and name.lower() in _list_tables(spark, [SCHEMA]):
        return _did_you_mean([SCHEMA, name.lower()])
    return _did_you_mean([*schema, found] if found else [])


def _suggest_catalog(spark: SparkSession, parts: list[str]) -> str:
    """Return the hint at a catalogue with a similar name, or at the settings; empty if the catalogue exists."""
    keys = (key.split(".") for key in spark.conf.getAll if key.startswith(_CATALOGS))
    catalogs = {SESSION_CATALOG, *(key[3] for key in keys if len(key) == 4)}
    if not parts or name_key(parts[0]) in map(name_key, catalogs) or _schema_exists(spark, parts[:1]):
        return ""
    found = _closest(parts[0], catalogs)
    if found is not None:
        return _did_you_mean([found, *parts[1:]])
    return f"The engine has no catalogue {parts[0]}: add [catalogs.{parts[0]}] to config.toml, and start it again."


def _suggest_schema(spark: SparkSession, parts: list[str]) -> str:
    found = _closest(parts[-1], _list_schemas(spark, parts[:-1]))
    return _did_you_mean([found] if found else [])


def _schema_exists(spark: SparkSession, schema: list[str]) -> bool:
    return spark.catalog.databaseExists(_quote(schema))


def _list_tables(spark: SparkSession, schema: list[str]) -> list[str]:
    """Return the names of tables and views in a schema; in the current one, with temporary views, if it is empty."""
    return [row.tableName for row in spark.sql(f"SHOW TABLES {f'IN {_quote(schema)}' if schema else ''}").collect()]


def _list_schemas(spark: SparkSession, catalog: list[str]) -> list[str]:
    return [row.namespace for row in spark.sql(f"SHOW SCHEMAS {f'IN {_quote(catalog)}' if catalog else ''}").collect()]


def _closest(name: str, names: Iterable[str]) -> str | None:
    by_key = {name_key(each): each for each in names}
    close = get_close_matches(name_key(name), by_key, n=1)
    return by_key[close[0]] if close else None


def _did_you_mean(parts: list[str]) -> str:
    return f"Did you mean {'.'.join(map(written_name, parts))}?" if parts else ""


def _name_parts(name: str) -> list[str]:
    """Return the parts of a name as Spark writes it in errors: in back quotes."""
    return [unquote(token.text) for token in tokens(name) if token.text != "."]


def _quote(parts: list[str]) -> str:
    return ".".join(map(quoted_name, parts))


def _is_statement(spark: SparkSession, text: str) -> bool:
    try:
        spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
    except (PySparkException, Py4JError):
        return False
    return True
