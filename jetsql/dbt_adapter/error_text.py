"""The text of an error in dbt's output: condition, message, the line at fault with a caret, and the hint."""

from __future__ import annotations

import re
from typing import Final

from jetsql.client.dbapi import Error
from jetsql.output.diagnostics import Diagnostic, Script

# dbt puts a comment before each statement; the file in target/run does not have it.
_QUERY_COMMENT: Final = re.compile(r"\A\s*/\*.*?\*/[ \t]*\n?", re.DOTALL)


def describe_error(error: Error, statement: str = "") -> str:
    """Return the text of an error. statement: as it was sent; lines are counted as in the file that dbt has written."""
    offset = _offset(statement, error)
    if offset is None:
        return "\n".join(part for part in (f"[{error.condition}] {error.message}", error.hint) if part)
    comment = _QUERY_COMMENT.match(statement)
    start = 0 if comment is None or offset < comment.end() else comment.end()
    script = Script(f"line {statement.count(chr(10), start, offset) + 1}", statement[start:])
    diagnostic = Diagnostic(script, offset - start, error.condition, error.message, error.hint)
    _, _, text = diagnostic.render().partition(f"{script.name}:")
    return text.partition(": ")[2]


def _offset(statement: str, error: Error) -> int | None:
    """Return the offset of the error in the statement, or None if it has no place there."""
    if error.line is None or error.column is None:
        return None
    lines = statement.splitlines(keepends=True)
    if not 0 < error.line <= len(lines):
        return None
    return sum(map(len, lines[: error.line - 1])) + min(error.column - 1, len(lines[error.line - 1].rstrip("\n")))
