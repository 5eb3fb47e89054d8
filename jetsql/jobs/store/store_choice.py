"""Find the store of a home: in its file, or in the schema of PostgreSQL that the settings name.

A home whose jobs are in one store is not started with another one, whose jobs would be none or older ones.
"""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from jetsql.errors import EngineError
from jetsql.home.storage import find_job_files
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


def open_database(home: Path, database: StoreDatabase, new_store: bool = False) -> Store:
    """Open the store of a home, creating or migrating it if necessary. The caller has the lock on the home.

    new_store: whether to create the store although the home has files of jobs.
    Raises EngineError as `Store`, STORE_DAMAGED when the store is missing, INVALID_SETTING when `new_store` is set and
    there is a store.
    """
    from jetsql.jobs.store.job_store import Store

    opened = Store(database, partial(_check_new, home, database, new_store))
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


def _check_new(home: Path, database: StoreDatabase, new_store: bool, is_new: bool) -> None:
    """Check that the store of a home may be created, or opened. is_new: whether it has to be created."""
    if new_store and not is_new:
        raise EngineError(
            "INVALID_SETTING",
            f"--new-store is for a home whose store is lost, but {home} has a {database.subject}.",
            hint="Leave out --new-store.",
        )
    files = find_job_files(home) if is_new and not new_store else ""
    if files:
        raise EngineError(
            "STORE_DAMAGED",
            f"The {database.subject} is missing or empty, but {files} exist.",
            hint=f"Restore {database.kind} from a backup. Without a backup, `jetsql serve --new-store --home"
            f" {shlex.quote(str(home))}` starts with an empty store. The jobs are lost then, and a job that is created"
            " again processes all rows again: empty its table first.",
        )


def _elsewhere(home: Path, place: str, setting: str, hint: str) -> EngineError:
    return EngineError("HOME_NOT_USABLE", f"The jobs of {home} are in {place}, but {setting}.", hint=hint)
