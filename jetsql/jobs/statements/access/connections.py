"""The statements about secrets and connections. They never read the value of a secret.

A secret or a connection without a right on it has the error of a missing one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from jetsql.errors import Span, StatementError
from jetsql.jobs.access import access_changes
from jetsql.jobs.access.access_records import Securable, SecurableKind
from jetsql.jobs.access.connection_records import ConnectionRecord, SecretKind, SecretRecord, StoredConnections
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.job import Job, RunId, Status, name_key
from jetsql.jobs.model.redaction import REDACTED, is_secret, redact_urls
from jetsql.jobs.model.table_names import job_name as shown_table
from jetsql.jobs.statements.access.users import result
from jetsql.jobs.statements.describe import FACT_COLUMNS
from jetsql.jobs.statements.lookup import visible_alerts
from jetsql.language.objects.connection_statement import (
    AlterConnection,
    AlterSecret,
    CreateConnection,
    CreateSecret,
    DescribeConnection,
    DropConnection,
    DropSecret,
    SecretSource,
    ShowConnections,
    ShowSecrets,
)
from jetsql.language.statement import Name, OptionText
from jetsql.resultset import Column, Table, Value
from jetsql.secret_references import is_reference, named_secret

SECRET_COLUMNS: Final = (
    Column("name", comment="its name; tables and connections use it as secret:NAME"),
    Column("source", comment="the file or the variable that has the value; NULL for others than an admin"),
    Column("hosts", comment="the URLs of FOR, to which the engine sends it; NULL for any"),
    Column("used_by", comment="the connections and alerts that name it"),
    Column("changed", "timestamp", "when a statement changed it last"),
    Column("comment", comment="its COMMENT"),
)
CONNECTION_COLUMNS: Final = (
    Column("name", comment="its name; tables use it by the option 'connection'"),
    Column("type", comment="kafka, jdbc, s3 or registry"),
    Column("address", comment="the servers or the URL, without logins"),
    Column("changed", "timestamp", "when a statement changed it or one of its secrets last"),
    Column("stale_jobs", comment="running jobs that started before the change; RESTART JOB lets them use it"),
    Column("comment", comment="its COMMENT"),
)
_NOT_RUNNING: Final = (Status.SUSPENDED, Status.SUSPENDED_EXPORTING_SNAPSHOT, Status.NOT_RUNNING)
_ADDRESSES: Final = ("kafka.bootstrap.servers", "url", "bucket")
_Record = TypeVar("_Record", SecretRecord, ConnectionRecord)


# --- secrets ----------------------------------------------------------------------------------------------------------


def create_secret(manager: Manager, statement: CreateSecret) -> Table:
    """Create a secret, or replace one. Raises StatementError OBJECT_ALREADY_EXISTS, INVALID_OPTION_VALUE."""
    name, now = statement.name, manager.clock()

    def make(existing: SecretRecord | None) -> SecretRecord:
        kind, place = _source(statement.source)
        shown, created = (name.text, now) if existing is None else (existing.name, existing.created)
        hosts = _hosts(manager, statement.hosts)
        secret = SecretRecord(shown, kind, place, created, now, hosts, statement.comment)
        _check_users_of(manager, secret, name.place)
        return secret

    def describe(existing: SecretRecord | None, secret: SecretRecord) -> str:
        verb = "Created." if existing is None else "Replaced."
        return f"{verb} Name it in options as 'secret:{secret.name}'."

    return _create(manager, _SECRETS, statement, make, describe)


def alter_secret(manager: Manager, statement: AlterSecret) -> Table:
    """Change where a secret is read or to which hosts it goes. Raises StatementError OBJECT_NOT_FOUND."""

    def change(secret: SecretRecord) -> SecretRecord:
        changed = replace(secret, changed=manager.clock())
        if statement.source is not None:
            kind, place = _source(statement.source)
            changed = replace(changed, kind=kind, place=place)
        if statement.hosts:
            changed = replace(changed, hosts=_hosts(manager, statement.hosts))
        _check_users_of(manager, changed, statement.name.place)
        return changed

    secret = _alter(manager, _SECRETS, statement.name, change)
    users = (each for each in manager.connections.state.connections if secret.key in each.secrets)
    return result(secret.name, _changed_message({name for each in users for name in _stale_jobs(manager, each)}))


def drop_secret(manager: Manager, statement: DropSecret) -> Table:
    """Drop a secret. Raises StatementError OBJECT_NOT_FOUND, OBJECT_IN_USE."""

    def users(secret: SecretRecord) -> list[str]:
        connections = manager.connections.state.connections
        named = [f"the connection {each.name}" for each in connections if secret.key in each.secrets]
        named += [f"the alert {each.name}" for each in manager.alerts.all if secret.key in each.secrets]
        return named + _tables(manager, "", f"secret:{secret.key}")

    message = "Dropped. The file or the variable that has its value is as before."
    return _drop(manager, _SECRETS, statement, users, message)


def show_secrets(manager: Manager, statement: ShowSecrets) -> Table:
    """Return the secrets that the caller has a right on, by name."""
    return Table(SECRET_COLUMNS, tuple(_secret_row(manager, each) for each in _visible(manager, _SECRETS)))


def _secret_row(manager: Manager, secret: SecretRecord) -> tuple[Value, ...]:
    connections = manager.connections.state.connections
    users = [
        each.name
        for each in connections
        if secret.key in each.secrets and _sees(manager, SecurableKind.CONNECTION, each.key)
    ]
    users += [alert.name for alert in visible_alerts(manager) if secret.key in alert.secrets]
    source = secret.source if manager.access.is_admin else None
    return (
        secret.name,
        source,
        ", ".join(secret.hosts) or None,
        ", ".join(users) or None,
        secret.changed,
        secret.comment,
    )


def _source(source: SecretSource) -> tuple[SecretKind, str]:
    name = source.name
    kind = SecretKind(source.kind.value)
    if kind is SecretKind.FILE and not name.text.startswith("/"):
        message = f"The path '{name.text}' is relative, but the engine has no folder of the user."
        raise StatementError("INVALID_OPTION_VALUE", message, place=name.place, hint="Write a path from / on.")
    return kind, name.text


def _hosts(manager: Manager, hosts: Sequence[Name]) -> tuple[str, ...]:
    for host in hosts:
        problem = manager.runtime.find_host_problem(host.text)
        if problem:
            raise StatementError("INVALID_OPTION_VALUE", problem, place=host.place)
    return tuple(dict.fromkeys(host.text for host in hosts))


def _check_users_of(manager: Manager, secret: SecretRecord, place: Span) -> None:
    """Refuse a change of a secret after which one of its connections would send it to a host that it is not for."""
    for connection in manager.connections.state.connections:
        if secret.key not in connection.secrets:
            continue
        state = manager.connections.state.with_secret(secret)
        problem = manager.runtime.find_connection_problem(connection.type, connection.options, state.published())
        if problem is not None:
            message = f"The connection {connection.name} uses the secret: {problem.message}"
            raise StatementError(problem.condition, message, place=place, hint="Change or drop the connection first.")


# --- connections ------------------------------------------------------------------------------------------------------


def create_connection(manager: Manager, statement: CreateConnection) -> Table:
    """Create a connection, or replace one.

    Raises StatementError OBJECT_ALREADY_EXISTS, DUPLICATE_OPTION, and what Java finds wrong with the options.
    """
    name, now = statement.name, manager.clock()

    def make(existing: ConnectionRecord | None) -> ConnectionRecord:
        if existing is not None and existing.type != statement.type.value:
            _refuse_used("connection", existing.name, _tables(manager, "connection", existing.key), name.place)
        shown, created = (name.text, now) if existing is None else (existing.name, existing.created)
        options = _options({}, statement.options)
        connection = ConnectionRecord(shown, statement.type.value, options, created, now, statement.comment)
        _check_connection(manager, connection, statement.options, name.place)
        return connection

    def describe(existing: ConnectionRecord | None, connection: ConnectionRecord) -> str:
        if existing is None:
            return "Created. Tables use it by the option 'connection'."
        return _changed_message(_stale_jobs(manager, connection))

    return _create(manager, _CONNECTIONS, statement, make, describe)


def alter_connection(manager: Manager, statement: AlterConnection) -> Table:
    """Change options of a connection. An empty value removes an option. Raises StatementError OBJECT_NOT_FOUND."""

    def change(connection: ConnectionRecord) -> ConnectionRecord:
        options = _options(connection.options, statement.options)
        changed = replace(connection, options=options, changed=manager.clock())
        _check_connection(manager, changed, statement.options, statement.name.place)
        return changed

    connection = _alter(manager, _CONNECTIONS, statement.name, change)
    return result(connection.name, _changed_message(_stale_jobs(manager, connection)))


def drop_connection(manager: Manager, statement: DropConnection) -> Table:
    """Drop a connection. Raises StatementError OBJECT_NOT_FOUND, OBJECT_IN_USE."""
    return _drop(manager, _CONNECTIONS, statement, lambda found: _tables(manager, "connection", found.key), "Dropped.")


def show_connections(manager: Manager, statement: ShowConnections) -> Table:
    """Return the connections that the caller has a right on, by name."""
    state = manager.connections.state
    rows = (
        (
            each.name,
            each.type,
            _address(each.options),
            state.changed(each),
            ", ".join(sorted(_stale_jobs(manager, each))) or None,
            each.comment,
        )
        for each in _visible(manager, _CONNECTIONS)
    )
    return Table(CONNECTION_COLUMNS, tuple(rows))


def describe_connection(manager: Manager, statement: DescribeConnection) -> Table:
    """Return a row for each fact. Secrets are named. Raises StatementError OBJECT_NOT_FOUND."""
    connection = _find(manager, _CONNECTIONS, statement.name)
    options = [(f"option {name}", _shown(manager, name, value)) for name, value in sorted(connection.options.items())]
    tables = ", ".join(_tables(manager, "connection", connection.key)) if manager.access.is_admin else None
    facts = (
        ("name", connection.name),
        ("type", connection.type),
        *options,
        ("comment", connection.comment),
        ("used by", tables or None),
        ("stale jobs", ", ".join(sorted(_stale_jobs(manager, connection))) or None),
    )
    return Table(FACT_COLUMNS, tuple(fact for fact in facts if fact[1] is not None))


def _shown(manager: Manager, name: str, value: str) -> str:
    """Return the value of an option without secrets, and for users other than an admin without the names of files."""
    if is_reference(value):
        return value if manager.access.is_admin or named_secret(value) is not None else REDACTED
    return REDACTED if is_secret(name) else redact_urls(value)


def _options(before: Mapping[str, str], given: Sequence[OptionText]) -> dict[str, str]:
    """Return options with the given ones. Raises StatementError DUPLICATE_OPTION."""
    options = dict(before)
    seen: set[str] = set()
    for option in given:
        key = option.key.lower()
        if key in seen:
            message = f"The option '{option.key}' is given twice."
            raise StatementError("DUPLICATE_OPTION", message, place=option.key_place, hint="Remove one.")
        seen.add(key)
        for same in [name for name in options if name.lower() == key]:
            del options[same]
        if option.value:
            options[option.key] = option.value
    return options


def _check_connection(manager: Manager, connection: ConnectionRecord, given: Sequence[OptionText], place: Span) -> None:
    state = manager.connections.state.with_connection(connection)
    problem = manager.runtime.find_connection_problem(connection.type, connection.options, state.published())
    if problem is not None:
        at = next((each.key_place for each in given if each.key.lower() == problem.option.lower()), place)
        raise StatementError(problem.condition, problem.message, place=at)


def _address(options: Mapping[str, str]) -> str | None:
    for name in _ADDRESSES:
        for key, value in options.items():
            if key.lower() == name:
                return redact_urls(value)
    return None


# --- both -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Records(Generic[_Record]):
    """The secrets, or the connections."""

    kind: SecurableKind
    all: Callable[[StoredConnections], Sequence[_Record]]
    find: Callable[[StoredConnections, str], _Record | None]  # by its key

    @property
    def word(self) -> str:
        return self.kind.value.lower()


_SECRETS: Final = _Records(SecurableKind.SECRET, lambda state: state.secrets, StoredConnections.secret)
_CONNECTIONS: Final = _Records(SecurableKind.CONNECTION, lambda state: state.connections, StoredConnections.connection)


def _create(
    manager: Manager,
    records: _Records[_Record],
    statement: CreateSecret | CreateConnection,
    make: Callable[[_Record | None], _Record],
    describe: Callable[[_Record | None, _Record], str],
) -> Table:
    """Create or replace a record. make: returns it after its checks, given the existing one"""
    registry, name = manager.connections, statement.name
    with registry.changing:
        existing = records.find(registry.state, _key(name))
        if existing is not None and statement.if_not_exists:
            return result(existing.name, f"A {records.word} with this name already exists.")
        if existing is not None and not statement.or_replace:
            kind = records.kind.value
            raise StatementError(
                "OBJECT_ALREADY_EXISTS",
                f"A {records.word} named {name.text} already exists.",
                place=name.place,
                hint=f"Use another name, CREATE OR REPLACE {kind} or ALTER {kind}.",
            )
        record = make(existing)
        registry.save(record)
    return result(record.name, describe(existing, record))


def _alter(manager: Manager, records: _Records[_Record], name: Name, change: Callable[[_Record], _Record]) -> _Record:
    """Change a record, and return it. change: returns the changed one after its checks"""
    with manager.connections.changing:
        changed = change(_find(manager, records, name))
        manager.connections.save(changed)
    return changed


def _drop(
    manager: Manager,
    records: _Records[_Record],
    statement: DropSecret | DropConnection,
    users: Callable[[_Record], Sequence[str]],
    message: str,
) -> Table:
    """Drop a record and the rights on it. users: returns what uses it"""
    registry, name = manager.connections, statement.name
    with registry.changing:
        if statement.if_exists and records.find(registry.state, _key(name)) is None:
            return result(name.text, f"There is no {records.word} named {name.text}; nothing to drop.")
        record = _find(manager, records, name)
        _refuse_used(records.word, record.name, users(record), name.place)
        _forget_rights(manager, records.kind, record.key)
        registry.remove(record)
    return result(record.name, message)


def _key(name: Name) -> str:
    return name_key(name.text)


def _sees(manager: Manager, kind: SecurableKind, key: str) -> bool:
    return manager.access.sees(Securable(kind, (key,)))


def _visible(manager: Manager, records: _Records[_Record]) -> Iterator[_Record]:
    """Return the records that the caller has a right on, by name."""
    return (each for each in records.all(manager.connections.state) if _sees(manager, records.kind, each.key))


def _find(manager: Manager, records: _Records[_Record], name: Name) -> _Record:
    """Return a record that the caller has a right on. Raises StatementError OBJECT_NOT_FOUND."""
    found = records.find(manager.connections.state, _key(name))
    if found is None or not _sees(manager, records.kind, found.key):
        raise missing(records.word, name)
    return found


def missing(kind: str, name: Name) -> StatementError:
    """Return the error for a secret or a connection that does not exist for the caller."""
    hint = f"SHOW {kind.upper()}S lists them."
    return StatementError("OBJECT_NOT_FOUND", f"There is no {kind} named {name.text}.", place=name.place, hint=hint)


def _refuse_used(kind: str, name: str, users: Sequence[str], place: Span) -> None:
    if users:
        raise StatementError(
            "OBJECT_IN_USE",
            f"Cannot drop or replace the {kind} {name}, which is used by {', '.join(users)}.",
            place=place,
            hint="Drop these first, or use ALTER, which keeps them.",
        )


def _tables(manager: Manager, option: str, value: str) -> list[str]:
    found = manager.runtime.find_tables_with_option(option, value)
    return [f"the table {shown_table(table)}" for table in sorted(found)]


def _forget_rights(manager: Manager, kind: SecurableKind, key: str) -> None:
    """Remove the rights on what is dropped first: a new object with its name must begin without them."""
    manager.access.change(lambda state: access_changes.drop_object(state, Securable(kind, (key,))))


def _stale_jobs(manager: Manager, connection: ConnectionRecord) -> set[str]:
    """Return the names of the running jobs that the caller sees and that started before the last change."""
    running = [view.job for view in manager.registry.live() if view.job.status not in _NOT_RUNNING]
    if not running:
        return set()
    began = manager.store.run_starts()
    changed = manager.connections.state.changed(connection)
    old = [job for job in running if began.get(RunId(job.id, job.run), changed) < changed]
    if not old:
        return set()
    tables = {name_key(name) for name in manager.runtime.find_tables_with_option("connection", connection.key)}
    return {job.name for job in old if manager.access.sees_job(job) and not tables.isdisjoint(_tables_of(job))}


def _tables_of(job: Job) -> Iterator[str]:
    analysis = job.plan.analysis
    for name in (*(sink.table for sink in analysis.sinks), *(source.name for source in analysis.sources)):
        yield name_key(name)
    yield from map(name_key, analysis.tables_read_once)


def _changed_message(stale: set[str]) -> str:
    if not stale:
        return "Changed. New statements use it immediately, and jobs from their next start on."
    jobs = ", ".join(sorted(stale))
    return f"Changed. Running jobs still use the old one: {jobs}. RESTART JOB lets a job use the new one."
