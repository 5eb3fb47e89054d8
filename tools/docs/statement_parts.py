"""A statement in the reference: its diagram, and the examples that the parser's tests accept."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from jetsql.language import split
from jetsql.language.grammar import grammar_text
from jetsql.language.statement_syntax import statement_title

ROOT: Final = Path(__file__).parents[2]
_MOST_EXAMPLES: Final = 6
_KEYWORDS: Final = frozenset(re.findall(r"\b[A-Z]{2,}\b", grammar_text()))


def diagram_file(rule: str) -> str:
    """Return the path of a rule's diagram in the folder of the reference."""
    return f"diagrams/{rule}.svg"


def statement(rule: str) -> str:
    """Return diagram and examples of a statement."""
    return f"![Syntax diagram of {statement_title(rule)}]({diagram_file(rule)})\n\n```text\n{_examples(rule)}\n```"


def diagram_only(rule: str) -> str:
    return f"![Syntax diagram of {rule.replace('_', ' ')}]({diagram_file(rule)})"


def _examples(rule: str) -> str:
    """Return examples with the usual spelling of keywords; the others show what the lexer takes."""
    script = (ROOT / "grammar" / "accepted" / f"{rule}.sql").read_text(encoding="utf-8")
    texts = [fragment.text for fragment in split(script, strict=True)]
    usual = [text for text in texts if text.isascii() and _is_usual(text)]
    return "\n".join(f"{text};" for text in (usual or texts)[:_MOST_EXAMPLES])


def _is_usual(text: str) -> bool:
    """Return whether no keyword is a name, and none is in small letters: the corpus has those too."""
    words = re.findall(r"\w+", text)
    return not any(word.upper() in _KEYWORDS and not word.isupper() for word in words) and "/*" not in text
