"""The objects of rights in statements: which one is meant, and how it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from jetsql.errors import StatementError
from jetsql.jobs.access.access_records import ENGINE_ITSELF, Securable, SecurableKind
from jetsql.jobs.access.access_state import job_object, without_case
from jetsql.jobs.access.location_urls import location_url
from jetsql.jobs.lifecycle.runtime import UserSession
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.job import name_key
from jetsql.jobs.model.table_names import SESSION_CATALOG, join_table, split_table, without_session_catalog
from jetsql.jobs.statements.lookup import find_job
from jetsql.language.objects.rights_statement import GrantedObject, RightsObject
from jetsql.language.statement import TableIdentifier

_Find = Callable[[Manager, GrantedObject, UserSession], Securable]


def find_object(manager: Manager, written: GrantedObject, session: UserSession) -> Securable:
    """Return the object that a statement means.

    Raises StatementError TABLE_NOT_FOUND, JOB_NOT_FOUND, OBJECT_NOT_FOUND at its name.
    """
    return _FINDERS[written.kind](manager, written, session)


def find_table_object(manager: Manager, written: GrantedObject, session: UserSession) -> Securable:
    """Return the table or view that a statement means. Raises StatementError TABLE_NOT_FOUND."""
    qualified = _qualify(manager, written, written.name, session)
    found = manager.runtime.find_table(qualified)
    wants_view = written.kind is RightsObject.VIEW
    thing = Securable(SecurableKind.TABLE, without_case(split_table(qualified)))
    if not manager.access.sees(thing):
        found = None
    if found is None or found.is_view is not wants_view:
        kind, other = ("view", "table") if wants_view else ("table", "view")
        message = f"There is no {kind} named {written.name}."
        hint = f"It is a {other}: write {other.upper()}." if found is not None else f"SHOW {kind.upper()}S lists them."
        raise StatementError("TABLE_NOT_FOUND", message, place=written.name.place, hint=hint)
    return thing


def _find_schema(manager: Manager, written: GrantedObject, session: UserSession) -> Securable:
    name = written.name
    inner = TableIdentifier((*name.parts, "t"), name.place)
    schema = without_case(split_table(_qualify(manager, written, inner, session))[:-1])
    thing = Securable(SecurableKind.SCHEMA, schema)
    if not manager.runtime.has_namespace(schema) or not manager.access.sees(thing):
        raise _missing("schema", written, "SHOW SCHEMAS lists the schemas.")
    return thing


def _find_catalog(manager: Manager, written: GrantedObject, session: UserSession) -> Securable:
    catalog = without_case(written.name.parts)
    thing = Securable(SecurableKind.CATALOG, catalog)
    if not manager.runtime.has_namespace(catalog) or not manager.access.sees(thing):
        raise _missing("catalog", written, f"The catalog without settings of its own is {SESSION_CATALOG}.")
    return thing


def _find_function(manager: Manager, written: GrantedObject, session: UserSession) -> Securable:
    parts = without_case(split_table(_qualify(manager, written, written.name, session)))
    thing = Securable(SecurableKind.FUNCTION, parts)
    is_python = len(parts) == 3 and manager.functions.get(parts[1], parts[2]) is not None
    if not (is_python or manager.runtime.has_function(parts)) or not manager.access.sees(thing):
        raise _missing("function", written, "SHOW USER FUNCTIONS lists the functions. Those of Spark need no right.")
    return thing


def _find_job(manager: Manager, written: GrantedObject, session: UserSession) -> Securable:
    assert written.job is not None
    return job_object(find_job(manager, written.job).job)


def _find_location(manager: Manager, written: GrantedObject, session: UserSession) -> Securable:
    [url] = written.name.parts
    try:
        return Securable(SecurableKind.LOCATION, (location_url(url),))
    except ValueError as error:
        message = f"'{url}' is not the URL of a folder: {error}."
        hint = "Write it as in 's3a://bucket/folder' or 'file:///data/in'."
        raise StatementError("INVALID_GRANT", message, place=written.name.place, hint=hint) from None


def _find_named(manager: Manager, written: GrantedObject, session: UserSession) -> Securable:
    kind = SecurableKind(written.kind.value)
    [name] = written.name.parts
    thing = Securable(kind, (name_key(name),))
    state = manager.connections.state
    found = state.secret(name_key(name)) if kind is SecurableKind.SECRET else state.connection(name_key(name))
    if found is None or not manager.access.sees(thing):
        raise _missing(kind.value.lower(), written, f"SHOW {kind.value}S lists them.")
    return thing


def _engine(manager: Manager, written: GrantedObject, session: UserSession) -> Securable:
    return ENGINE_ITSELF


_FINDERS: Final[Mapping[RightsObject, _Find]] = {
    RightsObject.TABLE: find_table_object,
    RightsObject.VIEW: find_table_object,
    RightsObject.SCHEMA: _find_schema,
    RightsObject.JOBS_IN_SCHEMA: _find_schema,
    RightsObject.CATALOG: _find_catalog,
    RightsObject.ALL_SCHEMAS: _engine,
    RightsObject.JOB: _find_job,
    RightsObject.FUNCTION: _find_function,
    RightsObject.SECRET: _find_named,
    RightsObject.CONNECTION: _find_named,
    RightsObject.LOCATION: _find_location,
    RightsObject.ENGINE: _engine,
}


def object_name(manager: Manager, thing: Securable) -> str | None:
    """Return the name of an object for users; None for the engine, and the id of a job that the store forgot."""
    if thing.kind is SecurableKind.ENGINE:
        return None
    if thing.kind is SecurableKind.LOCATION:
        return thing.name[0]
    if thing.kind is SecurableKind.JOB:
        job = manager.store.job(thing.name[0])
        return thing.name[0] if job is None else job.name
    has_parts = thing.kind is not SecurableKind.CATALOG
    return join_table(without_session_catalog(thing.name) if has_parts else thing.name)


def describe_object(manager: Manager, thing: Securable) -> str:
    """Return an object as a part of a sentence."""
    name = object_name(manager, thing)
    return "the engine" if name is None else f"the {thing.kind.value.lower()} {name}"


def _qualify(manager: Manager, written: GrantedObject, name: TableIdentifier, session: UserSession) -> str:
    """Return a qualified name. Raises StatementError OBJECT_NOT_FOUND for one that begins with no catalogue."""
    try:
        return manager.runtime.qualify(name, session)
    except StatementError:
        raise _missing(
            written.kind.value.lower(), written, "A name has a schema and a table, after a catalog."
        ) from None


def _missing(kind: str, written: GrantedObject, hint: str) -> StatementError:
    return StatementError(
        "OBJECT_NOT_FOUND", f"There is no {kind} named {written.name}.", place=written.name.place, hint=hint
    )
