"""Compare a function in Python that a file declares with the row of `jetsql.functions` about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jetsql.jobs.model.job import quoted_text
from jetsql.jobs.model.redaction import redact_urls
from jetsql.language import statement as st
from jetsql.language.tokens import tokens
from jetsql.sqlfiles.apply.declarations import Declaration
from jetsql.sqlfiles.apply.engine_state import EngineSessions
from jetsql.sqlfiles.apply.table_definitions import canonical_type


def find_function(declaration: Declaration, sessions: EngineSessions) -> Mapping[str, Any] | None:
    """Return the row of a function, or None if it does not exist. Raises StatementFailed, EngineError."""
    schema = quoted_text(declaration.parts[-2]) if len(declaration.parts) > 1 else "current_schema()"
    name = quoted_text(declaration.parts[-1])
    where = f"lower(schema) = lower({schema}) AND lower(name) = lower({name})"
    rows = sessions.ask(declaration, f"SELECT * FROM jetsql.functions WHERE {where}")
    return rows[0] if rows else None


def differs_from(statement: st.CreateFunction, row: Mapping[str, Any]) -> list[str]:
    """Return how a statement differs from the function that exists, as phrases."""
    return list(_differences(statement, row))


def _differences(statement: st.CreateFunction, row: Mapping[str, Any]) -> Iterator[str]:
    returns = _columns(statement.returns) if statement.returns_table else statement.returns[0].type
    wanted_returns = f"TABLE ({returns})" if statement.returns_table else returns
    if _words(str(row["parameters"])) != _words(_columns(statement.parameters)):
        yield "other parameters"
    if _words(str(row["returns"])) != _words(wanted_returns):
        yield "another type"
    if str(row["source"]) != redact_urls(statement.source):
        yield "another source"
    if row["handler"] != statement.handler:
        yield "another handler"
    if row["parameter_style"] != (statement.style.value if statement.style is not None else None):
        yield "another parameter style"
    if bool(row["deterministic"]) != statement.deterministic:
        yield "another determinism"
    if row["comment"] != statement.comment:
        yield "another comment"


def _columns(columns: Sequence[st.ColumnText]) -> str:
    texts = []
    for column in columns:
        default = "" if column.default is None else f" DEFAULT {column.default}"
        texts.append(f"{column.name} {column.type}{default}")
    return ", ".join(texts)


def _words(text: str) -> str:
    return canonical_type(list(tokens(text)))
