"""What Apache Superset has to know of `jetsql://`: how times are truncated in charts, and how statements are parsed.

Superset parses every statement before it sends it, and refuses what it can't. It has no hook for that but the table of
its dialects, to which ours is added when Superset loads this (entry point `superset.db_engine_specs`).
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


class JetSQLDialect(Spark):
    """Spark's SQL, in which a statement that begins with one of these words is passed on as it is."""

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
        """The rows; none where the statement has none, which a cursor refuses to fetch."""
        return super().fetch_data(cursor, limit) if cursor.description else []

    @classmethod
    def _extract_error_message(cls, ex: Exception) -> str:
        """The whole of it, with condition, place and what to do; Superset would take the message alone."""
        return str(ex)


SQLGLOT_DIALECTS["jetsql"] = JetSQLDialect
