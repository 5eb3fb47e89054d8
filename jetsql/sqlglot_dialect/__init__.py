"""The dialect `jetsql` of sqlglot: Spark's dialect with the statements of JetSQL.

sqlglot finds the class through the entry point `sqlglot.dialects`, so `sqlglot.parse(text, read="jetsql")` works
wherever JetSQL or its client is installed. Scripts without a statement of JetSQL are parsed as by Spark's dialect.

In its compiled builds, sqlglot forbids subclasses of its parser, its generator and its expressions. So this package
replaces only the methods `parse` and `generate` of the dialect, and makes trees of sqlglot's own expressions. What
these lack is in further arguments (`expression.args`), which sqlglot copies and compares like its own.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import UnsupportedError

from jetsql.language.statement_head import CONTROL_VERBS
from jetsql.sqlglot_dialect.generate_sql import generate_sql
from jetsql.sqlglot_dialect.parse_script import parse_script
from jetsql.sqlglot_dialect.sqlglot_calls import SqlglotFailure, guarded

# Tools that use the parser of the dialect directly get a Command for these, as for Spark's own verbs.
_COMMANDS = CONTROL_VERBS


class JetSQL(Spark):
    """Spark's dialect, and the statements of JetSQL."""

    class Tokenizer(Spark.Tokenizer):
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **Spark.Tokenizer.KEYWORDS,
            **dict.fromkeys(_COMMANDS, TokenType.COMMAND),
        }

    def parse(self, sql: str, **opts: Any) -> list[Any]:
        """Return the expressions of the statements in `sql`.

        Raises ParseError for an error in a statement of JetSQL, with its place. The body of a job that sqlglot cannot
        parse is a Command with the text.
        """
        return parse_script(Spark(), sql, opts)

    def generate(self, expression: exp.Expression, copy: bool = True, **opts: Any) -> str:  # type: ignore[override]
        """Return the SQL of an expression. Raises UnsupportedError if a part is missing, or it is nested too deep."""
        try:
            with guarded():
                return generate_sql(Spark(), expression, copy, opts)
        except (SqlglotFailure, RecursionError) as error:
            cause = error.__cause__ or error
            raise UnsupportedError(
                f"Cannot generate SQL from a tree of {type(expression).__name__}: {type(cause).__name__}: {cause}"
            ) from cause


# Older versions of sqlglot make a subclass of the generator here, which leaves out CLUSTER, DISTRIBUTE and SORT BY.
JetSQL.parser_class, JetSQL.generator_class = Spark.parser_class, Spark.generator_class
