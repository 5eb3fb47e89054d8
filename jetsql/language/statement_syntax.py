"""The syntax of statements as text, from the grammar: `SUSPEND JOB name`."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from jetsql.language.grammar import MARKS, SLOTS, grammar_text

INLINED: Final = (
    *("_job", "_goal", "_kind", "or_replace", "or_refresh"),
    *("if_not_exists", "if_exists", "comment", "timeout", "option"),
    *("parameters", "parameter", "returns", "column", "columns", "_clause", "deterministic"),
)
"""Rules that are shown where they are used: a reader wants to see a statement whole."""
SLOT_WORDS: Final = {
    "BODY": "INSERT statement",
    "TABLE_NAME": "name",
    "TABLE_CLAUSES": "clauses AS query",
    "JOB_ID": "'id'",
    "COMMENT_TEXT": "'text'",
    "OPTION_KEY": "'key'",
    "OPTION_VALUE": "'value'",
    "PATTERN_TEXT": "'pattern'",
    "NEW_JOB": "name",
    "JOB_NAME": "name",
    "NEW_SNAPSHOT": "snapshot",
    "SNAPSHOT_NAME": "snapshot",
    "WHOLE_NUMBER": "n",
    "NEW_FUNCTION": "name",
    "COLUMN_NAME": "name",
    "DATA_TYPE": "type",
    "DEFAULT_VALUE": "expression",
    "HANDLER_NAME": "'handler'",
    "SOURCE": "$$ Python $$",
    "FILE_NAME": "'file'",
    "NEW_TEST": "name",
    "CONDITION_TEXT": "'condition'",
    "TEST_QUERY": "query",
    "TEST_VALUE": "expression",
    "TEST_STATEMENT": "statement",
}
"""The words for the parts of a statement that the user fills in."""

_RULE: Final = re.compile(r"^(\w+): (.*(?:\n +\|.*)*)", re.MULTILINE)
_LIST: Final = re.compile(r"(\w+) \(COMMA \1\)\*")
_DOTTED: Final = re.compile(r"(\w+) \(DOT \1\)\*")
_SPACES: Final = re.compile(r"(?<=[(\[]) | (?=[)\]])")


def statement_title(rule: str) -> str:
    """Return the words of a statement as a heading has them: `CREATE JOB`."""
    return rule.replace("_", " ").upper().removesuffix(" OPTIONS")


@cache
def statement_rules() -> tuple[str, ...]:
    """Return the names of the statements' rules, in the order of the grammar."""
    return tuple(re.findall(r"\w+", _rules()["_statement"]))


@cache
def syntax_text(rule: str) -> str:
    """Return the syntax of a statement. Brackets enclose what is optional, and bars separate alternatives."""
    return _SPACES.sub("", " ".join(_expand(_rules()[rule]).split()))


@cache
def _rules() -> dict[str, str]:
    return {name: " ".join(text.split()) for name, text in _RULE.findall(grammar_text())}


def _expand(text: str) -> str:
    text = _DOTTED.sub(r"\1", _LIST.sub(r"\1 [, ...]", text))
    return re.sub(r"\b[A-Za-z_]+\b\*?", lambda match: _symbol(match.group()), text)


def _symbol(name: str) -> str:
    if name.endswith("*"):
        return f"[{_symbol(name[:-1])} ...]"
    if name in MARKS:
        return MARKS[name]
    if name in SLOTS:
        return SLOT_WORDS[name]
    if name in INLINED or name == "options":
        expanded = _expand(_rules()[name])
        return f"({expanded})" if " | " in expanded and not expanded.startswith("(") else expanded
    if name in _rules():
        return name if name == "table" else _expand(_rules()[name])
    return name
