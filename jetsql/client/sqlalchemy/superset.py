"""Support for Apache Superset: how charts truncate times, and how statements are parsed.

Superset parses every statement before sending it, and refuses what it cannot parse. Its only hook is the table of its
dialects, to which ours is added when Superset loads this module (entry point `superset.db_engine_specs`).
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from sqlglot.dialects import Spark
from sqlglot.tokens import TokenType
from superset.constants import TimeGrain
from superset.db_engine_specs.base import BaseEngineSpec
from superset.sql.parse import SQLGLOT_DIALECTS

_UNITS: Final = ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
_OUR_VERBS: Final = ("SUSPEND", "RESUME", "RESTART", "WAIT", "DESCRIBE", "DESC")


class JetSQLParserDialect(Spark):
    """Spark's SQL, where a statement that begins with one of JetSQL's verbs is passed on unchanged."""

    class Tokenizer(Spark.Tokenizer):
        KEYWORDS: ClassVar[dict[str, Any]] = {
            **Spark.Tokenizer.KEYWORDS,
            **dict.fromkeys(_OUR_VERBS, TokenType.COMMAND),
        }


class JetSQLEngineSpec(BaseEngineSpec):
    """Superset's description of the database."""

    engine = "jetsql"
    engine_name = "JetSQL"
    _time_grain_expressions: ClassVar[dict[Any, str]] = {
        None: "{col}",
        **{getattr(TimeGrain, unit): f"date_trunc('{unit}', {{col}})" for unit in _UNITS},
    }

    @classmethod
    def fetch_data(cls, cursor: Any, limit: int | None = None) -> list[tuple[Any, ...]]:
        """Return the rows, or none for a statement without rows, which a cursor refuses to fetch."""
        return super().fetch_data(cursor, limit) if cursor.description else []

    @classmethod
    def _extract_error_message(cls, ex: Exception) -> str:
        """Return the whole error with condition, place and hint; Superset would use the message alone."""
        return str(ex)


SQLGLOT_DIALECTS["jetsql"] = JetSQLParserDialect
