"""Support for Apache Superset: the expressions with which charts truncate times, and a dialect for its parser.

Superset parses every statement with sqlglot before it sends the statement, and refuses statements that it cannot parse.
This module adds JetSQL's dialect to the table of Superset's dialects, because Superset takes the dialect of a database
only from there. Superset loads this module through the entry point `superset.db_engine_specs`.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from superset.constants import TimeGrain
from superset.db_engine_specs.base import BaseEngineSpec
from superset.sql.parse import SQLGLOT_DIALECTS

from jetsql.sqlglot_dialect import JetSQL

_UNITS: Final = ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")


class JetSQLEngineSpec(BaseEngineSpec):
    """The description of JetSQL for Superset."""

    engine = "jetsql"
    engine_name = "JetSQL"
    _time_grain_expressions: ClassVar[dict[Any, str]] = {
        None: "{col}",
        **{getattr(TimeGrain, unit): f"date_trunc('{unit}', {{col}})" for unit in _UNITS},
    }

    @classmethod
    def fetch_data(cls, cursor: Any, limit: int | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a query, and an empty list for another statement, for which a cursor would raise."""
        return super().fetch_data(cursor, limit) if cursor.description else []

    @classmethod
    def _extract_error_message(cls, ex: Exception) -> str:
        """Return the error with its condition, position and hint; by default, Superset shows only the message."""
        return str(ex)


SQLGLOT_DIALECTS["jetsql"] = JetSQL
