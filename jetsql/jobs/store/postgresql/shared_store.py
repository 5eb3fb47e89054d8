"""The homes that share a store on PostgreSQL: that of the first engine, and those of its standbys.

A standby continues the jobs of the leader, so both need the same checkpoints, in a storage that both reach. A new home
joins the homes of a store at its first start, also if no engine runs: on Kubernetes, where a pod has a new home, all
engines of a store can have ended. It takes over the storage of the store.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jetsql.errors import EngineError
from jetsql.home.storage import Storage, is_used, join_storage, storage_of
from jetsql.home.store_note import StoreNote, store_note_of, write_store_note

if TYPE_CHECKING:  # SQLAlchemy is slow to import
    from jetsql.jobs.store.postgresql.store_schema import StoreSchema


@dataclass(frozen=True)
class StoreOwner:
    """The home that a store belongs to."""

    home: str  # the id of the home, which all homes of the store have
    storage: Storage | None  # None until the first engine has claimed it
    holder: str  # the engine that led last, as a phrase


def parse_storage(text: str) -> Storage | None:
    """Return the storage that `format_storage` has written; None for an empty text."""
    return Storage(**json.loads(text)) if text else None


def format_storage(storage: Storage) -> str:
    return json.dumps(asdict(storage))


def join_homes(home: Path, configured: str | None, schema: StoreSchema) -> Storage | None:
    """Make a new home one of those of a store, if the store exists, and return the storage of the store.

    configured: the setting `storage`. Returns None while no engine has stored yet where its storage is.
    Raises EngineError HOME_NOT_USABLE for another storage, or one that only its engine reaches; STORE_NOT_USABLE for a
    home with other jobs.
    """
    owner = schema.read_owner()
    if owner is None:
        return None
    note = store_note_of(home)
    if is_used(home) or note.store not in ("", schema.location):
        if owner.home != note.home:
            raise schema.other_home_error(owner.holder)
        return owner.storage
    if owner.storage is not None and owner.storage != storage_of(home):
        _check_storage(owner.storage, configured, schema.name)
        join_storage(home, owner.storage)
    if owner.home != note.home:
        write_store_note(home, StoreNote(owner.home, schema.location))
        schema.note = store_note_of(home)
    return owner.storage


def _check_storage(storage: Storage, configured: str | None, store: str) -> None:
    if not storage.id:
        raise EngineError(
            "HOME_NOT_USABLE",
            f"The checkpoints of the jobs in the store {store} are in {storage.root}, the home of another engine.",
            hint="A standby needs them, too: start the first engine with the setting storage, before it has jobs, on a"
            " folder or bucket that both engines reach.",
        )
    if configured is not None and configured != storage.root:
        raise EngineError(
            "HOME_NOT_USABLE",
            f"The checkpoints of the jobs in the store {store} are in {storage.root}, but the setting storage is"
            f" {configured}.",
            hint="Set storage to the same value in all engines of a store, or remove it here.",
        )
