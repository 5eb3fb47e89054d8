"""The language: text to statements, scripts to fragments, variables and completion. No Spark, nothing but text.

Importing it is cheap: the grammar is loaded and Lark imported at the first job statement.
"""

from jetsql.language.parser import parse

__all__ = ["parse"]
