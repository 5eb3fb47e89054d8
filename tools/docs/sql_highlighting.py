"""The colours of SQL on the site: those of Pygments, and the keywords of Spark and JetSQL, which Pygments lacks.

It is an extension of Markdown, which `zensical.toml` names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pygments.lexers
from markdown import Markdown
from markdown.extensions import Extension
from pygments.lexers.sql import SqlLexer
from pygments.token import Keyword, Name, _TokenType

from jetsql.language.keywords import KEYWORDS

__all__ = ["SparkSqlLexer"]  # Pygments loads the lexers that a module names here

_ALIAS: Final = "sql"


class SparkSqlLexer(SqlLexer):  # type: ignore[misc]  # Pygments has no types
    """Mark keywords in capitals, as the pages write them; a column may be named `job`."""

    name = "Spark SQL"

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, _TokenType, str]]:
        for position, kind, value in super().get_tokens_unprocessed(text):
            yield position, Keyword if kind is Name and value in KEYWORDS else kind, value


class SqlHighlighting(Extension):  # type: ignore[misc]  # nor has Markdown
    """Let Pygments use the lexer for blocks with the language `sql`."""

    def extendMarkdown(self, md: Markdown) -> None:  # the name of Markdown's method
        pygments.lexers.LEXERS["SqlLexer"] = (__name__, SparkSqlLexer.name, (_ALIAS,), ("*.sql",), ("text/x-sql",))


def makeExtension(**settings: object) -> SqlHighlighting:  # the name that Markdown calls
    return SqlHighlighting(**settings)
