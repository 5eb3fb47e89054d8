"""The places of Spark SQL's keywords: after a word, an expression or a table in each clause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from jetsql.completion.query_scope import Clause, Position
from jetsql.language.statement_head import QUERY_WORDS

TYPES: Final = tuple(
    "STRING INT BIGINT DOUBLE DECIMAL BOOLEAN DATE TIMESTAMP TIMESTAMP_NTZ FLOAT SMALLINT TINYINT BINARY VARIANT"
    " ARRAY MAP STRUCT INTERVAL".split()
)

# The only keywords that make sense after these words.
FOLLOWERS: Final[Mapping[str, tuple[str, ...]]] = {
    "GROUP": ("BY",),
    "ORDER": ("BY",),
    "SORT": ("BY",),
    "CLUSTER": ("BY",),
    "DISTRIBUTE": ("BY",),
    "PARTITION": ("BY",),
    "INNER": ("JOIN",),
    "LEFT": ("JOIN", "OUTER JOIN", "SEMI JOIN", "ANTI JOIN"),
    "RIGHT": ("JOIN", "OUTER JOIN"),
    "FULL": ("JOIN", "OUTER JOIN"),
    "CROSS": ("JOIN",),
    "OUTER": ("JOIN",),
    "SEMI": ("JOIN",),
    "ANTI": ("JOIN",),
    "NATURAL": ("JOIN", "LEFT JOIN", "RIGHT JOIN"),
    "IS": ("NULL", "NOT NULL", "DISTINCT FROM", "NOT DISTINCT FROM", "TRUE", "FALSE"),
    "NULLS": ("FIRST", "LAST"),
    "INSERT": ("INTO", "OVERWRITE"),
    "SINK": ("INTO",),
    "AUTO": ("CDC INTO",),
    "CDC": ("INTO",),
    "MERGE": ("INTO",),
    "DELETE": ("FROM",),
    "MATCHED": ("THEN", "AND", "BY SOURCE", "BY TARGET"),
    "DELAY": ("OF INTERVAL",),
}

MERGE_FOLLOWERS: Final[Mapping[str, tuple[str, ...]]] = {
    "WHEN": ("MATCHED", "NOT MATCHED"),
    "THEN": ("UPDATE SET", "INSERT", "DELETE"),
}

MATCH_CLAUSES: Final = (
    "PARTITION BY", "ORDER BY", "MEASURES", "ONE ROW PER MATCH", "ALL ROWS PER MATCH", "AFTER MATCH SKIP", "PATTERN",
    "WITHIN INTERVAL", "SUBSET", "DEFINE",
)  # fmt: skip
MATCH_FOLLOWERS: Final[Mapping[str, tuple[str, ...]]] = {
    "AFTER": ("MATCH SKIP",),
    "SKIP": ("PAST LAST ROW", "TO NEXT ROW", "TO FIRST", "TO LAST"),
    "WITHIN": ("INTERVAL",),
}

# An expression is not complete after these: an operand must follow.
BEFORE_OPERAND: Final = frozenset(
    "SELECT DISTINCT ALL WHERE ON AND OR NOT HAVING QUALIFY BY WHEN THEN ELSE CASE BETWEEN LIKE ILIKE RLIKE REGEXP IN"
    " EXISTS LIMIT OFFSET SET VALUES DIV ESCAPE INTERVAL FILTER WATERMARK USING FROM MEASURES DEFINE".split()
)
OPERANDS: Final = ("CASE", "CAST", "NOT", "EXISTS", "NULL", "TRUE", "FALSE", "INTERVAL", "DATE", "TIMESTAMP")

AFTER_STAR: Final = ("FROM", "EXCEPT")

_OPERATORS: Final = ("AND", "OR", "IN", "IS", "LIKE", "BETWEEN", "NOT", "ILIKE", "RLIKE", "DIV")
_SET_OPERATIONS: Final = ("UNION", "UNION ALL", "INTERSECT", "EXCEPT")
_JOINS: Final = ("JOIN", "LEFT JOIN", "INNER JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "LEFT SEMI JOIN")
_JOINS_MORE: Final = ("LEFT ANTI JOIN", "LATERAL VIEW")
_LAST: Final = ("ORDER BY", "SORT BY", "LIMIT", "OFFSET", *_SET_OPERATIONS)
_AFTER_WHERE: Final = ("GROUP BY", "HAVING", "QUALIFY", "WINDOW", *_LAST)
_AFTER_TABLE: Final = (*_JOINS, *_JOINS_MORE, "WHERE", *_AFTER_WHERE)

_AFTER_EXPRESSION: Final[Mapping[Clause, tuple[str, ...]]] = {
    Clause.SELECT: ("FROM", "AS", *_OPERATORS, "OVER", "WHERE", *_SET_OPERATIONS),
    Clause.ON: (*_OPERATORS, *_AFTER_TABLE),
    Clause.USING: _AFTER_TABLE,
    Clause.LATERAL: ("AS", *_AFTER_TABLE),
    Clause.WHERE: (*_OPERATORS, *_AFTER_WHERE),
    Clause.GROUP: ("HAVING", *_LAST, "WITH ROLLUP", "WITH CUBE"),
    Clause.HAVING: (*_OPERATORS, *_LAST),
    Clause.ORDER: ("ASC", "DESC", "NULLS FIRST", "NULLS LAST", "LIMIT", "OFFSET"),
    Clause.LIMIT: ("OFFSET", *_SET_OPERATIONS),
    Clause.WINDOW: ("AS", *_LAST),
    Clause.VALUES: ("AS", *_LAST),
    Clause.SET: (*_OPERATORS, "WHERE", "WHEN MATCHED", "WHEN NOT MATCHED"),
    Clause.START: QUERY_WORDS,
}
_CHANGE_CLAUSES: Final = ("KEYS", "APPLY AS DELETE WHEN", "SEQUENCE BY", "COLUMNS", "STORED AS SCD TYPE")
_NESTED: Final = (*_OPERATORS, "AS", "PARTITION BY", "ORDER BY", "ASC", "DESC", "ROWS BETWEEN", "RANGE BETWEEN", "FROM")
_IN_CASE: Final = ("WHEN", "THEN", "ELSE", "END")


def after_operand(position: Position, statement: str, *, in_job: bool) -> tuple[str, ...]:
    """Return the keywords after a complete expression or table. statement: the first word of the statement."""
    cases = _IN_CASE if position.open_cases else ()
    if position.clause is Clause.MATCH:
        return (*cases, "AS", "ASC", "DESC", *MATCH_CLAUSES, *_OPERATORS)
    if position.is_nested:
        return (*cases, *_NESTED)
    match position.clause:
        case Clause.FROM | Clause.JOIN:
            conditions = ("ON", "USING") if position.lacks_condition else ()
            merging = ("WHEN MATCHED", "WHEN NOT MATCHED") if statement == "MERGE" else ()
            if statement == "AUTO":
                return (*_CHANGE_CLAUSES, "WATERMARK")
            return (*conditions, "AS", *merging, *_AFTER_TABLE, "TABLESAMPLE", "WATERMARK", "MATCH_RECOGNIZE")
        case Clause.TARGET:
            return _after_target(statement)
        case Clause.WITH:
            sink = ("SINK INTO",) if in_job else ()
            return ("AS", "SELECT", "INSERT INTO", "INSERT OVERWRITE", *sink)
        case Clause.ON if statement == "MERGE":
            return (*_OPERATORS, "WHEN MATCHED", "WHEN NOT MATCHED")
    return (*cases, *_AFTER_EXPRESSION.get(position.clause, ()))


def _after_target(statement: str) -> tuple[str, ...]:
    if statement == "UPDATE":
        return ("SET", "AS")
    if statement == "MERGE":
        return ("USING", "AS")
    if statement == "AUTO":
        return ("FROM",)
    return ("SELECT", "VALUES", "WITH", "BY NAME", "PARTITION", "TABLE", "FROM")
