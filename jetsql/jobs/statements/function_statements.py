"""CREATE FUNCTION and DROP FUNCTION for functions in Python, and the relation `jetsql.functions`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from jetsql.errors import ErrorPlace, StatementError
from jetsql.jobs.access.access_records import Right, Securable, SecurableKind
from jetsql.jobs.access.access_state import without_case
from jetsql.jobs.lifecycle.runtime import UserSession
from jetsql.jobs.lifecycle.step_context import join_sentences
from jetsql.jobs.manager.function_registry import already_exists
from jetsql.jobs.model.function import Function, schema_not_found
from jetsql.jobs.model.redaction import redact_urls
from jetsql.jobs.model.table_names import SESSION_CATALOG
from jetsql.jobs.statements.lookup import shown_owner
from jetsql.language.statement import CreateFunction
from jetsql.output.counts import counted
from jetsql.resultset import Column, Table, Value

if TYPE_CHECKING:
    from jetsql.jobs.manager.job_manager import Manager

_WHAT: Final = "CREATE FUNCTION"
RESULT_COLUMNS: Final = (Column("name"), Column("message"))
FUNCTION_COLUMNS: Final = (
    Column("schema", comment="the schema that it belongs to"),
    Column("name", comment="its name"),
    Column("type", comment="SCALAR or TABLE"),
    Column("parameters", comment="its parameters, as in CREATE FUNCTION"),
    Column("returns", comment="its type, or the columns of a table function"),
    Column("language", comment="PYTHON"),
    Column("handler", comment="the function or class in the source; NULL when the source is the body"),
    Column("parameter_style", comment="PANDAS or ARROW; NULL for a call for each row"),
    Column("deterministic", "boolean", "whether it returns the same value for the same arguments"),
    Column("comment", comment="its comment"),
    Column("owner", comment="the user of the engine that created it"),
    Column("created", "timestamp", "when it was created or last replaced"),
    Column("source", comment="its Python source"),
)


def create_function(manager: Manager, statement: CreateFunction, session: UserSession) -> Table:
    """Create or replace a function.

    Raises StatementError INVALID_FUNCTION, FUNCTION_ALREADY_EXISTS, NOT_ALLOWED.
    """
    schema, name = manager.runtime.qualify_function(statement, session)
    existing = manager.functions.get(schema, name)
    thing = _securable(schema, name)
    with ErrorPlace(statement.place):
        if not manager.access.sees(_schema_of(thing)):
            raise schema_not_found(schema)
        if existing is None:
            manager.access.require_on(Right.CREATE, _schema_of(thing), _WHAT)
        elif statement.or_replace:
            manager.access.require_on(Right.OWNER, thing, _WHAT)
    if existing is not None and not statement.or_replace:
        if statement.if_not_exists:
            return _result(existing, "A function with this name already exists.")
        raise already_exists(existing).at(statement.place)
    function = manager.runtime.check_function(statement, schema, name, session)
    with ErrorPlace(statement.place):
        if existing is None:
            manager.access.note_created(thing)  # before any user can call it
        manager.functions.add(function, replace=statement.or_replace)
    hidden = manager.runtime.hides_function(name)
    return _result(
        function,
        join_sentences(
            "Replaced." if existing is not None else "Created.",
            f"A built-in function has the same name; call this one as {function.qualified_name}." if hidden else "",
            _describe_users(manager, function) if existing is not None else "",
        ),
    )


def _describe_users(manager: Manager, function: Function) -> str:
    """Return a sentence about the live jobs that call a function in its previous form."""
    users = [
        view.job
        for view in manager.registry.live()
        if any(
            used.name.casefold() == function.qualified_name.casefold() and used.fingerprint != function.fingerprint
            for used in view.job.plan.analysis.functions
        )
    ]
    if not users:
        return ""
    names = sorted(job.name for job in users if manager.access.sees_job(job))
    named = f"job{'' if len(names) == 1 else 's'} {', '.join(names)}" if names else ""
    hidden = len(users) - len(names)
    others = f"{counted(hidden, 'job')} of other users" if hidden else ""
    jobs = " and ".join(part for part in (f"The {named}" if named else "", others) if part)
    verb = "was" if len(users) == 1 else "were"
    return f"{jobs} {verb} created with the previous function. CREATE OR REPLACE JOB changes to the new one."


def drop_function(manager: Manager, schema: str, name: str, if_exists: bool) -> None:
    """Drop a function. Raises StatementError FUNCTION_NOT_FOUND, NOT_ALLOWED."""
    thing = _securable(schema, name)
    is_found = manager.functions.get(schema, name) is not None and manager.access.sees(thing)
    if is_found:
        manager.access.require_on(Right.OWNER, thing, "DROP FUNCTION")
        is_found = manager.functions.remove(schema, name)
        manager.access.note_dropped(thing)
    if not is_found and not if_exists:
        raise StatementError("FUNCTION_NOT_FOUND", f"There is no function named {schema}.{name}.")


def visible_functions(manager: Manager) -> Iterator[Function]:
    """Return the functions in Python that the caller has a right on."""
    for each in manager.functions.all():
        if manager.access.sees(_securable(each.schema, each.name)):
            yield each


def _securable(schema: str, name: str) -> Securable:
    return Securable(SecurableKind.FUNCTION, without_case((SESSION_CATALOG, schema, name)))


def _schema_of(function: Securable) -> Securable:
    return Securable(SecurableKind.SCHEMA, function.name[:-1])


def functions_relation(manager: Manager) -> Iterator[tuple[Value, ...]]:
    """Return the rows of the functions in Python."""
    for each in visible_functions(manager):
        yield (
            each.schema,
            each.name,
            "TABLE" if each.returns_table else "SCALAR",
            each.parameters_text,
            each.returns_text,
            "PYTHON",
            each.handler,
            each.style.value if each.style is not None else None,
            each.deterministic,
            each.comment,
            shown_owner(manager, each.owner),
            each.created,
            redact_urls(each.source),
        )


def _result(function: Function, message: str) -> Table:
    return Table(RESULT_COLUMNS, ((function.qualified_name, message),))
