"""Compare a secret or a connection that a file declares with what the engine shows of it, without any value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from jetsql.jobs.model.job import name_key
from jetsql.jobs.model.redaction import redact_urls
from jetsql.language.objects.connection_statement import CreateConnection, CreateSecret
from jetsql.language.tokens import quoted_name
from jetsql.sqlfiles.apply.declarations import Declaration
from jetsql.sqlfiles.apply.engine_state import EngineSessions

_OPTION: Final = "option "  # before the name of an option in the rows of DESCRIBE CONNECTION


def find_differences(declaration: Declaration, sessions: EngineSessions) -> list[str] | None:
    """Return how a secret or a connection differs from its statement, as phrases; None if it does not exist.

    Raises StatementFailed, EngineError.
    """
    statement = declaration.checked.statement
    shown = "SHOW SECRETS" if isinstance(statement, CreateSecret) else "SHOW CONNECTIONS"
    rows = sessions.ask(declaration, shown) or []
    row = next((row for row in rows if (name_key(str(row["name"])),) == declaration.key), None)
    if row is None:
        return None
    if isinstance(statement, CreateSecret):
        return list(_of_secret(statement, row))
    assert isinstance(statement, CreateConnection)
    facts = sessions.ask(declaration, f"DESCRIBE CONNECTION {quoted_name(statement.name.text)}") or []
    options = {str(fact["key"]): str(fact["value"]) for fact in facts}
    return list(_of_connection(statement, row, options))


def _of_secret(statement: CreateSecret, row: Mapping[str, Any]) -> Iterator[str]:
    if row["source"] != f"{statement.source.kind.value} '{statement.source.name.text}'":
        yield "another source"
    if (row["hosts"] or "") != ", ".join(dict.fromkeys(host.text for host in statement.hosts)):
        yield "other hosts"
    if row["comment"] != statement.comment:
        yield "another comment"


def _of_connection(statement: CreateConnection, row: Mapping[str, Any], facts: Mapping[str, str]) -> Iterator[str]:
    if row["type"] != statement.type.value:
        yield "another type"
    declared = {option.key.lower(): redact_urls(option.value) for option in statement.options if option.value}
    existing = {key.removeprefix(_OPTION).lower(): value for key, value in facts.items() if key.startswith(_OPTION)}
    if existing != declared:
        yield "other options"
    if row["comment"] != statement.comment:
        yield "another comment"
