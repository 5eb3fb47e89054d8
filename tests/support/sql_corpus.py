"""Statements for tests of what reads SQL files: those of the grammar's corpus, and those of the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Final

from jetsql.errors import Span
from jetsql.language import split
from jetsql.language.statement import Body, CreateFunction, CreateJob, NewTable
from tests.support.paths import ROOT

_FENCE: Final = re.compile(r"```sql\n(.*?)```", re.DOTALL)
_TEXTS: Final = ("text", "spark_text", "clauses", "inserts", "verb", "branches", "changes")
"""The fields of bodies and tables that depend on the user's white space and spelling."""


def accepted_scripts() -> Iterator[str]:
    """Yield the scripts of the grammar's accepted statements."""
    for path in sorted((ROOT / "grammar" / "accepted").glob("*.sql")):
        yield path.read_text(encoding="utf-8")


def accepted_statements() -> list[str]:
    """Return the grammar's accepted statements."""
    return [fragment.text for script in accepted_scripts() for fragment in split(script, strict=True)]


def document_scripts() -> Iterator[str]:
    """Yield the scripts in the documentation and in the examples."""
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", *(ROOT / "examples").rglob("*.md")]
    for path in sorted(pages):
        yield from _FENCE.findall(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "examples").rglob("*.sql")):
        if path.parent.name != "models":  # templates of dbt
            yield path.read_text(encoding="utf-8")


def document_statements() -> list[str]:
    """Return the statements in the documentation and in the examples, JetSQL's and Spark's."""
    return [fragment.text for script in document_scripts() for fragment in split(script)]


def parts(value: Any) -> Any:
    """Return the parts of a statement without places, and without the texts of its body."""
    if isinstance(value, Span):
        return None
    if is_dataclass(value) and not isinstance(value, type):
        left_out = _TEXTS if isinstance(value, (Body, CreateJob, NewTable)) else ()
        named = {field.name: parts(getattr(value, field.name)) for field in fields(value) if field.name not in left_out}
        if isinstance(value, CreateFunction):
            named["source"] = value.source
        return type(value).__name__, named
    if isinstance(value, (list, tuple)):
        return [parts(each) for each in value]
    if isinstance(value, Enum):
        return value.name
    return value
