"""The note of a home whose store is on PostgreSQL: the id by which the store knows the home, and where the store is.

The store names the home, and the home the store. So neither an engine with the wrong setting nor one on the wrong home
starts with an empty store, or with the store of other checkpoints.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final
from uuid import uuid4

from jetsql.errors import EngineError
from jetsql.home.home_lock import not_usable
from jetsql.home.private_files import read_own, write_private
from jetsql.home.storage import find_job_files

NOTE: Final = "engine.store"
STORE: Final = "jetsql.db"
"""The file of a store that is not on PostgreSQL."""


@dataclass(frozen=True)
class StoreNote:
    """The file `engine.store` of a home."""

    home: str  # the id of the home
    store: str = ""  # the URL of the store without secrets; empty while the store is in the home


def read_store_note(home: Path) -> StoreNote | None:
    """Return the note of a home, or None. Raises EngineError HOME_NOT_USABLE when it is damaged or not readable."""
    try:
        return StoreNote(**json.loads(read_own(home / NOTE)))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise not_usable(home, error) from error
    except (ValueError, TypeError) as error:
        raise EngineError(
            "HOME_NOT_USABLE",
            f"The file {home / NOTE}, which names the store of the home, is damaged.",
            hint="Restore it from a backup of the home.",
        ) from error


def store_note_of(home: Path) -> StoreNote:
    """Return the note of a home; write one if there is none. Raises EngineError HOME_NOT_USABLE."""
    note = read_store_note(home)
    if note is None:
        note = StoreNote(uuid4().hex)
        write_store_note(home, note)
    return note


def move_store(home: Path, store: str) -> None:
    """Store where the home's store is from now on; an empty text for the home. Raises EngineError HOME_NOT_USABLE."""
    note = store_note_of(home)
    if note.store != store:
        write_store_note(home, replace(note, store=store))


def write_store_note(home: Path, note: StoreNote) -> None:
    """Write the note of a home. Raises EngineError HOME_NOT_USABLE."""
    try:
        write_private(home / NOTE, json.dumps(asdict(note)))
    except OSError as error:
        raise not_usable(home, error) from error


def is_home(home: Path) -> bool:
    """Return whether a folder is a home: its first engine has created the store, in it or on PostgreSQL.

    A folder with files of jobs is a home whose store is lost.
    """
    if (home / STORE).exists():
        return True
    try:
        if find_job_files(home):
            return True
        note = read_store_note(home)
    except EngineError:
        return True  # something is there, and an engine reports what is wrong with it
    return note is not None and bool(note.store)
