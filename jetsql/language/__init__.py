"""The language: text to statements, scripts to fragments, variables and completion. No Spark, nothing but text.

Importing it is cheap: the grammar is loaded and Lark imported at the first job statement or completion.
"""

from jetsql.language.bodies import find_function, find_name
from jetsql.language.expected_tokens import Expected, completions, expected_at
from jetsql.language.grammar import Slot
from jetsql.language.intent import STATEMENT_FILTER
from jetsql.language.parser import parse
from jetsql.language.scripts import Fragment, split
from jetsql.language.statement_at_cursor import AtCursor, at_cursor, is_open
from jetsql.language.variables import Substituted, is_variable_name, substitute

__all__ = [
    "STATEMENT_FILTER",
    "AtCursor",
    "Expected",
    "Fragment",
    "Slot",
    "Substituted",
    "at_cursor",
    "completions",
    "expected_at",
    "find_function",
    "find_name",
    "is_open",
    "is_variable_name",
    "parse",
    "split",
    "substitute",
]
