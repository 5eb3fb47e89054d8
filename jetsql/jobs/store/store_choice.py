"""Find the store of a home: in its file, or in the schema of PostgreSQL that the settings name.

A home whose jobs are in one store is not started with another one, whose jobs would be none or older ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jetsql.errors import EngineError
from jetsql.home.store_note import STORE, StoreNote, move_store, read_store_note, store_note_of
from jetsql.home.store_url import open_url
from jetsql.jobs.model.leadership import LeaseTimes
from jetsql.jobs.store.database import StoreDatabase
from jetsql.jobs.store.store_file import StoreFile

if TYPE_CHECKING:  # SQLAlchemy is slow to import
    from jetsql.jobs.store.job_store import Store


def find_database(
    home: Path, store: str | None, password: str | None, times: LeaseTimes | None = None
) -> StoreDatabase:
    """Return the database of a home's store, which need not exist, without connecting.

    store, password: the settings `store` and `store_password`, or None. times: those of a lease.
    Raises EngineError HOME_NOT_USABLE when the jobs are in another store, SECRET_NOT_READABLE, INVALID_SETTING,
    STORE_NOT_USABLE when the driver is not installed.
    """
    note = read_store_note(home) or StoreNote("")
    if store is None:
        if note.store:
            raise _elsewhere(
                home,
                note.store,
                "the setting store is missing",
                f"Set store to that URL (JETSQL_STORE, or config.toml). To move the jobs back into the home, run"
                f" `jetsql store copy --to home --home {home}`.",
            )
        return StoreFile(home / STORE)
    url = open_url(store, password)
    if not note.store and (home / STORE).exists():
        raise _elsewhere(
            home,
            str(home / STORE),
            f"the setting store is {url}",
            f"To move the jobs there, run `jetsql store copy --to {url} --home {home}`. To continue without, remove the"
            " setting.",
        )
    from jetsql.jobs.store.postgresql.store_schema import StoreSchema

    return StoreSchema(url, note, str(home), times)


def prepare_database(
    home: Path, store: str | None, password: str | None, times: LeaseTimes | None = None
) -> StoreDatabase:
    """Return the database of a home's store as `find_database`, for an engine of the home.

    The store gets the id of the home, so the home gets one first.
    """
    if store is not None:
        store_note_of(home)
    return find_database(home, store, password, times)


def open_database(home: Path, database: StoreDatabase) -> Store:
    """Open the store of a home, creating or migrating it if necessary. The caller has the lock on the home.

    Raises EngineError as `Store`.
    """
    from jetsql.jobs.store.job_store import Store

    opened = Store(database)
    if opened.database.location:
        try:
            move_store(home, opened.database.location)
        except EngineError:
            opened.close()
            raise
    return opened


def open_store(home: Path, store: str | None, password: str | None) -> Store:
    """Open the store of a home. Raises EngineError as `prepare_database` and `open_database`."""
    return open_database(home, prepare_database(home, store, password))


def _elsewhere(home: Path, place: str, setting: str, hint: str) -> EngineError:
    return EngineError("HOME_NOT_USABLE", f"The jobs of {home} are in {place}, but {setting}.", hint=hint)
