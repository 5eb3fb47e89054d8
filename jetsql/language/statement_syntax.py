"""The syntax of statements as text, from the grammar: `SUSPEND JOB name`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import Final

from jetsql.language.grammar import MARKS, SLOTS, grammar_text

INLINED: Final = (
    *("_job", "_goal", "_kind", "or_replace", "or_refresh", "expectations", "expectation", "violations"),
    *("if_not_exists", "if_exists", "comment", "timeout", "option"),
    *("parameters", "parameter", "returns", "column", "columns", "_clause", "deterministic"),
    *("_rights", "object_rights", "_right", "engine_rights", "_engine_right", "_object", "named_object"),
    *("secret_source", "hosts", "_connection_type"),
    *("alert_condition", "alert_call", "_time_unit"),
    *("start_mode", "_whole_position", "_relative_position", "_given_position"),
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
    "NEW_USER": "name",
    "USER_NAME": "user",
    "NEW_ROLE": "name",
    "ROLE_NAME": "role",
    "GRANTEE_NAME": "grantee",
    "LIMIT_NAME": "limit",
    "TOKEN_ID": "'id'",
    "CATALOG_NAME": "name",
    "OBJECT_NAME": "name",
    "LOCATION_URL": "'url'",
    "NEW_SECRET": "name",
    "NEW_CONNECTION": "name",
    "VARIABLE_NAME": "'variable'",
    "HOST_URL": "'url'",
    "NEW_ALERT": "name",
    "ALERT_NAME": "name",
    "STATUS_NAME": "status",
    "RULE_NAME": "rule",
    "CALL_URL": "'url'",
    "COMMAND_NAME": "command",
    "FILE_NAME": "'file'",
    "NEW_TEST": "name",
    "CONDITION_TEXT": "'condition'",
    "NEW_EXPECTATION": "rule",
    "CONDITION": "condition",
    "VIOLATIONS_TABLE": "table",
    "START_VALUE": "literal",
    "TEST_QUERY": "query",
    "TEST_VALUE": "expression",
    "TEST_STATEMENT": "statement",
}
"""The words for the parts of a statement that the user fills in."""

_SAME: Final = {"MATERIALIZED": "STREAMING", "VIEW": "TABLE", "VIEWS": "TABLES", "DESC": "DESCRIBE"}
# The words that a statement begins with, where they are not those of its title.
_LEADS: Final = {
    "alter_job_options": ("ALTER", "JOB"),
    "alter_owner": ("ALTER", "OWNER"),
    "grant_rights": ("GRANT", "ON"),
    "grant_role": ("GRANT",),
    "revoke_rights": ("REVOKE", "ON"),
    "revoke_role": ("REVOKE",),
}
_LEAD_WORDS: Final = 8
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


def statement_rule(words: Sequence[str]) -> str | None:
    """Return the rule of a statement that begins with these words; None for another one, and for too few words."""
    same = [_SAME.get(word, word) for word in words[:_LEAD_WORDS]]
    matching = [
        (len(lead), same[: len(lead)] == list(lead), rule)
        for rule in statement_rules()
        if _begins_with(same, lead := _lead(rule))
    ]
    return max(matching)[-1] if matching else None


def rules_of_verb(verb: str) -> list[str]:
    """Return the rules of the statements that begin with a word."""
    return [rule for rule in statement_rules() if _lead(rule)[0] == verb]


def _lead(rule: str) -> tuple[str, ...]:
    return _LEADS.get(rule, tuple(statement_title(rule).split()))


def _begins_with(words: Sequence[str], lead: Sequence[str]) -> bool:
    """Return whether a statement has these words in this order, and begins with the first of them."""
    if not words or words[0] != lead[0]:
        return False
    rest = iter(words)
    return all(word in rest for word in lead)


@cache
def _rules() -> dict[str, str]:
    return {name: " ".join(text.split()) for name, text in _RULE.findall(grammar_text())}


def _expand(text: str) -> str:
    text = _DOTTED.sub(r"\1", _LIST.sub(r"\1 [, ...]", text))
    return re.sub(r"\b[A-Za-z_]+\b\*?", lambda match: _symbol(match.group()), text)


def _has_alternatives(text: str) -> bool:
    """Return whether a text has a bar outside of parentheses and brackets."""
    depths = accumulate((sign in "([") - (sign in ")]") for sign in text)
    return any(sign == "|" and depth == 0 for sign, depth in zip(text, depths, strict=True))


def _symbol(name: str) -> str:
    if name.endswith("*"):
        return f"[{_symbol(name[:-1])} ...]"
    if name in MARKS:
        return MARKS[name]
    if name in SLOTS:
        return SLOT_WORDS[name]
    if name in INLINED or name == "options":
        expanded = _expand(_rules()[name])
        return f"({expanded})" if _has_alternatives(expanded) else expanded
    if name in _rules():
        return name if name == "table" else _expand(_rules()[name])
    return name
