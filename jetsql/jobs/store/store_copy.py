"""Copy the store of a home to another database: from its file to a schema of PostgreSQL, or back; or to a backup.

The copy is one transaction on the target, which must be empty. Before and after the commit, the rows of both stores are
compared. Only then the home notes where its store is. A source on PostgreSQL notes it, too: a standby must not continue
the jobs with it. The source is not changed otherwise. After a crash, the target is empty or complete, and the same
command continues.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from jetsql.errors import EngineError
from jetsql.home.home_lock import HomeLock
from jetsql.home.restore_note import check_restored
from jetsql.home.store_note import STORE, StoreNote, move_store, read_store_note, store_note_of
from jetsql.home.store_url import StoreUrl
from jetsql.jobs.store.database import LEASE_NUMBER, OF_ONE_PLACE, VERSION, StoreDatabase
from jetsql.jobs.store.metrics_store import MEASURES
from jetsql.jobs.store.store_choice import find_database
from jetsql.jobs.store.store_file import StoreFile
from jetsql.jobs.store.tables import META, METADATA

_TABLES: Final = (*METADATA.sorted_tables, MEASURES)
_KINDS: Final[Mapping[type[Any], type[Any]]] = {sa.Boolean: bool, sa.Integer: int, sa.Float: float}
_BATCH: Final = 1000
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class StoreCopy:
    """A store that was copied."""

    source: str
    target: str
    counts: Mapping[str, int]  # the rows of each table
    was_complete: bool  # an earlier copy had been interrupted after its commit


def copy_store(home: Path, store: str | None, password: str | None, target: StoreUrl | None) -> StoreCopy:
    """Copy the store of a home, which is then the home's store.

    store, password: the settings of the home. target: the URL with its password; None for the file in the home.
    Raises EngineError HOME_IN_USE, STORE_IN_USE while an engine runs; STORE_NOT_EMPTY for a target with other contents;
    and the errors of `StoreDatabase.inspect`.
    """
    if not home.is_dir():
        raise EngineError("HOME_NOT_USABLE", f"There is no home {home}.", hint="Check --home and JETSQL_HOME.")
    lock = HomeLock(home)
    try:
        check_restored(home)
        note = read_store_note(home)
        source = find_database(home, store if note is not None and note.store else None, password)
        return _copy(home, source, target)
    finally:
        lock.release()


def back_up_store(source: StoreDatabase, file: Path) -> None:
    """Write the rows of a store as of one moment to a new store in a file, and the metrics to the file next to it.

    The source may be open. Raises EngineError as `copy_store`.
    """
    _check_version(source)
    rows, target = _read(source), StoreFile(file)
    with _translated(target), target.copying() as write:
        _write(write, rows)


def _find_target(home: Path, url: StoreUrl | None) -> StoreDatabase:
    if url is None:
        return StoreFile(home / STORE)
    from jetsql.jobs.store.postgresql.store_schema import StoreSchema

    return StoreSchema(url, StoreNote(store_note_of(home).home), str(home))


def _copy(home: Path, source: StoreDatabase, url: StoreUrl | None) -> StoreCopy:
    if source.location == ("" if url is None else str(url)):
        raise _refusal(f"The store of {home} is already in {source.name}", "There is nothing to copy.")
    source.copied_to = str(home / STORE if url is None else url)
    with _locked(source):
        number, rows = _read_source(source)
        target = _find_target(home, url)
        with _locked(target):
            was_complete = _is_complete(target, rows)
            if not was_complete:
                with _translated(target), target.copying() as write:
                    _write(write, rows)
                    write(META).execute(META.insert().values(key=LEASE_NUMBER, value=str(number)))
            if _read(target) != rows:
                raise _refusal(f"The copy in {target.name} differs from {source.name}", "Delete it, and copy again.")
            with _translated(source):
                source.retire(target)
            move_store(home, target.location)
    counts = {table.name: len(rows[table.name]) for table in _TABLES}
    return StoreCopy(source.name, target.name, counts, was_complete)


@contextmanager
def _translated(database: StoreDatabase) -> Iterator[None]:
    errors: tuple[type[Exception], ...] = (*database.errors, sa.exc.DBAPIError)
    try:
        yield
    except errors as error:
        raise database.translate_error(getattr(error, "orig", None) or error) from error


@contextmanager
def _locked(database: StoreDatabase) -> Iterator[None]:
    with _translated(database):
        database.lock()
    try:
        yield
    finally:
        database.close()


def _read_source(source: StoreDatabase) -> tuple[int, dict[str, Rows]]:
    """Return the number of the source's lease, from which the copy continues, and its rows."""
    _check_version(source)
    with _translated(source):
        number = source.exclude()
    return number, _read(source)


