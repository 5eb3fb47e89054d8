"""The SQL of JetSQL: parse statements, split scripts, substitute variables and complete words. It does not use Spark.

The package is fast to import: Lark and the grammar are loaded at the first job statement or completion.
"""

from jetsql.language.body.name_in_body import find_function, find_name
from jetsql.language.expected_tokens import Expected, completions, expected_at
from jetsql.language.grammar import Slot
from jetsql.language.parser import parse
from jetsql.language.scripts import Fragment, split
from jetsql.language.statement_owner import STATEMENT_FILTER, can_be_jetsql
from jetsql.language.syntax_errors import missing_semicolon_hint
from jetsql.language.variables import Substituted, is_variable_name, substitute

__all__ = [
    "STATEMENT_FILTER",
    "Expected",
    "Fragment",
    "Slot",
    "Substituted",
    "can_be_jetsql",
    "completions",
    "expected_at",
    "find_function",
    "find_name",
    "is_variable_name",
    "missing_semicolon_hint",
    "parse",
    "split",
    "substitute",
]
