"""The help of JetSQL's statements: a sentence and the syntax."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, get_args

from jetsql.errors import StatementError
from jetsql.language import parse
from jetsql.language.statement import Statement
from jetsql.language.statement_syntax import statement_rule, statement_title, syntax_text
from jetsql.language.tokens import Token


def _rule(kind: type[Statement]) -> str:
    """Return the rule of a statement in the grammar."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


SENTENCES: Final = {_rule(kind): " ".join((kind.__doc__ or "").split()) for kind in get_args(Statement)}
"""The sentences with which the reference describes the statements, by their rules in the grammar."""


def rule_of_text(text: str, found: Sequence[Token]) -> str | None:
    """Return the rule of a statement of JetSQL, which may be incomplete or wrong; None for another statement."""
    try:
        statement = parse(text)
    except StatementError:
        statement = None
    if statement is not None:
        return _rule(type(statement))
    return statement_rule([token.word for token in found])


def statement_help(rule: str, documentation: str) -> str:
    """Return the help of a statement, in Markdown. documentation: the URL of its site, or empty."""
    title = statement_title(rule)
    link = f"{documentation}/reference/statements/#{title.lower().replace(' ', '-')}" if documentation else ""
    parts = [f"**{title}**", SENTENCES[rule], f"```text\n{syntax_text(rule)}\n```"]
    return "\n\n".join([*parts, f"[Reference]({link})"] if link else parts)