def _check_version(source: StoreDatabase) -> None:
    """Raise EngineError STORE_NOT_USABLE for a store that does not exist or has an older version."""
    with _translated(source):
        version = source.inspect()
    if version is None:
        raise _refusal(f"There is no store {source.name}", "Start an engine first, which creates it.")
    if version < VERSION:
        hint = "Start and stop the engine first, which migrates the store."
        raise _refusal(f"The store {source.name} has version {version}, not {VERSION}", hint)


def _is_complete(target: StoreDatabase, rows: Mapping[str, Rows]) -> bool:
    """Return whether the target has these rows already; False for an empty one. Raises EngineError STORE_NOT_EMPTY."""
    with _translated(target):
        version = target.inspect()
    if version is None:
        return False
    if version == VERSION and _read(target) == rows:
        return True
    raise EngineError(
        "STORE_NOT_EMPTY",
        f"Cannot copy to {target.name}: there is a store with other contents.",
        hint="Choose another place, or move that store away.",
    )


def _read(database: StoreDatabase) -> dict[str, Rows]:
    """Return the rows of all tables, in the order of their keys, with values that all databases have."""
    with _translated(database):
        with database.reading() as reading:
            rows = {table.name: _select(reading.execute, table) for table in METADATA.sorted_tables}
        with database.reading_metrics() as metrics:
            rows[MEASURES.name] = [] if metrics is None else _select(metrics.execute, MEASURES)
    rows[META.name] = [row for row in rows[META.name] if row[0] not in OF_ONE_PLACE]
    return rows


def _select(execute: Callable[[str], Iterable[Sequence[Any]]], table: sa.Table) -> Rows:
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    keys = ", ".join(f'"{column.name}"' for column in table.primary_key)
    kinds = [_kind(column.type) for column in table.columns]
    return [
        tuple(_value(value, kind) for value, kind in zip(row, kinds, strict=True))
        for row in execute(f"SELECT {names} FROM {table.name} ORDER BY {keys}")
    ]


def _kind(kind: sa.types.TypeEngine[Any]) -> type[Any]:
    return next((python for sql, python in _KINDS.items() if isinstance(kind, sql)), str)


def _value(value: Any, kind: type[Any]) -> Any:
    if value is None:
        return None
    return value.replace("\0", "\ufffd") if kind is str else kind(value)


def _write(connections: Callable[[sa.Table], sa.Connection], rows: Mapping[str, Rows]) -> None:
    """Write the rows, and compare them before they are committed. connections: returns the one of a table."""
    for table in _TABLES:
        names = [column.name for column in table.columns]
        records = [dict(zip(names, row, strict=True)) for row in rows[table.name]]
        for at in range(0, len(records), _BATCH):
            connections(table).execute(table.insert(), records[at : at + _BATCH])
    for table in _TABLES:
        stored = _select(connections(table).exec_driver_sql, table)
        if _digest(stored) != _digest(rows[table.name]):
            raise _refusal(f"The table {table.name} of the copy differs", "Report this; the source is not changed.")


def _digest(rows: Rows) -> str:
    return hashlib.sha256(repr(rows).encode("utf-8", "surrogatepass")).hexdigest()


def _refusal(message: str, hint: str) -> EngineError:
    return EngineError("STORE_NOT_USABLE", f"{message}.", hint=hint)
