"""Call sqlglot's tokenizer, parser and generator. Every call of them in JetSQL is here.

For some texts, sqlglot ends with an error of Python instead of its own: `map('a')` with IndexError, `date_trunc()` with
ValueError. Here they become errors of sqlglot, so callers keep the text as for any other syntax that sqlglot does not
know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlglot import Token, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError


class SqlglotFailure(SqlglotError):
    """sqlglot ended with an error of Python, its cause."""


@contextmanager
def guarded() -> Iterator[None]:
    """Raise SqlglotFailure for whatever sqlglot raises, except for its own errors and RecursionError."""
    try:
        yield
    except (SqlglotError, RecursionError):
        raise
    except Exception as error:
        raise SqlglotFailure(f"sqlglot fails for it with {type(error).__name__}") from error


def tokenize(dialect: Dialect, text: str) -> list[Token]:
    """Return the tokens of a text. Raises SqlglotError."""
    with guarded():
        return list(dialect.tokenize(text))


def parse_tokens(dialect: Dialect, tokens: Sequence[Token], sql: str, **opts: Any) -> list[Any]:
    """Return the expressions of tokens. sql: their text. Raises SqlglotError or RecursionError."""
    with guarded():
        return list(dialect.parser(**opts).parse(list(tokens), sql))


def generate(dialect: Dialect, tree: exp.Expression, copy: bool = True, **opts: Any) -> str:
    """Return the SQL of an expression. Raises SqlglotError or RecursionError."""
    with guarded():
        return str(dialect.generate(tree, copy=copy, **opts))
