"""The help of JetSQL's statements: a sentence and the syntax."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, get_args

from jetsql.errors import StatementError
from jetsql.language import parse
from jetsql.language.statement import Statement
from jetsql.language.statement_syntax import statement_title, syntax_text
from jetsql.language.tokens import Token


def _rule(kind: type[Statement]) -> str:
    """Return the rule of a statement in the grammar."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


SENTENCES: Final = {_rule(kind): " ".join((kind.__doc__ or "").split()) for kind in get_args(Statement)}
"""The sentences with which the reference describes the statements, by their rules in the grammar."""

_SAME: Final = {"MATERIALIZED": "STREAMING", "VIEW": "TABLE", "VIEWS": "TABLES", "DESC": "DESCRIBE"}
# The words that a statement begins with, where they are not those of its title.
_LEADS: Final = {"alter_job_options": ("ALTER", "JOB")}
_LEAD_WORDS: Final = 8


def statement_rule(text: str, found: Sequence[Token]) -> str | None:
    """Return the rule of a statement of JetSQL, which may be incomplete or wrong; None for another statement."""
    try:
        statement = parse(text)
    except StatementError:
        statement = None
    if statement is not None:
        return _rule(type(statement))
    words = [_SAME.get(token.word, token.word) for token in found[:_LEAD_WORDS]]
    matching = [(len(lead), rule) for rule in SENTENCES if _begins_with(words, lead := _lead(rule))]
    return max(matching)[1] if matching else None


def statement_help(rule: str, documentation: str) -> str:
    """Return the help of a statement, in Markdown. documentation: the URL of its site, or empty."""
    title = statement_title(rule)
    link = f"{documentation}/reference/statements/#{title.lower().replace(' ', '-')}" if documentation else ""
    parts = [f"**{title}**", SENTENCES[rule], f"```text\n{syntax_text(rule)}\n```"]
    return "\n\n".join([*parts, f"[Reference]({link})"] if link else parts)


def _lead(rule: str) -> tuple[str, ...]:
    return _LEADS.get(rule, tuple(statement_title(rule).split()))


def _begins_with(words: Sequence[str], lead: Sequence[str]) -> bool:
    """Return whether a statement has these words in this order, and begins with the first of them."""
    if not words or words[0] != lead[0]:
        return False
    rest = iter(words)
    return all(word in rest for word in lead)
